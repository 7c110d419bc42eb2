package mapper

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stormfloe/floe/source"
)

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
