package mapper

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/variant"
	"github.com/stormfloe/floe/source"
)

func variantSchema() *Schema {
	return &Schema{Fields: []Field{{ID: 1, Name: "v", Type: VariantType()}}}
}

// read gives a variant, and the name of its type.
func read(t *testing.T, c *Column, i int) (any, string) {
	t.Helper()
	v, err := variant.Decode(c.Kids[0].Slot(i), c.Kids[1].Slot(i))
	if err != nil {
		t.Fatal(err)
	}
	kind, err := variant.Kind(c.Kids[0].Slot(i), c.Kids[1].Slot(i))
	if err != nil {
		t.Fatal(err)
	}
	return v, kind
}

func TestAVariantHoldsEachJSONValueExactly(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind string
	}{
		{`true`, "boolean"},
		{`"text"`, "string"},
		{`""`, "string"},
		{`"` + strings.Repeat("long", 100) + `"`, "string"},
		{`"\u00e9\n\ud83d\ude00"`, "string"},
		{`0`, "int8"},
		{`-129`, "int16"},
		{`65536`, "int32"},
		{`9223372036854775807`, "int64"},
		{`-9223372036854775808`, "int64"},
		{`1e3`, "int16"},
		{`1.0`, "int8"},
		{`0.1`, "decimal4"},
		{`-123456789.12`, "decimal8"},
		{`9223372036854775808`, "decimal16"},
		{`12345678901234567890123456789012345678`, "decimal16"},
		{`-0.00000000000000000000000000000000000001`, "decimal16"},
		{`1e-40`, "double"},
		{`1.5e300`, "double"},
		{`[]`, "array"},
		{`{}`, "object"},
		{` [ 1 , null , [ { } ] , "a" ] `, "array"},
		{`{"b":{"a":[1.50]},"a":null}`, "object"},
		{manyKeys(90, ""), "object"},
		{"[" + strings.Repeat("7,", 300) + "7]", "array"},
	} {
		m, cs := mustJSON(t, variantSchema())
		if err := m.Map(&source.Record{Value: []byte(`{"v":` + c.in + `}`)}, cs); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		checkInvariants(t, cs)
		got, kind := read(t, cs.Cols[0], 0)
		if want := parsed(t, []byte(c.in)); kind != c.kind || !sameJSON(want, got) {
			t.Errorf("%s became %v of type %s, want %s", c.in, got, kind, c.kind)
		}
	}
}

func TestAVariantRefusesWhatItCannotHold(t *testing.T) {
	for in, want := range map[string]Code{
		`{"a":1,"a":1}`:         CodeDuplicateKey,
		`[{"a":{"b":1,"b":2}}]`: CodeDuplicateKey,
		`{"a":1,"\u0061":1}`:    CodeDuplicateKey,
		`1e400`:                 CodeRange,
		strings.Repeat("9", 39): CodePrecision,
		strings.Repeat("[", 200) + strings.Repeat("]", 200): CodeDepth,
		`[1,]`:         CodeSyntax,
		`{"a":1,}`:     CodeSyntax,
		`{"a" 1}`:      CodeSyntax,
		`[1 2]`:        CodeSyntax,
		`01`:           CodeSyntax,
		`"` + "\x01\"": CodeSyntax,
		`tru`:          CodeSyntax,
		`[`:            CodeSyntax,
	} {
		_, bad := mapOne(t, variantSchema(), `{"v":`+in+`}`)
		if bad == nil || bad.Code != want {
			t.Errorf("%.40s: %v, want %s", in, bad, want)
		}
	}
	required := variantSchema()
	required.Fields[0].Required = true
	for _, in := range []string{`{}`, `{"v":null}`} {
		if _, bad := mapOne(t, required, in); bad == nil || bad.Code != CodeRequired {
			t.Errorf("%s into a required variant: %v", in, bad)
		}
	}
}

func TestAVariantIsNullWhereTheRecordHasNone(t *testing.T) {
	m, cs := mustJSON(t, &Schema{Fields: []Field{{ID: 1, Name: "v", Type: VariantType()}, {ID: 2, Name: "s", Type: Type{Kind: Struct, Fields: []Field{{ID: 3, Name: "v", Type: VariantType()}}}}}})
	for _, in := range []string{`{}`, `{"v":null,"s":{"v":[]}}`, `{"v":1,"s":{"v":null}}`, `{"v":[`} {
		var bad *BadRecordError
		if err := m.Map(&source.Record{Value: []byte(in)}, cs); err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		checkInvariants(t, cs)
	}
	if cs.Rows != 3 || !cs.Cols[0].IsNull(0) || !cs.Cols[0].IsNull(1) || cs.Cols[0].IsNull(2) || !cs.Cols[1].Kids[0].IsNull(0) || cs.Cols[1].Kids[0].IsNull(1) {
		t.Errorf("%d rows, nulls %d", cs.Rows, cs.Cols[0].Nulls)
	}
	to := mustColumns(t, cs.Schema)
	if err := errors.Join(to.AppendRows(cs, []int32{2, 0, 2}), to.AppendRange(cs, 1, 3)); err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, to)
	for row, null := range []bool{false, true, false, true, false} {
		switch {
		case to.Cols[0].IsNull(row) != null:
			t.Errorf("row %d: null %t", row, !null)
		case !null:
			if got, _ := read(t, to.Cols[0], row); !sameJSON(json.Number("1"), got) {
				t.Errorf("row %d: %v", row, got)
			}
		}
	}
}

func TestOtherFormatsRefuseAVariant(t *testing.T) {
	s := variantSchema()
	csv, err := NewCSV(CSVOptions{Columns: []string{"v"}})(s)
	if err == nil {
		err = csv.Map(&source.Record{Value: []byte("1")}, mustColumns(t, s))
	}
	if err == nil || !strings.Contains(err.Error(), "variant") {
		t.Errorf("csv: %v", err)
	}
	if _, err := NewRaw(RawOptions{})(s); err == nil || !strings.Contains(err.Error(), "variant") {
		t.Errorf("raw: %v", err)
	}
	for _, v := range []any{1, "x", []byte("x"), map[string]any{"metadata": []byte{1}, "value": []byte{0}}} {
		rows, err := FromRowMapper(RowMapperFunc(func(_ *source.Record, row *Row) error { return row.Set("v", v) }))(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Map(&source.Record{Value: []byte("1")}, mustColumns(t, s)); err == nil {
			t.Errorf("a row took %T", v)
		}
	}
	if _, err := NewDebezium(DebeziumOptions{}, NewJSON(JSONOptions{}))(s); err == nil || !strings.Contains(err.Error(), "variant") {
		t.Errorf("debezium: %v", err)
	}
	for _, in := range []Type{listOf(Field{Type: VariantType()}), mapOf(Type{Kind: String}, Field{Type: VariantType()}), mapOf(VariantType(), Field{Type: Type{Kind: Int}})} {
		if err := (&Schema{Fields: []Field{{Name: "c", Type: in}}}).Validate(); err == nil || !strings.Contains(err.Error(), "variant") {
			t.Errorf("%s: %v", &in, err)
		}
	}
}

// FuzzVariantAgainstOracle: what is taken is valid JSON without keys that are there twice, and says the same when it is read again.
func FuzzVariantAgainstOracle(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x",null,{"b":true}]}`, `[1e3,-0.0,9223372036854775808]`, `"\ud800"`, `1e-300`, `[[[]],{}]`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	m, err := NewJSON(JSONOptions{})(variantSchema())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		cs := mustColumns(t, variantSchema())
		rec := append(append([]byte(`{"v":`), in...), '}')
		err := m.Map(&source.Record{Value: rec}, cs)
		checkInvariants(t, cs)
		if err != nil {
			return // what JSON it refuses is tested by cases; the grammar is that of other columns
		}
		if !oracleValid(rec) {
			t.Fatalf("%q was taken", rec)
		}
		_, values := oracleObject(rec)
		if len(values) != 1 {
			return // more members than v
		}
		if bytes.Count(rec, []byte(":")) > 60 {
			return // see variant.Decode
		}
		got, _ := read(t, cs.Cols[0], 0)
		if want := parsed(t, values[0]); !sameJSON(want, got) {
			t.Fatalf("%q became %v", values[0], got)
		}
	})
}

func parsed(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%q: %v", b, err)
	}
	return v
}

// sameJSON compares what JSON says with what a variant holds.
func sameJSON(want, got any) bool {
	switch want := want.(type) {
	case json.Number:
		switch got := got.(type) {
		case *big.Rat:
			x, ok := new(big.Rat).SetString(string(want))
			return ok && x.Cmp(got) == 0
		case float64:
			x, err := want.Float64()
			return err == nil && x == got
		}
		return false
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(want, got, sameJSON)
	case map[string]any:
		got, ok := got.(map[string]any)
		return ok && maps.EqualFunc(want, got, sameJSON)
	}
	return reflect.DeepEqual(want, got)
}
