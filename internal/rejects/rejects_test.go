package rejects_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

func TestATableThatIsMadeIsTaken(t *testing.T) {
	dir := t.TempDir()
	cat, closeCatalog, err := catalogs.Open(t.Context(), "floe", map[string]string{"type": "sqlite",
		"uri": filepath.Join(dir, "c.db"), "warehouse": filepath.Join(dir, "wh")})
	if err != nil {
		t.Fatal(err)
	}
	defer closeCatalog()
	ident := table.Identifier{"db", "t_rejects"}
	for _, want := range []bool{true, false} {
		if made, err := rejects.Ensure(t.Context(), cat, ident); err != nil || made != want {
			t.Fatalf("made %v, %v; want %v", made, err, want)
		}
	}
	tbl, err := tableio.New(cat, ident).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rejects.Check(tbl), writer.Check(tbl)); err != nil {
		t.Error(err)
	}
	if w := writer.Warnings(tbl); len(w) > 0 {
		t.Errorf("warnings of a table that floe made: %q", w)
	}
}

// preview is a table with the columns of rejects, changed.
func preview(t *testing.T, change func(*[]tableio.Column), partitionBy ...string) *table.Table {
	t.Helper()
	columns := rejects.Columns()
	if change != nil {
		change(&columns)
	}
	sc, err := tableio.ParseSchema(columns)
	if err != nil {
		t.Fatal(err)
	}
	def := tableio.Definition{Schema: sc}
	if len(partitionBy) > 0 {
		if def.Spec, err = tableio.ParsePartition(sc, partitionBy); err != nil {
			t.Fatal(err)
		}
	}
	tbl, err := def.Preview(table.Identifier{"db", "r"})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

func set(name, typ string, required bool) func(*[]tableio.Column) {
	return func(cs *[]tableio.Column) {
		for i := range *cs {
			if (*cs)[i].Name == name {
				(*cs)[i].Type, (*cs)[i].Required = typ, required
				return
			}
		}
		*cs = append(*cs, tableio.Column{Name: name, Type: typ, Required: required})
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	drop := func(cs *[]tableio.Column) { *cs = (*cs)[:len(*cs)-1] }
	for name, c := range map[string]struct {
		tbl  *table.Table
		want string // empty: taken
	}{
		"as it is made":            {preview(t, nil), ""},
		"another optional column":  {preview(t, set("note", "string", false)), ""},
		"a required one optional":  {preview(t, set("code", "string", false)), ""},
		"a header with more":       {preview(t, set("headers", "list<struct<key: binary, value: binary, n: int>>", false)), ""},
		"another required column":  {preview(t, set("note", "string", true)), `a required column "note"`},
		"no column":                {preview(t, drop), `no column "replayed" (string)`},
		"another type":             {preview(t, set("offset", "int", true)), `"offset" has the type int and not long`},
		"text for bytes":           {preview(t, set("value", "string", false)), `"value" has the type string and not binary`},
		"an optional one required": {preview(t, set("key", "binary", true)), `"key" is required and must be optional`},
		"headers without a value":  {preview(t, set("headers", "list<struct<key: binary>>", false)), `"headers" has the type`},
		"headers that are a map":   {preview(t, set("headers", "map<string, binary>", false)), `"headers" has the type`},
		"a header's value required": {preview(t, set("headers", "list<struct<key: binary, value: required binary>>", false)),
			`"headers" has the type`},
		"partitioned": {preview(t, nil, "topic"), "it is partitioned"},
	} {
		err := rejects.Check(c.tbl)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestARejectKeepsTheRecordWhole(t *testing.T) {
	tbl := preview(t, set("note", "string", false))
	schema, err := writer.MapperSchema(tbl.Schema())
	if err != nil {
		t.Fatal(err)
	}
	cols, err := mapper.NewColumns(schema)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rejects.NewRows(schema)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
	for _, rec := range []source.Record{
		{Position: 7, TimestampMs: 1000, Key: []byte("k\xff"), Value: []byte{0, 0xfe}, Headers: []source.Header{{Key: nil, Value: nil}, {Key: []byte("h"), Value: []byte{}}}},
		{Position: 8, TimestampMs: -1},
		{Position: 9, TimestampMs: 1 << 62, Key: []byte{}, Value: []byte{}},
	} {
		err := rows.Append(&rejects.Reject{Topology: "top", Partition: source.Partition{Topic: "orders", ID: 3, Incarnation: "inc"}, Record: &rec,
			Err: &mapper.BadRecordError{Code: mapper.CodeType, Column: "a.b", Reason: "not an integer"}, At: at, Batch: "id"}, cols)
		if err != nil {
			t.Fatal(err)
		}
	}
	col := func(name string) *mapper.Column {
		f, ok := tbl.Schema().FindFieldByName(name)
		if !ok {
			t.Fatalf("no column %s", name)
		}
		for _, c := range cols.Cols {
			if c.Field.ID == f.ID {
				return c
			}
		}
		return nil
	}
	if cols.Rows != 3 || string(col("key").Slot(0)) != "k\xff" || string(col("value").Slot(0)) != "\x00\xfe" || col("offset").I64[2] != 9 {
		t.Errorf("%d rows, key %q, value %q", cols.Rows, col("key").Slot(0), col("value").Slot(0))
	}
	for name, nulls := range map[string]int{"key": 1, "value": 1, "timestamp": 2, "cluster": 3, "incarnation": 0, "replayed": 3, "note": 3, "headers": 0} {
		if got := col(name).Nulls; got != nulls {
			t.Errorf("column %s has %d nulls, want %d", name, got, nulls)
		}
	}
	if h := col("headers"); h.Off[1] != 2 || h.Kids[0].Kids[0].Nulls != 0 || h.Kids[0].Kids[1].Nulls != 1 {
		t.Errorf("headers: offsets %v", h.Off)
	}
	if reason := string(col("reason").Slot(2)); !strings.Contains(reason, "its timestamp") {
		t.Errorf("a time that the column can't hold is told of: %q", reason)
	}
	if got := col("rejected_at").I64[0]; got != at.UnixMicro() {
		t.Errorf("rejected at %d", got)
	}
}

func TestVersion1IsRefused(t *testing.T) {
	sc, err := tableio.ParseSchema(rejects.Columns())
	if err != nil {
		t.Fatal(err)
	}
	meta, err := table.NewMetadata(sc, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "file:///x", iceberg.Properties{"format-version": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := rejects.Check(table.New(table.Identifier{"db", "r"}, meta, "", nil, nil)); err == nil || !strings.Contains(err.Error(), "format version is 1") {
		t.Error(err)
	}
}
