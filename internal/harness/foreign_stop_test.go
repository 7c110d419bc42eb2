package harness_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
)

// someTimes runs f for every shape at every moment, or for one at one.
func someTimes(t *testing.T, f func(t *testing.T, s shape, at handTime)) {
	rnd := random(t)
	one := rnd.IntN(len(shapes))
	for i, s := range shapes {
		if !*every && i != one {
			continue
		}
		only := rnd.IntN(len(handTimes))
		for m, at := range handTimes {
			if !*every && m != only {
				continue
			}
			bubble(t, func(t *testing.T) {
				defer func() {
					if t.Failed() {
						t.Logf("%s, %s", s.name, at.name)
					}
				}()
				f(t, s, at)
			})
			if t.Failed() {
				return
			}
		}
	}
}

// stopped fails unless err is a *StopError, or an engine's error made of one, with these words.
func stopped(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("nobody stopped")
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is missing in: %v", word, err)
		}
	}
}

// asks fails unless the next life stops with a question. What a stage's engine hears is that the stage has ended; the
// question is what its Run gives.
func asks(t *testing.T, s shape, w *harness.World, words ...string) {
	t.Helper()
	err := s.live(t, w, fault.New(nil))
	if err != nil && strings.HasSuffix(err.Error(), "the stage has ended") {
		return
	}
	var stop *committer.StopError
	if !errors.As(err, &stop) {
		t.Fatalf("the next life gave %v", err)
	}
	stopped(t, err, words...)
}

func starts(w *harness.World) map[source.Partition]source.Position {
	at := map[source.Partition]source.Position{}
	for _, b := range w.Log.Bounds() {
		at[b.Partition] = b.First
	}
	return at
}

func ends(w *harness.World) map[source.Partition]source.Position {
	at := map[source.Partition]source.Position{}
	for _, b := range w.Log.Bounds() {
		at[b.Partition] = b.Last
	}
	return at
}

// TestRolledBackToBeforeTheFirstCommit asks a person, while it runs and at every start, until there is an answer.
func TestRolledBackToBeforeTheFirstCommit(t *testing.T) {
	someTimes(t, func(t *testing.T, s shape, at handTime) {
		w := s.world(t)
		if err := w.Append(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := w.Catalog.Head(table.MainBranch)
		w.Produce(40)
		s.lives(t, w)
		w.Produce(30)
		back := func() {
			if err := w.Catalog.SetRef(table.MainBranch, before, table.BranchRef); err != nil {
				t.Error(err)
			}
		}
		if !at.flying {
			back()
		} else if err := fly(t, s, w, at, 2, back); err == nil && !at.dies && w.Catalog.Head(table.MainBranch) != before {
			t.Error("a life went on where nobody knows where it stands")
		}
		asks(t, s, w, "set back to before", "floe positions set")
		if err := w.SetPositions(t.Context(), "orders", starts(w)); err != nil {
			t.Fatal(err)
		}
		s.lives(t, w)
		w.CheckBy(t, proof.Options{Topologies: []string{"orders"}, Whole: true, SetByHand: true})
	})
}

// TestAShortLogAsks sets the branch back to another engine's snapshot whose parent, floe's, has expired, where the metadata log
// is too short to tell what that one held and the table property tells of a later one.
func TestAShortLogAsks(t *testing.T) {
	someTimes(t, func(t *testing.T, s shape, at handTime) {
		w := s.world(t)
		w.Produce(40)
		s.lives(t, w)
		held := ends(w)
		err := errors.Join(
			w.SetProperties(t.Context(), iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "1"}),
			w.Append(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		between := w.Catalog.Head(table.MainBranch)
		for range 3 {
			w.Produce(10)
			s.lives(t, w)
		}
		w.Produce(30)
		back := func() {
			err := errors.Join(
				w.Catalog.SetRef(table.MainBranch, between, table.BranchRef), w.ExpireAndDelete(),
				w.SetProperties(t.Context(), iceberg.Properties{"owner": "somebody"})) // the log is now of after the expiry
			if err != nil {
				t.Error(err)
			}
		}
		if !at.flying {
			back()
		} else if err := fly(t, s, w, at, 1, back); err == nil && !at.dies {
			w.Check(t) // another writer looked between the rollback and the expiry
			return
		}
		asks(t, s, w, "has expired", "floe positions set")
		if err := w.SetPositions(t.Context(), "orders", held); err != nil {
			t.Fatal(err)
		}
		s.lives(t, w)
		w.CheckBy(t, proof.Options{Topologies: []string{"orders"}, Whole: true, SetByHand: true})
	})
}

// TestACherryPickedSnapshotAsks brings rows of floe onto the branch without their positions.
func TestACherryPickedSnapshotAsks(t *testing.T) {
	someTimes(t, func(t *testing.T, s shape, at handTime) {
		w := s.world(t)
		w.Produce(40)
		s.lives(t, w)
		w.Produce(30)
		var picked error
		var between bool
		pick := func() {
			head := w.Catalog.Metadata().CurrentSnapshot()
			picked = errors.Join(w.Catalog.Rollback(1), w.CherryPick(t.Context(), head.SnapshotID))
			now := w.Catalog.Metadata().CurrentSnapshot()
			between = *now.ParentSnapshotID != *head.ParentSnapshotID
		}
		if !at.flying {
			pick()
		} else {
			_ = fly(t, s, w, at, 2, pick)
		}
		if picked != nil {
			t.Fatal(picked)
		}
		asks(t, s, w, "cherry-picked", "floe positions set")
		if between {
			return // the two are no one step: floe saw the rollback and read those rows again, and then the hand doubled them
		}
		// What the head holds is what it held before: the commits up to the one that was picked.
		src := w.Catalog.Metadata().CurrentSnapshot().Summary.Properties["source-snapshot-id"]
		held, err := w.PositionsAt(src, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.SetPositions(t.Context(), "orders", held); err != nil {
			t.Fatal(err)
		}
		s.lives(t, w)
		r, err := w.Report(proof.Options{Topologies: []string{"orders"}, Whole: true, SetByHand: true})
		if err != nil {
			t.Fatal(err)
		}
		// The cherry-picked rows are early until the positions are set, and the counts begin anew there.
		if r.Count[proof.Lost]+r.Count[proof.Doubled]+r.Count[proof.Altered]+r.Count[proof.Dangling]+r.Count[proof.Behind] > 0 {
			t.Errorf("%s", r.Err())
		}
	})
}

// TestTableMadeAgainUnderARequest drops the table and makes it again, at the same place: nothing of the old one gets in.
func TestTableMadeAgainUnderARequest(t *testing.T) {
	someTimes(t, func(t *testing.T, s shape, at handTime) {
		w := s.world(t)
		w.Produce(40)
		s.lives(t, w)
		w.Produce(30)
		again := func() {
			if err := w.Catalog.Recreate(); err != nil {
				t.Error(err)
			}
		}
		if !at.flying {
			again()
		} else if err := fly(t, s, w, at, 2, again); !at.dies {
			if at.phase == fault.Before && err == nil {
				t.Error("nobody stopped")
			}
			if w.Catalog.Metadata().CurrentSnapshot() != nil {
				t.Error("the life that knew the old table has committed to the new one")
			}
		}
		w.Produce(10)
		s.lives(t, w)
		w.Check(t)
	})
}

// TestALateRequestMeetsATableMadeAgain delivers a request of a dead process to another table of the same name.
func TestALateRequestMeetsATableMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := shapes[0]
		w := s.world(t)
		w.Produce(40)
		plan := fault.New(fault.All(fault.On(fault.OpCommit, fault.Before, 2, fault.Late(fault.ErrInjected)), diesAtLoadAfter(2)))
		_ = s.live(t, w, plan)
		if err := w.Catalog.Recreate(); err != nil {
			t.Fatal(err)
		}
		if plan.Held() != 1 {
			t.Fatalf("%d requests are held", plan.Held())
		}
		if err := plan.Release(); err == nil {
			t.Error("the new table took a request for the old one")
		}
		s.lives(t, w)
		w.Check(t)
	})
}

// diesAtLoadAfter ends a life at its first look at the table after the nth commit request.
func diesAtLoadAfter(nth int) fault.Decider {
	seen := 0
	return func(p fault.Point) fault.Action {
		if p.Op == fault.OpCommit && p.Phase == fault.Before {
			seen++
		}
		if seen >= nth && p.Op == fault.OpLoad {
			return fault.Crash
		}
		return fault.Continue
	}
}

// TestTwoDeploymentsUnderOneName read the same records under the same name, for as long as both live. They cost each other
// work and the table nothing; one of them gives way, and the other goes on.
func TestTwoDeploymentsUnderOneName(t *testing.T) {
	all := []int{0, 2, 3}
	if !*every {
		n := random(t).IntN(len(all))
		all = all[n : n+1]
	}
	for _, n := range all {
		bubble(t, func(t *testing.T) {
			s := shapes[n]
			w := s.world(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 2)
			for i := range 2 {
				cfg := w.ConfigOn(nil, w.Log.Source(memory.Options{BatchRecords: 5}))
				cfg.Writer.Tasks, cfg.OneStage = 1+n%3, n == 3
				cfg.Writer.SealRecords = int64(6 + i) // they seal at other places
				top, err := topology.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				go func() { ended <- top.Run(ctx) }()
			}
			var first error
			for gone := false; !gone; {
				w.Produce(6)
				select {
				case first = <-ended:
					gone = true
				case <-time.After(60 * time.Millisecond):
				}
				if w.Catalog.Commits() > 2000 {
					t.Fatal("neither gave way in 2000 commits")
				}
			}
			if first == nil || !strings.Contains(first.Error(), "Two deployments") {
				t.Errorf("the one that ended gave %v", first)
			}
			w.Produce(30)
			harness.Until(t, "the one that is left", caughtUp(w, "orders"))
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the one that was left gave %v", err)
			}
			w.Check(t)
			t.Logf("%d commits", w.Catalog.Commits())
		})
	}
}
