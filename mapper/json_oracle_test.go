package mapper

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stormfloe/floe/source"
)

// The oracle is encoding/json (with UseNumber) and math/big: slow, and sharing no code with the mapper.

// oracleValid says whether b is one JSON text by RFC 8259 with valid Unicode, nested no deeper than the default.
func oracleValid(b []byte) bool {
	if !json.Valid(b) || !utf8.Valid(b) {
		return false
	}
	depth, inString, high := 0, false, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		wasHigh := high
		high = false
		switch {
		case inString && c == '\\':
			i++
			if b[i] != 'u' {
				break
			}
			v, _ := strconv.ParseUint(string(b[i+1:i+5]), 16, 32)
			i += 4
			low := v >= 0xdc00 && v < 0xe000
			if wasHigh != low {
				return false
			}
			high = v >= 0xd800 && v < 0xdc00
			continue
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > defaultDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
		if wasHigh {
			return false
		}
	}
	return true
}

// oracleObject reads an object's members in order, with duplicates.
func oracleObject(b []byte) (keys []string, values []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil, nil
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			panic(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			panic(err)
		}
		keys, values = append(keys, k.(string)), append(values, v)
	}
	return keys, values
}

// oracleRow is the row of a valid record, and whether it has one.
func oracleRow(fields []Field, b []byte) ([]any, bool) {
	keys, values := oracleObject(b)
	row := make([]any, len(fields))
	for i := range fields {
		f := &fields[i]
		var raw json.RawMessage
		n := 0
		for k, key := range keys {
			if key == f.Name {
				raw, n = values[k], n+1
			}
		}
		if n > 1 {
			return nil, false
		}
		v, ok := oracleValue(f, raw)
		if !ok {
			return nil, false
		}
		row[i] = v
	}
	return row, true
}

func oracleValue(f *Field, raw json.RawMessage) (any, bool) {
	if raw == nil || string(raw) == "null" {
		return nil, !f.Required
	}
	text, isText := "", raw[0] == '"'
	if isText {
		if err := json.Unmarshal(raw, &text); err != nil {
			panic(err)
		}
	}
	isNumber := raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	switch f.Type.Kind {
	case Boolean:
		return string(raw) == "true", string(raw) == "true" || string(raw) == "false"
	case String:
		return text, isText
	case Int, Long, Float, Double, Decimal:
		if f.Type.Kind == Decimal && isText && regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`).MatchString(text) {
			return oracleNumber(&f.Type, text)
		}
		if !isNumber {
			return nil, false
		}
		return oracleNumber(&f.Type, string(raw))
	case TimestampTz:
		return oracleStamp(text, isText, string(raw), isNumber)
	case Struct:
		if raw[0] != '{' {
			return nil, false
		}
		v, ok := oracleRow(f.Type.Fields, raw)
		return v, ok
	case List:
		if raw[0] != '[' {
			return nil, false
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			panic(err)
		}
		l := []any{}
		for _, e := range elements {
			v, ok := oracleValue(&f.Type.Fields[0], e)
			if !ok {
				return nil, false
			}
			l = append(l, v)
		}
		return l, true
	case Map:
		if raw[0] != '{' {
			return nil, false
		}
		return oracleMap(f, raw)
	}
	panic("no oracle for " + f.Type.Kind.String())
}

func oracleMap(f *Field, raw json.RawMessage) (any, bool) {
	keys, values := oracleObject(raw)
	seen := map[string]bool{}
	l := []any{}
	for i, k := range keys {
		v, ok := oracleValue(&f.Type.Fields[1], values[i])
		if !ok || seen[k] {
			return nil, false
		}
		seen[k] = true
		l = append(l, k, v)
	}
	return l, true
}

// hugeExponent tells numbers whose exact value an oracle must not build: their exponent has more than three digits.
var hugeExponent = regexp.MustCompile(`[eE]([+-]?)0*([1-9][0-9]{3,})$`)

func oracleNumber(t *Type, lit string) (any, bool) {
	switch t.Kind {
	case Double:
		v, err := strconv.ParseFloat(lit, 64)
		return v, err == nil
	case Float:
		v, err := strconv.ParseFloat(lit, 32)
		return float32(v), err == nil
	}
	if hugeExponent.MatchString(lit) {
		mantissa, _, _ := strings.Cut(strings.ToLower(lit), "e")
		if strings.Trim(mantissa, "-0.") != "" {
			return nil, false // far too large, or far too fine; the inputs are short
		}
		lit = "0"
	}
	rat, ok := new(big.Rat).SetString(lit)
	if !ok {
		panic(lit)
	}
	if t.Kind == Decimal {
		rat.Mul(rat, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		if !rat.IsInt() || new(big.Int).Abs(rat.Num()).Cmp(limit) >= 0 {
			return nil, false
		}
		return dec(rat.Num().String()), true
	}
	if !rat.IsInt() || !rat.Num().IsInt64() {
		return nil, false
	}
	v := rat.Num().Int64()
	if t.Kind == Int {
		return int32(v), v >= math.MinInt32 && v <= math.MaxInt32
	}
	return v, true
}

var stampForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,6}0*)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func oracleStamp(text string, isText bool, lit string, isNumber bool) (any, bool) {
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	var at time.Time
	switch {
	case isText:
		m := stampForm.FindStringSubmatch(text)
		if m == nil || strings.HasPrefix(text, "0000") {
			return nil, false
		}
		frac := m[3]
		if len(frac) > 10 {
			frac = frac[:10]
		}
		var err error
		if at, err = time.Parse(time.RFC3339Nano, m[1]+"T"+m[2]+frac+strings.ToUpper(m[4])); err != nil {
			return nil, false
		}
	case isNumber:
		v, ok := oracleNumber(&Type{Kind: Long}, lit)
		if !ok {
			return nil, false
		}
		at = time.UnixMilli(v.(int64))
		if at.UnixMilli() != v.(int64) || v.(int64) > math.MaxInt64/1000 || v.(int64) < math.MinInt64/1000 {
			return nil, false
		}
	default:
		return nil, false
	}
	return at.UnixMicro(), !at.Before(first) && at.Before(end)
}

func oracleSchema() *Schema {
	return &Schema{Fields: []Field{
		{Name: "b", Type: Type{Kind: Boolean}}, {Name: "i", Type: Type{Kind: Int}}, {Name: "l", Type: Type{Kind: Long}}, {Name: "f", Type: Type{Kind: Float}}, {Name: "d", Type: Type{Kind: Double}},
		{Name: "n", Type: Type{Kind: Decimal, Precision: 20, Scale: 3}}, {Name: "s", Type: Type{Kind: String}}, {Name: "t", Type: Type{Kind: TimestampTz}},
		{Name: "o", Type: Type{Kind: Struct, Fields: []Field{{Name: "r", Type: Type{Kind: Long}, Required: true}, {Name: "s", Type: Type{Kind: String}}}}},
		{Name: "a", Type: listOf(Field{Type: listOf(Field{Type: Type{Kind: Long}, Required: true})})},
		{Name: "m", Type: mapOf(Type{Kind: String}, Field{Type: Type{Kind: Double}})},
	}}
}

// oracleSeeds are records that the mutations and the fuzzer start from.
func oracleSeeds() []string {
	seeds := []string{
		`{"b":true,"i":-12,"l":9223372036854775807,"f":1.5,"d":0.1e-3,"n":"12.345","s":"h\u00e9llo \ud83d\ude00","t":"2024-02-29T12:34:56.789Z","o":{"r":1,"s":"x"},"a":[[1,2],[],null],"m":{"k":1.5,"j":null}}`,
		`{"unknown":{"a":[1,-2.5e+3,"x",true,null,{}]},"b":null,"t":1700000000000,"n":-99999999999999999.999}`,
		` { "s" : "" , "l" : 1.0 , "i" : 1e3 , "o" : null } `, `{"a":[[]],"m":{},"o":{"r":0}}`, `{"t":"0001-01-01 00:00:00.000001-23:59","l":-9223372036854775808,"d":1.7976931348623157e308,"f":3.4028235e38}`,
	}
	keys := map[string]string{"boolean": "b", "int": "i", "long": "l", "float": "f", "double": "d", "decimal(38,0)": "n", "decimal(10,2)": "n", "string": "s", "timestamptz": "t", "struct": "o", "map string": "m", "list of list": "a"}
	for name, key := range keys {
		for _, c := range typeCases[name].cases {
			seeds = append(seeds, `{"`+key+`":`+c.in+`}`)
		}
	}
	return seeds
}

// oracleCheck maps the record behind two other rows, and compares outcome and row with the oracle's.
type oracleCheck struct {
	s    *Schema
	m    Mapper
	cs   *Columns
	want [][]any
}

func newOracleCheck(t testing.TB) *oracleCheck {
	s := oracleSchema()
	m, cs := mustJSON(t, s)
	for _, v := range oracleSeeds()[:2] {
		if err := m.Map(&source.Record{Value: []byte(v)}, cs); err != nil {
			t.Fatal(err)
		}
	}
	return &oracleCheck{s, m, cs, rowsOf(cs)}
}

func (o *oracleCheck) run(t testing.TB, b []byte) {
	if b == nil {
		b = []byte{}
	}
	err := o.m.Map(&source.Record{Value: b}, o.cs)
	checkInvariants(t, o.cs)
	var bad *BadRecordError
	if err != nil && !errors.As(err, &bad) {
		t.Fatalf("%q: %v", b, err)
	}
	valid := oracleValid(b)
	if !valid && err == nil {
		t.Fatalf("%q: accepted, but is not valid", b)
	}
	if valid {
		row, ok := []any(nil), false
		if bytes.TrimLeft(b, " \t\r\n")[0] == '{' {
			row, ok = oracleRow(o.s.Fields, b)
		}
		switch {
		case ok != (err == nil):
			t.Fatalf("%q: %v, but the oracle says accepted: %v", b, err, ok)
		case ok && !sameValues(row, rowOf(o.cs, 2)):
			t.Fatalf("%q: got %#v, oracle %#v", b, rowOf(o.cs, 2), row)
		case bad != nil && (bad.Code == CodeSyntax || bad.Code == CodeUTF8 || bad.Code == CodeDepth):
			t.Fatalf("%q: %v, but it is valid", b, err)
		}
	}
	if bad != nil && !reflect.DeepEqual(rowsOf(o.cs), o.want) {
		t.Fatalf("%q: the columns changed", b)
	}
	o.cs.Truncate(2)
}

func sameValues(a, b any) bool {
	x, ok := a.([]any)
	y, ok2 := b.([]any)
	if !ok || !ok2 {
		return sameValue(a, b)
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !sameValues(x[i], y[i]) {
			return false
		}
	}
	return true
}

func FuzzJSONAgainstOracle(f *testing.F) {
	for _, s := range oracleSeeds() {
		f.Add([]byte(s))
	}
	o := newOracleCheck(f)
	f.Fuzz(func(t *testing.T, b []byte) { o.run(t, b) })
}

// The fuzzer's work for a fixed time and from a fixed seed: pieces of the seeds cut out, doubled, exchanged, single bytes changed.
func TestJSONMutationsAgainstOracle(t *testing.T) {
	o := newOracleCheck(t)
	r := rand.New(rand.NewPCG(7, 7))
	seeds := oracleSeeds()
	alphabet := []byte("{}[]\",:\\ \t\n0123456789-+.eEtrufalsn/bdxTZ\x00\x1f\xff\xc3\xa9\xed\xa0\x80")
	n := 40000
	if testing.Short() {
		n = 10000
	}
	for range n {
		b := []byte(seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(3) {
			b = mutate(r, b, alphabet, seeds)
		}
		o.run(t, b)
	}
}

func mutate(r *rand.Rand, b, alphabet []byte, seeds []string) []byte {
	if len(b) == 0 {
		return b
	}
	i := r.IntN(len(b))
	j := i + r.IntN(min(len(b)-i, 12)+1)
	switch r.IntN(6) {
	case 0:
		return append(b[:i:i], b[j:]...)
	case 1:
		return append(b[:j:j], b[i:]...)
	case 2:
		other := seeds[r.IntN(len(seeds))]
		k := r.IntN(len(other))
		return append(append(b[:i:i], other[k:k+r.IntN(min(len(other)-k, 12)+1)]...), b[j:]...)
	case 3:
		return append(append(b[:i:i], alphabet[r.IntN(len(alphabet))]), b[i:]...)
	case 4:
		return append(b[:i:i], bytes.Repeat(b[i:j], 1+r.IntN(30))...)
	default:
		b[i] = alphabet[r.IntN(len(alphabet))]
		return b
	}
}
