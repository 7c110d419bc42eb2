package writer

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// the SQLite catalogs of the tests are closed by their cleanup, their connection openers end a moment later
		goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var testPartition = source.Partition{Cluster: "c", Topic: "events", ID: 3}

// newTable makes a table in an SQLite catalog under the test's folder.
func newTable(t testing.TB, sc *iceberg.Schema, spec *iceberg.PartitionSpec, props iceberg.Properties) (*table.Table, *icesql.Catalog) {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+dir+"/cat.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	cat, err := icesql.NewCatalog("test", db, icesql.SQLite, iceberg.Properties{"warehouse": "file://" + dir + "/wh"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := cat.CreateNamespace(ctx, table.Identifier{"db"}, nil); err != nil {
		t.Fatal(err)
	}
	opts := []catalog.CreateTableOpt{catalog.WithProperties(props)}
	if spec != nil {
		opts = append(opts, catalog.WithPartitionSpec(spec))
	}
	tbl, err := cat.CreateTable(ctx, table.Identifier{"db", "t"}, sc, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return tbl, cat
}

func specOf(t testing.TB, sc *iceberg.Schema, fields ...string) *iceberg.PartitionSpec {
	t.Helper()
	var opts []iceberg.PartitionOption
	for _, f := range fields { // "column transform"
		col, tr, _ := strings.Cut(f, " ")
		transform, err := iceberg.ParseTransform(tr)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.NewReplacer("[", "_", "]", "", ".", "_").Replace(col + "_" + tr)
		opts = append(opts, iceberg.AddPartitionFieldByName(col, name, transform, sc, nil))
	}
	spec, err := iceberg.NewPartitionSpecOpts(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return &spec
}

func eventSchema() *iceberg.Schema {
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "user_id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 3, Name: "event_type", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 4, Name: "value", Type: iceberg.PrimitiveTypes.Float64},
		iceberg.NestedField{ID: 5, Name: "info", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 6, Name: "ts", Type: iceberg.PrimitiveTypes.TimestampTz},
	)
}

// event is a record of workload A: 143 bytes of JSON with six columns.
func event(i int) []byte {
	h := (uint64(i) + 1) * 0xbf58476d1ce4e5b9
	h ^= h >> 29
	return fmt.Appendf(nil, `{"id":%d,"user_id":%d,"event_type":"%s","value":%d.%02d,"info":"%016x%016x%08x","ts":%d}`,
		i, (i*7919)%1000000, [...]string{"view", "click", "purchase", "signup", "logout", "share", "search", "ping"}[i*31%8],
		(i*13)%10000, i%100, h, h*0x9e3779b97f4a7c15, uint32(h>>7), 1790000000000+int64(i)*350)
}

func eventBatch(from, to int) *source.Batch {
	return batchOf(from, to, event)
}

func batchOf(from, to int, value func(int) []byte) *source.Batch {
	b := &source.Batch{Range: source.Range{Partition: testPartition, From: source.Position(from), To: source.Position(to)}}
	for i := from; i < to; i++ {
		b.Records = append(b.Records, source.Record{Position: source.Position(i), TimestampMs: int64(1000 + i), Value: value(i)})
	}
	return b
}

func jsonMapper() mapper.Factory { return mapper.NewJSON(mapper.JSONOptions{}) }

func newTask(t testing.TB, tbl *table.Table, change func(*Config)) *Task {
	t.Helper()
	cfg := Config{Topology: "test", Mapper: jsonMapper()}
	if change != nil {
		change(&cfg)
	}
	task, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := task.Close(); err != nil {
			t.Error(err)
		}
	})
	task.Use(tbl)
	task.Open(context.Background(), map[source.Partition]source.Position{testPartition: 0})
	return task
}

func appendAll(t testing.TB, task *Task, b *source.Batch) {
	t.Helper()
	done, err := task.Append(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	if !done {
		t.Fatal("Append stopped inside the batch")
	}
}

func seal(t testing.TB, task *Task) *descriptor.Descriptor {
	t.Helper()
	d, err := task.Seal(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// commit appends the files of a descriptor and gives the table with them.
func commit(t testing.TB, tbl *table.Table, d *descriptor.Descriptor) *table.Table {
	t.Helper()
	tx := tbl.NewTransaction()
	if err := tx.NewRowDelta(nil).AddRows(d.Files...).Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := tx.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// scan reads the rows that match as JSON texts, sorted.
func scan(t testing.TB, tbl *table.Table, filter iceberg.BooleanExpression) []string {
	t.Helper()
	var opts []table.ScanOption
	if filter != nil {
		opts = append(opts, table.WithRowFilter(filter))
	}
	at, err := tbl.Scan(opts...).ToArrowTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer at.Release()
	rdr := array.NewTableReader(at, 1024)
	defer rdr.Release()
	var out []string
	for rdr.Next() {
		out = append(out, rowsOf(t, rdr.RecordBatch())...)
	}
	sort.Strings(out)
	return out
}

func rowsOf(t testing.TB, rec arrow.RecordBatch) []string {
	t.Helper()
	b, err := rec.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = string(r)
	}
	return out
}

// columnsOf maps the records.
func columnsOf(t testing.TB, p *plan, bs ...*source.Batch) *mapper.Columns {
	t.Helper()
	m, err := jsonMapper()(p.rows)
	if err != nil {
		t.Fatal(err)
	}
	cols, err := mapper.NewColumns(p.rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bs {
		for i := range b.Records {
			if err := m.Map(&b.Records[i], cols); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cols
}

// mapped gives the records as rows, without a file between.
func mapped(t testing.TB, tbl *table.Table, bs ...*source.Batch) []string {
	t.Helper()
	p, err := compile(tbl)
	if err != nil {
		t.Fatal(err)
	}
	cols := columnsOf(t, p, bs...)
	rec := record(arrowSchema(t, p), cols)
	defer rec.Release()
	out := rowsOf(t, rec)
	sort.Strings(out)
	return out
}

func sameRows(t testing.TB, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// filesUnder lists the Parquet files below the table's location.
func filesUnder(t testing.TB, tbl *table.Table) []string {
	t.Helper()
	var out []string
	root := strings.TrimPrefix(tbl.Location(), "file://")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
