package harness_test

import (
	"testing"
	"testing/synctest"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// The sequences of events here each need one rule of the protocol. test/mutants takes the rule away and sees them fail.

// meanwhile runs a life whose plan holds it up at one point, f while it is held there, and then the rest of the life. decide
// calls hold at that point.
func meanwhile(t *testing.T, w *harness.World, decide func(hold func() fault.Action) fault.Decider, f func()) {
	t.Helper()
	reached, open, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	plan := fault.New(decide(func() fault.Action { close(reached); return fault.Wait(open) }))
	over := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-reached:
			f()
			close(open)
		case <-over:
			t.Error("the life was never held up")
		}
	}()
	if err := w.Live(t, w.Config(plan), plan); err != nil {
		t.Errorf("the life that was held up gave %v", err)
	}
	close(over)
	<-done
}

// atTheFirstRows holds the first commit with rows before it is sent; the one before it records where the partitions start.
func atTheFirstRows(hold func() fault.Action) fault.Decider {
	commits := 0
	return func(p fault.Point) fault.Action {
		if p.Op == fault.OpCommit && p.Phase == fault.Before {
			if commits++; commits == 2 {
				return hold()
			}
		}
		return fault.Continue
	}
}

// One instance's first commit with rows is on its way. Before it arrives, another one commits all the same records. The first
// one's next attempt must find that there is nothing left to do.
func TestAnotherInstanceBetweenTwoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(24) // so few batches that the one which was overtaken doesn't give way
		meanwhile(t, w, atTheFirstRows, func() {
			// Else the other one adopts the entry, and its commit is the first one's own.
			if err := w.RemoveWAL(); err != nil {
				t.Error(err)
			}
			plan := fault.New(nil)
			if err := w.Live(t, w.Config(plan), plan); err != nil {
				t.Errorf("the other instance gave %v", err)
			}
		})
		w.Check(t)
	})
}

// While the first commit with rows is on its way nothing is acknowledged, however long it takes.
func TestAcksFollowTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(60)
		acked := func() (n int64) {
			for _, b := range w.Log.Bounds() {
				n += int64(w.Log.Acked(b.Partition))
			}
			return n
		}
		meanwhile(t, w, atTheFirstRows, func() {
			synctest.Wait()
			if n := acked(); n != 0 {
				t.Errorf("%d positions are acknowledged, and the table holds none", n)
			}
		})
		w.Check(t)
		if acked() == 0 {
			t.Error("nothing is acknowledged, and the table holds it all")
		}
	})
}
