package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/tableio"
)

// Look loads the table without making anything, neither the table nor an SQL catalog's own tables. A table that does not
// exist is an error that is catalog.ErrNoSuchTable.
func (t *Table) Look(ctx context.Context) (tbl *table.Table, err error) {
	keys := maps.Clone(t.cfg.Catalog)
	if keys == nil {
		keys = map[string]string{}
	}
	keys["init_catalog_tables"] = "false"
	if err := sqliteMissing(keys); err != nil {
		return nil, classify(t.cfg.Table, err)
	}
	cat, closeCatalog, err := catalogs.Open(ctx, t.cfg.Name, keys)
	if err != nil {
		return nil, classify(t.cfg.Table, err)
	}
	defer func() { err = errors.Join(err, closeCatalog()) }()
	tbl, err = tableio.New(cat, t.ident).Load(ctx)
	if err != nil && noTables(err) {
		err = fmt.Errorf("%w: %s: the catalog is empty", catalog.ErrNoSuchTable, t.cfg.Table)
	}
	return tbl, classify(t.cfg.Table, err)
}

// ReadOnly is the table as a committer.Loader that makes nothing: each Load is a Look.
func (t *Table) ReadOnly() ReadOnly { return ReadOnly{t} }

// ReadOnly looks at a table.
type ReadOnly struct{ t *Table }

// Load is Look.
func (r ReadOnly) Load(ctx context.Context) (*table.Table, error) { return r.t.Look(ctx) }

// sqliteMissing refuses a catalog that is an SQLite file which does not exist: opening it would make it.
func sqliteMissing(keys map[string]string) error {
	uri := keys["uri"]
	if kind := strings.ToLower(keys["type"]); kind != "sqlite" && (kind != "" || !strings.HasPrefix(uri, "sqlite:")) || uri == "" {
		return nil
	}
	path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(uri, "sqlite:"), "///"), "file:")
	path, _, _ = strings.Cut(path, "?")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return &noFileError{path}
	}
	return nil
}

// noFileError is an SQLite catalog that does not exist, and so no table of it.
type noFileError struct{ path string }

func (e *noFileError) Error() string { return "the catalog's file " + e.path + " does not exist yet" }
func (e *noFileError) Unwrap() error { return catalog.ErrNoSuchTable }

// noTables says that an SQL catalog's own tables are missing: nothing was ever put into it.
func noTables(err error) bool {
	text := err.Error()
	return strings.Contains(text, "no such table: iceberg_") || // SQLite
		strings.Contains(text, "42P01") // Postgres
}
