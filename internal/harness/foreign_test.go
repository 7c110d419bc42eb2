package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// hand is what somebody else does to the table.
type hand struct {
	name string
	do   func(t *testing.T, w *harness.World) error
}

const positionsProperty = "storm.iceberg.positions.main"

// aLogOfOne leaves floe with little to find its position by: together with others' hands it can be too little, and floe asks.
// TestAShortLogAsks holds that; alone floe goes on.
const aLogOfOne = "a log of one"

// hands are all of them that floe goes on from by itself.
var hands = []hand{
	{"append", func(t *testing.T, w *harness.World) error { return w.Append(t.Context()) }},
	{"compaction", func(t *testing.T, w *harness.World) error { return w.Compact(t.Context()) }},
	{"compaction, expiry and deletion", func(t *testing.T, w *harness.World) error {
		return errors.Join(w.Compact(t.Context()), w.ExpireAndDelete())
	}},
	{"expiry and deletion", func(_ *testing.T, w *harness.World) error { return w.ExpireAndDelete() }},
	{"rollback by one", func(_ *testing.T, w *harness.World) error { return rollback(w, 1) }},
	{"rollback by two, expiry and deletion", func(_ *testing.T, w *harness.World) error {
		return errors.Join(rollback(w, 2), w.ExpireAndDelete())
	}},
	{"rollback to another engine's snapshot", func(t *testing.T, w *harness.World) error {
		return errors.Join(w.Append(t.Context()), w.Append(t.Context()), rollback(w, 1))
	}},
	{"roll forward again", func(_ *testing.T, w *harness.World) error {
		head := w.Catalog.Head(table.MainBranch)
		return errors.Join(rollback(w, 2), w.Catalog.SetRef(table.MainBranch, head, table.BranchRef))
	}},
	{"main set to another branch's snapshot", func(t *testing.T, w *harness.World) error {
		if err := w.Catalog.SetRef("audit", w.Catalog.Head(table.MainBranch), table.BranchRef); err != nil {
			return err
		}
		return errors.Join(w.Append(t.Context()), w.Catalog.SetRef(table.MainBranch, w.Catalog.Head("audit"), table.BranchRef))
	}},
	{"tag and branch, then expiry and deletion", func(_ *testing.T, w *harness.World) error {
		head := w.Catalog.Head(table.MainBranch)
		return errors.Join(w.Catalog.SetRef("v1", head, table.TagRef), w.Catalog.SetRef("copy", head, table.BranchRef), w.ExpireAndDelete())
	}},
	{"another column", func(t *testing.T, w *harness.World) error {
		addColumn(t, w, fmt.Sprintf("extra_%d", w.Catalog.Metadata().LastColumnID()+1))
		return nil
	}},
	{"another spec", func(t *testing.T, w *harness.World) error { setSpec(t, w, "part"); return nil }},
	{"no spec", func(t *testing.T, w *harness.World) error { setSpec(t, w, ""); return nil }},
	{"format version 3", func(_ *testing.T, w *harness.World) error {
		return w.Catalog.Apply(table.NewUpgradeFormatVersionUpdate(3))
	}},
	{"positions property taken away", func(t *testing.T, w *harness.World) error {
		return w.SetProperties(t.Context(), iceberg.Properties{positionsProperty: ""})
	}},
	{"positions property of an older time", func(t *testing.T, w *harness.World) error {
		old, err := w.FirstProperty(positionsProperty)
		if err != nil {
			return err
		}
		return errors.Join(w.SetProperties(t.Context(), iceberg.Properties{positionsProperty: old}), w.Compact(t.Context()))
	}},
	{"retries", func(t *testing.T, w *harness.World) error {
		return w.SetProperties(t.Context(), iceberg.Properties{table.CommitNumRetriesKey: "10"})
	}},
	{aLogOfOne, func(t *testing.T, w *harness.World) error {
		return w.SetProperties(t.Context(), iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "1"})
	}},
}

// rollback goes back as far as it can, and never to before the topology's first commit.
func rollback(w *harness.World, n int) error {
	m, on := w.Catalog.Metadata(), 0
	for s := m.CurrentSnapshot(); s != nil && s.ParentSnapshotID != nil; s = m.SnapshotByID(*s.ParentSnapshotID) {
		on++
	}
	if n = min(n, on-1); n < 1 {
		return nil
	}
	return w.Catalog.Rollback(n)
}

// handTime is when somebody else does it.
type handTime struct {
	name string
	// phase of the commit that it happens at, while the request is on its way or its answer is.
	phase fault.Phase
	// dies says that the life is ended there; otherwise it goes on.
	dies, flying bool
}

var handTimes = []handTime{
	{name: "between two lives"},
	{name: "before a commit is applied", phase: fault.Before, flying: true},
	{name: "before its answer arrives", phase: fault.After, flying: true},
	{name: "after a crash before a commit", phase: fault.Before, flying: true, dies: true},
	{name: "after a crash before its answer", phase: fault.After, flying: true, dies: true},
}

// meet runs a shape, lets a hand in at a moment around the nth commit of its second life, and where j is not 0 ends the life
// after it at step j.
func meet(t *testing.T, s shape, h hand, at handTime, nth, j int) {
	w := s.world(t)
	w.Produce(40)
	s.lives(t, w)
	w.Produce(30)
	act := func() {
		if err := h.do(t, w); err != nil {
			t.Errorf("setup: %v", err)
		}
	}
	if at.flying {
		if err := fly(t, s, w, at, nth, act); err != nil {
			t.Errorf("the life that met it gave %v", err)
		}
	} else {
		act()
	}
	w.Produce(10)
	if j > 0 {
		plan := fault.New(fault.At(j, fault.Crash))
		if err := s.live(t, w, plan); err != nil && !plan.Crashed() {
			t.Errorf("the life that was not ended gave %v", err)
		}
		w.CheckOf(t, "orders")
	}
	s.lives(t, w)
	w.Check(t)
}

// fly runs a life and does act when its nth commit is on its way. It gives what a life gave that was not to be ended.
func fly(t *testing.T, s shape, w *harness.World, at handTime, nth int, act func()) error {
	if at.dies {
		plan := fault.New(fault.On(fault.OpCommit, at.phase, nth, fault.Crash))
		err := s.live(t, w, plan)
		act()
		if plan.Crashed() {
			return nil
		}
		return err
	}
	reached, resume, seen := make(chan struct{}), make(chan struct{}), 0
	plan := fault.New(func(p fault.Point) fault.Action {
		if p.Op == fault.OpCommit && p.Phase == at.phase {
			if seen++; seen == nth {
				close(reached)
				return fault.Wait(resume)
			}
		}
		return fault.Continue
	})
	done := make(chan error, 1)
	go func() { done <- s.live(t, w, plan) }()
	select {
	case <-reached:
		act()
		close(resume)
		return <-done
	case err := <-done: // it needed fewer commits
		act()
		return err
	}
}

// TestForeignHands lets everybody do everything at every moment.
func TestForeignHands(t *testing.T) {
	var done counts
	done.logAtEnd(t, "foreign hands")
	for i, h := range hands {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			rnd := random(t)
			only := rnd.IntN(len(handTimes))
			for m, at := range handTimes {
				if !*every && m != only {
					continue
				}
				for k, s := range shapes {
					if !*every && k != (i+only)%len(shapes) {
						continue
					}
					nth, j := 1+rnd.IntN(3), rnd.IntN(2)*(1+rnd.IntN(120))
					bubble(t, func(t *testing.T) {
						defer func() {
							if t.Failed() {
								t.Logf("%s, %s, commit %d, then a crash at step %d", s.name, at.name, nth, j)
							}
						}()
						meet(t, s, h, at, nth, j)
					})
					if t.Failed() {
						return
					}
					done.add(h.name, "runs", 1)
				}
			}
		})
	}
}

// TestManyHands lets one after the other in, at random, while a topology runs, and ends it now and then.
func TestManyHands(t *testing.T) {
	var done counts
	done.logAtEnd(t, "many hands")
	runs := 1
	if *every {
		runs = 200
	}
	rnd := random(t)
	together := slices.DeleteFunc(slices.Clone(hands), func(h hand) bool { return h.name == aLogOfOne })
	for n := range runs {
		s := shapes[rnd.IntN(len(shapes))]
		var names []string
		bubble(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("run %d, %s: %q", n, s.name, names)
				}
			}()
			w := s.world(t)
			w.Produce(5)
			s.lives(t, w) // a branch that has no snapshot yet can't be set to another
			for range 5 {
				w.Produce(25)
				h, at := together[rnd.IntN(len(together))], handTimes[rnd.IntN(len(handTimes))]
				names = append(names, fmt.Sprintf("%s %s", h.name, at.name))
				act := func() {
					// What one hand has done can keep another from acting: the library doesn't compact across some specs. That
					// each can act is TestForeignHands'.
					if err := h.do(t, w); err != nil {
						done.add(h.name, "kept from acting", 1)
					}
				}
				if at.flying {
					if err := fly(t, s, w, at, 1+rnd.IntN(4), act); err != nil {
						t.Errorf("the life that met it gave %v", err)
					}
				} else {
					s.lives(t, w)
					act()
				}
				<-time.After(time.Duration(rnd.IntN(40)) * time.Minute)
			}
			s.lives(t, w)
			w.CheckOf(t, "orders") // every row is there, every reject is or waits in the outbox
			// Stages that find everything committed end at once: what still waits in the outbox then is appended by the next life.
			s.lives(t, w)
			w.Check(t)
		})
		if t.Failed() {
			return
		}
		done.add(s.name, "runs", 1)
	}
}
