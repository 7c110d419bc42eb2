package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// Config names a table.
type Config struct {
	// Catalog are the catalog's own keys. Name is what an SQL catalog calls itself; default "default".
	Catalog map[string]string
	Name    string
	// Table is namespace.table.
	Table string
	// Create says what the table is made from where it does not exist. Nil: it must exist.
	Create *Create
	// GroupBy are the columns that the writers group by. They and the table's schema are checked when the table is loaded
	// for the first time.
	GroupBy []string
	// Mapper must be able to fill the table's schema; nil is not checked.
	Mapper mapper.Factory
}

// Create is what a table is made from.
type Create struct {
	Columns []tableio.Column
	// Infer gives the columns in place of Columns, where those are not known beforehand. It is asked when the table turns out
	// to be missing, and its errors are given as they are: a *source.FatalError where asking again can't help.
	Infer       func(ctx context.Context) (*iceberg.Schema, error)
	PartitionBy []string
	Properties  map[string]string
}

// Table is a table that may not have been reached yet. All methods may be called from any goroutine. It is a
// committer.Loader.
type Table struct {
	cfg   Config
	ident table.Identifier
	def   tableio.Definition

	// turn is held by who opens the catalog or uses the fields below.
	turn   chan struct{}
	loader *tableio.Loader
	close  func() error
	made   bool
	// checked is set once Check was content.
	checked atomic.Bool
}

// New checks what can be checked without reaching for anything: the schema and the partitioning.
func New(cfg Config) (*Table, error) {
	t := &Table{cfg: cfg, ident: strings.Split(cfg.Table, "."), turn: make(chan struct{}, 1)}
	if c := cfg.Create; c != nil {
		t.def.Properties = maps.Clone(c.Properties)
		if c.Infer != nil {
			return t, nil
		}
		sc, err := tableio.ParseSchema(c.Columns)
		if err != nil {
			return nil, fmt.Errorf("table.create.schema: %w", err)
		}
		if err := t.define(sc); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Schema is what the table is made from, nil where it must exist, or Define was not content.
func (t *Table) Schema() *iceberg.Schema { return t.def.Schema }

// Load gives the table with the newest metadata, making it first where that is asked for.
func (t *Table) Load(ctx context.Context) (*table.Table, error) {
	loader, err := t.open(ctx)
	if err != nil {
		return nil, classify(t.cfg.Table, err)
	}
	tbl, err := loader.Load(ctx)
	if err != nil {
		return nil, classify(t.cfg.Table, err)
	}
	if !t.checked.Load() {
		if err := t.Check(tbl); err != nil {
			return nil, &source.FatalError{Err: err}
		}
		t.checked.Store(true)
	}
	return tbl, nil
}

// With gives a table that Load gave as it is, except that each of its commits also sends these requirements and updates.
func (t *Table) With(tbl *table.Table, reqs []table.Requirement, updates []table.Update) *table.Table {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	return t.loader.With(tbl, reqs, updates)
}

// Change sends a commit of its own with these requirements and updates. Load says what came of it.
func (t *Table) Change(ctx context.Context, reqs []table.Requirement, updates []table.Update) error {
	loader, err := t.open(ctx)
	if err == nil {
		err = loader.Change(ctx, reqs, updates)
	}
	return classify(t.cfg.Table, err)
}

// Check refuses a table that the writers can't write, that lacks a column of GroupBy, or that the mapper can't fill.
func (t *Table) Check(tbl *table.Table) error {
	wc := writer.Config{GroupBy: t.cfg.GroupBy}
	if err := wc.CheckTable(tbl); err != nil {
		return &tableError{"the table " + t.cfg.Table, err}
	}
	if t.cfg.Mapper == nil {
		return nil
	}
	schema, err := writer.MapperSchema(tbl.Schema())
	if err == nil {
		_, err = t.cfg.Mapper(schema)
	}
	if err != nil {
		return &tableError{"the schema of the table " + t.cfg.Table, err}
	}
	return nil
}

// CheckCreate refuses a table.create whose table could be made and not be written. It is called before the table is made;
// one that exists may be another.
func (t *Table) CheckCreate() error {
	if t.cfg.Create == nil {
		return nil
	}
	tbl, err := t.def.Preview(t.ident)
	if err == nil {
		err = t.Check(tbl)
	}
	if err == nil {
		return nil
	}
	var of *tableError
	if errors.As(err, &of) {
		err = of.err
	}
	return &createError{&tableError{"table.create makes a table that floe can't write", err}}
}

// tableError says what is wrong with a table, without the name of the package that has found it.
type tableError struct {
	what string
	err  error
}

func (e *tableError) Error() string {
	return e.what + ": " + strings.TrimPrefix(e.err.Error(), "writer: ")
}
func (e *tableError) Unwrap() error { return e.err }

// createError is a configuration whose table.create is wrong.
type createError struct{ err error }

func (e *createError) Error() string { return e.err.Error() }
func (e *createError) Unwrap() error { return e.err }

// Made says that this Table's Load made the table.
func (t *Table) Made() bool {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	return t.made
}

// open opens the catalog and makes the table, once.
func (t *Table) open(ctx context.Context) (*tableio.Loader, error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.turn }()
	if t.loader != nil {
		return t.loader, nil
	}
	cat, closeCatalog, err := catalogs.Open(ctx, t.cfg.Name, t.cfg.Catalog)
	if err != nil {
		return nil, err
	}
	if t.cfg.Create != nil {
		if _, err := cat.LoadTable(ctx, t.ident); err != nil && IsMissing(err) {
			err := t.infer(ctx)
			if err == nil {
				err = t.CheckCreate()
			}
			if err != nil {
				return nil, errors.Join(err, closeCatalog())
			}
		}
		made, err := tableio.Ensure(ctx, cat, t.ident, t.def)
		if err != nil {
			return nil, errors.Join(err, closeCatalog())
		}
		t.made = made
	}
	t.loader, t.close = tableio.New(cat, t.ident), closeCatalog
	return t.loader, nil
}

// Close closes the catalog. No table of it may be in use any more.
func (t *Table) Close() error {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	if t.close == nil {
		return nil
	}
	err := t.close()
	t.loader, t.close = nil, nil
	return err
}

// classify makes what waiting can't mend a *source.FatalError, and says what to do.
func classify(name string, err error) error {
	if err == nil {
		return nil
	}
	text := strings.ToLower(err.Error())
	switch {
	case ConfigError(err) != nil:
	case errors.As(err, new(*inferError)):
		return err
	case IsMissing(err):
		err = missing(name, err)
	case strings.Contains(text, "file is not a database"):
		err = fmt.Errorf("%w; write the path of another file as catalog.uri, floe makes it", err)
	case strings.Contains(text, "decoding json payload"), strings.Contains(text, "failed to decode error response"):
		// It may pass: a proxy whose catalog is starting.
		return fmt.Errorf("%w; what answers there does not speak as an Iceberg REST catalog: correct catalog.uri, or see to what "+
			"stands in front of the catalog", err)
	case strings.Contains(text, "unable to open database file"), strings.Contains(text, "attempt to write a readonly database"):
		// It may pass: a volume that is not mounted yet.
		return fmt.Errorf("%w; see whether the user that floe runs as may write to that file and its folder, or write another "+
			"path as catalog.uri", err)
	case isRefusal(text):
		err = fmt.Errorf("the catalog refuses what floe asks for; correct the credentials among the catalog's keys, or its "+
			"permissions: %w", err)
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("the user that floe runs as may not use the catalog's or the table's files; change the permissions or "+
			"the path: %w", err)
	default:
		return err
	}
	return &source.FatalError{Err: err}
}

func missing(name string, err error) error {
	msg := fmt.Sprintf("the table %s does not exist in the catalog; correct table.name, make the table with another engine, "+
		"or write table.create and floe makes it", name)
	var file *noFileError
	if errors.As(err, &file) {
		msg += ": " + file.Error()
	}
	return &missingError{msg, err}
}

// missingError says it in floe's words alone; the catalog's own add nothing.
type missingError struct {
	msg string
	err error
}

func (e *missingError) Error() string { return e.msg }
func (e *missingError) Unwrap() error { return e.err }

// isRefusal tells a refused credential or a missing permission: REST's 401 and 403, Postgres's SQLSTATE.
func isRefusal(text string) bool {
	for _, sign := range []string{"unauthorized", "notauthorized", "forbidden", "authorization expired", "28p01", "28000", "42501",
		"access denied", "accessdenied", "invalidaccesskeyid", "signaturedoesnotmatch"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// Linked says which catalogs and storage schemes are in this binary.
func Linked() (types, schemes []string) {
	types = []string{"sqlite", "postgres", "sql"}
	for _, t := range catalog.GetRegisteredCatalogs() {
		if t == "rest" || t == "hive" || t == "glue" {
			types = append(types, t)
		}
	}
	for _, s := range iceio.GetRegisteredSchemes() {
		if s != "" {
			schemes = append(schemes, s)
		}
	}
	slices.Sort(types)
	slices.Sort(schemes)
	return types, schemes
}

// IsMissing says that the table, its namespace or its catalog's file does not exist.
func IsMissing(err error) bool {
	return errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace)
}

// ConfigError gives what is wrong with the configuration, one of the catalog's keys or table.create, where that is what
// err is about, or nil.
func ConfigError(err error) error {
	var cfg *catalogs.ConfigError
	if errors.As(err, &cfg) {
		return cfg
	}
	var create *createError
	if errors.As(err, &create) {
		return create
	}
	return nil
}
