package writer

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// benchBatches are records of workload A in batches of 4096; the ids, and with them the partitions of bucket and
// truncate transforms, are spread.
func benchBatches(n int) []*source.Batch {
	var out []*source.Batch
	for at := 0; at < n; at += 4096 {
		out = append(out, eventBatch(at, min(n, at+4096)))
	}
	return out
}

func benchmarkWriter(b *testing.B, spec []string, change func(*Config)) {
	sc := eventSchema()
	var ps *iceberg.PartitionSpec
	if spec != nil {
		ps = specOf(b, sc, spec...)
	}
	tbl, _ := newTable(b, sc, ps, nil)
	const rows = 256 << 10
	batches := benchBatches(rows)
	task := newTask(b, tbl, change)
	var bytes int64
	files := 0
	b.ReportAllocs()
	cpu := cpuTime(b)
	b.ResetTimer()
	for b.Loop() {
		task.Open(b.Context(), map[source.Partition]source.Position{testPartition: 0})
		for _, batch := range batches {
			if _, err := task.Append(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		d := seal(b, task)
		bytes, files = d.Bytes, len(d.Files)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(cpuTime(b)-cpu)/float64(rows*b.N), "cpu-ns/row")
	b.ReportMetric(float64(bytes)/rows, "B/row")
	b.ReportMetric(float64(files), "files")
}

// cpuTime is what the process has used: the figure to trust on a shared machine.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkEncode is the way from columns to finished files: pages, compression, footer and seal, without the mapper.
func BenchmarkEncode(b *testing.B) {
	for _, codec := range []string{"zstd", "uncompressed"} {
		b.Run(codec, func(b *testing.B) { benchmarkEncode(b, codec) })
	}
}

func benchmarkEncode(b *testing.B, codec string) {
	tbl, _ := newTable(b, eventSchema(), nil, iceberg.Properties{propCodec: codec})
	p, err := compile(tbl)
	if err != nil {
		b.Fatal(err)
	}
	fs, err := tbl.FS(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var stages []*mapper.Columns
	const rows = 32 * stageRows
	for at := 0; at < rows; at += stageRows {
		stages = append(stages, columnsOf(b, p, eventBatch(at, at+stageRows)))
	}
	enc := newEncoder(0, defaultBuffered, defaultOpenFiles)
	var bytes int64
	b.ReportAllocs()
	cpu := cpuTime(b)
	for b.Loop() {
		enc.begin(p, fs.(writeIO), uuid.New())
		for _, cs := range stages {
			if err := enc.add(cs, nil, nil); err != nil {
				b.Fatal(err)
			}
		}
		s, err := enc.seal(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		bytes = s.bytes
	}
	b.ReportMetric(float64(cpuTime(b)-cpu)/float64(rows*b.N), "cpu-ns/row")
	b.ReportMetric(float64(bytes)/rows, "B/row")
}

func BenchmarkUnpartitioned(b *testing.B) { benchmarkWriter(b, nil, nil) }

func BenchmarkPartitions(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkWriter(b, []string{fmt.Sprintf("user_id bucket[%d]", n)}, nil) })
	}
}

func BenchmarkGroupBy(b *testing.B) {
	benchmarkWriter(b, []string{"user_id bucket[10]"}, func(c *Config) { c.GroupBy, c.Parallel = []string{"user_id"}, 2 })
}
