package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(dir string) Config {
	return Config{
		Catalog: map[string]string{"type": "sqlite", "uri": filepath.Join(dir, "catalog.db"), "warehouse": filepath.Join(dir, "warehouse")},
		Table:   "db.orders",
		Create: &Create{
			Columns:     []tableio.Column{{Name: "id", Type: "long", Required: true}, {Name: "region", Type: "string"}},
			PartitionBy: []string{"region"},
			Properties:  map[string]string{"write.target-file-size-bytes": "1048576"},
		},
		Mapper: mapper.NewJSON(mapper.JSONOptions{}),
	}
}

func open(t *testing.T, cfg Config) *Table {
	t.Helper()
	tbl, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tbl.Close(); err != nil {
			t.Error(err)
		}
	})
	return tbl
}

func TestLoadMakesTheTableOnce(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, config(dir)), open(t, config(dir))
	a, err := first.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !first.Made() || second.Made() || a.Metadata().TableUUID() != b.Metadata().TableUUID() {
		t.Errorf("made %v and %v, %s and %s", first.Made(), second.Made(), a.Metadata().TableUUID(), b.Metadata().TableUUID())
	}
	if got := b.Properties()["write.target-file-size-bytes"]; got != "1048576" {
		t.Errorf("property %q", got)
	}
}

func TestLookMakesNothing(t *testing.T) {
	dir := t.TempDir()
	tbl := open(t, config(dir))
	if _, err := tbl.Look(context.Background()); !IsMissing(err) || !strings.Contains(err.Error(), "does not exist yet") {
		t.Errorf("no catalog file: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
	// An empty database has none of the catalog's own tables.
	if err := os.WriteFile(filepath.Join(dir, "catalog.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.ReadOnly().Load(context.Background()); !IsMissing(err) {
		t.Errorf("an empty catalog: %v", err)
	}
	if _, err := tbl.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	found, err := tbl.Look(context.Background())
	if err != nil || found.Location() == "" {
		t.Errorf("the table that is there: %v", err)
	}
}

func TestWhatWaitingCantMendIsFatal(t *testing.T) {
	must := config(t.TempDir())
	must.Create = nil
	wrongKey := config(t.TempDir())
	wrongKey.Catalog["type"] = "hive"
	group := config(t.TempDir())
	group.GroupBy = []string{"nope"}
	filler := config(t.TempDir())
	filler.Mapper = func(*mapper.Schema) (mapper.Mapper, error) { return nil, errors.New("can't be filled") }
	for name, cfg := range map[string]Config{"no table": must, "wrong key": wrongKey, "group by": group, "mapper": filler} {
		_, err := open(t, cfg).Load(context.Background())
		var fatal *source.FatalError
		if !errors.As(err, &fatal) {
			t.Errorf("%s: %v is not final", name, err)
		}
		// What is made from the configuration is wrong with it, before anything is made.
		if (name != "no table") != (ConfigError(err) != nil) || (name == "no table") != IsMissing(err) {
			t.Errorf("%s: %v is told apart wrongly", name, err)
		}
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		err   error
		fatal bool
		want  string
	}{
		{errors.New("connect: connection refused"), false, ""},
		{errors.New("REST error: forbidden"), true, "correct the credentials"},
		{errors.New("NotAuthorizedException: bad token"), true, "correct the credentials"},
		{errors.New("REST error: error decoding json payload: invalid character '<'"), false, "correct catalog.uri"},
		{errors.New("file is not a database (26)"), true, "write the path of another file"},
		{errors.New("unable to open database file (14)"), false, "write another path"},
		{errors.New("FATAL: password authentication failed for user \"u\" (SQLSTATE=28P01)"), true, "correct the credentials"},
		{fmt.Errorf("write metadata: %w", os.ErrPermission), true, "change the permissions"},
		{&catalogs.ConfigError{Key: "uri", Problem: "is missing", Hint: "write it"}, true, "catalog.uri is missing"},
	} {
		err := classify("db.orders", c.err)
		var fatal *source.FatalError
		if errors.As(err, &fatal) != c.fatal || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.err) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
}

func TestDefinitionsAreCheckedBeforeAnythingIsReached(t *testing.T) {
	for want, create := range map[string]*Create{
		"table.create.schema":       {Columns: []tableio.Column{{Name: "id", Type: "lung"}}},
		"table.create.partition_by": {Columns: []tableio.Column{{Name: "id", Type: "long"}}, PartitionBy: []string{"day(id)"}},
	} {
		if _, err := New(Config{Table: "db.t", Create: create}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestDDL(t *testing.T) {
	want := `CREATE TABLE db.orders (
  id long NOT NULL,
  region string
)
PARTITIONED BY (region)
TBLPROPERTIES ('write.target-file-size-bytes' = '1048576')`
	if got := open(t, config(t.TempDir())).DDL(); got != want {
		t.Errorf("got %s", got)
	}
	if got := open(t, Config{Table: "db.orders"}).DDL(); got != "" {
		t.Errorf("a table that must exist: %s", got)
	}
}

func TestLoadAgainAfterTheCatalogCameBack(t *testing.T) {
	dir := t.TempDir()
	cfg := config(filepath.Join(dir, "later"))
	tbl := open(t, cfg)
	if _, err := tbl.Load(context.Background()); err == nil {
		t.Fatal("there is no folder yet")
	}
	if err := os.Mkdir(filepath.Join(dir, "later"), 0o755); err != nil {
		t.Fatal(err)
	}
	var loaded *table.Table
	loaded, err := tbl.Load(context.Background())
	if err != nil || loaded == nil {
		t.Fatal(err)
	}
}
