package writer

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/iceberg-go"
)

// heap is what is reachable now.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A thousand partitions stay within the bound, with many rows each and with few.
func TestMemoryIsBoundedWithAThousandPartitions(t *testing.T) {
	for _, c := range []struct {
		bound                      int64
		partitions, rows, parallel int
		props                      iceberg.Properties
	}{
		{16 << 20, 1000, 110_000, 1, nil},
		{32 << 20, 1000, 100_000, 2, nil},
		{16 << 20, 30, 120_000, 1, iceberg.Properties{propPageBytes: "1048576"}},
		{16 << 20, 20_000, 20_000, 1, nil},
	} {
		if testing.Short() && c.parallel == 1 {
			continue
		}
		t.Run(fmt.Sprintf("%d by %d", c.partitions, c.parallel), func(t *testing.T) {
			sc := eventSchema()
			tbl, _ := newTable(t, sc, specOf(t, sc, fmt.Sprintf("user_id bucket[%d]", c.partitions)), c.props)
			task := newTask(t, tbl, func(cfg *Config) {
				cfg.MaxBufferedBytes, cfg.MaxOpenFiles, cfg.SealBytes = c.bound, 16, 1<<40
				cfg.GroupBy, cfg.Parallel = []string{"user_id"}, c.parallel
			})
			before := heap()
			var peak, counted int64
			open := 0
			for at := 0; at < c.rows; at += 10_000 {
				done, err := task.Append(t.Context(), eventBatch(at, at+10_000))
				if err != nil {
					t.Fatal(err)
				}
				s := task.Stats()
				counted, open = max(counted, s.BufferedBytes), max(open, s.OpenFiles)
				if at%20_000 == 10_000 || !done {
					peak = max(peak, heap()-before)
				}
				if !done {
					break // too many files: sealed by itself
				}
			}
			t.Logf("heap %.1f MiB, counted %.1f MiB, bound %d MiB, %d files closed early", float64(peak)/(1<<20), float64(counted)/(1<<20), c.bound>>20, task.enc.load().files)
			if peak > c.bound*5/4 {
				t.Errorf("the heap grew by %d bytes, the bound is %d", peak, c.bound)
			}
			if counted > c.bound {
				t.Errorf("the task counts %d bytes, the bound is %d", counted, c.bound)
			}
			if open > 16 {
				t.Errorf("%d files open, at most 16 are allowed", open)
			}
		})
	}
}

// A row group larger than the bound is cut, and the file goes on.
func TestOneFileIsWrittenWithinLittleMemory(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, func(c *Config) { c.MaxBufferedBytes = 4 << 20 })
	for at := 0; at < 150_000; at += 10_000 {
		appendAll(t, task, eventBatch(at, at+10_000))
		if s := task.Stats(); s.BufferedBytes > 4<<20 {
			t.Errorf("%d bytes held", s.BufferedBytes)
		}
	}
	if d := seal(t, task); len(d.Files) > 3 {
		t.Errorf("%d files", len(d.Files))
	}
}
