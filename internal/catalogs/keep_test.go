package catalogs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

func keep(t *testing.T, dir string) *keeping {
	t.Helper()
	return open(t, map[string]string{"type": "sqlite", "uri": filepath.Join(dir, "catalog.db"), "warehouse": dir}).(*keeping)
}

func ensure(t *testing.T, cat catalog.Catalog, version string) table.Identifier {
	t.Helper()
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "long", Required: true}})
	if err != nil {
		t.Fatal(err)
	}
	ident := table.Identifier{"db", "v" + version}
	if _, err := tableio.Ensure(t.Context(), cat, ident, tableio.Definition{
		Schema: sc, Properties: iceberg.Properties{table.PropertyFormatVersion: version},
	}); err != nil {
		t.Fatal(err)
	}
	return ident
}

// change makes one change of any kind.
func change(t *testing.T, cat catalog.Catalog, ident table.Identifier, r *rand.Rand, n int) {
	t.Helper()
	tbl, err := cat.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.NewTransaction()
	all := tbl.Metadata().Snapshots()
	some := func() int64 { return all[r.IntN(len(all))].SnapshotID }
	var ups []table.Update
	switch k := r.IntN(10); {
	case k < 5 || len(all) < 2:
		props := iceberg.Properties{"nr": fmt.Sprint(n), "text": `<&> "snapshots":[ ü`}
		err = errors.Join(tx.AddFiles(t.Context(), nil, props, true), tx.SetProperties(iceberg.Properties{fmt.Sprint("p", r.IntN(3)): "<snapshots>"}))
	case k == 5:
		err = tx.SetProperties(iceberg.Properties{"nr": fmt.Sprint(n)})
	case k == 6:
		ups = append(ups, table.NewSetSnapshotRefUpdate(fmt.Sprint("tag", r.IntN(3)), some(), table.TagRef, -1, -1, -1))
	case k == 7:
		ups = append(ups, table.NewSetSnapshotRefUpdate("main", some(), table.BranchRef, -1, -1, -1))
	default:
		refs := map[int64]bool{}
		for _, ref := range tbl.Metadata().Refs() {
			refs[ref.SnapshotID] = true
		}
		if id := some(); !refs[id] {
			ups = append(ups, table.NewRemoveSnapshotsUpdate([]int64{id}, false))
		}
	}
	if err == nil && ups == nil {
		_, err = tx.Commit(t.Context())
	} else if err == nil {
		_, _, err = cat.CommitTable(t.Context(), ident, nil, ups)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What is written must be what iceberg-go would have written, and what is loaded what iceberg-go loads, whoever commits.
func TestKeptMetadataIsWhatIcebergGoMakesOfIt(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		t.Run("v"+version, func(t *testing.T) {
			dir := t.TempDir()
			k, other := keep(t, dir), keep(t, dir)
			ident := ensure(t, k, version)
			r := rand.New(rand.NewPCG(1, 2))
			for n := range 60 {
				var who catalog.Catalog = k
				if r.IntN(4) == 0 {
					who = []catalog.Catalog{other, other.Catalog}[r.IntN(2)]
				}
				change(t, who, ident, r, n)
				agrees(t, k, ident)
			}
			if e := k.kept(ident); len(e.snapshots) == 0 {
				t.Error("no snapshot was kept")
			}
		})
	}
}

func agrees(t *testing.T, k *keeping, ident table.Identifier) {
	t.Helper()
	got, err := k.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	want, err := k.Catalog.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	if got.MetadataLocation() != want.MetadataLocation() || !got.Metadata().Equals(want.Metadata()) {
		t.Fatalf("loaded %s, iceberg-go loads %s", got.MetadataLocation(), want.MetadataLocation())
	}
	file, err := os.ReadFile(want.MetadataLocation())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(got.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed(t, file), parsed(t, whole)) {
		t.Fatalf("the file says\n%s\nand iceberg-go would have written\n%s", file, whole)
	}
	if bytes.Count(file, []byte(`"snapshot-log":`)) > 1 || bytes.Count(file, []byte(`,"snapshots":[{`)) > 1 {
		t.Fatalf("a field is there twice: %s", file)
	}
}

func parsed(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestACommitOnWhatAnotherHasMovedIsRefused(t *testing.T) {
	dir := t.TempDir()
	k, other := keep(t, dir), keep(t, dir)
	ident := ensure(t, k, "2")
	append1 := func(tbl *table.Table) error {
		tx := tbl.NewTransaction()
		if err := errors.Join(tx.AssertRefSnapshotID("main"), tx.AddFiles(t.Context(), nil, nil, true)); err != nil {
			t.Fatal(err)
		}
		_, err := tx.Commit(t.Context())
		return err
	}
	stale, err := k.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := other.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	if err := append1(fresh); err != nil {
		t.Fatal(err)
	}
	if err := append1(stale); err == nil {
		t.Error("a commit on a base that has moved was taken")
	}
	// The other one may also come in between the look and the swap.
	if err := k.swapTo(t.Context(), ident, stale.MetadataLocation(), "nowhere"); !errors.Is(err, table.ErrCommitFailed) {
		t.Errorf("swapped from a file that is not the table's any more: %v", err)
	}
	now, err := k.LoadTable(t.Context(), ident)
	if err != nil || len(now.Metadata().Snapshots()) != 1 {
		t.Fatalf("%v, %v", now, err)
	}
	if err := append1(now); err != nil {
		t.Error(err)
	}
	agrees(t, k, ident)
}

func TestATableThatWasMadeAgainIsNotTheOneThatWasKept(t *testing.T) {
	dir := t.TempDir()
	k, other := keep(t, dir), keep(t, dir)
	ident := ensure(t, k, "2")
	was, err := k.LoadTable(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.DropTable(t.Context(), ident); err != nil {
		t.Fatal(err)
	}
	if _, err := k.LoadTable(t.Context(), ident); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("a table that was dropped: %v", err)
	}
	ensure(t, other, "2")
	now, err := k.LoadTable(t.Context(), ident)
	if err != nil || now.Metadata().TableUUID() == was.Metadata().TableUUID() {
		t.Errorf("loaded %v, %v", now, err)
	}
}

func TestCompressedMetadataIsLeftToIcebergGo(t *testing.T) {
	k := keep(t, t.TempDir())
	ident := ensure(t, k, "2")
	set := func(codec string) {
		_, _, err := k.CommitTable(t.Context(), ident, nil, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{table.MetadataCompressionKey: codec})})
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := k.LoadTable(t.Context(), ident)
		if err != nil || tbl.Properties()[table.MetadataCompressionKey] != codec {
			t.Fatalf("%v, %v", tbl, err)
		}
	}
	set(table.MetadataCompressionCodecGzip)
	set(table.MetadataCompressionCodecNone)
	agrees(t, k, ident)
}

func TestPlacesAreNumberedForPostgres(t *testing.T) {
	if got := placed(icesql.Postgres, "a = ? AND b = ?"); got != "a = $1 AND b = $2" {
		t.Error(got)
	}
}
