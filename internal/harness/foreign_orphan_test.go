package harness_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/proof"
)

// TestOrphanCleanUpWhileDown takes the WAL entry and the sealed files that a life has left.
func TestOrphanCleanUpWhileDown(t *testing.T) {
	someTimes(t, func(t *testing.T, s shape, at handTime) {
		w := s.world(t)
		w.Produce(40)
		plan := fault.New(fault.On(fault.OpCommit, at.phase, 2, fault.Crash))
		_ = s.live(t, w, plan)
		if err := w.Orphans(); err != nil {
			t.Fatal(err)
		}
		if left, err := w.WAL(); err != nil || len(left) > 0 {
			t.Fatalf("the clean-up has left %d entries, %v", len(left), err)
		}
		w.Produce(10)
		s.lives(t, w)
		w.Check(t)
	})
}

// TestOrphanCleanUpWhileTheCatalogIsAway takes sealed files that wait for their commit: they are missed before it, and their
// records are read again.
func TestOrphanCleanUpWhileTheCatalogIsAway(t *testing.T) {
	vs := variants
	if !*every {
		n := random(t).IntN(len(variants))
		vs = variants[n : n+1]
	}
	for _, v := range vs {
		bubble(t, func(t *testing.T) {
			w := ofVariant("", v).world(t)
			cfg, said := v.apply(w.Config(nil)), &words{}
			cfg.Logger = said.logger()
			_, stop := harness.Start(t, cfg)
			w.Produce(30)
			harness.Until(t, "the beginning", caughtUp(w, "orders"))
			w.Catalog.SetAway(harness.ErrAway)
			w.Produce(60)
			<-time.After(40 * time.Second)
			if err := w.Orphans(); err != nil {
				t.Fatal(err)
			}
			w.Catalog.SetAway(nil)
			harness.Until(t, "the rest", caughtUp(w, "orders"))
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			w.Check(t)
			if !said.has("is gone or torn") {
				t.Error("nobody was told")
			}
		})
	}
}

// TestOrphanCleanUpBetweenLookAndSwap is what nobody can exclude. It is noticed where the commit landed late, and the way out
// that the error names leads out.
func TestOrphanCleanUpBetweenLookAndSwap(t *testing.T) {
	vs := variants[:4]
	if !*every {
		n := random(t).IntN(4)
		vs = variants[n : n+1]
	}
	for _, v := range vs {
		for _, c := range []struct {
			name string
			held time.Duration
			lost bool
		}{{"a request that takes long", 20 * time.Minute, false}, {"a lost answer", 0, true}} {
			bubble(t, func(t *testing.T) {
				w := ofVariant("", v).world(t)
				w.Produce(30)
				w.CatchUp(t, v.apply(w.Config(nil)))
				w.Produce(30)
				reached, resume, seen := make(chan struct{}), make(chan struct{}), 0
				plan := fault.New(func(p fault.Point) fault.Action {
					if p.Op != fault.OpCommit {
						return fault.Continue
					}
					if p.Phase == fault.After && seen == 1 && c.lost {
						return fault.Fail(errors.New("502 bad gateway"))
					}
					if p.Phase == fault.Before {
						if seen++; seen == 1 {
							close(reached)
							return fault.Wait(resume)
						}
					}
					return fault.Continue
				})
				cfg := v.apply(w.Config(plan))
				cfg.Committer.AttemptTimeout, cfg.Committer.Grace = time.Hour, 30*time.Minute
				_, stop := harness.Start(t, cfg)
				<-reached
				<-time.After(c.held)
				parent := w.Catalog.Head(table.MainBranch)
				if err := w.Orphans(); err != nil {
					t.Fatal(err)
				}
				close(resume)
				<-time.After(time.Minute)
				err := stop()
				var asked *committer.StopError
				if !errors.As(err, &asked) {
					t.Fatalf("Run gave %v", err)
				}
				stopped(t, err, "which is gone", fmt.Sprintf("snapshot %d, its parent", parent))
				// The way out.
				if err := w.Catalog.SetRef(table.MainBranch, parent, table.BranchRef); err != nil {
					t.Fatal(err)
				}
				w.Produce(10)
				w.CatchUp(t, v.apply(w.Config(nil)))
				w.Check(t)
			})
			if t.Failed() {
				t.Fatalf("%s, %s", v, c.name)
			}
		}
	}
}

// TestTwoFloesOnTwoBranches run under one name or two; each has its own branch, and the positions on it. A branch that isn't
// there yet is made from main with the first commit, and until then main's positions are its own: so the second of two
// under one name may find that nothing is left to do.
func TestTwoFloesOnTwoBranches(t *testing.T) {
	for _, c := range []struct {
		names []string
		apart bool // the branch is there before both
	}{{[]string{"orders", "orders"}, true}, {[]string{"orders", "orders"}, false}, {[]string{"orders", "copy"}, false}} {
		names := c.names
		bubble(t, func(t *testing.T) {
			w := shapes[0].world(t)
			if c.apart {
				if err := w.Append(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := w.Catalog.SetRef("audit", w.Catalog.Head(table.MainBranch), table.BranchRef); err != nil {
					t.Fatal(err)
				}
			}
			w.Produce(60)
			done := make(chan error, 2)
			for i, branch := range []string{table.MainBranch, "audit"} {
				cfg := w.Config(nil)
				cfg.Name, cfg.Committer.Branch = names[i], branch
				go func() { done <- w.Live(t, cfg, fault.New(nil)) }()
			}
			if err := errors.Join(<-done, <-done); err != nil {
				t.Fatal(err)
			}
			w.CheckBy(t, proof.Options{Topologies: names[:1], Whole: true})
			if w.Catalog.Head("audit") == 0 && names[0] == names[1] && !c.apart {
				return
			}
			// The branch may have been made from a main that the other one had committed to already.
			on := names[1:]
			if names[0] != names[1] && w.Knows("audit", names[0]) {
				on = names
			}
			w.CheckBy(t, proof.Options{Topologies: on, Branch: "audit", Whole: len(on) == 1})
		})
	}
}

// TestTheBranchIsTakenAway removes or renames the branch that a topology writes while it does. It is made again from main, and
// positions follow it; where main has none, a person is asked.
func TestTheBranchIsTakenAway(t *testing.T) {
	rnd := random(t)
	for _, c := range []struct {
		name         string
		main, rename bool
	}{{"main has positions", true, false}, {"renamed", true, true}, {"main has none", false, false}} {
		only := rnd.IntN(3)
		for m, at := range handTimes[:3] {
			if !*every && m != only {
				continue
			}
			bubble(t, func(t *testing.T) {
				w := shapes[0].world(t)
				w.Produce(30)
				if c.main {
					w.CatchUp(t, w.Config(nil))
				} else if err := w.Append(t.Context()); err != nil {
					t.Fatal(err)
				}
				s := shapes[0]
				s.live = func(t *testing.T, w *harness.World, plan *fault.Plan) error {
					cfg := w.Config(plan)
					cfg.Committer.Branch = "audit"
					return w.Live(t, cfg, plan)
				}
				w.Produce(10)
				s.lives(t, w)
				w.Produce(30)
				take := func() {
					var err error
					if c.rename {
						err = w.Catalog.SetRef("renamed", w.Catalog.Head("audit"), table.BranchRef)
					}
					if err = errors.Join(err, w.Catalog.SetRef("audit", 0, table.BranchRef)); err != nil {
						t.Error(err)
					}
				}
				var err error
				if at.flying {
					err = fly(t, s, w, at, 2, take)
				} else {
					take()
				}
				if !c.main {
					if err != nil && !strings.Contains(err.Error(), "set back to before") {
						t.Errorf("the life that met it gave %v", err)
					}
					asks(t, s, w, "set back to before")
					return
				}
				if err != nil {
					t.Errorf("the life that met it gave %v", err)
				}
				w.Produce(10)
				s.lives(t, w)
				w.CheckBy(t, proof.Options{Topologies: []string{"orders"}, Branch: "audit", Whole: true})
				if c.rename {
					w.CheckBy(t, proof.Options{Topologies: []string{"orders"}, Branch: "renamed"})
				}
			})
			if t.Failed() {
				t.Fatalf("%s, %s", c.name, at.name)
			}
		}
	}
}
