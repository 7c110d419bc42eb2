package mapper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

func defaultsSchema() *Schema {
	return &Schema{Fields: []Field{
		{Name: "id", Type: Type{Kind: Long}},
		{Name: "n", Type: Type{Kind: Int}, Required: true, Default: int64(7)},
		{Name: "s", Type: Type{Kind: String}, Default: "né"},
		{Name: "d", Type: Type{Kind: Decimal, Precision: 9, Scale: 2}, Default: "1.50"},
		{Name: "o", Type: Type{Kind: Struct, Fields: []Field{{Name: "a", Type: Type{Kind: Long}}, {Name: "t", Type: Type{Kind: TimestampTz}, Required: true, Default: "1970-01-01T00:00:01+00:00"}}}},
		{Name: "l", Type: listOf(Field{Type: Type{Kind: Struct, Fields: []Field{{Name: "b", Type: Type{Kind: Binary}, Default: []byte{0, 255}}}}})},
	}}
}

func TestAFieldThatIsNotThereTakesItsDefault(t *testing.T) {
	s := defaultsSchema()
	for _, c := range []struct {
		in   string
		want any
	}{
		{`{"id":1}`, []any{int64(1), int32(7), "né", dec("150"), nil, nil}},
		{`{"n":1,"s":"x","d":2}`, []any{nil, int32(1), "x", dec("200"), nil, nil}},
		{`{"s":null,"d":null}`, []any{nil, int32(7), nil, nil, nil, nil}},
		{`{"n":null}`, CodeRequired},
		{`{"o":{"a":1}}`, []any{nil, int32(7), "né", dec("150"), []any{int64(1), int64(1000000)}, nil}},
		{`{"o":null,"l":[{},{"b":null},null]}`, []any{nil, int32(7), "né", dec("150"), nil, []any{[]any{"\x00\xff"}, []any{nil}, nil}}},
		{`{"o":{"t":null}}`, CodeRequired},
	} {
		row, bad := mapOne(t, s, c.in)
		if code, isCode := c.want.(Code); isCode {
			if bad == nil || bad.Code != code {
				t.Errorf("%s: %v %v, want %s", c.in, row, bad, code)
			}
			continue
		}
		if bad != nil || !sameValue(any(row), c.want) {
			t.Errorf("%s: %v %v, want %v", c.in, row, bad, c.want)
		}
	}
}

func TestAvroFieldsThatAreNotWrittenTakeTheirDefault(t *testing.T) {
	s := defaultsSchema()
	m, cs := mustAvro(t, s, AvroOptions{Schema: ptr(recordOf("id long"))})
	row, bad := mapAvro(t, m, cs, zz(5))
	if want := []any{int64(5), int32(7), "né", dec("150"), nil, nil}; bad != nil || !sameValue(any(row), any(want)) {
		t.Errorf("%v %v, want %v", row, bad, want)
	}
}

// What the message does not have takes the default; what it has and a record leaves out is the message's own affair.
func TestProtobufFieldsThatAreNotInTheMessageTakeTheirDefault(t *testing.T) {
	s := defaultsSchema()
	m, cs := mustProto(t, s, ProtoOptions{Schema: protoOf("int64 id=1; optional string s=2;")})
	row, bad := mapAvro(t, m, cs, raw(1, 5))
	if want := []any{int64(5), int32(7), nil, dec("150"), nil, nil}; bad != nil || !sameValue(any(row), any(want)) {
		t.Errorf("%v %v, want %v", row, bad, want)
	}
}

func TestRowsTakeDefaults(t *testing.T) {
	s := defaultsSchema()
	m, err := FromRowMapper(RowMapperFunc(func(_ *source.Record, r *Row) error { return r.Set("o", map[string]any{"a": 3}) }))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	if err := m.Map(&source.Record{Value: []byte("x")}, cs); err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, cs)
	want := []any{nil, int32(7), "né", dec("150"), []any{int64(3), int64(1000000)}, nil}
	if row := rowOf(cs, 0); !sameValue(any(row), any(want)) {
		t.Errorf("%v, want %v", row, want)
	}
}

func TestDefaultsThatDoNotFitAreRefused(t *testing.T) {
	for _, f := range []Field{
		{Name: "c", Type: Type{Kind: Int}, Default: int64(math.MaxInt64)},
		{Name: "c", Type: Type{Kind: Long}, Default: "7"},
		{Name: "c", Type: Type{Kind: Decimal, Precision: 4, Scale: 2}, Default: "1.555"},
		{Name: "c", Type: Type{Kind: TimestampTz}, Default: "1970-01-01T00:00:00"},
		{Name: "c", Type: Type{Kind: Fixed, Length: 2}, Default: []byte{1}},
		{Name: "c", Type: listOf(Field{Type: Type{Kind: Long}}), Default: []any{}},
	} {
		if _, err := NewColumns(&Schema{Fields: []Field{f}}); err == nil || !strings.Contains(err.Error(), `column "c"`) {
			t.Errorf("%v of %v: %v", f.Default, f.Type, err)
		}
	}
}

// Defaults of texts count against the offsets, also where many elements of a list take them.
func TestDefaultsNeverPassTheOffsets(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "l", Type: listOf(Field{Type: Type{Kind: Struct, Fields: []Field{{Name: "s", Type: Type{Kind: String}, Default: strings.Repeat("x", 1000)}}}})}}}
	m, cs := mustJSON(t, s)
	cs.limit = 10_000_000
	rec := &source.Record{Value: []byte(`{"l":[` + strings.TrimSuffix(strings.Repeat("{},", 1000), ",") + `]}`)}
	var err error
	for err == nil {
		err = m.Map(rec, cs)
	}
	if !errors.Is(err, ErrFull) || cs.Rows == 0 || cs.extent() > cs.limit {
		t.Errorf("%v after %d rows, %d bytes", err, cs.Rows, cs.extent())
	}
	checkInvariants(t, cs)
}

func TestASchemaWithAnotherDefaultIsAnother(t *testing.T) {
	a, b := defaultsSchema(), defaultsSchema()
	if !a.Equal(b) {
		t.Error("equal schemas differ")
	}
	b.Fields[2].Default = "x"
	if a.Equal(b) {
		t.Error("a default does not count")
	}
}

// Width and depth have limits that are told, and what lies below them takes time in proportion.
func TestWideSchemasAndRecords(t *testing.T) {
	const columns, unknown = 5000, 100_000
	s := &Schema{}
	var wide, hostile strings.Builder
	for i := range columns {
		s.Fields = append(s.Fields, Field{ID: i + 1, Name: fmt.Sprintf("c%d", i), Type: Type{Kind: Long}})
		fmt.Fprintf(&wide, `,"c%d":%d`, i, i)
	}
	for i := range unknown {
		fmt.Fprintf(&hostile, `,"k%d":%d`, i, i)
	}
	m, cs := mustJSON(t, s)
	for _, in := range []string{wide.String(), wide.String(), hostile.String(), `,"c4999":1` + hostile.String()} {
		if err := m.Map(&source.Record{Value: []byte("{" + in[1:] + "}")}, cs); err != nil {
			t.Fatal(err)
		}
	}
	checkInvariants(t, cs)
	if cs.Rows != 4 || cs.Cols[4999].I64[0] != 4999 || cs.Cols[17].I64[1] != 17 || !cs.Cols[0].IsNull(2) || cs.Cols[4999].I64[3] != 1 {
		t.Error("wrong rows")
	}
	// Keys in reverse: each is looked up, none is where it was.
	keys := strings.Split(wide.String()[1:], ",")
	slices.Reverse(keys)
	if err := m.Map(&source.Record{Value: []byte("{" + strings.Join(keys, ",") + "}")}, cs); err != nil {
		t.Fatal(err)
	}
	if cs.Cols[3].I64[4] != 3 {
		t.Error("wrong row from keys in reverse")
	}
}

// A default stands in for what a record does not have: nobody needs the column to be optional.
func TestAFieldWithADefaultAsksForNoChange(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "id", Type: Type{Kind: Long}}, {ID: 2, Name: "n", Type: Type{Kind: Int}, Required: true, Default: int64(7)}}}
	if got := ask(t, s, everything, `{"id":1,"x":true}`); got != "add 0 x boolean" {
		t.Errorf("JSON: %s", got)
	}
	if got := ask(t, s, everything, `{"id":1,"n":null}`); got != "optional 2" {
		t.Errorf("JSON null: %s", got)
	}
	m, cs := mustAvro(t, s, AvroOptions{Schema: ptr(recordOf("id long")), Evolve: everything})
	if row, bad := mapAvro(t, m, cs, zz(5)); bad != nil || !sameValue(any(row), any([]any{int64(5), int32(7)})) {
		t.Errorf("Avro: %v %v", row, bad)
	}
}

// Where only elements of lists could be many, a default counts once for a large record.
func TestALargeRecordFitsBesideALongDefault(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Binary}}, {Name: "s", Type: Type{Kind: String}, Default: strings.Repeat("x", 4000)}}}
	for range 2 {
		row, err := ruled(t, NewRaw(RawOptions{Column: "a"}), s, make([]byte, 1<<20))
		if err != nil || len(row[1].(string)) != 4000 {
			t.Fatal(err)
		}
		s.Fields = append(s.Fields, Field{Name: "o", Type: structOf(Field{Name: "s", Type: of(String), Default: "y"})})
	}
}
