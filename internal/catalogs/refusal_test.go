package catalogs

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/evolve"
	"github.com/stormfloe/floe/internal/services"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
)

var wider = []mapper.Change{{Kind: mapper.AddColumn, Name: "extra", Path: "extra", Type: mapper.Type{Kind: mapper.Long}}}

// answerTo says what becomes of a change of the schema in a catalog that is open with props.
func answerTo(t *testing.T, props map[string]string, ident table.Identifier) string {
	t.Helper()
	_, _, err := evolve.New(tableio.New(open(t, props), ident), 100, 5*time.Second).Evolve(t.Context(), wider)
	var refused *evolve.RefusedError
	switch {
	case err == nil:
		return "made"
	case !errors.As(err, &refused):
		return "unknown: " + err.Error()
	case refused.Forbidden:
		return "forbidden: " + err.Error()
	}
	return "refused: " + err.Error()
}

func expect(t *testing.T, got, kind, words string) {
	t.Helper()
	if !strings.HasPrefix(got, kind) || !strings.Contains(got, words) {
		t.Errorf("got %q, want %s with %q", got, kind, words)
	}
}

// A database that answers no is told from one that can't be asked: the same record must not wait for ever.
func TestSQLiteRefusesAChangeOfTheSchema(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "catalog.db")
	props := func(query string) map[string]string {
		return map[string]string{"type": "sqlite", "uri": "file:" + path + query, "warehouse": dir}
	}
	ident := ensure(t, open(t, props("")), "2")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	do := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, answerTo(t, props("?_pragma=query_only(1)"), ident), "forbidden", "readonly")
	do(`CREATE TRIGGER frozen BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'schemas are frozen'); END`)
	expect(t, answerTo(t, props(""), ident), "forbidden", "schemas are frozen")
	do(`DROP TRIGGER frozen`)
	do(`BEGIN IMMEDIATE`)
	expect(t, answerTo(t, props("?_pragma=busy_timeout(1)"), ident), "unknown", "locked")
	do(`ROLLBACK`)
	expect(t, answerTo(t, props(""), ident), "made", "")
}

// TestPostgresRefusesAChangeOfTheSchema runs where TestPostgresCatalog does.
func TestPostgresRefusesAChangeOfTheSchema(t *testing.T) {
	uri := services.Address(t, "FLOE_TEST_POSTGRES")
	props := map[string]string{"type": "postgres", "uri": uri, "warehouse": t.TempDir()}
	ident := ensure(t, open(t, props), "2")
	db, err := sql.Open("pg", uri)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	do := func(format string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE OR REPLACE FUNCTION frozen() RETURNS trigger AS $$ BEGIN RAISE 'schemas are frozen'; END $$ LANGUAGE plpgsql`)
	do(`CREATE TRIGGER frozen BEFORE UPDATE ON iceberg_tables FOR EACH ROW WHEN (OLD.table_name = '%s') EXECUTE FUNCTION frozen()`, ident[1])
	expect(t, answerTo(t, props, ident), "forbidden", "schemas are frozen")
	do(`CREATE OR REPLACE FUNCTION frozen() RETURNS trigger AS $$ BEGIN RAISE 'too wide' USING ERRCODE = '23514'; END $$ LANGUAGE plpgsql`)
	expect(t, answerTo(t, props, ident), "refused", "too wide")
	do(`CREATE OR REPLACE FUNCTION frozen() RETURNS trigger AS $$ BEGIN RAISE 'no' USING ERRCODE = '42501'; END $$ LANGUAGE plpgsql`)
	expect(t, answerTo(t, props, ident), "forbidden", "42501")
	for _, later := range []string{"25006", "40001", "53300", "57P01"} {
		do(`CREATE OR REPLACE FUNCTION frozen() RETURNS trigger AS $$ BEGIN RAISE 'not now' USING ERRCODE = '%s'; END $$ LANGUAGE plpgsql`, later)
		expect(t, answerTo(t, props, ident), "unknown", later)
	}
	do(`DROP TRIGGER frozen ON iceberg_tables`)
	expect(t, answerTo(t, props, ident), "made", "")
}
