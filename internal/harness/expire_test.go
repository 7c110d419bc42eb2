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
	manyCommits{
		props:  iceberg.Properties{table.MaxSnapshotAgeMsKey: "1", table.MinSnapshotsToKeepKey: "2"},
		expire: 16,
		plan: func(k int) *fault.Plan { // time passes between commits
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
		},
		look: func(t *testing.T, w *harness.World) {
			left := len(w.Catalog.Metadata().Snapshots())
			if left > 24 {
				t.Errorf("%d snapshots are left: nothing has expired", left)
			}
			t.Logf("%d snapshots left", left)
		},
		crashes: 2,
	}.crash(t)
}
