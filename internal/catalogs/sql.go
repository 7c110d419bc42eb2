package catalogs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/uptrace/bun/driver/pgdriver" // database/sql driver "pg"
	_ "modernc.org/sqlite"                     // database/sql driver "sqlite"
)

func openSQLite(ctx context.Context, name string, p iceberg.Properties) (catalog.Catalog, func() error, error) {
	path, query, err := sqlitePath(p["uri"])
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil, &ConfigError{"uri", fmt.Sprintf("lies in %s, which is not a directory", dir),
			"make the directory, or write another path"}
	}
	// Readers that know Iceberg's catalog tables in their second form (iceberg_type) and in the first one both read this.
	if p[icesql.SchemaVersionKey] == "" {
		p[icesql.SchemaVersionKey] = icesql.SchemaVersionV1
	}
	return openDatabase(ctx, name, "sqlite", sqliteDSN(path, query), icesql.SQLite, p, path)
}

// sqlitePath takes a file path, a file: URI, or the sqlite:/// form of SQLAlchemy and PyIceberg, and gives an absolute
// path.
func sqlitePath(uri string) (path string, query url.Values, err error) {
	const hint = "write the catalog's file, for example uri: catalog.db"
	path = strings.TrimSpace(uri)
	scheme, rest, _ := strings.Cut(path, ":")
	switch strings.ToLower(scheme) {
	case "sqlite":
		var q string
		path, q, _ = strings.Cut(strings.TrimPrefix(rest, "///"), "?")
		if query, err = url.ParseQuery(q); err != nil {
			return "", nil, &ConfigError{"uri", "has a query that can't be read", hint}
		}
	case "file":
		u, err := url.Parse(path)
		if err != nil || (u.Host != "" && u.Host != "localhost") {
			return "", nil, &ConfigError{"uri", "is not a file: URI of this machine", hint}
		}
		if path = u.Path; u.Opaque != "" {
			if path, err = url.PathUnescape(u.Opaque); err != nil {
				return "", nil, &ConfigError{"uri", "is not a file: URI that can be read", hint}
			}
		}
		query = u.Query()
	}
	switch {
	case path == "":
		return "", nil, &ConfigError{"uri", "is missing", hint}
	case path == ":memory:" || query.Get("mode") == "memory":
		return "", nil, &ConfigError{"uri", "names a database in memory, which would be empty after a restart", hint}
	case strings.HasSuffix(path, "/"):
		return "", nil, &ConfigError{"uri", "names a directory", hint}
	}
	path, err = filepath.Abs(path)
	return path, query, err
}

// sqliteDSN quotes the path as SQLite's URI form wants it, and sets what makes a database that processes share.
func sqliteDSN(path string, query url.Values) string {
	if query == nil {
		query = url.Values{}
	}
	pragmas := strings.ToLower(strings.Join(query["_pragma"], " "))
	if !strings.Contains(pragmas, "busy_timeout") {
		query.Add("_pragma", "busy_timeout(10000)")
	}
	if !strings.Contains(pragmas, "journal_mode") && query.Get("mode") != "ro" {
		query.Add("_pragma", "journal_mode(WAL)")
	}
	if !strings.Contains(pragmas, "synchronous") {
		query.Add("_pragma", "synchronous(FULL)")
	}
	if query.Get("_txlock") == "" {
		// A transaction that reads first and writes then can't wait for another writer: it fails at once. So take the
		// lock at its beginning.
		query.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

// localWarehouse makes a relative path absolute: it is written into the table's metadata, and other readers have another
// working directory.
func localWarehouse(w string) (string, error) {
	if w == "" || strings.Contains(w, "://") || strings.HasPrefix(w, "file:") {
		return w, nil
	}
	abs, err := filepath.Abs(w)
	if err != nil {
		return "", err
	}
	// iceberg-go takes the path for a URI and would make a folder of another name beside it, "my%20data" for "my data".
	if u, err := url.Parse(filepath.ToSlash(abs)); err != nil || u.String() != filepath.ToSlash(abs) {
		return "", &ConfigError{"warehouse", fmt.Sprintf("is %q, and Iceberg's clients do not agree on its special characters", abs),
			"choose a path of plain letters, digits and - _ . /"}
	}
	return abs, nil
}

func openPostgres(ctx context.Context, name string, p iceberg.Properties) (catalog.Catalog, func() error, error) {
	const hint = `write uri: "postgres://user:${PASSWORD}@host:5432/database"`
	u, err := url.Parse(p["uri"])
	switch {
	case p["uri"] == "":
		return nil, nil, &ConfigError{"uri", "is missing", hint}
	case err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql"):
		return nil, nil, &ConfigError{"uri", "is not an address of Postgres", hint}
	case len(u.Path) < 2:
		return nil, nil, &ConfigError{"uri", "names no database", hint}
	}
	cat, closeCatalog, err := openDatabase(ctx, name, "pg", p["uri"], icesql.Postgres, p, u.Host+u.Path)
	if err != nil && strings.Contains(err.Error(), "SSL is not enabled") {
		err = fmt.Errorf("%w; add ?sslmode=disable to catalog.uri if that is meant to be so", err)
	}
	return cat, closeCatalog, err
}

func openSQL(ctx context.Context, name string, p iceberg.Properties) (catalog.Catalog, func() error, error) {
	driver, dialect := p[icesql.DriverKey], strings.ToLower(p[icesql.DialectKey])
	switch {
	case driver == "":
		return nil, nil, &ConfigError{icesql.DriverKey, "is missing", "write sqlite or pg, or use type: sqlite or type: postgres"}
	case !slices.Contains(sql.Drivers(), driver):
		return nil, nil, &ConfigError{icesql.DriverKey, fmt.Sprintf("is %q, which this floe does not have", driver),
			"write one of " + strings.Join(sql.Drivers(), ", ")}
	case dialect == "":
		return nil, nil, &ConfigError{icesql.DialectKey, "is missing", "write sqlite or postgres"}
	case p["uri"] == "":
		return nil, nil, &ConfigError{"uri", "is missing", "write the data source name that the driver takes"}
	}
	dsn := strings.TrimPrefix(p["uri"], "sql://")
	return openDatabase(ctx, name, driver, dsn, icesql.SupportedDialect(dialect), p, "the given uri")
}

// openDatabase opens the database and makes the catalog's tables in it where they are missing.
func openDatabase(ctx context.Context, name, driver, dsn string, dialect icesql.SupportedDialect, p iceberg.Properties,
	where string) (catalog.Catalog, func() error, error) {
	warehouse, err := localWarehouse(p["warehouse"])
	if err != nil {
		return nil, nil, err
	}
	if warehouse != "" {
		p["warehouse"] = warehouse
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, notReached(string(dialect), where, err)
	}
	var cat *icesql.Catalog
	err = retryInit(ctx, func() (err error) {
		if err = db.PingContext(ctx); err != nil {
			return err
		}
		cat, err = icesql.NewCatalog(name, db, dialect, p)
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(notReached(string(dialect), where, err), db.Close())
	}
	closeCatalog := func() error { return errors.Join(cat.Close(), db.Close()) }
	if dialect != icesql.SQLite && dialect != icesql.Postgres {
		return cat, closeCatalog, nil
	}
	return newKeeping(cat, db, name, dialect, p), closeCatalog, nil
}

const initAttempts = 8

// retryInit tries again when another process makes the same tables, or switches the same new database to its write-ahead
// log, at this very moment: neither database lets the second one wait for that.
func retryInit(ctx context.Context, open func() error) error {
	wait := 20 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := open()
		if err == nil || attempt == initAttempts || !isInitRace(err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
		wait = min(2*wait, time.Second)
	}
}

func isInitRace(err error) bool {
	text := err.Error()
	for _, sign := range []string{
		"database is locked", "SQLITE_BUSY", "database table is locked", // SQLite
		"23505", "42P07", "40001", "40P01", // Postgres: unique violation in its own catalog, duplicate table, serialization
		"already exists", "duplicate column",
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
