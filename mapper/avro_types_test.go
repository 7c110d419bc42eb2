package mapper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// What follows writes Avro by hand: the tests must not depend on the library that parses schemas.

func zz(vs ...int64) (b []byte) {
	for _, v := range vs {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func zstr(s string) []byte { return append(zz(int64(len(s))), s...) }

func f32(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }

func f64(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }

// recordOf is the text of a record schema of the given fields, "name type".
func recordOf(fields ...string) AvroSchema {
	for i, f := range fields {
		name, typ, _ := strings.Cut(f, " ")
		if !strings.ContainsAny(typ, "{[\"") {
			typ = `"` + typ + `"`
		}
		fields[i] = fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ)
	}
	return AvroSchema{Text: `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`}
}

func mustAvro(t testing.TB, s *Schema, opts AvroOptions) (Mapper, *Columns) {
	t.Helper()
	m, err := NewAvro(opts)(s)
	if err != nil {
		t.Fatal(err)
	}
	return m, mustColumns(t, s)
}

// mapAvro maps one body behind a first row, and gives its row or why it is bad.
func mapAvro(t testing.TB, m Mapper, cs *Columns, body []byte) ([]any, *BadRecordError) {
	t.Helper()
	before := cs.Rows
	err := m.Map(&source.Record{Value: body}, cs)
	checkInvariants(t, cs)
	var bad *BadRecordError
	switch {
	case errors.As(err, &bad):
		if cs.Rows != before {
			t.Fatalf("%x: bad, and yet a row", body)
		}
		return nil, bad
	case err != nil:
		t.Fatalf("%x: %v", body, err)
	}
	return rowOf(cs, before), nil
}

type avroCase struct {
	in   []byte
	want any // a value, or the Code of a bad record
}

func logical(typ, name string) string { return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, typ, name) }

func TestAvroTypesAreExactOrRefused(t *testing.T) {
	dec102 := `{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`
	day := int64(86400)
	const firstSecond, endSecond = -62135596800, 253402300800
	for _, g := range []struct {
		avro  string
		typ   Type
		cases []avroCase
	}{
		{"boolean", Type{Kind: Boolean}, []avroCase{{[]byte{1}, true}, {[]byte{0}, false}, {[]byte{2}, CodeSyntax}, {nil, CodeEmpty}}},
		{"int", Type{Kind: Int}, []avroCase{{zz(math.MaxInt32), int32(math.MaxInt32)}, {zz(math.MinInt32), int32(math.MinInt32)}, {zz(math.MaxInt32 + 1), CodeSyntax},
			{[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, CodeSyntax}, {[]byte{0x80, 0}, int32(0)}, {[]byte{0x80}, CodeSyntax}}},
		{"int", Type{Kind: Long}, []avroCase{{zz(-7), int64(-7)}, {zz(math.MinInt32 - 1), CodeSyntax}}},
		{"int", Type{Kind: Float}, []avroCase{{zz(1 << 24), float32(1 << 24)}, {zz(1<<24 + 1), CodePrecision}}},
		{"int", Type{Kind: Double}, []avroCase{{zz(math.MaxInt32), float64(math.MaxInt32)}}},
		{"int", Type{Kind: Decimal, Precision: 4, Scale: 2}, []avroCase{{zz(-99), dec("-9900")}, {zz(100), CodeRange}, {zz(0), dec("0")}}},
		{"long", Type{Kind: Long}, []avroCase{{zz(math.MaxInt64), int64(math.MaxInt64)}, {zz(math.MinInt64), int64(math.MinInt64)},
			{slices.Repeat([]byte{0xff}, 10), CodeSyntax}, {append(slices.Repeat([]byte{0xff}, 9), 2), CodeSyntax}, {slices.Repeat([]byte{0x80}, 12), CodeSyntax}, {slices.Repeat([]byte{0xff}, 9), CodeSyntax}}},
		{"long", Type{Kind: Int}, []avroCase{{zz(math.MaxInt32), int32(math.MaxInt32)}, {zz(math.MaxInt32 + 1), CodeRange}, {zz(math.MinInt64), CodeRange}}},
		{"long", Type{Kind: Double}, []avroCase{{zz(1 << 53), float64(1 << 53)}, {zz(1<<53 + 1), CodePrecision}, {zz(math.MinInt64), -9223372036854775808.0}, {zz(math.MaxInt64), CodePrecision}}},
		{"long", Type{Kind: Decimal, Precision: 38, Scale: 19}, []avroCase{{zz(math.MinInt64), dec("-92233720368547758080000000000000000000")}}},
		{"long", Type{Kind: Decimal, Precision: 38, Scale: 20}, []avroCase{{zz(math.MaxInt64), CodeRange}}},
		{"float", Type{Kind: Float}, []avroCase{{f32(0.1), float32(0.1)}, {f32(float32(math.Inf(-1))), float32(math.Inf(-1))}, {f32(float32(math.NaN())), float32(math.NaN())}, {[]byte{1, 2, 3}, CodeSyntax}}},
		{"float", Type{Kind: Double}, []avroCase{{f32(0.1), float64(float32(0.1))}, {f32(float32(math.Inf(1))), math.Inf(1)}}},
		{"double", Type{Kind: Double}, []avroCase{{f64(0.1), 0.1}, {f64(math.NaN()), math.NaN()}, {f64(math.Copysign(0, -1)), math.Copysign(0, -1)}, {f64(5)[:7], CodeSyntax}}},
		{"double", Type{Kind: Float}, []avroCase{{f64(0.5), float32(0.5)}, {f64(0.1), CodePrecision}, {f64(1e300), CodeRange}, {f64(math.Inf(1)), float32(math.Inf(1))}}},
		{"string", Type{Kind: String}, []avroCase{{zstr("hé\x00"), "hé\x00"}, {zstr(""), ""}, {zstr("\xff"), CodeUTF8}, {zstr("\xed\xa0\x80"), CodeUTF8}, {zz(-1), CodeSyntax}, {zz(math.MaxInt64), CodeSyntax}, {append(zz(3), "ab"...), CodeSyntax}}},
		{"string", Type{Kind: Binary}, []avroCase{{zstr("ab"), "ab"}, {zstr("\xff"), CodeUTF8}}},
		{"string", Type{Kind: UUID}, []avroCase{{zstr("00112233-4455-6677-8899-AABBCCDDEEFF"), "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"}, {zstr("0"), CodeType}}},
		{"string", Type{Kind: Decimal, Precision: 4, Scale: 2}, []avroCase{{zstr("1.5"), dec("150")}, {zstr("1.555"), CodePrecision}}},
		{"string", Type{Kind: TimestampTz}, []avroCase{{zstr("1970-01-01T00:00:01Z"), int64(1000000)}, {zstr("1970-01-01T00:00:01"), CodeType}}},
		{"string", Type{Kind: Date}, []avroCase{{zstr("1969-12-31"), int32(-1)}}},
		{logical("string", "uuid"), Type{Kind: UUID}, []avroCase{{zstr("00112233-4455-6677-8899-aabbccddeeff"), "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"}, {zstr("x"), CodeType}}},
		{logical("string", "uuid"), Type{Kind: String}, []avroCase{{zstr("anything"), "anything"}}},
		{"bytes", Type{Kind: Binary}, []avroCase{{zstr("\xff\x00"), "\xff\x00"}, {zz(9), CodeSyntax}}},
		{"bytes", Type{Kind: String}, []avroCase{{zstr("a"), "a"}, {zstr("\xff"), CodeUTF8}}},
		{"bytes", Type{Kind: Fixed, Length: 2}, []avroCase{{zstr("ab"), "ab"}, {zstr("a"), CodeLength}, {zstr("abc"), CodeLength}}},
		{`{"type":"fixed","name":"F","size":2}`, Type{Kind: Fixed, Length: 2}, []avroCase{{[]byte("ab"), "ab"}, {[]byte("a"), CodeSyntax}}},
		{`{"type":"fixed","name":"F","size":2}`, Type{Kind: Binary}, []avroCase{{[]byte("ab"), "ab"}}},
		{`{"type":"fixed","name":"F","size":16,"logicalType":"uuid"}`, Type{Kind: UUID}, []avroCase{{[]byte("0123456789abcdef"), "0123456789abcdef"}}},
		{`{"type":"fixed","name":"F","size":12,"logicalType":"duration"}`, Type{Kind: Fixed, Length: 12}, []avroCase{{[]byte("0123456789ab"), "0123456789ab"}}},
		{`{"type":"enum","name":"E","symbols":["A","BEE"]}`, Type{Kind: String}, []avroCase{{zz(0), "A"}, {zz(1), "BEE"}, {zz(2), CodeSyntax}, {zz(-1), CodeSyntax}, {zz(1 << 40), CodeSyntax}}},
		{dec102, Type{Kind: Decimal, Precision: 10, Scale: 2}, []avroCase{{zstr("\x00"), dec("0")}, {zstr("\xff"), dec("-1")}, {zstr("\x00\xff"), dec("255")}, {zstr("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05"), dec("5")},
			{zstr(strings.Repeat("\xff", 40)), dec("-1")}, {zstr("\x00\x80" + strings.Repeat("\x00", 15)), CodeRange}, {zstr("\x80" + strings.Repeat("\x00", 15)), CodeRange}, {zstr("\x02\x54\x0b\xe4\x00"), CodeRange}, {zstr("\x02\x54\x0b\xe3\xff"), dec("9999999999")}, {zstr(""), CodeType}, {zz(-3), CodeSyntax}}},
		{dec102, Type{Kind: Decimal, Precision: 10, Scale: 4}, []avroCase{{zstr("\x01"), dec("100")}, {zstr("\xff"), dec("-100")}, {zstr("\x3b\x9a\xca\x00"), CodeRange}}},
		{dec102, Type{Kind: Decimal, Precision: 10, Scale: 0}, []avroCase{{zstr("\x64"), dec("1")}, {zstr("\x9c"), dec("-1")}, {zstr("\x65"), CodePrecision}}},
		{`{"type":"fixed","name":"F","size":3,"logicalType":"decimal","precision":5,"scale":1}`, Type{Kind: Decimal, Precision: 5, Scale: 1}, []avroCase{{[]byte("\xff\xff\xfe"), dec("-2")}, {[]byte("\x01\x86\xa0"), CodeRange}}},
		// Times ten it passes 2^128 and would wrap to few digits.
		{`{"type":"fixed","name":"F","size":16,"logicalType":"decimal","precision":38,"scale":1}`, Type{Kind: Decimal, Precision: 38, Scale: 2}, []avroCase{{[]byte("\x30\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"), CodeRange}}},
		{logical("int", "date"), Type{Kind: Date}, []avroCase{{zz(-719162), int32(-719162)}, {zz(-719163), CodeRange}, {zz(2932896), int32(2932896)}, {zz(2932897), CodeRange}}},
		{logical("int", "date"), Type{Kind: Int}, []avroCase{{zz(math.MaxInt32), int32(math.MaxInt32)}}},
		{logical("int", "time-millis"), Type{Kind: Time}, []avroCase{{zz(1), int64(1000)}, {zz(86399999), int64(86399999000)}, {zz(86400000), CodeRange}, {zz(-1), CodeRange}, {zz(math.MaxInt64), CodeSyntax}}},
		{logical("long", "time-micros"), Type{Kind: Time}, []avroCase{{zz(86399999999), int64(86399999999)}, {zz(86400000000), CodeRange}, {zz(math.MinInt64), CodeRange}}},
		{logical("long", "time-nanos"), Type{Kind: Time}, []avroCase{{zz(5000), int64(5)}, {zz(5001), CodePrecision}, {zz(86400000000000), CodeRange}}},
		{logical("long", "timestamp-millis"), Type{Kind: TimestampTz}, []avroCase{{zz(-1), int64(-1000)}, {zz(firstSecond * 1000), int64(firstSecond * 1000000)}, {zz(firstSecond*1000 - 1), CodeRange}, {zz(endSecond*1000 - 1), int64(endSecond*1000000 - 1000)}, {zz(endSecond * 1000), CodeRange}, {zz(math.MaxInt64), CodeRange}, {zz(math.MinInt64), CodeRange}}},
		{logical("long", "timestamp-millis"), Type{Kind: Long}, []avroCase{{zz(math.MaxInt64), int64(math.MaxInt64)}}},
		{logical("long", "timestamp-micros"), Type{Kind: TimestampTz}, []avroCase{{zz(endSecond*1000000 - 1), int64(endSecond*1000000 - 1)}, {zz(endSecond * 1000000), CodeRange}}},
		{logical("long", "timestamp-nanos"), Type{Kind: TimestampTz}, []avroCase{{zz(-1000), int64(-1)}, {zz(-1001), CodePrecision}, {zz(math.MaxInt64 - 807), int64(math.MaxInt64 / 1000)}, {zz(math.MaxInt64), CodePrecision}}},
		{logical("long", "timestamp-millis"), Type{Kind: TimestampTzNs}, []avroCase{{zz(1), int64(1000000)}, {zz(9223372036854), int64(9223372036854000000)}, {zz(9223372036855), CodeRange}, {zz(-9223372036854), int64(-9223372036854000000)}, {zz(-9223372036855), CodeRange}}},
		{logical("long", "timestamp-nanos"), Type{Kind: TimestampTzNs}, []avroCase{{zz(math.MinInt64), int64(math.MinInt64)}, {zz(math.MaxInt64), int64(math.MaxInt64)}}},
		{logical("long", "local-timestamp-micros"), Type{Kind: Timestamp}, []avroCase{{zz(day), day}}},
		{logical("long", "local-timestamp-nanos"), Type{Kind: TimestampNs}, []avroCase{{zz(day), day}}},
		{`{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":false}`, Type{Kind: Timestamp}, []avroCase{{zz(day), day}}},
		{logical("long", "no-such-type"), Type{Kind: Long}, []avroCase{{zz(5), int64(5)}}},
		{"null", Type{Kind: Long}, []avroCase{{[]byte{}, CodeEmpty}}},
		{`["null","long"]`, Type{Kind: Long}, []avroCase{{zz(0), nil}, {zz(1, 5), int64(5)}, {zz(2), CodeSyntax}, {zz(-1), CodeSyntax}}},
		{`["long","null"]`, Type{Kind: Long}, []avroCase{{zz(1), nil}, {zz(0, 5), int64(5)}}},
		{`["null","int",{"type":"enum","name":"E","symbols":["A"]},"string"]`, Type{Kind: String}, []avroCase{{nil, CodeSchema}}},
		{`["null",{"type":"enum","name":"E","symbols":["A"]},"string"]`, Type{Kind: String}, []avroCase{{zz(0), nil}, {zz(1, 0), "A"}, {append(zz(2), zstr("x")...), "x"}, {zz(3), CodeSyntax}}},
		{`["int","long","double"]`, Type{Kind: Double}, []avroCase{{zz(0, 1), 1.0}, {zz(1, 1<<53+1), CodePrecision}, {append(zz(2), f64(0.1)...), 0.1}}},
		{`{"type":"array","items":"long"}`, listOf(Field{Type: Type{Kind: Long}}), []avroCase{{zz(0), []any{}}, {zz(2, 1, 2, 1, 3, 0), []any{int64(1), int64(2), int64(3)}}, {zz(-2, 2, 1, 2, 0), []any{int64(1), int64(2)}},
			{zz(-2, 3, 1, 2, 0), CodeSyntax}, {zz(-2, 1, 1, 2, 0), CodeSyntax}, {zz(-1, -1, 1, 0), CodeSyntax}, {zz(math.MaxInt64), CodeSyntax}, {zz(math.MinInt64, 1, 1, 0), CodeSyntax}, {zz(1, 1), CodeSyntax}, {zz(3, 1, 1), CodeSyntax}}},
		{`{"type":"array","items":"null"}`, listOf(Field{Type: Type{Kind: Long}}), []avroCase{{zz(3, 0), []any{nil, nil, nil}}, {zz(4097, 0), CodeSize}, {zz(4000, 4000, 0), CodeSize}, {zz(math.MaxInt64, 0), CodeSize}}},
		{`{"type":"map","values":"long"}`, mapOf(Type{Kind: String}, Field{Type: Type{Kind: Long}}), []avroCase{{zz(0), []any{}}, {slices.Concat(zz(1), zstr("k"), zz(5), zz(0)), []any{"k", int64(5)}},
			{slices.Concat(zz(2), zstr("k"), zz(5), zstr("k"), zz(5), zz(0)), CodeDuplicateKey}, {slices.Concat(zz(1), zstr("k"), zz(5), zz(1), zstr("k"), zz(5), zz(0)), CodeDuplicateKey}, {slices.Concat(zz(1), zstr("\xff"), zz(5), zz(0)), CodeUTF8}, {zz(math.MaxInt64), CodeSyntax}}},
	} {
		t.Run(g.avro+" to "+g.typ.String(), func(t *testing.T) {
			s := &Schema{Fields: []Field{{Name: "c", Type: g.typ}}}
			m, err := NewAvro(AvroOptions{Schema: ptr(recordOf("c " + g.avro))})(s)
			if g.cases[0].want == CodeSchema {
				if err == nil || !strings.Contains(err.Error(), `column "c"`) {
					t.Fatalf("got %v, want an error that names the column", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			cs := mustColumns(t, s)
			for _, c := range g.cases {
				if c.in == nil {
					c.in = []byte{}
				}
				row, bad := mapAvro(t, m, cs, c.in)
				switch code, isCode := c.want.(Code); {
				case isCode && (bad == nil || bad.Code != code):
					t.Errorf("%x: got %v %v, want %s", c.in, row, bad, code)
				case !isCode && bad != nil:
					t.Errorf("%x: %v", c.in, bad)
				case !isCode && !sameValues(row[0], c.want) && !(row[0] != row[0] && c.want != c.want):
					t.Errorf("%x: got %#v, want %#v", c.in, row[0], c.want)
				}
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// What would be a guess, or can't be exact, is refused before a record comes.
func TestAvroRefusesWhatWouldBeAGuess(t *testing.T) {
	dec := `{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`
	for _, c := range []struct {
		avro string
		typ  Type
		want string
	}{
		{"long", Type{Kind: TimestampTz}, "without a logical type its unit would be a guess"},
		{"int", Type{Kind: Date}, "without a logical type"},
		{logical("long", "timestamp-millis"), Type{Kind: Timestamp}, "an instant has no date and no clock without a time zone"},
		{logical("long", "local-timestamp-millis"), Type{Kind: TimestampTz}, "a local time is no instant"},
		{logical("long", "timestamp-millis"), Type{Kind: Date}, "an instant has no date"},
		{logical("int", "date"), Type{Kind: TimestampTz}, "a field of type int (date) does not fit a column of type timestamptz"},
		{logical("int", "date"), Type{Kind: Decimal, Precision: 9}, "does not fit"},
		{logical("long", "timestamp-micros"), Type{Kind: Double}, "does not fit"},
		{"string", Type{Kind: Long}, "a field of type string does not fit a column of type long"},
		{"string", Type{Kind: Fixed, Length: 2}, "does not fit"},
		{"double", Type{Kind: Long}, "does not fit"},
		{"double", Type{Kind: Decimal, Precision: 9}, "does not fit"},
		{"boolean", Type{Kind: Int}, "does not fit"},
		{"bytes", Type{Kind: Decimal, Precision: 9}, "does not fit"},
		{dec, Type{Kind: Binary}, "does not fit"},
		{dec, Type{Kind: Double}, "does not fit"},
		{`{"type":"fixed","name":"F","size":16}`, Type{Kind: UUID}, "does not fit"},
		{`{"type":"fixed","name":"F","size":3}`, Type{Kind: Fixed, Length: 4}, "a field of type fixed F does not fit a column of type fixed[4]"},
		{`{"type":"fixed","name":"F","size":12,"logicalType":"duration"}`, Type{Kind: String}, "fixed (duration)"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, Type{Kind: Int}, "enum E"},
		{`["null","long","string"]`, Type{Kind: Long}, "a field of type string does not fit"},
		{`{"type":"array","items":"string"}`, listOf(Field{Type: Type{Kind: Long}}), `column "c.element"`},
		{`{"type":"map","values":"string"}`, mapOf(Type{Kind: Long}, Field{Type: Type{Kind: String}}), "does not fit a column of type map<long,string>"},
		{`{"type":"map","values":"string"}`, Type{Kind: Struct, Fields: []Field{{Name: "a", Type: Type{Kind: String}}}}, "does not fit"},
		{`["null","R"]`, Type{Kind: Struct, Fields: []Field{{Name: "c", Type: Type{Kind: String}}}}, "is recursive"},
		{`{"type":"array","items":{"type":"record","name":"N","fields":[{"name":"kids","type":{"type":"array","items":"N"}}]}}`, Type{Kind: Long}, "the type N is recursive"},
	} {
		_, err := NewAvro(AvroOptions{Schema: ptr(recordOf("c " + c.avro))})(&Schema{Fields: []Field{{Name: "c", Type: c.typ}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: got %v, want %q", c.avro, c.typ.String(), err, c.want)
		}
	}
}
