package tableio_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
)

func openCatalog(t *testing.T, withWarehouse bool) catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	props := map[string]string{"type": "sqlite", "uri": filepath.Join(dir, "c.db")}
	if withWarehouse {
		props["warehouse"] = filepath.Join(dir, "wh")
	}
	cat, closeCatalog, err := catalogs.Open(context.Background(), "floe", props)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeCatalog() })
	return cat
}

func definition(t *testing.T, typ string) tableio.Definition {
	t.Helper()
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: typ}, {Name: "at", Type: "timestamptz"}})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := tableio.ParsePartition(sc, []string{"day(at)"})
	if err != nil {
		t.Fatal(err)
	}
	return tableio.Definition{Schema: sc, Spec: spec, Properties: iceberg.Properties{"k": "v"}}
}

func TestEnsureMakesTheTableOnce(t *testing.T) {
	cat := openCatalog(t, true)
	ident := table.Identifier{"a", "b", "t"}
	for _, want := range []bool{true, false} {
		made, err := tableio.Ensure(t.Context(), cat, ident, definition(t, "long"))
		if err != nil || made != want {
			t.Fatalf("made %v, %v; want %v", made, err, want)
		}
	}
	tbl, err := tableio.New(cat, ident).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := tbl.Properties(); got[table.ManifestMergeEnabledKey] != "true" || got["k"] != "v" {
		t.Errorf("properties %v", got)
	}
	spec := tbl.Spec()
	if tbl.Metadata().Version() != 2 || tbl.Properties()["k"] != "v" || spec.Field(0).Name != "at_day" {
		t.Errorf("got version %d, %v, %v", tbl.Metadata().Version(), tbl.Properties(), spec)
	}
}

func TestATableWhoseCreationLostItsAnswerIsTaken(t *testing.T) {
	for _, op := range []fault.Op{fault.OpCreateTable, fault.OpNamespace} {
		p := fault.New(fault.On(op, fault.After, 1, fault.Fail(errors.New("503"))))
		cat := fault.WrapCatalog(openCatalog(t, true), p)
		if _, err := tableio.Ensure(t.Context(), cat, table.Identifier{"a", "t"}, definition(t, "long")); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}

func TestEnsureSaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		ident     table.Identifier
		def       tableio.Definition
		warehouse bool
		want      string
	}{
		"namespace": {table.Identifier{"t"}, definition(t, "long"), true, "namespace.table"},
		"schema":    {table.Identifier{"a", "t"}, tableio.Definition{}, true, "table.create.schema"},
		"version 1": {table.Identifier{"a", "t"}, tableio.Definition{Schema: definition(t, "long").Schema,
			Properties: iceberg.Properties{"format-version": "1"}}, true, "version 2 or 3"},
		"version 3": {table.Identifier{"a", "t"}, definition(t, "list<timestamp_ns>"), true, "column id.element"},
		"warehouse": {table.Identifier{"a", "t"}, definition(t, "long"), false, "catalog.warehouse"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tableio.Ensure(t.Context(), openCatalog(t, c.warehouse), c.ident, c.def)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestNanosecondsAreMadeInVersion3(t *testing.T) {
	cat := openCatalog(t, true)
	def := definition(t, "timestamp_ns")
	def.Properties["format-version"] = "3"
	if _, err := tableio.Ensure(t.Context(), cat, table.Identifier{"a", "t"}, def); err != nil {
		t.Error(err)
	}
}
