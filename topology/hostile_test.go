package topology

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/writer"
)

func TestASourceThatEndsByItselfIsCommittedWhole(t *testing.T) {
	for name, opts := range map[string]memory.Options{
		"with positions":    {BatchRecords: 3},
		"without positions": {BatchRecords: 3, Unreplayable: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// As much as may be in flight, and what then waits in the queue when the source ends.
				g := newRig(1, maxInFlight*10+3*(queueLength-1))
				cfg := g.config()
				cfg.Source = g.log.Source(opts)
				g.table.set(func() { g.table.away = true })
				g.log.Close()
				top := g.topology(t, cfg)
				done := make(chan error, 1)
				go func() { done <- top.Run(t.Context()) }()
				pass(time.Second)
				g.table.set(func() { g.table.away = false })
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				for p, end := range g.ends() {
					if got := g.log.Acked(p); got != end {
						t.Errorf("%s was acked to %d, want %d", p, got, end)
					}
				}
				if !opts.Unreplayable {
					if err := g.table.check(g.ends()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestASourceThatEndsWhileTheCatalogIsAwayIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 50)
		top := g.topology(t, g.config())
		g.table.set(func() { g.table.away = true })
		g.log.Close()
		err := top.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("Run gave %v", err)
		}
	})
}

// deaf does not hear the first reopening, as a source that is just being assigned.
type deaf struct {
	source.Source
	once sync.Once
}

func (d *deaf) Reopen(p source.Partition, pos source.Position) {
	heard := true
	d.once.Do(func() { heard = false })
	if heard {
		d.Source.Reopen(p, pos)
	}
}

func TestAReopeningThatWasMissedIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 30) // and then the stream is quiet
		cfg := g.config()
		cfg.Source = &deaf{Source: g.log.Source(memory.Options{BatchRecords: 7})}
		top := g.topology(t, cfg)
		mk := top.parts.task
		failed := false
		top.parts.task = func(c writer.Config) (task, error) {
			ft, err := mk(c)
			ft.(*fakeTask).appendErr = func() error {
				if failed {
					return nil
				}
				failed = true
				return errors.New("disk full")
			}
			return ft, err
		}
		stop := start(top)
		pass(time.Minute)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// timed notes how long giving up partitions takes.
type timed struct {
	source.Source
	took chan time.Duration
}

func (s timed) Run(ctx context.Context, h source.Handler) error {
	return s.Source.Run(ctx, timedHandler{h, s.took})
}

type timedHandler struct {
	source.Handler
	took chan time.Duration
}

func (h timedHandler) Revoked(ctx context.Context, ps []source.Partition) {
	began := time.Now()
	h.Handler.Revoked(ctx, ps)
	h.took <- time.Since(began)
}

// The table is set back while a partition is given up whose sealed batches nobody has taken yet: the rewind drops them,
// and nothing is left to wait for.
func TestARewindDoesNotHoldUpARevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 0)
		src := g.log.Source(memory.Options{Manual: true, BatchRecords: 10})
		src.Assign(g.part(0), g.part(1))
		cfg := g.config()
		took := make(chan time.Duration, 10)
		cfg.Source = timed{src, took}
		cfg.Committer.Interval, cfg.Committer.CheckInterval = -1, time.Second
		stop := start(g.topology(t, cfg))
		g.fill(1, 10)
		pass(time.Minute)
		g.table.set(func() { g.table.away = true })
		g.fill(1, 50) // fills the committer, and the hands of the submitter
		pass(time.Millisecond)
		g.fill(0, 20)
		pass(time.Millisecond)
		src.Revoke(g.part(0))
		pass(time.Millisecond)
		g.table.rollback(1)
		if d := <-took; d > 5*time.Second {
			t.Errorf("giving up took %s", d)
		}
		g.table.set(func() { g.table.away = false })
		src.Assign(g.part(0))
		pass(time.Minute)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A batch that Deliver could not place is the source's, which may be using it already.
func TestDeliverLeavesABatchThatItDoesNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 0)
		top := g.topology(t, g.config())
		r := newRun(top)
		r.done, r.acks = make(chan struct{}), newAcker(r)
		p := g.part(0)
		r.routes.to[p] = &worker{in: make(chan queued)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		released := false
		b := &source.Batch{Range: source.Range{Partition: p, To: 1}, Bytes: 10, OnRelease: func() { released = true }}
		if err := (handler{r}).Deliver(ctx, b); err == nil || released {
			t.Errorf("Deliver gave %v, released: %v", err, released)
		}
		if !r.queue.TryAcquire(r.queueCap) {
			t.Error("the queue's share was not given back")
		}
	})
}

// A name that can't be a folder would only be noticed by a WAL that can never be written.
func TestNamesThatCannotBeFoldersAreRefused(t *testing.T) {
	for _, c := range []struct{ name, namespace string }{{"...", ""}, {"ok", "a/b"}, {"ok", ".."}, {"ok", "ü"}} {
		cfg := newRig(1, 0).config()
		cfg.Name, cfg.Committer.WALNamespace = c.name, c.namespace
		if _, err := New(cfg); err == nil {
			t.Errorf("name %q, namespace %q: no error", c.name, c.namespace)
		}
	}
}
