package catalogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/tableio"
)

// ConfigError says which key of the catalog's configuration is wrong and what to write.
type ConfigError struct {
	// Key is the catalog's key, "type".
	Key string
	// Problem is what is wrong with it, Hint what to write.
	Problem, Hint string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("catalog.%s %s; %s", e.Key, e.Problem, e.Hint)
}

const typeHint = "write type: rest, sqlite, postgres, sql, hive or glue"

// Open opens the catalog that the properties describe. name is what the catalog calls itself: an SQL catalog keeps the
// tables of several catalogs apart by it, so readers must use the same; "default" where it is empty. Whoever opened it
// calls closeCatalog once, when no table of it is in use any more.
//
// Errors: *ConfigError for a key that is missing or wrong; anything else is the catalog's answer, or that there was none.
// No error holds a secret.
func Open(ctx context.Context, name string, props map[string]string) (cat catalog.Catalog, closeCatalog func() error, err error) {
	tableio.UseDurableFiles()
	if name == "" {
		name = "default"
	}
	p := iceberg.Properties(maps.Clone(props))
	if p == nil {
		p = iceberg.Properties{}
	}
	kind := kindOf(p)
	p["type"] = kind
	if err := checkWarehouse(p); err != nil {
		return nil, nil, err
	}
	switch kind {
	case "":
		return nil, nil, &ConfigError{"type", "is missing", typeHint}
	case "sqlite":
		cat, closeCatalog, err = openSQLite(ctx, name, p)
	case "postgres":
		cat, closeCatalog, err = openPostgres(ctx, name, p)
	case "sql":
		cat, closeCatalog, err = openSQL(ctx, name, p)
	case "rest":
		cat, closeCatalog, err = openREST(ctx, name, p)
	case "hive":
		cat, closeCatalog, err = openHive(ctx, name, p)
	default:
		cat, closeCatalog, err = openOther(ctx, name, p)
	}
	if err != nil {
		return nil, nil, redact(err, p)
	}
	return cat, closeCatalog, nil
}

// kindOf is the catalog's type, told from the address where the user gave none.
func kindOf(p iceberg.Properties) string {
	kind := strings.ToLower(strings.TrimSpace(p["type"]))
	switch kind {
	case "":
	case "postgresql", "pg":
		return "postgres"
	case "http", "https":
		return "rest"
	default:
		return kind
	}
	scheme, _, _ := strings.Cut(p["uri"], ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		return "rest"
	case "postgres", "postgresql":
		return "postgres"
	case "sqlite", "file":
		return "sqlite"
	}
	return ""
}

// checkWarehouse refuses at the start what would fail only when the first table is made.
func checkWarehouse(p iceberg.Properties) error {
	scheme, _, ok := strings.Cut(p["warehouse"], "://")
	if !ok || p["type"] == "rest" {
		return nil // a REST catalog's warehouse is a name of the server's
	}
	if slices.Contains(iceio.GetRegisteredSchemes(), scheme) {
		return nil
	}
	return &ConfigError{"warehouse", fmt.Sprintf("has the scheme %q", scheme), tableio.SchemeHint(scheme)}
}

// tagHint says how a floe is had that has everything linked in.
const tagHint = "build it with `go build -tags cloud ./cmd/floe`, or take a ready-made binary, which has it"

// openOther opens a catalog type that is registered with iceberg-go, by cloud.go or by whoever embeds floe.
func openOther(ctx context.Context, name string, p iceberg.Properties) (catalog.Catalog, func() error, error) {
	kind, linked := p["type"], slices.Contains(catalog.GetRegisteredCatalogs(), p["type"])
	switch {
	case linked:
	case kind == "glue":
		return nil, nil, &ConfigError{"type", "is " + kind + ", which this floe is built without", tagHint}
	default:
		return nil, nil, &ConfigError{"type", fmt.Sprintf("is %q, which this floe does not know", kind), typeHint}
	}
	cat, err := catalog.Load(ctx, name, p)
	if err != nil {
		return nil, nil, fmt.Errorf("open the %s catalog: %w", p["type"], err)
	}
	return cat, closer(cat), nil
}

func closer(cat catalog.Catalog) func() error {
	if c, ok := cat.(catalog.Closer); ok {
		return c.Close
	}
	return func() error { return nil }
}

// notReached says that the catalog did not answer, and keeps the reason.
func notReached(kind, where string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the %s catalog at %s can't be opened: %w", kind, where, err)
}
