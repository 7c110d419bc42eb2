package topology

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
)

// flood is a source of one partition that delivers batches as fast as they are taken.
type flood struct {
	*memory.Source
	p       source.Partition
	batches int
	records []source.Record
	// began and ended are called around the deliveries, ended when the last batch was released.
	began, ended func()
}

func (f *flood) Run(ctx context.Context, h source.Handler) error {
	if _, err := h.Assigned(ctx, []source.Partition{f.p}); err != nil {
		return err
	}
	released := make(chan struct{}, f.batches)
	free := func() { released <- struct{}{} }
	batches := make([]source.Batch, f.batches)
	f.began()
	for i := range batches {
		b := &batches[i]
		from := source.Position(i * len(f.records))
		*b = source.Batch{
			Range:   source.Range{Partition: f.p, From: from, To: from + source.Position(len(f.records))},
			Records: f.records, Bytes: 1 << 20, OnRelease: free,
		}
		if err := h.Deliver(ctx, b); err != nil {
			return err
		}
	}
	for range batches {
		<-released
	}
	f.ended()
	h.Revoked(ctx, []source.Partition{f.p})
	return errEnough
}

var errEnough = errors.New("enough was delivered")

// handOver runs n batches through a topology whose task does nothing with them, and tells how many allocations that took.
func handOver(t testing.TB, n int, began, ended func()) (allocs uint64) {
	t.Helper()
	g := newRig(1, 0)
	cfg := g.config()
	var before, after runtime.MemStats
	src := g.log.Source(memory.Options{})
	bounds, err := src.Partitions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Source = &flood{
		Source: src, p: bounds[0].Partition, batches: n, records: make([]source.Record, 1),
		began: func() { runtime.ReadMemStats(&before); began() },
		ended: func() { ended(); runtime.ReadMemStats(&after) },
	}
	cfg.Writer = WriterConfig{}
	if err := g.topology(t, cfg).Run(context.Background()); !errors.Is(err, errEnough) {
		t.Fatalf("Run: %v", err)
	}
	return after.Mallocs - before.Mallocs
}

func TestHandOverAllocatesNothing(t *testing.T) {
	none := func() {}
	const n = 5000
	if per := float64(handOver(t, n, none, none)) / n; per > 0.5 {
		t.Errorf("%.2f allocations per batch on its way from the source to the task", per)
	}
}

func BenchmarkHandOver(b *testing.B) {
	b.ReportAllocs()
	handOver(b, b.N, b.ResetTimer, b.StopTimer)
}
