package catalogs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

func open(t *testing.T, props map[string]string) catalog.Catalog {
	t.Helper()
	cat, closeCatalog, err := Open(t.Context(), "floe", props)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := closeCatalog(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return cat
}

func makeTable(t *testing.T, cat catalog.Catalog, name string) *table.Table {
	t.Helper()
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "long", Required: true}})
	if err != nil {
		t.Fatal(err)
	}
	ident := table.Identifier{"db", name}
	if _, err := tableio.Ensure(t.Context(), cat, ident, tableio.Definition{Schema: sc}); err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	tbl, err := tableio.New(cat, ident).Load(t.Context())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return tbl
}

func TestSQLiteCatalogKeepsItsTables(t *testing.T) {
	warehouse := t.TempDir()
	for _, name := range []string{"catalog.db", "with space.db", "per%20cent?.db", "hash#1.db", "a'b\"c.db", "ünï.db"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			props := map[string]string{"type": "sqlite", "uri": filepath.Join(dir, name), "warehouse": filepath.Join(warehouse, strconv.Itoa(len(name)))}
			made := makeTable(t, open(t, props), "orders")
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Fatalf("the database is not where the uri says: %v", err)
			}
			again, err := tableio.New(open(t, props), made.Identifier()).Load(t.Context())
			if err != nil || again.Metadata().TableUUID() != made.Metadata().TableUUID() {
				t.Fatalf("loaded %v, %v", again, err)
			}
		})
	}
}

func TestSQLiteURIForms(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	abs := filepath.Join(dir, "c.db")
	for uri, want := range map[string]string{
		"c.db":                     abs,
		abs:                        abs,
		"sqlite:///" + abs:         abs,
		"sqlite:///c.db":           abs,
		"file:" + abs:              abs,
		"file://" + abs:            abs,
		"file:c.db":                abs,
		"file:///tmp/a%20b.db":     "/tmp/a b.db",
		"file:" + abs + "?mode=ro": abs,
	} {
		got, _, err := sqlitePath(uri)
		if err != nil || got != want {
			t.Errorf("sqlitePath(%q) = %q, %v; want %q", uri, got, err, want)
		}
	}
}

func TestSeveralOpenANewCatalogAtOnce(t *testing.T) {
	dir := t.TempDir()
	props := map[string]string{"type": "sqlite", "uri": filepath.Join(dir, "c.db"), "warehouse": dir}
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "long"}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var made [8]bool
	for i := range made {
		wg.Go(func() {
			cat, closeCatalog, err := Open(t.Context(), "floe", props)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer func() { _ = closeCatalog() }()
			made[i], err = tableio.Ensure(t.Context(), cat, table.Identifier{"a", "b", "t"}, tableio.Definition{Schema: sc})
			if err != nil {
				t.Errorf("Ensure: %v", err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, m := range made {
		if m {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of them say that they made the table, want 1", n)
	}
}

func TestRawSQLKeysAreTaken(t *testing.T) {
	dir := t.TempDir()
	makeTable(t, open(t, map[string]string{"type": "sql", "sql.driver": "sqlite", "sql.dialect": "sqlite",
		"uri": "file:" + filepath.Join(dir, "c.db"), "warehouse": dir}), "t")
}

func TestWrongConfigurationNamesTheKeyAndTheRemedy(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		props map[string]string
		key   string
		want  string
	}{
		"nothing":            {nil, "type", "write type: rest, sqlite, postgres, sql, hive or glue"},
		"unknown type":       {map[string]string{"type": "unity"}, "type", `"unity"`},
		"sqlite without uri": {map[string]string{"type": "sqlite"}, "uri", "catalog.db"},
		"sqlite in memory":   {map[string]string{"type": "sqlite", "uri": ":memory:"}, "uri", "restart"},
		"missing directory":  {map[string]string{"type": "sqlite", "uri": dir + "/no/c.db"}, "uri", "make the directory"},
		"sql without driver": {map[string]string{"type": "sql", "uri": "x"}, "sql.driver", "sqlite or pg"},
		"sql unknown driver": {map[string]string{"type": "sql", "sql.driver": "mysql9"}, "sql.driver", "sqlite"},
		"sql no dialect":     {map[string]string{"type": "sql", "sql.driver": "pg"}, "sql.dialect", "postgres"},
		"postgres no uri":    {map[string]string{"type": "postgres"}, "uri", "postgres://"},
		"postgres no db":     {map[string]string{"type": "postgres", "uri": "postgres://h"}, "uri", "names no database"},
		"rest without uri":   {map[string]string{"type": "rest"}, "", ""},
		"odd warehouse":      {map[string]string{"type": "sqlite", "uri": dir + "/c.db", "warehouse": dir + "/a b"}, "warehouse", "plain letters"},
		"odd for postgres":   {map[string]string{"type": "postgres", "uri": "postgres://h/db", "warehouse": dir + "/100%"}, "warehouse", "plain letters"},
		"odd for sql": {map[string]string{"type": "sql", "sql.driver": "sqlite", "sql.dialect": "sqlite",
			"uri": "file:" + dir + "/c.db", "warehouse": dir + "/größe"}, "warehouse", "plain letters"},
		"odd and relative":  {map[string]string{"type": "postgres", "uri": "postgres://h/db", "warehouse": "a b"}, "warehouse", "plain letters"},
		"strange warehouse": {map[string]string{"type": "sqlite", "uri": dir + "/c.db", "warehouse": "ftp://x/y"}, "warehouse", "s3://"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Open(t.Context(), "floe", c.props)
			var ce *ConfigError
			if !errors.As(err, &ce) {
				t.Fatalf("got %v, want a ConfigError", err)
			}
			if c.key != "" && (ce.Key != c.key || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %q, want key %s and %q", err, c.key, c.want)
			}
		})
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	for name, props := range map[string]map[string]string{
		"password":         {"type": "postgres", "uri": "postgres://app:hunter2@127.0.0.1:1/db?sslmode=disable"},
		"escaped password": {"type": "postgres", "uri": "postgres://app:hunter2%2F@127.0.0.1:1/db"},
		"broken address":   {"type": "postgres", "uri": "postgres://app:hunter2%zz@127.0.0.1:1/db"},
		"raw":              {"type": "sql", "sql.driver": "pg", "sql.dialect": "postgres", "uri": "unix2://app:hunter2@h"},
		"token":            {"type": "rest", "uri": "http://127.0.0.1:1/hunter2", "token": "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Open(t.Context(), "floe", props)
			if err == nil {
				t.Fatal("there is no such catalog")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error gives the secret away: %v", err)
			}
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := Open(ctx, "floe", map[string]string{"type": "sqlite", "uri": filepath.Join(t.TempDir(), "c.db")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestKindIsToldFromTheAddress(t *testing.T) {
	for uri, want := range map[string]string{"http://h": "rest", "https://h": "rest", "postgres://h/d": "postgres",
		"sqlite:///c.db": "sqlite", "file:c.db": "sqlite", "c.db": "", "": ""} {
		if got := kindOf(map[string]string{"uri": uri}); got != want {
			t.Errorf("kindOf(%q) = %q, want %q", uri, got, want)
		}
	}
}
