package harness_test

import (
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// TestCrashWhileSnapshotsExpire follows a table whose snapshots leave it almost as soon as they can, through lives that end at
// any step of it: what is gone is missed by nobody.
func TestCrashWhileSnapshotsExpire(t *testing.T) {
	v := variant{tasks: 1}
	expiring := func(t *testing.T) *harness.World {
		return harness.New(t, harness.Shape{Partitions: 2, Properties: iceberg.Properties{
			table.MaxSnapshotAgeMsKey: "1", table.MinSnapshotsToKeepKey: "2",
		}})
	}
	live := func(t *testing.T, w *harness.World, plan *fault.Plan) error {
		cfg := v.apply(w.Config(plan))
		cfg.Committer.Interval, cfg.Committer.MaxDataFiles = time.Millisecond, 1 // many small commits
		cfg.Committer.ExpireEvery = 16
		return w.Live(t, cfg, plan)
	}
	// passing lets time pass between commits, and ends a life at step k.
	passing := func(k int) *fault.Plan {
		return fault.New(func(p fault.Point) fault.Action {
			if p.N == k {
				return fault.Crash
			}
			if p.Op == fault.OpCommit && p.Phase == fault.Before {
				passed := make(chan struct{})
				time.AfterFunc(2*time.Millisecond, func() { close(passed) })
				return fault.Wait(passed)
			}
			return fault.Continue
		})
	}
	var steps int
	bubble(t, func(t *testing.T) {
		w := expiring(t)
		w.Produce(400)
		plan := passing(0)
		if err := live(t, w, plan); err != nil {
			t.Fatal(err)
		}
		steps = plan.N()
		w.Check(t)
		left := len(w.Catalog.Metadata().Snapshots())
		if w.Catalog.Commits() < 40 || left > 24 {
			t.Errorf("%d commits, %d snapshots are left: nothing has expired", w.Catalog.Commits(), left)
		}
		t.Logf("%d steps, %d commits, %d snapshots left", steps, w.Catalog.Commits(), left)
	})
	rnd, crashes := random(t), 2
	if *every {
		crashes = 60
	}
	for range crashes {
		k := 1 + rnd.IntN(steps)
		bubble(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("after a crash at step %d", k)
				}
			}()
			w := expiring(t)
			w.Produce(400)
			_ = live(t, w, passing(k))
			w.Produce(200)
			if err := live(t, w, passing(0)); err != nil {
				t.Fatal(err)
			}
			w.Check(t)
		})
		if t.Failed() {
			return
		}
	}
}
