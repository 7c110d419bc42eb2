package mapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/source"
)

// mapRow lets f fill one row.
func mapRow(t testing.TB, s *Schema, f func(rec *source.Record, row *Row) error) (*Columns, error) {
	t.Helper()
	m, err := FromRowMapper(RowMapperFunc(f))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	err = m.Map(&source.Record{Value: []byte("x")}, cs)
	checkInvariants(t, cs)
	if (err == nil) != (cs.Rows == 1) {
		t.Fatalf("%d rows after %v", cs.Rows, err)
	}
	return cs, err
}

type (
	myInt    int16
	myString string
	myBytes  []byte
	id       [16]byte
)

func TestRowTakesGoValuesExactlyOrNotAtAll(t *testing.T) {
	type c struct {
		in   any
		want any // a value, or the Code of a bad record
	}
	utc := time.Date(2024, 2, 29, 12, 34, 56, 123456000, time.UTC)
	east := time.FixedZone("east", 3600)
	seven, big128 := 7, new(big.Int).Lsh(big.NewInt(1), 100)
	var circle any
	circle = &circle
	tests := map[string]struct {
		typ   Type
		cases []c
	}{
		"boolean": {Type{Kind: Boolean}, []c{{true, true}, {false, false}, {nil, nil}, {"true", CodeType}, {1, CodeType}, {(*bool)(nil), nil}}},
		"int": {Type{Kind: Int}, []c{{1, int32(1)}, {int8(-1), int32(-1)}, {uint8(200), int32(200)}, {myInt(5), int32(5)}, {&seven, int32(7)}, {int64(math.MaxInt32), int32(math.MaxInt32)},
			{int64(math.MaxInt32) + 1, CodeRange}, {uint32(math.MaxUint32), CodeRange}, {uint64(math.MaxUint64), CodeRange}, {1.0, CodeType}, {float32(1), CodeType}, {"1", CodeType}, {json.Number("1e3"), int32(1000)},
			{json.Number("x"), CodeType}, {json.Number("1.5"), CodePrecision}, {big.NewInt(3), int32(3)}, {big128, CodeRange}, {(*big.Int)(nil), nil}, {circle, CodeType}, {struct{}{}, CodeType}, {make(chan int), CodeType}, {[]int{1}, CodeType}, {map[string]int{}, CodeType}}},
		"long":          {Type{Kind: Long}, []c{{math.MinInt64, int64(math.MinInt64)}, {uint64(math.MaxInt64), int64(math.MaxInt64)}, {uint64(math.MaxInt64) + 1, CodeRange}, {uint(3), int64(3)}, {time.Second, CodeType}}},
		"float":         {Type{Kind: Float}, []c{{float32(0.1), float32(0.1)}, {0.5, float32(0.5)}, {0.1, CodePrecision}, {1e300, CodeRange}, {math.Inf(-1), float32(math.Inf(-1))}, {1 << 24, float32(1 << 24)}, {1<<24 + 1, CodePrecision}, {json.Number("0.1"), float32(0.1)}, {int64(1 << 62), float32(1 << 62)}, {math.MaxInt64, CodePrecision}, {new(big.Int).Lsh(big.NewInt(1), 128), CodeRange}}},
		"double":        {Type{Kind: Double}, []c{{0.1, 0.1}, {float32(0.5), 0.5}, {math.Inf(1), math.Inf(1)}, {1 << 53, float64(1 << 53)}, {1<<53 + 1, CodePrecision}, {math.MinInt64, -9223372036854775808.0}, {math.MaxInt64, CodePrecision}, {uint64(1 << 63), 9223372036854775808.0}, {uint64(math.MaxUint64), CodePrecision}, {big128, math.Ldexp(1, 100)}, {new(big.Int).Lsh(big.NewInt(1), 2000), CodeRange}, {"1", CodeType}}},
		"decimal(10,2)": {Type{Kind: Decimal, Precision: 10, Scale: 2}, []c{{"1.5", dec("150")}, {json.Number("1.5"), dec("150")}, {7, dec("700")}, {uint64(math.MaxUint64), CodeRange}, {big.NewInt(-3), dec("-300")}, {big128, CodeRange}, {1.5, CodeType}, {"1.505", CodePrecision}, {"", CodeType}, {"x", CodeType}, {true, CodeType}}},
		"date":          {Type{Kind: Date}, []c{{time.Date(1970, 1, 2, 0, 0, 0, 0, east), int32(1)}, {utc, CodePrecision}, {"2024-02-29", int32(19782)}, {19782, int32(19782)}, {int64(1 << 40), CodeRange}, {time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), CodeRange}, {json.Number("5"), int32(5)}}},
		"time":          {Type{Kind: Time}, []c{{time.Hour, int64(3600000000)}, {"01:00:00", int64(3600000000)}, {24 * time.Hour, CodeRange}, {-time.Second, CodeRange}, {time.Nanosecond, CodePrecision}, {5, CodeType}, {utc, CodeType}}},
		"timestamp":     {Type{Kind: Timestamp}, []c{{utc, utc.UnixMicro()}, {utc.In(east), CodeType}, {"2024-02-29T12:34:56.123456", utc.UnixMicro()}, {int64(5), int64(5000)}, {utc.Add(1), CodePrecision}}},
		"timestamptz":   {Type{Kind: TimestampTz}, []c{{utc.In(east), utc.UnixMicro()}, {time.Time{}, int64(minMicros)}, {time.Time{}.Add(-1), CodeRange}, {"2024-02-29T12:34:56.123456Z", utc.UnixMicro()}, {1 << 60, CodeRange}, {json.Number("5"), int64(5000)}}},
		"timestamp_ns":  {Type{Kind: TimestampNs}, []c{{utc.Add(1), utc.UnixNano() + 1}, {time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), CodeRange}}},
		"string":        {Type{Kind: String}, []c{{"é", "é"}, {"", ""}, {myString("x"), "x"}, {"\xff", CodeUTF8}, {[]byte("x"), CodeType}, {1, CodeType}}},
		"uuid":          {Type{Kind: UUID}, []c{{[16]byte{15: 1}, strings.Repeat("\x00", 15) + "\x01"}, {id{15: 1}, strings.Repeat("\x00", 15) + "\x01"}, {make([]byte, 16), strings.Repeat("\x00", 16)}, {make([]byte, 15), CodeLength}, {"00000000-0000-0000-0000-000000000000", strings.Repeat("\x00", 16)}, {"x", CodeType}}},
		"fixed[3]":      {Type{Kind: Fixed, Length: 3}, []c{{[]byte("abc"), "abc"}, {[3]byte{'a', 'b', 'c'}, "abc"}, {[]byte("ab"), CodeLength}, {"abc", CodeType}, {[]int{1, 2, 3}, CodeType}}},
		"binary":        {Type{Kind: Binary}, []c{{[]byte{}, ""}, {[]byte(nil), nil}, {myBytes("ab"), "ab"}, {[2]byte{1, 2}, "\x01\x02"}, {"ab", CodeType}}},
		"struct": {Type{Kind: Struct, Fields: []Field{{Name: "a", Required: true, Type: Type{Kind: Long}}, {Name: "b", Type: Type{Kind: String}}}}, []c{
			{map[string]any{"a": 1, "b": "x"}, []any{int64(1), "x"}}, {map[myString]int{"a": 1}, []any{int64(1), nil}}, {map[string]any{"b": "x"}, CodeRequired}, {map[string]any{"a": nil}, CodeRequired},
			{map[string]any{"a": 1, "z": 2}, CodeType}, {map[string]any(nil), nil}, {map[int]any{1: 1}, CodeType}, {[]any{1}, CodeType}}},
		"list": {listOf(Field{Type: Type{Kind: Long}}), []c{{[]any{1, nil, int8(3)}, []any{int64(1), nil, int64(3)}}, {[]int{1}, []any{int64(1)}}, {[2]uint8{1, 2}, []any{int64(1), int64(2)}}, {[]byte{1}, []any{int64(1)}}, {[]any(nil), nil}, {[]string{"x"}, CodeType}, {[]any{}, []any{}}}},
		"map":  {mapOf(Type{Kind: Int}, Field{Type: listOf(Field{Type: Type{Kind: String}})}), []c{{map[string]any{"1": []string{"x"}}, []any{int32(1), []any{"x"}}}, {map[int]any{1: nil}, []any{int32(1), nil}}, {map[any]any{1: nil, int64(1): nil}, CodeDuplicateKey}, {map[any]any{nil: nil}, CodeRequired}, {map[string]any{"x": nil}, CodeType}}},
	}
	for name, tt := range tests {
		s := &Schema{Fields: []Field{{Name: "c", Type: tt.typ}}}
		for _, c := range tt.cases {
			cs, err := mapRow(t, s, func(_ *source.Record, row *Row) error { return row.Set("c", c.in) })
			if code, isCode := c.want.(Code); isCode {
				var bad *BadRecordError
				if !errors.As(err, &bad) || bad.Code != code || !strings.HasPrefix(bad.Column, "c") {
					t.Errorf("%s: %T: %v, want code %s", name, c.in, err, code)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %T(%v): %v", name, c.in, c.in, err)
			} else if got := rowOf(cs, 0)[0]; !sameValue(got, c.want) {
				t.Errorf("%s: %T(%v): got %#v, want %#v", name, c.in, c.in, got, c.want)
			}
		}
	}
	if cs, err := mapRow(t, &Schema{Fields: []Field{{Name: "c", Type: Type{Kind: Double}}}}, func(_ *source.Record, row *Row) error {
		return row.SetFloat64(0, math.NaN())
	}); err != nil || !math.IsNaN(cs.Cols[0].F64[0]) {
		t.Errorf("NaN: %v", err)
	}
}

func TestRowTypedSettersAreSetAt(t *testing.T) {
	s := &Schema{Fields: []Field{
		{Name: "b", Type: Type{Kind: Boolean}}, {Name: "l", Type: Type{Kind: Long}}, {Name: "d", Type: Type{Kind: Double}}, {Name: "s", Type: Type{Kind: String}},
		{Name: "y", Type: Type{Kind: Binary}}, {Name: "t", Type: Type{Kind: TimestampTz}}, {Name: "n", Type: Type{Kind: Long}},
	}}
	now := time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)
	cs, err := mapRow(t, s, func(_ *source.Record, row *Row) error {
		i, ok := row.Index("s")
		if !ok || i != 3 || row.Schema() != s {
			t.Error("Index or Schema is wrong")
		}
		return errors.Join(row.SetBool(0, true), row.SetInt64(1, 7), row.SetFloat64(2, 1.5), row.SetString(3, "old"), row.SetString(3, "new"), row.SetBytes(4, []byte("y")), row.SetTime(5, now), row.SetInt64(6, 1), row.SetNull(6))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowOf(cs, 0), []any{true, int64(7), 1.5, "new", "y", now.UnixMicro(), nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRowErrors(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "id", Type: Type{Kind: Long}, Required: true}, {Name: "in", Type: Type{Kind: Struct, Fields: []Field{
		{Name: "tags", Type: listOf(Field{Required: true, Type: Type{Kind: Int}})}, {Name: "m", Type: mapOf(Type{Kind: Int}, Field{Type: Type{Kind: Int}})}}}}}}
	mine := errors.New("mine")
	tests := map[string]struct {
		f    func(rec *source.Record, row *Row) error
		want string
	}{
		"a required column that was not set": {func(_ *source.Record, row *Row) error { return nil }, `bad record (required): column "id"`},
		"null for a required column":         {func(_ *source.Record, row *Row) error { return row.SetNull(0) }, `bad record (required): column "id"`},
		"an unknown name":                    {func(_ *source.Record, row *Row) error { return row.Set("nope", 1) }, `no column "nope"`},
		"a number outside":                   {func(_ *source.Record, row *Row) error { return row.SetInt64(2, 1) }, `no column number 2`},
		"an error that is looked away from":  {func(_ *source.Record, row *Row) error { _ = row.Set("id", "x"); return row.Set("id", 1) }, `column "id"`},
		"an error ignored":                   {func(_ *source.Record, row *Row) error { _ = row.Set("id", "x"); return nil }, `column "id"`},
		"the mapper's own error":             {func(_ *source.Record, row *Row) error { _ = row.Set("id", 1); return mine }, `mine`},
		"filtered":                           {func(_ *source.Record, row *Row) error { _ = row.Set("id", 1); return ErrFiltered }, `yields no row`},
		"a path into a list":                 {func(_ *source.Record, row *Row) error { return row.Set("in", map[string]any{"tags": []any{1, nil}}) }, `column "in.tags.element"`},
		"a path into a map's value": {func(_ *source.Record, row *Row) error {
			return row.Set("in", map[string]any{"m": map[int]any{1: "x"}})
		}, `column "in.m.value"`},
		"a path into a map's key": {func(_ *source.Record, row *Row) error {
			return row.Set("in", map[string]any{"m": map[string]any{"x": 1}})
		}, `column "in.m.key"`},
	}
	for name, tt := range tests {
		if _, err := mapRow(t, s, tt.f); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := FromRowMapper(nil)(s); err == nil {
		t.Error("nil RowMapper: accepted")
	}
	if _, err := FromRowMapper(RowMapperFunc(nil))(&Schema{Fields: []Field{{}}}); err == nil {
		t.Error("bad schema: accepted")
	}
}

func TestRowOfAnotherSchemaAndFullColumns(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "s", Type: Type{Kind: String}}}}
	m, err := FromRowMapper(RowMapperFunc(func(rec *source.Record, row *Row) error { return row.Set("s", string(rec.Value)) }))(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Map(&source.Record{}, filled(t, 1, 1)); !errors.Is(err, ErrSchema) {
		t.Error(err)
	}
	cs := mustColumns(t, s)
	cs.limit = 10
	var bad *BadRecordError
	if err := m.Map(&source.Record{Value: make([]byte, 20)}, cs); !errors.As(err, &bad) || bad.Code != CodeSize {
		t.Error(err)
	}
	for i := range 3 {
		err := m.Map(&source.Record{Value: []byte("1234")}, cs)
		if want := i == 2; errors.Is(err, ErrFull) != want {
			t.Errorf("row %d: %v", i, err)
		}
		checkInvariants(t, cs)
	}
	cs.Reset()
	if err := m.Map(&source.Record{Value: []byte("1234")}, cs); err != nil {
		t.Error(err)
	}
}

func ExampleFromRowMapper() {
	schema := &Schema{Fields: []Field{
		{Name: "offset", Type: Type{Kind: Long}, Required: true},
		{Name: "line", Type: Type{Kind: String}},
	}}
	lines := RowMapperFunc(func(rec *source.Record, row *Row) error {
		if err := row.Set("offset", int64(rec.Position)); err != nil {
			return err
		}
		return row.Set("line", string(rec.Value))
	})
	m, _ := FromRowMapper(lines)(schema)
	cols, _ := NewColumns(schema)
	err := m.Map(&source.Record{Position: 7, Value: []byte("hello")}, cols)
	fmt.Println(err, cols.Rows, cols.Cols[0].I64[0], string(cols.Cols[1].Slot(0)))
	// Output: <nil> 1 7 hello
}
