package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
)

func TestAnotherIncarnationStopsItsPartitionsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 50)
		cfg := g.config()
		stop := start(g.topology(t, cfg))
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		g.log.Recreate("t", 2)
		g.fill(0, 10)
		g.log.CreateTopic("other", 1)
		g.log.AppendValues("other", 0, []byte("x"))
		cfg = g.config()
		cfg.UntilCaughtUp = true
		top := g.topology(t, cfg)
		err := top.Run(t.Context())
		var pe *source.PositionError
		if !errors.As(err, &pe) || pe.Wanted != 50 || !strings.Contains(pe.Reason, "incarnation") {
			t.Fatalf("Run gave %v", err)
		}
		p, _ := g.log.Partition("other", 0)
		if got := g.table.positions().At[p].Next; got != 1 {
			t.Errorf("the other topic stands at %d, want 1", got)
		}
		if _, there := g.table.positions().At[g.part(0)]; there {
			t.Error("the new incarnation got a position by itself")
		}
	})
}

func TestFirstPositions(t *testing.T) {
	p := func(topic string, id int32) source.Partition { return source.Partition{Topic: topic, ID: id} }
	at := func(ps ...source.Partition) committer.Positions {
		out := committer.Positions{At: map[source.Partition]committer.Progress{}}
		for _, q := range ps {
			out.Known = true
			out.At[q] = committer.Progress{}
		}
		return out
	}
	for name, tc := range map[string]struct {
		now       committer.Positions
		p         source.Partition
		discovers bool
		want      source.Origin
	}{
		"fresh start":                      {at(), p("a", 0), false, source.OriginConfigured},
		"fresh start with a pattern":       {at(), p("a", 0), true, source.OriginConfigured},
		"a partition added later":          {at(p("a", 0)), p("a", 1), false, source.OriginFirst},
		"a topic added to the list":        {at(p("a", 0)), p("b", 0), false, source.OriginConfigured},
		"a topic found by a pattern later": {at(p("a", 0)), p("b", 0), true, source.OriginFirst},
	} {
		t.Run(name, func(t *testing.T) {
			if got := origin(tc.now, tc.p, source.Traits{Discovers: tc.discovers}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFirstPositionsAreRecordedForAllPartitionsBeforeAnythingIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(4, 10)
		cfg := g.config()
		a := g.log.Source(memory.Options{Manual: true, Start: memory.StartLatest})
		a.Assign(g.part(2))
		cfg.Source = a
		top := g.topology(t, cfg)
		stop := start(top)
		pass(time.Second)
		top.Kill()
		_ = stop()
		g.fill(0, 5)
		g.fill(2, 5)
		// A second life, or a replica that owns the others, starts where the first one decided.
		for p, pr := range g.table.positions().At {
			if pr.Next != 10 {
				t.Errorf("%s starts at %d, want 10", p, pr.Next)
			}
		}
		if n := len(g.table.positions().At); n != 4 || g.table.begins != 1 {
			t.Errorf("%d partitions have a position after %d empty appends", n, g.table.begins)
		}
	})
}

func TestStartWaitsForTheCatalogThenGivesUp(t *testing.T) {
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprintf("back=%v", back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(1, 5)
				g.table.loadErr = errors.New("connection refused")
				top := g.topology(t, g.config())
				done := make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				go func() { done <- top.Run(ctx) }()
				if back {
					pass(30 * time.Second)
					g.table.set(func() { g.table.loadErr = nil })
					pass(time.Minute)
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
					return
				}
				err := <-done
				if err == nil || !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("Run gave %v", err)
				}
				if d := time.Since(began); d > time.Minute || d < 40*time.Second {
					t.Errorf("gave up after %s", d)
				}
			})
		})
	}
}

func TestStopErrorIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 5)
		g.table.loadErr = &committer.StopError{Reason: "rolled back to before the first commit", Hint: "set positions"}
		top := g.topology(t, g.config())
		began := time.Now()
		err := top.Run(t.Context())
		var stop *committer.StopError
		if !errors.As(err, &stop) || time.Since(began) > 0 {
			t.Errorf("Run gave %v after %s", err, time.Since(began))
		}
		if st := top.Status(); st.Hint != "set positions" {
			t.Errorf("hint %q", st.Hint)
		}
	})
}

func TestSourceWithoutPositionsIsDeliveredAtLeastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 100)
		cfg := g.config()
		cfg.Source = g.log.Source(memory.Options{Unreplayable: true, BatchRecords: 7, Poison: true})
		cfg.Writer.Tasks = 3
		top := g.topology(t, cfg)
		mk := top.parts.sink
		n := 0
		top.parts.sink = func(c committer.Config, l committer.Loader, w committer.Log) (sink, error) {
			s, err := mk(c, l, w)
			s.(*fakeSink).meddle = func(*descriptor.Descriptor) *committer.Outcome {
				if n++; n%5 == 4 && n < 40 {
					return &committer.Outcome{Verdict: committer.Reread}
				}
				return nil
			}
			return s, err
		}
		stop := start(top)
		pass(10 * time.Minute)
		for p, to := range g.ends() {
			if got := g.log.Acked(p); got != to {
				t.Errorf("%s acked to %d, want %d", p, got, to)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStatusIsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 10)
		top := g.topology(t, g.config())
		if st := top.Status(); st.Phase != PhaseNew || st.Ready {
			t.Errorf("before Run: %+v", st)
		}
		stop := start(top)
		pass(time.Minute)
		b, err := json.Marshal(top.Status())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{`"phase":"running"`, `"ready":true`, `"topic":"t"`, `"committed":10`} {
			if !strings.Contains(string(b), word) {
				t.Errorf("%s is missing in %s", word, b)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
