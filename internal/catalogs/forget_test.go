package catalogs

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/internal/tableio"
)

// TestOlderMetadataIsForgotten: a process that commits for weeks must not hold every metadata that ever was, by a pointer from
// the newest into the one before.
func TestOlderMetadataIsForgotten(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		k := keep(t, t.TempDir())
		ident := ensure(t, k, version)
		l := tableio.New(k, ident)
		const commits = 12
		freed := make(chan int, commits)
		for n := range commits {
			tbl, err := l.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			runtime.SetFinalizer(tbl.Metadata(), func(any) { freed <- n })
			path := fmt.Sprintf("%s/data/%d.parquet", tbl.Location(), n)
			f, err := iceberg.NewDataFileBuilder(tbl.Spec(), iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, 4, 4)
			if err != nil {
				t.Fatal(err)
			}
			tx := tbl.NewTransaction()
			if err := tx.NewRowDelta(nil).AddRows(f.Build()).Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for n := range commits - 2 {
			runtime.GC()
			select {
			case <-freed:
			case <-time.After(10 * time.Second):
				t.Fatalf("format version %s: %d of %d were freed", version, n, commits)
			}
		}
		runtime.KeepAlive(k)
	}
}
