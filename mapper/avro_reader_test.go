package mapper

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestAvroReaderSchema(t *testing.T) {
	writer := recordOf("old long", "n int", "gone string", `e {"type":"enum","name":"E","symbols":["A","NEW"]}`, `t long`, `u ["int","string"]`, `s {"type":"record","name":"S","fields":[{"name":"x","type":"int"}]}`, "b bytes")
	reader := AvroSchema{Text: `{"type":"record","name":"R","fields":[
		{"name":"id","type":"long","aliases":["older","old"]},
		{"name":"n","type":"double"},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A","OTHER"],"default":"OTHER"}},
		{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}},
		{"name":"u","type":["null","string","long"]},
		{"name":"s","type":{"type":"record","name":"Renamed","aliases":["S"],"fields":[{"name":"x","type":"long"},{"name":"y","type":"string","default":"dflt"}]}},
		{"name":"b","type":"string"},
		{"name":"d","type":{"type":"array","items":"int"},"default":[1,2]},
		{"name":"opt","type":["null","long"],"default":null},
		{"name":"m","type":{"type":"bytes","logicalType":"decimal","precision":5,"scale":1},"default":"\u0005"}]}`}
	s := &Schema{Fields: []Field{
		{Name: "id", Type: Type{Kind: Long}, Required: true}, {Name: "n", Type: Type{Kind: Double}}, {Name: "e", Type: Type{Kind: String}}, {Name: "t", Type: Type{Kind: TimestampTz}},
		{Name: "s", Type: Type{Kind: Struct, Fields: []Field{{Name: "y", Type: Type{Kind: String}, Required: true}, {Name: "x", Type: Type{Kind: Long}}}}},
		{Name: "b", Type: Type{Kind: String}}, {Name: "d", Type: listOf(Field{Type: Type{Kind: Long}})}, {Name: "opt", Type: Type{Kind: Long}},
		{Name: "m", Type: Type{Kind: Decimal, Precision: 5, Scale: 2}}, {Name: "old", Type: Type{Kind: Long}}, {Name: "gone", Type: Type{Kind: String}},
	}}
	m, cs := mustAvro(t, s, AvroOptions{Schema: &writer, Reader: &reader})
	body := slices.Concat(zz(41), zz(7), zstr("gone"), zz(1), zz(-5), zz(0, 9), zz(3), zstr("bb"))
	row, bad := mapAvro(t, m, cs, body)
	want := []any{int64(41), 7.0, "OTHER", int64(-5000), []any{"dflt", int64(3)}, "bb", []any{int64(1), int64(2)}, nil, dec("50"), nil, nil}
	if bad != nil || !reflect.DeepEqual(row, want) {
		t.Errorf("got %v %v\nwant %v", row, bad, want)
	}
	if _, bad = mapAvro(t, m, cs, slices.Concat(zz(41), zz(7), zstr("gone"), zz(1), zz(math.MaxInt64), zz(0, 9), zz(3), zstr("bb"))); bad == nil || bad.Code != CodeRange || bad.Column != "t" {
		t.Errorf("got %v", bad)
	}
}

func TestAvroReaderSchemaThatDoesNotFit(t *testing.T) {
	long := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	double := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Double}}}}
	for _, c := range []struct {
		s              *Schema
		writer, reader AvroSchema
		want           string
	}{
		{long, recordOf("b long"), recordOf("a long"), "no default"},
		{long, recordOf("a string"), recordOf("a long"), "incompatible types"},
		{long, recordOf("a long"), recordOf("a string"), "a field of type string does not fit a column of type long"},
		{double, recordOf(`a ["null","string"]`), recordOf("a double"), "incompatible types"},
		{long, recordOf("a long"), AvroSchema{Text: `{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":"long","aliases":["a"]}]}`}, "collides"},
		{long, recordOf("a long"), AvroSchema{Text: `{"type":"record","name":"Q","fields":[{"name":"a","type":"long"}]}`}, "record names do not match"},
	} {
		_, err := NewAvro(AvroOptions{Schema: &c.writer, Reader: &c.reader})(c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	// A float of the reader's schema must hold the integer, also where the column would hold it.
	m, cs := mustAvro(t, double, AvroOptions{Schema: ptr(recordOf("a long")), Reader: ptr(recordOf("a float"))})
	if _, bad := mapAvro(t, m, cs, zz(1<<24+1)); bad == nil || bad.Code != CodePrecision {
		t.Errorf("got %v", bad)
	}
	if row, bad := mapAvro(t, m, cs, zz(1<<62+1<<40)); bad != nil || row[0] != float64(1<<62+1<<40) {
		t.Errorf("got %v %v", row, bad)
	}
}
