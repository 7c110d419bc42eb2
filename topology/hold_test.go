package topology

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/writer"
)

// lender is what records with the value "need" need.
type lender struct {
	mu sync.Mutex
	// err is what fetching gives; nil lends. hang makes it wait for its context.
	err  error
	hang bool
	has  bool
	asks int
}

func (l *lender) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *lender) need() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.has {
		return nil
	}
	return fmt.Errorf("t/0, position 5: %w", &mapper.NotReadyError{What: "schema 7", Fetch: l.fetch})
}

func (l *lender) fetch(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks++
	if l.hang {
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		return ctx.Err()
	}
	l.has = l.err == nil
	return l.err
}

// lent is a topology whose tasks ask l.
func (g *rig) lent(t testing.TB, cfg Config, l *lender) *Topology {
	top := g.topology(t, cfg)
	make := top.parts.task
	top.parts.task = func(c writer.Config) (task, error) {
		ft, err := make(c)
		ft.(*fakeTask).need = l.need
		return ft, err
	}
	return top
}

var errAway = errors.New("the registry is away")

func needy(before, after int) *rig {
	g := newRig(1, before)
	g.log.AppendValues("t", 0, []byte("need"))
	g.fill(0, after)
	return g
}

func TestWhatAMapperNeedsHoldsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := needy(25, 30), &lender{}
		g.log.AppendValues("t", 0, []byte("need"))
		top := g.lent(t, g.config(), l)
		stop := start(top)
		pass(time.Minute) // it was there once
		g.fill(0, 3)
		l.set(func() { l.has, l.err = false, errAway })
		g.log.AppendValues("t", 0, []byte("need"))
		g.fill(0, 100)
		pass(6 * time.Hour)
		st := top.Status()
		if got := g.table.positions().At[g.part(0)].Next; got != 60 {
			t.Errorf("the table stands at %d, want 60: what was before the record", got)
		}
		if st.Ready || !strings.Contains(strings.Join(st.NotReady, "\n"), "writer/0 holds its records until schema 7 is there: the registry is away") || st.Tasks[0].Phase != "fetching" {
			t.Errorf("status %+v", st)
		}
		if st.Partitions[0].Read > 60+7*(queueLength+1) {
			t.Errorf("read on to %d", st.Partitions[0].Read)
		}
		l.set(func() { l.err = nil })
		pass(time.Minute)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if st := top.Status(); !st.Ready {
			t.Errorf("not ready: %v", st.NotReady)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAHoldEndsAtShutdown(t *testing.T) {
	for name, l := range map[string]*lender{"between two tries": {err: errAway}, "in the middle of one": {hang: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := needy(25, 30)
				stop := start(g.lent(t, g.config(), l))
				pass(20 * time.Second)
				began := time.Now()
				if err := stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("the end took %s", took)
				}
				if got := g.table.positions().At[g.part(0)].Next; got != 25 {
					t.Errorf("the table stands at %d, want 25", got)
				}
			})
		})
	}
}

// A registry that was never there, and one that goes on refusing, is a wrong configuration.
func TestAHoldThatWaitingWillNotMendStops(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		before bool
	}{"never there": {errAway, false}, "refused": {fmt.Errorf("401: %w", mapper.ErrRefused), false}, "refused later": {fmt.Errorf("401: %w", mapper.ErrRefused), true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, l := needy(25, 30), &lender{}
				if c.before {
					top := g.lent(t, g.config(), l)
					defer func(stop func() error) { stop() }(start(top))
					pass(time.Minute)
					l.set(func() { l.has, l.err = false, c.err })
					g.log.AppendValues("t", 0, []byte("need"))
					pass(2 * time.Minute)
					if st := top.Status(); st.Phase != PhaseEnded || !strings.Contains(st.LastError, "has waited") ||
						!strings.Contains(st.LastError, "(a record among t/0[") {
						t.Errorf("status %+v", st)
					}
					return
				}
				l.err = c.err
				began := time.Now()
				err := g.lent(t, g.config(), l).Run(context.Background())
				if took := time.Since(began); !errors.Is(err, c.err) || took < time.Minute || took > 2*time.Minute {
					t.Errorf("ended after %s with %v", took, err)
				}
				if got := g.table.positions().At[g.part(0)].Next; got > 25 {
					t.Errorf("the table stands at %d", got)
				}
			})
		})
	}
}

func TestAPartitionThatIsHeldIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := needy(25, 30), &lender{err: errAway}
		g.log.CreateTopic("u", 1)
		for range 40 {
			g.log.AppendValues("u", 0, []byte("x"))
		}
		u, _ := g.log.Partition("u", 0)
		cfg := g.config()
		a := g.log.Source(memory.Options{Manual: true, BatchRecords: 7})
		cfg.Source = a
		cfg.Writer.Tasks = 1
		a.Assign(g.part(0))
		top := g.lent(t, cfg, l)
		stop := start(top)
		pass(10 * time.Second)
		a.Revoke(g.part(0))
		a.Assign(u)
		pass(30 * time.Second)
		if st := top.Status(); !st.Ready {
			t.Errorf("the trouble stays: %v", st.NotReady)
		}
		at := g.table.positions().At
		if at[g.part(0)].Next != 25 || at[u].Next != 40 {
			t.Errorf("the table stands at %v", at)
		}
		l.set(func() { l.err = nil })
		a.Assign(g.part(0))
		pass(time.Minute)
		if err := g.table.check(map[source.Partition]source.Position{g.part(0): 56, u: 40}); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
