package writer

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// A column's write default fills what a record does not have; it goes through the table's metadata as a catalog keeps it.
func TestWriteDefaultsOfFormatVersion3(t *testing.T) {
	p := iceberg.PrimitiveTypes
	f := func(id int, name string, typ iceberg.Type, def any) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ, InitialDefault: def, WriteDefault: def}
	}
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: p.Int64, Required: true},
		f(2, "b", p.Bool, true), f(3, "i", p.Int32, -5), f(4, "l", p.Int64, 1<<40), f(5, "f", p.Float32, 0.1), f(6, "d", p.Float64, 0.1),
		f(7, "dec", iceberg.DecimalTypeOf(9, 2), "14.20"), f(8, "date", p.Date, "2007-12-03"), f(9, "time", p.Time, "10:15:30.5"),
		f(10, "ts", p.Timestamp, "2007-12-03T10:15:30.123456"), f(11, "tz", p.TimestampTz, "2007-12-03T10:15:30.123456+00:00"),
		f(12, "s", p.String, "né"), f(13, "u", p.UUID, "eb26bdb1-a1d8-4aa6-990e-da940875492c"), f(14, "fx", iceberg.FixedTypeOf(2), "0aff"),
		f(15, "bin", p.Binary, "00ff"), f(16, "tsns", p.TimestampNs, "2007-12-03T10:15:30.123456789"))
	tbl, _ := newTable(t, sc, nil, iceberg.Properties{table.PropertyFormatVersion: "3"})
	task := newTask(t, tbl, nil)
	lines := []string{`{"id":1}`, `{"id":2,"i":null,"s":"x","dec":null,"fx":null}`}
	appendAll(t, task, batchOf(0, len(lines), func(i int) []byte { return []byte(lines[i]) }))
	tbl = commit(t, tbl, seal(t, task))
	got := scan(t, tbl, nil)
	for _, want := range []string{`"b":true`, `"i":-5`, `"l":1099511627776`, `"f":0.1`, `"d":0.1`, `"dec":"14.2"`, `"date":"2007-12-03"`,
		`"time":"10:15:30.5"`, `"ts":"2007-12-03T10:15:30.123456"`, `"tz":"2007-12-03T10:15:30.123456Z"`, `"s":"né"`, `"u":"eb26bdb1-a1d8-4aa6-990e-da940875492c"`, `"tsns":"2007-12-03T10:15:30.123456789"`, `"fx":"Cv8="`, `"bin":"AP8="`} {
		if !strings.Contains(got[0], want) {
			t.Errorf("%s is not in %s", want, got[0])
		}
	}
	for _, want := range []string{`"i":null`, `"s":"x"`, `"dec":null`, `"fx":null`, `"l":1099511627776`} {
		if !strings.Contains(got[1], want) {
			t.Errorf("%s is not in %s", want, got[1])
		}
	}
}

func TestWriteDefaultsThatCannotBeExactAreRefused(t *testing.T) {
	for _, f := range []iceberg.NestedField{
		{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.Int64, WriteDefault: 9007199254740993.0},
		{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.Int32, WriteDefault: 1.5},
		{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.Binary, WriteDefault: "xyz"},
		{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.Date, WriteDefault: "soon"},
		{ID: 1, Name: "v", Type: iceberg.DecimalTypeOf(4, 2), WriteDefault: "1.555"},
		{ID: 1, Name: "v", Type: &iceberg.ListType{ElementID: 2, Element: iceberg.PrimitiveTypes.Int32}, WriteDefault: []any{}},
	} {
		if _, err := MapperSchema(iceberg.NewSchema(0, f)); err == nil || !strings.Contains(err.Error(), `column "v"`) {
			t.Errorf("%v of %s: %v", f.WriteDefault, f.Type, err)
		}
	}
}
