package committer

import (
	"context"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

// What is planned is what Settle then does, in whatever order the entries join up.
func TestThePlanIsWhatAStartDoes(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	w.entryOf(log, 3*time.Minute, w.batch("a", rng(0, 5, 9)))
	w.entryOf(log, 2*time.Minute, w.batch("a", rng(0, 0, 5)))
	w.entryOf(log, time.Minute, w.batch("a", rng(1, 7, 9)))
	plans, err := r.PlanEntries(context.Background())
	w.must(err)
	fates := map[string]int{}
	for _, p := range plans {
		fates[p.Fate]++
		if len(p.Batches) != 1 || p.Batches[0] != p.Fate || p.Age < time.Minute {
			t.Errorf("got %+v", p)
		}
	}
	if fates[FateAdopt] != 2 || fates[FateLeave] != 1 || log.len() != 3 {
		t.Errorf("got %v, %d entries", fates, log.len())
	}
	if pos := r.settle(); pos.At[part(0)].Next != 9 || pos.At[part(1)].Next != 0 || log.len() != 1 {
		t.Errorf("positions %+v, %d entries", pos.At, log.len())
	}
}

func TestForgottenPartitionsBeginAnew(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10), rng(1, 0, 3))), Landed)
	pos, err := r.Forget(context.Background(), []source.Partition{part(0), part(7)})
	w.must(err)
	if _, there := pos.At[part(0)]; there || pos.At[part(1)].Next != 3 || !pos.Known {
		t.Errorf("got %+v", pos)
	}
	w.want(r.submit("w", 2, w.batch("a", rng(0, 10, 12))), Reread)
	pos, err = r.Begin(context.Background(), map[source.Partition]source.Position{part(0): 4})
	w.must(err)
	if got := pos.At[part(0)]; got.Next != 4 || got.Rows != 0 {
		t.Errorf("got %+v", got)
	}
	pos, err = r.Forget(context.Background(), []source.Partition{part(0), part(1)})
	w.must(err)
	if len(pos.At) != 0 {
		t.Errorf("got %+v", pos)
	}
}
