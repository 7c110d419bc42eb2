package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

// counter is a handler that gives every batch back at once, and ends the run when enough records have come.
type counter struct {
	source.Handler
	enough         int64
	end            context.CancelFunc
	records, bytes atomic.Int64
}

func (c *counter) Deliver(_ context.Context, b *source.Batch) error {
	var bytes int
	for i := range b.Records {
		bytes += len(b.Records[i].Value)
	}
	n := c.records.Add(int64(len(b.Records)))
	c.bytes.Add(int64(bytes))
	b.Release()
	if n >= c.enough {
		c.end()
	}
	return nil
}

func (c *counter) Trouble(error) {}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cannedReader reads a canned broker's partitions.
type cannedReader struct {
	src   *Source
	parts int
	addr  string
	next  map[source.Partition]source.Position
}

func newCannedReader(b testing.TB, codec, size, parts int) *cannedReader {
	b.Helper()
	r := &cannedReader{parts: parts, addr: startCanned(b, codec, size), next: map[source.Partition]source.Position{}}
	var err error
	if r.src, err = New(Config{Brokers: []string{r.addr}, Topics: []string{"topic"}, Group: "group", Logger: slog.New(slog.DiscardHandler)}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.src.Close() })
	return r
}

// read takes about n records and gives how many came, with how many bytes.
func (r *cannedReader) read(b testing.TB, n int64) (records, bytes int64) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h := &counter{enough: n, end: cancel}
	t := &topicMeta{name: "topic", parts: map[int32]partMeta{}}
	m := &clusterMeta{brokers: map[int32]string{1: r.addr}, topics: map[string]*topicMeta{"topic": t}}
	at := map[source.Partition]source.Position{}
	for id := range int32(r.parts) {
		t.parts[id] = partMeta{leader: 1, epoch: 1}
		at[source.Partition{Topic: "topic", ID: id}] = 0
	}
	r.src.cl.mu.brokers = m.brokers
	ss := r.src.newSession(h, m, at)
	ss.acks = newAcks(nil, time.Hour, nil, nil)
	if err := ss.run(ctx, m, func(*clusterMeta) {}); err != nil {
		b.Fatal(err)
	}
	return h.records.Load(), h.bytes.Load()
}

// The whole way from the socket to the handler allocates per request, per record set and per range, which hold thousands of records.
func TestFetchAllocatesNothingPerRecord(t *testing.T) {
	for _, parts := range []int{1, 64} {
		r := newCannedReader(t, codecLZ4, 143, parts)
		r.read(t, 200_000) // what is reused is made
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		records, _ := r.read(t, 500_000)
		runtime.ReadMemStats(&after)
		if per := float64(after.Mallocs-before.Mallocs) / float64(records); per > 0.01 {
			t.Errorf("%d partitions: %.4f allocations per record", parts, per)
		}
	}
}

func BenchmarkFetch(b *testing.B) {
	run := func(name string, codec, size, parts int) {
		b.Run(name, func(b *testing.B) {
			r := newCannedReader(b, codec, size, parts)
			r.read(b, int64(max(100, 400_000_000/size/4)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := cpu()
			b.ResetTimer()
			records, bytes := r.read(b, int64(b.N))
			b.StopTimer()
			used := cpu() - began
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(used.Nanoseconds())/float64(records), "cpu-ns/record")
			b.ReportMetric(float64(bytes)/1e6/used.Seconds(), "MB/cpu-s")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(records), "allocs/record")
		})
	}
	for codec, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		run("codec="+name, codec, 143, 8)
	}
	for _, parts := range []int{1, 64} {
		run(fmt.Sprintf("partitions=%d", parts), codecLZ4, 143, parts)
	}
	for _, size := range []int{1200, 100_000, 1_000_000} {
		run(fmt.Sprintf("size=%d", size), codecLZ4, size, 8)
	}
}
