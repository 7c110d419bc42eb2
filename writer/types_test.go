package writer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/apache/arrow-go/v18/parquet/variant"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// allTypes has every type of format version 2, nested types to a depth of three among them.
func allTypes() *iceberg.Schema {
	p := iceberg.PrimitiveTypes
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: p.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "b", Type: p.Bool},
		iceberg.NestedField{ID: 3, Name: "i", Type: p.Int32},
		iceberg.NestedField{ID: 4, Name: "f", Type: p.Float32},
		iceberg.NestedField{ID: 5, Name: "d", Type: p.Float64},
		iceberg.NestedField{ID: 6, Name: "dec9", Type: iceberg.DecimalTypeOf(9, 2)},
		iceberg.NestedField{ID: 7, Name: "dec18", Type: iceberg.DecimalTypeOf(18, 4)},
		iceberg.NestedField{ID: 8, Name: "dec38", Type: iceberg.DecimalTypeOf(38, 10)},
		iceberg.NestedField{ID: 9, Name: "date", Type: p.Date},
		iceberg.NestedField{ID: 10, Name: "time", Type: p.Time},
		iceberg.NestedField{ID: 11, Name: "ts", Type: p.Timestamp},
		iceberg.NestedField{ID: 12, Name: "tstz", Type: p.TimestampTz},
		iceberg.NestedField{ID: 13, Name: "s", Type: p.String},
		iceberg.NestedField{ID: 14, Name: "u", Type: p.UUID},
		iceberg.NestedField{ID: 15, Name: "fx", Type: iceberg.FixedTypeOf(3)},
		iceberg.NestedField{ID: 16, Name: "bin", Type: p.Binary},
		iceberg.NestedField{ID: 17, Name: "st", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{
			{ID: 18, Name: "req", Type: p.Int32, Required: true},
			{ID: 19, Name: "opt", Type: p.String},
			{ID: 20, Name: "inner", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 21, Name: "x", Type: p.Float64}}}},
		}}},
		iceberg.NestedField{ID: 22, Name: "l", Type: &iceberg.ListType{ElementID: 23, Element: p.String}},
		iceberg.NestedField{ID: 24, Name: "m", Type: &iceberg.MapType{KeyID: 25, KeyType: p.String, ValueID: 26, ValueType: p.Int64}},
		iceberg.NestedField{ID: 27, Name: "ls", Type: &iceberg.ListType{ElementID: 28, ElementRequired: true, Element: &iceberg.StructType{
			FieldList: []iceberg.NestedField{
				{ID: 29, Name: "a", Type: p.Int64, Required: true},
				{ID: 30, Name: "tags", Type: &iceberg.ListType{ElementID: 31, Element: p.Int32}},
			}}}},
	)
}

// anyRecord has nulls in every optional column, in a rhythm of its own each.
func anyRecord(i int) []byte {
	v := func(every int, format string, args ...any) string {
		if i%every == 0 {
			return "null"
		}
		return fmt.Sprintf(format, args...)
	}
	sign := ""
	if i%2 == 1 {
		sign = "-"
	}
	fields := []string{
		fmt.Sprintf(`"id":%d`, i),
		`"b":` + v(5, "%t", i%3 == 0),
		`"i":` + v(7, "%d", i*31-1000),
		`"f":` + v(4, "%s%d.5", sign, i%1000),
		`"d":` + v(6, "%s%d.25", sign, i),
		`"dec9":` + v(3, `"%s%d.%02d"`, sign, i%9999999, i%100),
		`"dec18":` + v(4, `"%s%d.%04d"`, sign, i*1000003, i%10000),
		`"dec38":` + v(5, `"%s%d12345678901234567.%d"`, sign, i%1000+1, i%10),
		`"date":` + v(6, `"%04d-%02d-%02d"`, 1960+i%80, i%12+1, i%28+1),
		`"time":` + v(7, `"%02d:%02d:%02d.%06d"`, i%24, i%60, (i*7)%60, i%1000000),
		`"ts":` + v(8, `"%04d-03-04T05:06:07.%06d"`, 1960+i%80, i%1000000),
		`"tstz":` + v(9, `"%04d-03-04T05:06:07.%06dZ"`, 1960+i%80, i%1000000),
		`"s":` + v(10, `"%s"`, [...]string{"", "a", "ärger", "日本語", "𐐷 supplementary", "a rather long text that is cut"}[i%6]),
		`"u":` + v(11, `"%08x-0000-4000-8000-%012x"`, i, i*3),
		`"fx":` + v(12, `"%s"`, [...]string{"AAAA", "/////", "AQID"}[i%3*2%3][:4]),
		`"bin":` + v(13, `"%s"`, [...]string{"", "AA==", "//////////////////////////8="}[i%3]),
		`"st":` + v(3, `{"req":%d,"opt":%s,"inner":%s}`, i, v(2, `"o%d"`, i), v(5, `{"x":%s}`, v(7, "%d.5", i))),
		`"l":` + v(4, `[%s]`, strings.Join([]string{`"x"`, "null", fmt.Sprintf(`"%d"`, i)}[:i%4%3], ",")),
		`"m":` + v(5, `{%s}`, strings.Join([]string{`"k":1`, `"n":null`, fmt.Sprintf(`"q%d":%d`, i, i)}[:i%4], ",")),
		`"ls":` + v(6, `[%s]`, strings.Join([]string{`{"a":1,"tags":[1,null,3]}`, `{"a":2,"tags":[]}`, `{"a":3}`}[:i%4], ",")),
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}

func TestEveryTypeComesBack(t *testing.T) {
	for i, props := range []iceberg.Properties{
		nil,
		{propPageVersion: "v1", propCodec: "snappy"},
		{propPageVersion: "v2", propCodec: "gzip", propRowGroupRows: "1000"},
		{propCodec: "uncompressed", propDictEnabled: "true", propPageBytes: "500", propDictBytes: "100"},
		{propCodec: "brotli", propPageRows: "100"},
		{propCodec: "lz4_raw", propRowGroupBytes: "100000"},
	} {
		if testing.Short() && i > 0 {
			break
		}
		t.Run(fmt.Sprint(props), func(t *testing.T) {
			sc := allTypes()
			for i, f := range sc.Fields() {
				if i%2 == 0 && props[propCodec] == "brotli" {
					props[prefixDictColumn+f.Name] = "true"
					props[prefixBloomColumn+f.Name] = "true"
				}
			}
			tbl, _ := newTable(t, sc, nil, props)
			task := newTask(t, tbl, nil)
			poison(task)
			var want []*source.Batch
			for at := 0; at < 3200; at += 800 {
				b := batchOf(at, at+800, anyRecord)
				want = append(want, b)
				appendAll(t, task, b)
			}
			tbl = commit(t, tbl, seal(t, task))
			sameRows(t, scan(t, tbl, nil), mapped(t, tbl, want...))
		})
	}
}

// poison makes buffers that are used after they were freed visible.
func poison(task *Task) {
	if b, ok := task.enc.(*inline); ok {
		b.pages.Poison()
	}
}

func TestPhysicalTypesAreThoseOfTheSpecification(t *testing.T) {
	tbl, _ := newTable(t, allTypes(), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, batchOf(0, 100, anyRecord))
	seal(t, task)
	rd := openFile(t, filesUnder(t, tbl)[0])
	want := map[string]string{
		"id": "INT64 ", "b": "BOOLEAN ", "i": "INT32 ", "f": "FLOAT ", "d": "DOUBLE ",
		"dec9": "INT32 Decimal(precision=9, scale=2)", "dec18": "INT64 Decimal(precision=18, scale=4)",
		"dec38": "FIXED_LEN_BYTE_ARRAY Decimal(precision=38, scale=10)", "date": "INT32 Date",
		"time": "INT64 Time(isAdjustedToUTC=false, timeUnit=microseconds)",
		"ts":   "INT64 Timestamp(isAdjustedToUTC=false, timeUnit=microseconds",
		"tstz": "INT64 Timestamp(isAdjustedToUTC=true, timeUnit=microseconds",
		"s":    "BYTE_ARRAY String", "u": "FIXED_LEN_BYTE_ARRAY UUID", "fx": "FIXED_LEN_BYTE_ARRAY ", "bin": "BYTE_ARRAY ",
		"st.req": "INT32 ", "st.inner.x": "DOUBLE ", "l.list.element": "BYTE_ARRAY String", "m.key_value.key": "BYTE_ARRAY String",
		"m.key_value.value": "INT64 ", "ls.list.element.tags.list.element": "INT32 ",
	}
	sc := rd.MetaData().Schema
	for i := range sc.NumColumns() {
		c := sc.Column(i)
		w, ok := want[c.Path()]
		if got := fmt.Sprintf("%s %s", c.PhysicalType(), c.LogicalType()); ok && !strings.HasPrefix(got, w) {
			t.Errorf("%s: %s, want %s", c.Path(), got, w)
		}
		delete(want, c.Path())
		if c.SchemaNode().FieldID() < 1 {
			t.Errorf("%s has no field id", c.Path())
		}
	}
	for path := range want {
		t.Errorf("no column %s", path)
	}
}

func openFile(t testing.TB, path string) *pqfile.Reader {
	t.Helper()
	rd, err := pqfile.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rd.Close() })
	return rd
}

func TestNanosecondTimestampsOfFormatVersion3(t *testing.T) {
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "ns", Type: iceberg.PrimitiveTypes.TimestampNs},
		iceberg.NestedField{ID: 3, Name: "nstz", Type: iceberg.PrimitiveTypes.TimestampTzNs})
	tbl, _ := newTable(t, sc, specOf(t, sc, "ns day", "nstz bucket[4]"), iceberg.Properties{table.PropertyFormatVersion: "3"})
	task := newTask(t, tbl, nil)
	b := batchOf(0, 500, func(i int) []byte {
		return fmt.Appendf(nil, `{"id":%d,"ns":"%d-01-02T03:04:05.%09d","nstz":"2026-01-02T03:04:05.%09dZ"}`, i, 1965+i%3*5, i, i)
	})
	appendAll(t, task, b)
	d := seal(t, task)
	if d.FormatVersion != 3 || d.Files[0].FirstRowID() != nil {
		t.Errorf("format version %d, first row id %v", d.FormatVersion, d.Files[0].FirstRowID())
	}
	tbl = commit(t, tbl, d)
	sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b))
}

func TestAVariantIsWrittenAsParquetHasIt(t *testing.T) {
	p := iceberg.PrimitiveTypes
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: p.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "v", Type: iceberg.VariantType{}},
		iceberg.NestedField{ID: 3, Name: "need", Type: iceberg.VariantType{}, Required: true},
		iceberg.NestedField{ID: 4, Name: "after", Type: p.String})
	tbl, _ := newTable(t, sc, nil, iceberg.Properties{table.PropertyFormatVersion: "3"})
	task := newTask(t, tbl, nil)
	poison(task)
	values := []string{`null`, `1`, `"x"`, `{"a":[1,2.5,{"b":null}],"c":"` + strings.Repeat("y", 100) + `"}`, `[true]`}
	want := []any{nil, int8(1), "x", `{"a":[1,2.5,{"b":null}],"c":"` + strings.Repeat("y", 100) + `"}`, `[true]`}
	b := batchOf(0, 2000, func(i int) []byte {
		return fmt.Appendf(nil, `{"id":%d,"v":%s,"need":{"n":%d},"after":"a%d"}`, i, values[i%len(values)], i, i)
	})
	appendAll(t, task, b)
	d := seal(t, task)
	for _, of := range []map[int]int64{d.Files[0].ColumnSizes(), d.Files[0].ValueCounts()} {
		if len(of) != 2 {
			t.Errorf("the table's metadata speak of %v, not of id and after alone", of)
		}
	}
	tbl = commit(t, tbl, d)
	if node := openFile(t, filesUnder(t, tbl)[0]).MetaData().Schema.Root().Field(1); !node.LogicalType().Equals(schema.VariantLogicalType{}) {
		t.Errorf("column v is %s", node.LogicalType())
	}
	at, err := tbl.Scan().ToArrowTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer at.Release()
	rdr := array.NewTableReader(at, 2000)
	defer rdr.Release()
	if !rdr.Next() || rdr.RecordBatch().NumRows() != 2000 {
		t.Fatalf("%d rows", at.NumRows())
	}
	cols := rdr.RecordBatch().Columns()
	text := func(c, i int) any {
		v, err := cols[c].(*extensions.VariantArray).Value(i)
		if err != nil {
			t.Fatal(err)
		}
		switch x := v.Value().(type) {
		case variant.ArrayValue, variant.ObjectValue:
			b, err := v.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		default:
			return x
		}
	}
	for i := range 2000 {
		if cols[1].IsNull(i) != (i%len(values) == 0) || text(1, i) != want[i%len(want)] || text(2, i) != fmt.Sprintf(`{"n":%d}`, i) ||
			cols[3].ValueStr(i) != fmt.Sprintf("a%d", i) {
			t.Fatalf("row %d: %v, %v, %s", i, text(1, i), text(2, i), cols[3].ValueStr(i))
		}
	}
}
