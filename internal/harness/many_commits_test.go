package harness_test

import (
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// manyCommits is a table that gets many small commits, so that what happens at one of them now and then happens.
type manyCommits struct {
	by    []string
	props iceberg.Properties
	// expire is the committer's ExpireEvery.
	expire int
	// plan makes a life's plan, which ends it at step k; 0 is none.
	plan func(k int) *fault.Plan
	// look fails where that did not happen in a life without a crash.
	look func(t *testing.T, w *harness.World)
	// crashes are how many lives are ended, without -every.
	crashes int
}

func (m manyCommits) world(t *testing.T) *harness.World {
	return harness.New(t, harness.Shape{Partitions: 2, PartitionBy: m.by, Properties: m.props})
}

func (m manyCommits) live(t *testing.T, w *harness.World, plan *fault.Plan) error {
	cfg := variant{tasks: 1, by: m.by}.apply(w.Config(plan))
	cfg.Committer.Interval, cfg.Committer.MaxDataFiles = time.Millisecond, 1
	cfg.Committer.ExpireEvery = m.expire
	return w.Live(t, cfg, plan)
}

// crash runs a life without one, and others that end somewhere on its way, each with one behind it.
func (m manyCommits) crash(t *testing.T) {
	var steps int
	bubble(t, func(t *testing.T) {
		w := m.world(t)
		w.Produce(400)
		plan := m.plan(0)
		if err := m.live(t, w, plan); err != nil {
			t.Fatal(err)
		}
		steps = plan.N()
		w.Check(t)
		if n := w.Catalog.Commits(); n < 40 {
			t.Errorf("%d commits", n)
		}
		m.look(t, w)
		t.Logf("%d steps, %d commits", steps, w.Catalog.Commits())
	})
	rnd, crashes := random(t), m.crashes
	if *every {
		crashes = 60
	}
	for range crashes {
		k := 1 + rnd.IntN(steps)
		bubble(t, func(t *testing.T) {
			defer func() { // a failed bubble ends its parent, too
				if t.Failed() {
					t.Logf("after a crash at step %d", k)
				}
			}()
			w := m.world(t)
			w.Produce(400)
			_ = m.live(t, w, m.plan(k))
			w.Produce(200)
			if err := m.live(t, w, m.plan(0)); err != nil {
				t.Fatal(err)
			}
			w.Check(t)
		})
	}
}
