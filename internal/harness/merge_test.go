package harness_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// TestCrashWhileManifestsAreMerged follows a table whose manifests are merged, through lives that end at any step of it: a
// merged manifest names what earlier commits added, and none of it may be taken for the commit's own, or be forgotten.
func TestCrashWhileManifestsAreMerged(t *testing.T) {
	manyCommits{
		by:    []string{"part"},
		props: iceberg.Properties{table.ManifestMergeEnabledKey: "true", table.ManifestMinMergeCountKey: "4"},
		plan: func(k int) *fault.Plan {
			return fault.New(func(p fault.Point) fault.Action {
				if p.N == k {
					return fault.Crash
				}
				return fault.Continue
			})
		},
		look: func(t *testing.T, w *harness.World) {
			fewest, most := w.Manifests(t)
			if fewest > 16 || most > 32 {
				t.Errorf("from %d to %d manifests in the later commits: nothing was merged", fewest, most)
			}
			t.Logf("%d to %d manifests", fewest, most)
		},
		crashes: 1,
	}.crash(t)
}
