package harness_test

import (
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// TestCrashWhileManifestsAreMerged follows a table whose manifests are merged, through lives that end at any step of it: a
// merged manifest names what earlier commits added, and none of it may be taken for the commit's own, or be forgotten.
func TestCrashWhileManifestsAreMerged(t *testing.T) {
	v := variant{tasks: 1, by: []string{"part"}}
	merging := func(t *testing.T) *harness.World {
		return harness.New(t, harness.Shape{Partitions: 2, PartitionBy: v.by, Properties: iceberg.Properties{
			table.ManifestMergeEnabledKey: "true", table.ManifestMinMergeCountKey: "4",
		}})
	}
	live := func(t *testing.T, w *harness.World, plan *fault.Plan) error {
		cfg := v.apply(w.Config(plan))
		cfg.Committer.Interval, cfg.Committer.MaxDataFiles = time.Millisecond, 1 // many small commits
		return w.Live(t, cfg, plan)
	}
	var steps int
	bubble(t, func(t *testing.T) {
		w := merging(t)
		w.Produce(400)
		plan := fault.New(nil)
		if err := live(t, w, plan); err != nil {
			t.Fatal(err)
		}
		steps = plan.N()
		w.Check(t)
		fewest, most := w.Manifests(t)
		if w.Catalog.Commits() < 40 || fewest > 16 || most > 32 {
			t.Errorf("%d commits, from %d to %d manifests in the later ones: nothing was merged", w.Catalog.Commits(), fewest, most)
		}
		t.Logf("%d steps, %d commits, %d to %d manifests", steps, w.Catalog.Commits(), fewest, most)
	})
	rnd, crashes := random(t), 1
	if *every {
		crashes = 60
	}
	for range crashes {
		k := 1 + rnd.IntN(steps)
		bubble(t, func(t *testing.T) {
			w := merging(t)
			w.Produce(400)
			plan := fault.New(func(p fault.Point) fault.Action {
				if p.N == k {
					return fault.Crash
				}
				return fault.Continue
			})
			_ = live(t, w, plan)
			w.Produce(200)
			if err := live(t, w, fault.New(nil)); err != nil {
				t.Fatal(err)
			}
			w.Check(t)
		})
		if t.Failed() {
			t.Fatalf("after a crash at step %d", k)
		}
	}
}
