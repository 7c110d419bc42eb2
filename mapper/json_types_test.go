package mapper

import (
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

func mustJSON(t testing.TB, s *Schema) (Mapper, *Columns) {
	t.Helper()
	m, err := NewJSON(JSONOptions{})(s)
	if err != nil {
		t.Fatal(err)
	}
	return m, mustColumns(t, s)
}

// mapOne maps one record and gives its row, or the code of why it is bad.
func mapOne(t testing.TB, s *Schema, record string) ([]any, *BadRecordError) {
	t.Helper()
	m, cs := mustJSON(t, s)
	err := m.Map(&source.Record{Value: []byte(record)}, cs)
	checkInvariants(t, cs)
	var bad *BadRecordError
	if errors.As(err, &bad) {
		if cs.Rows != 0 {
			t.Fatalf("%s: bad, and yet a row", record)
		}
		return nil, bad
	}
	if err != nil {
		t.Fatal(err)
	}
	return rowOf(cs, 0), nil
}

// dec is the slot of an unscaled decimal.
func dec(unscaled string) string {
	v, _ := new(big.Int).SetString(unscaled, 10)
	if v.Sign() < 0 {
		v.Add(v, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	b := v.FillBytes(make([]byte, 16))
	for i := range 8 {
		b[i], b[15-i] = b[15-i], b[i]
	}
	return string(b)
}

func micros(s string) int64 {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t.UnixMicro()
}

type typeCase struct {
	in   string
	want any // a value, or the Code of a bad record
}

var typeCases = map[string]struct {
	typ   Type
	cases []typeCase
}{
	"boolean": {Type{Kind: Boolean}, []typeCase{
		{`true`, true}, {`false`, false}, {`null`, nil}, {`"true"`, CodeType}, {`1`, CodeType}, {`0`, CodeType}, {`[]`, CodeType},
		{`True`, CodeSyntax}, {`tru`, CodeSyntax}, {`truee`, CodeSyntax}, {`fals`, CodeSyntax}, {`nul`, CodeSyntax},
	}},
	"int": {Type{Kind: Int}, []typeCase{
		{`0`, int32(0)}, {`-0`, int32(0)}, {`2147483647`, int32(math.MaxInt32)}, {`-2147483648`, int32(math.MinInt32)},
		{`2147483648`, CodeRange}, {`-2147483649`, CodeRange}, {`9223372036854775808`, CodeRange}, {`4294967296`, CodeRange},
		{`1.0`, int32(1)}, {`1e2`, int32(100)}, {`120e-1`, int32(12)}, {`0.0`, int32(0)}, {`0e99999999999999999999`, int32(0)},
		{`1.5`, CodePrecision}, {`1e-1`, CodePrecision}, {`1e10`, CodeRange}, {`1E+9`, int32(1000000000)},
		{`"1"`, CodeType}, {`true`, CodeType}, {`{}`, CodeType}, {`[1]`, CodeType}, {`null`, nil},
	}},
	"long": {Type{Kind: Long}, []typeCase{
		{`9223372036854775807`, int64(math.MaxInt64)}, {`-9223372036854775808`, int64(math.MinInt64)},
		{`9223372036854775808`, CodeRange}, {`-9223372036854775809`, CodeRange}, {`18446744073709551617`, CodeRange},
		{`9007199254740993`, int64(9007199254740993)}, {`9007199254740993.0`, int64(9007199254740993)},
		{`9007199254740993.5`, CodePrecision}, {`9.223372036854775807e18`, int64(math.MaxInt64)}, {`9.223372036854775808e18`, CodeRange},
		{`-9.223372036854775808e18`, int64(math.MinInt64)}, {`1e19`, CodeRange}, {`1e400`, CodeRange}, {`1e-400`, CodePrecision},
		{`1e99999999999999999999999`, CodeRange}, {`1e-99999999999999999999999`, CodePrecision},
		{`999999999999999999`, int64(999999999999999999)}, {`1000000000000000000`, int64(1000000000000000000)},
		{`100000000000000000000e-20`, int64(1)}, {`0.00001e5`, int64(1)}, {`0.` + strings.Repeat("0", 400) + `1e401`, int64(1)},
		{`012`, CodeSyntax}, {`-012`, CodeSyntax}, {`00`, CodeSyntax}, {`1.`, CodeSyntax}, {`.5`, CodeSyntax}, {`+1`, CodeSyntax}, {`-`, CodeSyntax}, {`1e`, CodeSyntax},
		{`1e+`, CodeSyntax}, {`-a`, CodeSyntax}, {`NaN`, CodeSyntax}, {`Infinity`, CodeSyntax}, {`-Infinity`, CodeSyntax}, {`0x10`, CodeSyntax}, {`1_000`, CodeSyntax},
	}},
	"float": {Type{Kind: Float}, []typeCase{
		{`1`, float32(1)}, {`1.5`, float32(1.5)}, {`-0.0`, float32(math.Copysign(0, -1))}, {`3.4028234663852886e38`, float32(math.MaxFloat32)},
		{`3.5e38`, CodeRange}, {`1e400`, CodeRange}, {`1e-400`, float32(0)}, {`0.1`, float32(0.1)},
		// Rounded by way of a double this would be 1: just above the middle of 1 and the next float.
		{`1.000000059604644775390626`, math.Nextafter32(1, 2)},
		{`16777216`, float32(16777216)}, {`16777217`, CodePrecision}, {`-16777217`, CodePrecision}, {`16777217.0`, float32(16777216)},
		{`340282350000000000000000000000000000000`, float32(math.MaxFloat32)}, {`340282346638528859811704183484516925440`, float32(math.MaxFloat32)}, {`"NaN"`, CodeType}, {`"1.5"`, CodeType}, {`true`, CodeType},
	}},
	"double": {Type{Kind: Double}, []typeCase{
		{`1`, 1.0}, {`0.1`, 0.1}, {`-0`, math.Copysign(0, -1)}, {`1e308`, 1e308}, {`1.7976931348623157e308`, math.MaxFloat64},
		{`1.8e308`, CodeRange}, {`1e400`, CodeRange}, {`5e-324`, 5e-324}, {`1e-400`, 0.0}, {`9007199254740993`, CodePrecision},
		{`-9007199254740993`, CodePrecision}, {`9007199254740992`, 9007199254740992.0}, {`9007199254740994`, 9007199254740994.0}, {`9007199254740993.0`, 9007199254740992.0},
		{`9223372036854775808`, 9223372036854775808.0}, {`9223372036854776000`, 9223372036854775808.0}, {`-9223372036854776000`, -9223372036854775808.0}, {`9223372036854775807`, CodePrecision},
		{`9223372036854775900`, CodePrecision}, {`123456789012345678901234567890`, CodePrecision}, {`1` + strings.Repeat("0", 308), 1e308}, {`0.30000000000000004`, 0.30000000000000004},
		{`2.2250738585072011e-308`, 2.2250738585072011e-308}, {`"1"`, CodeType}, {`Infinity`, CodeSyntax}, {`[]`, CodeType},
	}},
	"decimal(10,2)": {Type{Kind: Decimal, Precision: 10, Scale: 2}, []typeCase{
		{`"12.34"`, dec("1234")}, {`12.34`, dec("1234")}, {`"-12.34"`, dec("-1234")}, {`"12.340000"`, dec("1234")}, {`12`, dec("1200")},
		{`1.234e1`, dec("1234")}, {`"1234e-2"`, dec("1234")}, {`12.345`, CodePrecision}, {`"0.001"`, CodePrecision}, {`"1e-400"`, CodePrecision},
		{`99999999.99`, dec("9999999999")}, {`100000000`, CodeRange}, {`1e8`, CodeRange}, {`"1e99999999999999999999"`, CodeRange},
		{`0`, dec("0")}, {`-0.00000`, dec("0")}, {`"0e-99999999999"`, dec("0")}, {`0.29`, dec("29")}, {`1.10`, dec("110")},
		{`""`, CodeType}, {`"abc"`, CodeType}, {`"1,5"`, CodeType}, {`" 1"`, CodeType}, {`"+1"`, CodeType}, {`"01"`, CodeType}, {`"NaN"`, CodeType},
		{`"1."`, CodeType}, {`true`, CodeType}, {`[]`, CodeType}, {`null`, nil}, {`1.`, CodeSyntax},
	}},
	"decimal(38,0)": {Type{Kind: Decimal, Precision: 38}, []typeCase{
		{strings.Repeat("9", 38), dec(strings.Repeat("9", 38))}, {"-" + strings.Repeat("9", 38), dec("-" + strings.Repeat("9", 38))},
		{"1" + strings.Repeat("0", 38), CodeRange}, {"1e37", dec("1" + strings.Repeat("0", 37))}, {"1e38", CodeRange},
		{`"18446744073709551616"`, dec("18446744073709551616")}, {`-18446744073709551615`, dec("-18446744073709551615")},
		{"12345678901234567890123456789012345678", dec("12345678901234567890123456789012345678")}, {"1.5", CodePrecision},
	}},
	"decimal(38,38)": {Type{Kind: Decimal, Precision: 38, Scale: 38}, []typeCase{
		{"0." + strings.Repeat("0", 37) + "1", dec("1")}, {"1e-38", dec("1")}, {"1e-39", CodePrecision}, {"1", CodeRange},
		{"0." + strings.Repeat("9", 38), dec(strings.Repeat("9", 38))},
	}},
	"date": {Type{Kind: Date}, []typeCase{
		{`"1970-01-01"`, int32(0)}, {`"1969-12-31"`, int32(-1)}, {`"2024-02-29"`, int32(19782)}, {`"0001-01-01"`, int32(minDay)},
		{`"9999-12-31"`, int32(maxDay)}, {`19782`, int32(19782)}, {`-1`, int32(-1)}, {`19782.0`, int32(19782)}, {`19782.5`, CodePrecision},
		{`"2023-02-29"`, CodeRange}, {`"1900-02-29"`, CodeRange}, {`"2000-02-29"`, int32(11016)}, {`"2024-13-01"`, CodeRange}, {`"2024-00-01"`, CodeRange},
		{`"2024-04-31"`, CodeRange}, {`"2024-01-00"`, CodeRange}, {`"0000-01-01"`, CodeRange}, {`2932897`, CodeRange}, {`-719163`, CodeRange},
		{`"2024-1-1"`, CodeType}, {`"20240101"`, CodeType}, {`"2024-01-01T00:00:00"`, CodeType}, {`"2024/01/01"`, CodeType}, {`""`, CodeType},
		{`"64630-1-01"`, CodeType}, {`true`, CodeType}, {`"2024-01-0a"`, CodeType}, {`4294967296`, CodeRange},
	}},
	"time": {Type{Kind: Time}, []typeCase{
		{`"00:00:00"`, int64(0)}, {`"23:59:59.999999"`, int64(86400*1000000 - 1)}, {`"12:34:56.5"`, int64(45296500000)}, {`"12:34:56.500000000"`, int64(45296500000)},
		{`"12:34:56.1234567"`, CodePrecision}, {`"12:34:56.0000000001"`, CodePrecision}, {`"24:00:00"`, CodeRange}, {`"12:60:00"`, CodeRange}, {`"23:59:60"`, CodeRange},
		{`"12:34"`, CodeType}, {`"1:02:03"`, CodeType}, {`"12:34:56."`, CodeType}, {`"12:34:56Z"`, CodeType}, {`"12:34:56,5"`, CodeType}, {`1000`, CodeType}, {`""`, CodeType},
	}},
	"timestamptz": {Type{Kind: TimestampTz}, []typeCase{
		{`"2024-02-29T12:34:56Z"`, micros("2024-02-29T12:34:56Z")}, {`"2024-02-29t12:34:56z"`, micros("2024-02-29T12:34:56Z")},
		{`"2024-02-29 12:34:56.789+05:30"`, micros("2024-02-29T12:34:56.789+05:30")}, {`"2024-02-29T12:34:56.123456-11:00"`, micros("2024-02-29T12:34:56.123456-11:00")},
		{`"2024-02-29T12:34:56.123456000Z"`, micros("2024-02-29T12:34:56.123456Z")}, {`"2024-02-29T12:34:56-00:00"`, micros("2024-02-29T12:34:56Z")},
		{`"2024-02-29T12:34:56.1234567Z"`, CodePrecision}, {`"2024-02-29T12:34:56.1234560000001Z"`, CodePrecision},
		{`"2024-02-29T12:34:56"`, CodeType}, {`"2024-02-29"`, CodeType}, {`"2024-02-29T12:34Z"`, CodeType}, {`"2024-02-29T12:34:56+0530"`, CodeType},
		{`"2024-02-29T12:34:56+05"`, CodeType}, {`"2024-02-29T12:34:56+24:00"`, CodeType}, {`"2024-02-29T12:34:56+05:60"`, CodeType}, {`"2024-02-29T12:34:56 Z"`, CodeType},
		{`"2024-02-30T12:34:56Z"`, CodeRange}, {`"2024-02-29T12:34:60Z"`, CodeRange}, {`"2024-02-29T24:00:00Z"`, CodeRange}, {`"2024-02-29T12:34:56.Z"`, CodeType},
		{`"1969-12-31T23:59:59.999999Z"`, int64(-1)}, {`"0001-01-01T00:00:00Z"`, int64(minMicros)}, {`"0001-01-01T00:00:00+00:01"`, CodeRange},
		{`"9999-12-31T23:59:59.999999Z"`, int64(maxMicros)}, {`"9999-12-31T23:59:59-00:01"`, CodeRange}, {`"0000-12-31T00:00:00Z"`, CodeRange},
		{`1700000000000`, int64(1700000000000000)}, {`-1`, int64(-1000)}, {`1.7e12`, int64(1700000000000000)}, {`1700000000000.5`, CodePrecision},
		{`1700000000000000`, CodeRange}, {`9223372036854775807`, CodeRange}, {`253402300799999`, int64(253402300799999000)}, {`253402300800000`, CodeRange},
		{`-62135596800000`, int64(minMicros)}, {`-62135596800001`, CodeRange}, {`"1700000000000"`, CodeType}, {`true`, CodeType}, {`"2024\u002d02-29T12:34:56Z"`, micros("2024-02-29T12:34:56Z")},
	}},
	"timestamp": {Type{Kind: Timestamp}, []typeCase{
		{`"2024-02-29T12:34:56"`, micros("2024-02-29T12:34:56Z")}, {`"2024-02-29 12:34:56.5"`, micros("2024-02-29T12:34:56.5Z")},
		{`"2024-02-29T12:34:56Z"`, CodeType}, {`"2024-02-29T12:34:56+01:00"`, CodeType}, {`1700000000001`, int64(1700000000001000)},
		{`"2024-02-29T12:34:56.0000001"`, CodePrecision},
	}},
	"timestamptz_ns": {Type{Kind: TimestampTzNs}, []typeCase{
		{`"2024-02-29T12:34:56.123456789Z"`, micros("2024-02-29T12:34:56Z")*1000 + 123456789}, {`"2024-02-29T12:34:56.1234567890Z"`, micros("2024-02-29T12:34:56Z")*1000 + 123456789},
		{`"2024-02-29T12:34:56.1234567891Z"`, CodePrecision}, {`1700000000001`, int64(1700000000001000000)},
		{`"2262-04-11T23:47:16.854775807Z"`, int64(math.MaxInt64)}, {`"2262-04-11T23:47:16.854775808Z"`, CodeRange},
		{`"1677-09-21T00:12:43.145224192Z"`, int64(math.MinInt64)}, {`"1677-09-21T00:12:43.145224191Z"`, CodeRange},
		{`9223372036854`, int64(9223372036854000000)}, {`9223372036855`, CodeRange}, {`-9223372036854`, int64(-9223372036854000000)}, {`-9223372036855`, CodeRange},
		{`"9999-12-31T23:59:59Z"`, CodeRange}, {`"1969-12-31T23:59:59.999999999Z"`, int64(-1)}, {`"2024-02-29T12:34:56"`, CodeType},
	}},
	"timestamp_ns": {Type{Kind: TimestampNs}, []typeCase{
		{`"1970-01-01T00:00:00.000000001"`, int64(1)}, {`"1970-01-01T00:00:00.000000001Z"`, CodeType},
	}},
	"string": {Type{Kind: String}, []typeCase{
		{`"abc"`, "abc"}, {`""`, ""}, {`"é€😀"`, "é€😀"}, {`"\u00e9\ud83d\ude00\n\"\\\/\b\f\r\t"`, "é😀\n\"\\/\b\f\r\t"}, {`"\u0000"`, "\x00"}, {`"\uFFFF"`, "\uffff"},
		{`1`, CodeType}, {`true`, CodeType}, {`{}`, CodeType}, {`null`, nil},
		{"\"a\xff\"", CodeUTF8}, {"\"\xc0\x80\"", CodeUTF8}, {"\"\xed\xa0\x80\"", CodeUTF8}, {"\"\xf4\x90\x80\x80\"", CodeUTF8}, {"\"12345678\xe2\x82\"", CodeUTF8},
		{"\"\\n\xff\"", CodeUTF8}, {`"\ud800"`, CodeUTF8}, {`"\udc00"`, CodeUTF8}, {`"\ud800x"`, CodeUTF8}, {`"\ud800\ud800"`, CodeUTF8}, {`"\ud800\n"`, CodeUTF8},
		{`"\ud800\u00zz"`, CodeSyntax}, {`"\u12"`, CodeSyntax}, {`"\x"`, CodeSyntax}, {`"\U00e9"`, CodeSyntax}, {"\"a\nb\"", CodeSyntax}, {"\"12345678\x1f\"", CodeSyntax}, {"\"\x00\"", CodeSyntax},
		{"\"\x7f\"", "\x7f"}, {`'a'`, CodeSyntax}, {`"abc`, CodeSyntax},
	}},
	"uuid": {Type{Kind: UUID}, []typeCase{
		{`"00112233-4455-6677-8899-aAbBcCdDeEfF"`, "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"},
		{`"00112233445566778899aabbccddeeff"`, CodeType}, {`"{00112233-4455-6677-8899-aabbccddeeff}"`, CodeType}, {`"00112233-4455-6677-8899-aabbccddeefg"`, CodeType},
		{`"00112233-4455-6677-88-99aabbccddeeff"`, CodeType}, {`""`, CodeType}, {`1`, CodeType}, {`"0-112233-4455-6677-8899-aabbccddeeff"`, CodeType},
		// A hyphen too many, where a pair of digits begins: it once made the reader run past the end.
		{`"00112233-4455-6677-8899-aabbccdd-eef"`, CodeType}, {`"-0112233-4455-6677-8899-aabbccddeeff"`, CodeType}, {`"00112233-4455-6677-8899--abbccddeeff"`, CodeType}, {`"------------------------------------"`, CodeType},
	}},
	"binary": {Type{Kind: Binary}, []typeCase{
		{`""`, ""}, {`"AAEC"`, "\x00\x01\x02"}, {`"AA=="`, "\x00"}, {`"AAE="`, "\x00\x01"}, {`"+/+/"`, "\xfb\xff\xbf"}, {`"\u0041AEC"`, "\x00\x01\x02"},
		{`"AA"`, CodeType}, {`"AA="`, CodeType}, {`"AB=="`, CodeType}, {`"-_-_"`, CodeType}, {`"AA EC"`, CodeType}, {`"AA\nEC\n\n\n"`, CodeType}, {`"AAEC\r\n\r\n"`, CodeType}, {`"=AAA"`, CodeType}, {`1`, CodeType}, {`[1,2]`, CodeType},
	}},
	"fixed[3]": {Type{Kind: Fixed, Length: 3}, []typeCase{
		{`"AAEC"`, "\x00\x01\x02"}, {`"AAE="`, CodeLength}, {`"AAECAwQF"`, CodeLength}, {`""`, CodeLength}, {`"AAE"`, CodeType}, {`null`, nil},
	}},
	"struct": {Type{Kind: Struct, Fields: []Field{{Name: "a", Type: Type{Kind: Long}, Required: true}, {Name: "b", Type: Type{Kind: String}}}}, []typeCase{
		{`{"a":1,"b":"x"}`, []any{int64(1), "x"}}, {`{"b":"x","a":1}`, []any{int64(1), "x"}}, {`{"a":1}`, []any{int64(1), nil}}, {`{"a":1,"b":null}`, []any{int64(1), nil}}, {`null`, nil},
		{`{"a":1,"zz":{"a":[]}}`, []any{int64(1), nil}}, {`{}`, CodeRequired}, {`{"a":null}`, CodeRequired}, {`{"b":"x"}`, CodeRequired}, {`{"a":1,"a":1}`, CodeDuplicateKey},
		{`{"a":1,"b":null,"b":"x"}`, CodeDuplicateKey}, {`[]`, CodeType}, {`"x"`, CodeType}, {`1`, CodeType}, {`{"a":1,}`, CodeSyntax}, {`{,}`, CodeSyntax}, {`{"a" 1}`, CodeSyntax}, {`{"a":1 "b":"x"}`, CodeSyntax},
		{` { "a" : 1 , "b" : "x" } `, []any{int64(1), "x"}}, {`{"\u0061":1}`, []any{int64(1), nil}}, {`{"A":1}`, CodeRequired},
	}},
	"list": {listOf(Field{Type: Type{Kind: Long}}), []typeCase{
		{`[]`, []any{}}, {`[1,null,3]`, []any{int64(1), nil, int64(3)}}, {` [ 1 , 2 ] `, []any{int64(1), int64(2)}}, {`null`, nil},
		{`[1,]`, CodeSyntax}, {`[,1]`, CodeSyntax}, {`[1 2]`, CodeSyntax}, {`[1`, CodeSyntax}, {`[`, CodeSyntax}, {`1`, CodeType}, {`{}`, CodeType}, {`["1"]`, CodeType}, {`[1.5]`, CodePrecision},
	}},
	"list required": {listOf(Field{Required: true, Type: Type{Kind: String}}), []typeCase{{`["a"]`, []any{"a"}}, {`["a",null]`, CodeRequired}, {`[]`, []any{}}}},
	"list of list": {listOf(Field{Type: listOf(Field{Type: Type{Kind: Boolean}})}), []typeCase{
		{`[[true],[],null,[false,null]]`, []any{[]any{true}, []any{}, nil, []any{false, nil}}}, {`[[true],[1]]`, CodeType},
	}},
	"map string": {mapOf(Type{Kind: String}, Field{Type: Type{Kind: Long}}), []typeCase{
		{`{}`, []any{}}, {`{"a":1,"b":null}`, []any{"a", int64(1), "b", nil}}, {`{"":1}`, []any{"", int64(1)}}, {`{"a.b":1}`, []any{"a.b", int64(1)}}, {`{"\n":1}`, []any{"\n", int64(1)}}, {`null`, nil},
		{`{"a":1,"a":2}`, CodeDuplicateKey}, {`{"a":1,"\u0061":2}`, CodeDuplicateKey}, {manyKeys(40, ""), keysWant(40)}, {manyKeys(40, `,"k7":1`), CodeDuplicateKey}, {`{"a"}`, CodeSyntax}, {`{"a":1,}`, CodeSyntax}, {`{a:1}`, CodeSyntax}, {`[]`, CodeType}, {`{"a":"x"}`, CodeType},
	}},
	"map required value": {mapOf(Type{Kind: String}, Field{Required: true, Type: Type{Kind: Long}}), []typeCase{{`{"a":1}`, []any{"a", int64(1)}}, {`{"a":null}`, CodeRequired}}},
	"map int": {mapOf(Type{Kind: Int}, Field{Type: Type{Kind: Boolean}}), []typeCase{
		{`{"1":true,"-2":false}`, []any{int32(1), true, int32(-2), false}}, {`{"1":true,"1.0":true}`, CodeDuplicateKey}, {`{"01":true}`, CodeType}, {`{"x":true}`, CodeType}, {`{"":true}`, CodeType}, {`{" 1":true}`, CodeType}, {`{"2147483648":true}`, CodeRange}, {`{"1.5":true}`, CodePrecision},
	}},
	"map long":    {mapOf(Type{Kind: Long}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"9223372036854775807":true}`, []any{int64(math.MaxInt64), true}}}},
	"map float":   {mapOf(Type{Kind: Float}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"1.5":true}`, []any{float32(1.5), true}}, {`{"NaN":true}`, CodeType}, {`{"1e99":true}`, CodeRange}}},
	"map double":  {mapOf(Type{Kind: Double}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"1.5":true}`, []any{1.5, true}}, {`{"1e999":true}`, CodeRange}, {`{"1":true,"1.0":true}`, CodeDuplicateKey}}},
	"map boolean": {mapOf(Type{Kind: Boolean}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"true":true,"false":null}`, []any{true, true, false, nil}}, {`{"TRUE":true}`, CodeType}, {`{"true":true,"true":false}`, CodeDuplicateKey}}},
	"map decimal": {mapOf(Type{Kind: Decimal, Precision: 5, Scale: 1}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"1.5":true}`, []any{dec("15"), true}}, {`{"1.5":true,"1.50":true}`, CodeDuplicateKey}}},
	"map date":    {mapOf(Type{Kind: Date}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"1970-01-02":true}`, []any{int32(1), true}}, {`{"1":true}`, CodeType}}},
	"map uuid":    {mapOf(Type{Kind: UUID}, Field{Type: Type{Kind: Boolean}}), []typeCase{{`{"00000000-0000-0000-0000-000000000001":true,"00000000-0000-0000-0000-000000000001":true}`, CodeDuplicateKey}}},
	"map of struct": {mapOf(Type{Kind: String}, Field{Type: Type{Kind: Struct, Fields: []Field{{Name: "x", Type: Type{Kind: Long}}}}}), []typeCase{
		{`{"a":{"x":1},"b":null,"c":{}}`, []any{"a", []any{int64(1)}, "b", nil, "c", []any{nil}}},
	}},
}

func manyKeys(n int, more string) string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	return "{" + strings.Join(s, ",") + more + "}"
}

func keysWant(n int) any {
	l := []any{}
	for i := range n {
		l = append(l, fmt.Sprintf("k%d", i), int64(i))
	}
	return l
}

func TestJSONValueOfEachType(t *testing.T) {
	for name, tc := range typeCases {
		t.Run(name, func(t *testing.T) {
			s := &Schema{Fields: []Field{{Name: "c", Type: tc.typ}}}
			for _, c := range tc.cases {
				row, bad := mapOne(t, s, `{"c":`+c.in+`}`)
				if code, isCode := c.want.(Code); isCode {
					if bad == nil {
						t.Errorf("%s: got %#v, want bad: %s", c.in, row[0], code)
					} else if bad.Code != code {
						t.Errorf("%s: %v, want code %s", c.in, bad, code)
					}
					continue
				}
				if bad != nil {
					t.Errorf("%s: %v", c.in, bad)
				} else if !sameValue(row[0], c.want) {
					t.Errorf("%s: got %#v, want %#v", c.in, row[0], c.want)
				}
			}
		})
	}
}

// sameValue tells 0 from -0.
func sameValue(a, b any) bool {
	if x, ok := a.(float64); ok {
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	}
	if x, ok := a.(float32); ok {
		y, ok := b.(float32)
		return ok && math.Float32bits(x) == math.Float32bits(y)
	}
	return reflect.DeepEqual(a, b)
}
