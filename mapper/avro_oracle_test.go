package mapper

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/avro"

	"github.com/stormfloe/floe/source"
)

// The oracle is the library's own decoder, into Go's values, and a conversion of those to what the columns should hold,
// with math/big and package time. Where the library is more lenient than the mapper, its value is written anew, as Avro
// should be, and compared then.

const oracleAvroSchema = `{"type":"record","name":"R","fields":[
	{"name":"b","type":"boolean"},{"name":"i","type":["null","int"]},{"name":"l","type":"long"},{"name":"f","type":"float"},{"name":"d","type":["double","null"]},
	{"name":"s","type":"string"},{"name":"y","type":"bytes"},{"name":"x","type":{"type":"fixed","name":"F","size":3}},
	{"name":"skip","type":{"type":"map","values":["null",{"type":"array","items":{"type":"record","name":"Z","fields":[{"name":"a","type":"string"},{"name":"n","type":"null"}]}}]}},
	{"name":"e","type":{"type":"enum","name":"E","symbols":["A","LONGER"]}},
	{"name":"n","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":3}},
	{"name":"n2","type":{"type":"fixed","name":"G","size":20,"logicalType":"decimal","precision":40,"scale":1}},
	{"name":"dt","type":{"type":"int","logicalType":"date"}},{"name":"tm","type":["null",{"type":"int","logicalType":"time-millis"}]},
	{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"tu","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
	{"name":"tn","type":["null",{"type":"long","logicalType":"timestamp-nanos"}]},{"name":"lt","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}]},
	{"name":"u","type":["null","long","int",{"type":"array","items":"E"}]},
	{"name":"g","type":["int","float","null","double"]},
	{"name":"o","type":["null",{"type":"record","name":"O","fields":[{"name":"r","type":["null","long"]},{"name":"q","type":"string"}]}]},
	{"name":"a","type":{"type":"array","items":["null",{"type":"array","items":"long"}]}},
	{"name":"m","type":{"type":"map","values":["null","double"]}}]}`

func oracleAvroTable() *Schema {
	return &Schema{Fields: []Field{
		{Name: "b", Type: Type{Kind: Boolean}}, {Name: "i", Type: Type{Kind: Int}}, {Name: "l", Type: Type{Kind: Int}}, {Name: "f", Type: Type{Kind: Double}}, {Name: "d", Type: Type{Kind: Float}},
		{Name: "s", Type: Type{Kind: String}}, {Name: "y", Type: Type{Kind: Binary}}, {Name: "x", Type: Type{Kind: Fixed, Length: 3}}, {Name: "e", Type: Type{Kind: String}},
		{Name: "n", Type: Type{Kind: Decimal, Precision: 9, Scale: 2}}, {Name: "n2", Type: Type{Kind: Decimal, Precision: 38, Scale: 5}},
		{Name: "dt", Type: Type{Kind: Date}}, {Name: "tm", Type: Type{Kind: Time}}, {Name: "ts", Type: Type{Kind: TimestampTz}}, {Name: "tu", Type: Type{Kind: TimestampTzNs}},
		{Name: "tn", Type: Type{Kind: TimestampTz}}, {Name: "lt", Type: Type{Kind: Timestamp}}, {Name: "g", Type: Type{Kind: Double}},
		{Name: "o", Type: Type{Kind: Struct, Fields: []Field{{Name: "r", Type: Type{Kind: Long}, Required: true}, {Name: "none", Type: Type{Kind: Long}}}}},
		{Name: "a", Type: listOf(Field{Type: listOf(Field{Type: Type{Kind: Long}, Required: true})})},
		{Name: "m", Type: mapOf(Type{Kind: String}, Field{Type: Type{Kind: Double}})},
	}}
}

// avroValueOf gives what a column should hold of a value of the library's.
func avroValueOf(f *Field, v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, !f.Required
	case bool, string:
		return v, true
	case []byte:
		return string(v), true
	case int32:
		return avroNumberOf(f, int64(v))
	case int64:
		return avroNumberOf(f, v)
	case float32:
		return float64(v), true
	case float64:
		if f.Type.Kind == Float {
			return float32(v), float64(float32(v)) == v || v != v
		}
		return v, true
	case *big.Rat:
		n := new(big.Rat).Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.Type.Scale)), nil)))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.Type.Precision)), nil)
		if !n.IsInt() || new(big.Int).Abs(n.Num()).Cmp(limit) >= 0 {
			return nil, false
		}
		return dec(n.Num().String()), true
	case time.Duration:
		return v.Microseconds(), v >= 0 && v < 24*time.Hour
	case time.Time:
		return avroTimeOf(f, v)
	case map[string]any:
		if f.Type.Kind == Struct {
			return avroRowOf(f.Type.Fields, v)
		}
		return avroMapOf(f, v)
	case []any:
		l := []any{}
		for _, e := range v {
			got, ok := avroValueOf(&f.Type.Fields[0], e)
			if !ok {
				return nil, false
			}
			l = append(l, got)
		}
		return l, true
	}
	panic(reflect.TypeOf(v))
}

func avroNumberOf(f *Field, v int64) (any, bool) {
	switch f.Type.Kind {
	case Int:
		return int32(v), v == int64(int32(v))
	case Long:
		return v, true
	}
	return float64(v), int64(float64(v)) == v
}

func avroTimeOf(f *Field, v time.Time) (any, bool) {
	if v.Year() < 1 || v.Year() > 9999 {
		return nil, false
	}
	switch f.Type.Kind {
	case Date:
		return int32(v.Unix() / 86400), true
	case TimestampTzNs:
		return v.UnixNano(), time.Unix(0, v.UnixNano()).Equal(v)
	}
	return v.UnixMicro(), v.Nanosecond()%1000 == 0
}

// avroMapOf has the keys in order: the library's map has none.
func avroMapOf(f *Field, v map[string]any) (any, bool) {
	var keys []string
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	l := []any{}
	for _, k := range keys {
		got, ok := avroValueOf(&f.Type.Fields[1], v[k])
		if !ok {
			return nil, false
		}
		l = append(l, k, got)
	}
	return l, true
}

func avroRowOf(fields []Field, v map[string]any) (any, bool) {
	row := make([]any, len(fields))
	for i := range fields {
		got, ok := avroValueOf(&fields[i], v[fields[i].Name])
		if !ok {
			return nil, false
		}
		row[i] = got
	}
	return row, true
}

// sorted brings the entries of the only map of the schema into the order of their keys.
func sorted(row []any) []any {
	l, _ := row[len(row)-1].([]any)
	var pairs [][2]any
	for i := 0; i < len(l); i += 2 {
		pairs = append(pairs, [2]any{l[i], l[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]any) int { return slices.Compare([]byte(a[0].(string)), []byte(b[0].(string))) })
	for i, p := range pairs {
		l[2*i], l[2*i+1] = p[0], p[1]
	}
	return row
}

type avroOracle struct {
	parsed *avro.Schema
	s      *Schema
	m      Mapper
	cs     *Columns
}

func newAvroOracle(t testing.TB) *avroOracle {
	s := oracleAvroTable()
	m, cs := mustAvro(t, s, AvroOptions{Schema: &AvroSchema{Text: oracleAvroSchema}})
	o := &avroOracle{avro.MustParse(oracleAvroSchema), s, m, cs}
	for range 2 {
		if err := m.Map(&source.Record{Value: o.encode(t, avroSeed(1))}, cs); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (o *avroOracle) encode(t testing.TB, v any) []byte {
	b, err := o.parsed.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// avroSeed is a record that fits the table.
func avroSeed(n int64) map[string]any {
	at := time.UnixMilli(1700000000000 + n)
	return map[string]any{"b": n%2 == 0, "i": int32(n), "l": n, "f": float32(n) / 3, "d": 0.5, "s": "héllo", "y": []byte{0xff, byte(n)}, "x": [3]byte{1, 2, 3},
		"skip": map[string]any{"k": nil, "j": []any{map[string]any{"a": "text", "n": nil}}}, "e": "LONGER", "n": big.NewRat(n, 10), "n2": big.NewRat(-n, 2),
		"dt": at, "tm": 5 * time.Second, "ts": at, "tu": at, "tn": at, "lt": at, "u": []any{"A", "LONGER"}, "g": 1.5,
		"o": map[string]any{"r": n, "q": "left out"}, "a": []any{nil, []any{n, int64(math.MaxInt64)}}, "m": map[string]any{"k": 1.5, "j": nil}}
}

func (o *avroOracle) run(t testing.TB, b []byte) {
	before := rowsOf(o.cs)
	defer o.cs.Truncate(len(before))
	var v any
	rest, lerr := o.parsed.Decode(b, &v)
	err := o.m.Map(&source.Record{Value: append([]byte{}, b...)}, o.cs)
	checkInvariants(t, o.cs)
	var bad *BadRecordError
	if err != nil && !errors.As(err, &bad) {
		t.Fatalf("%x: %v", b, err)
	}
	if err != nil && !reflect.DeepEqual(before[:2], rowsOf(o.cs)[:2]) {
		t.Fatalf("%x: the columns changed", b)
	}
	if lerr != nil || len(rest) > 0 {
		// The library makes an int of what has more digits than the schema's precision an error too.
		if err == nil && !errors.Is(lerr, nil) && len(rest) == 0 {
			t.Fatalf("%x: accepted, but the library says %v", b, lerr)
		}
		if err == nil {
			t.Fatalf("%x: accepted with %d bytes behind it", b, len(rest))
		}
		return
	}
	want, ok := avroRowOf(o.s.Fields, v.(map[string]any))
	if err == nil {
		if got := sorted(rowOf(o.cs, len(before))); !ok || !equalNaN(got, want) {
			t.Fatalf("%x: got %v\nwant %v %v", b, got, want, ok)
		}
		return
	}
	if !ok {
		return
	}
	// The library takes it, the mapper does not: written as it should be, both must.
	clean, cerr := o.parsed.Encode(v)
	if cerr != nil || !cleanText(v) {
		return
	}
	if err := o.m.Map(&source.Record{Value: clean}, o.cs); err != nil {
		t.Fatalf("%x: %v; and written anew, %x: %v", b, bad, clean, err)
	}
	if got := sorted(rowOf(o.cs, len(before))); !equalNaN(got, want) {
		t.Fatalf("%x: got %v\nwant %v", clean, got, want)
	}
}

func cleanText(v any) bool {
	switch v := v.(type) {
	case string:
		for _, r := range v {
			if r == '\ufffd' {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !cleanText(e) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if !cleanText(k) || !cleanText(e) {
				return false
			}
		}
	}
	return true
}

// equalNaN takes any NaN for the same.
func equalNaN(a, b any) bool {
	x, ok := a.([]any)
	y, ok2 := b.([]any)
	if ok && ok2 && len(x) == len(y) {
		for i := range x {
			if !equalNaN(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return sameValue(a, b) || a != a && b != b
}

func FuzzAvroAgainstOracle(f *testing.F) {
	o := newAvroOracle(f)
	for i := range int64(4) {
		f.Add(o.encode(f, avroSeed(i*1000-1)))
	}
	f.Fuzz(func(t *testing.T, b []byte) { o.run(t, b) })
}

// The fuzzer's work for a fixed time and from a fixed seed.
func TestAvroMutationsAgainstOracle(t *testing.T) {
	o := newAvroOracle(t)
	r := rand.New(rand.NewPCG(7, 7))
	var seeds []string
	for i := range int64(20) {
		seeds = append(seeds, string(o.encode(t, avroSeed(i*i*i*100-50))))
	}
	alphabet := []byte{0, 1, 2, 3, 4, 6, 0x7f, 0x80, 0xff, 0xfe, 'a'}
	n := 30000
	if testing.Short() {
		n = 8000
	}
	for range n {
		b := []byte(seeds[r.IntN(len(seeds))])
		for range r.IntN(3) {
			b = mutate(r, b, alphabet, seeds)
		}
		o.run(t, b)
	}
}

// FuzzAvroSchemas has hostile schemas beside hostile bodies: nothing panics, and nothing half done stays.
func FuzzAvroSchemas(f *testing.F) {
	o := newAvroOracle(f)
	f.Add(oracleAvroSchema, o.encode(f, avroSeed(1)))
	f.Add(recordOf("a long").Text, zz(5))
	f.Add(recordOf(`a {"type":"array","items":"null"}`).Text, zz(4000, 0))
	f.Fuzz(func(t *testing.T, text string, b []byte) {
		for _, opts := range []AvroOptions{{Schema: &AvroSchema{Text: text}}, {Schema: &AvroSchema{Text: text}, Reader: &AvroSchema{Text: oracleAvroSchema}}, {Schema: &AvroSchema{Text: oracleAvroSchema}, Reader: &AvroSchema{Text: text}}} {
			m, err := NewAvro(opts)(o.s)
			if err != nil {
				continue
			}
			cs := mustColumns(t, o.s)
			err = m.Map(&source.Record{Value: append([]byte{}, b...)}, cs)
			checkInvariants(t, cs)
			if (err == nil) != (cs.Rows == 1) {
				t.Fatalf("%d rows after %v", cs.Rows, err)
			}
		}
	})
}
