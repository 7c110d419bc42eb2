package mapper

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/stormfloe/floe/source"
)

// The oracle is the library's own decoder (dynamicpb), and a conversion of its message to what the columns should hold. Where
// the library is more lenient than the mapper, its message is written anew, as Protobuf should be, and compared then.

const oracleProto = `syntax = "proto3"; package o;
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/wrappers.proto"; import "two.proto";
enum E { ZERO = 0; ONE = 1; NEG = -5; }
message In { int64 a = 1; optional string b = 2; repeated sint32 l = 3; In again = 4; map<int32, bool> m = 5; google.protobuf.Timestamp t = 6; oneof pick { string x = 7; In2 y = 8; } }
message In2 { uint32 u = 1; E e = 2; }
message R {
  bool b = 1; int32 i = 2; optional sint64 l = 3; uint64 u = 4; fixed32 f32 = 5; sfixed64 s64 = 6; float f = 7; double d = 8; string s = 9; bytes y = 10; E e = 11;
  In in = 12; repeated In ins = 13; map<string, In2> ms = 14; repeated string strs = 15; repeated uint64 packed = 16; repeated fixed32 open = 17 [packed = false];
  google.protobuf.Timestamp ts = 18; google.protobuf.Duration du = 19; google.protobuf.Int64Value w = 20; repeated google.protobuf.StringValue ws = 21; repeated E es = 22;
  oneof o { int32 o1 = 300; In2 o2 = 301; google.protobuf.BoolValue o3 = 302; string o4 = 303; }
  string left = 24; In lefts = 25; map<sint64, string> leftm = 26; repeated sfixed32 leftp = 27; Two two = 28; optional E oe = 29; map<uint64, double> md = 30;
}`

const oracleProtoTwo = `syntax = "proto2"; package o;
message Two { optional int32 a = 1 [default = -7]; optional string s = 2 [default = "text"]; optional bool n = 3; optional group G = 4 { optional int64 x = 1; repeated group H = 2 { optional bytes z = 1 [default = "\001"]; } } repeated int32 open = 5; optional double d = 6 [default = inf]; }`

func oracleProtoTable() *Schema {
	req := func(k Kind) Field { return Field{Type: Type{Kind: k}, Required: true} }
	structOf := func(fs ...Field) Type { return Type{Kind: Struct, Fields: fs} }
	fieldOf := func(name string, k Kind) Field { return Field{Name: name, Type: Type{Kind: k}} }
	in2 := structOf(fieldOf("u", Long), fieldOf("e", String))
	in := structOf(fieldOf("b", String), fieldOf("a", Long), Field{Name: "l", Type: listOf(req(Int))}, Field{Name: "m", Type: mapOf(Type{Kind: Int}, req(Boolean))},
		fieldOf("t", TimestampTz), fieldOf("x", String), Field{Name: "y", Type: in2}, fieldOf("none", Long))
	return &Schema{Fields: []Field{
		{Name: "b", Type: Type{Kind: Boolean}, Required: true}, fieldOf("i", Int), fieldOf("l", Int), fieldOf("u", Long), fieldOf("f32", Long), fieldOf("s64", Double), fieldOf("f", Double), fieldOf("d", Float),
		fieldOf("s", String), fieldOf("y", Binary), fieldOf("e", String), {Name: "in", Type: in}, {Name: "ins", Type: listOf(Field{Type: in, Required: true})},
		{Name: "ms", Type: mapOf(Type{Kind: String}, Field{Type: in2})}, {Name: "strs", Type: listOf(req(String))}, {Name: "packed", Type: listOf(Field{Type: Type{Kind: Decimal, Precision: 20}})},
		{Name: "open", Type: listOf(req(Int))}, fieldOf("ts", TimestampTzNs), {Name: "du", Type: Type{Kind: Decimal, Precision: 30, Scale: 6}}, fieldOf("w", Long),
		{Name: "ws", Type: listOf(Field{Type: Type{Kind: String}})}, {Name: "es", Type: listOf(Field{Type: Type{Kind: String}})},
		fieldOf("o1", Long), {Name: "o2", Type: in2}, fieldOf("o3", Boolean),
		{Name: "two", Type: structOf(fieldOf("a", Int), fieldOf("s", String), fieldOf("n", Boolean),
			Field{Name: "g", Type: structOf(fieldOf("x", Long), Field{Name: "h", Type: listOf(Field{Type: structOf(fieldOf("z", Binary))})})}, Field{Name: "open", Type: listOf(req(Long))}, fieldOf("d", Double))},
		fieldOf("oe", Int), {Name: "md", Type: mapOf(Type{Kind: Decimal, Precision: 20}, req(Double))},
	}}
}

// protoValueOf gives what a column should hold of a field of the library's message.
func protoValueOf(f *Field, fd protoreflect.FieldDescriptor, msg protoreflect.Message) (any, bool) {
	v := msg.Get(fd)
	switch {
	case fd.IsMap():
		return protoMapOf(f, fd, v.Map())
	case fd.IsList():
		l := []any{}
		for i := range v.List().Len() {
			got, ok := protoScalarOf(&f.Type.Fields[0], fd, v.List().Get(i))
			if !ok {
				return nil, false
			}
			l = append(l, got)
		}
		return l, true
	case fd.HasPresence() && !msg.Has(fd) && !fd.HasDefault():
		return nil, !f.Required
	}
	return protoScalarOf(f, fd, v)
}

func protoMapOf(f *Field, fd protoreflect.FieldDescriptor, v protoreflect.Map) (any, bool) {
	l, good := []any{}, true
	v.Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
		key, ok := protoScalarOf(&f.Type.Fields[0], fd.MapKey(), k.Value())
		val, ok2 := protoScalarOf(&f.Type.Fields[1], fd.MapValue(), e)
		l, good = append(l, key, val), good && ok && ok2
		return true
	})
	return l, good
}

func protoScalarOf(f *Field, fd protoreflect.FieldDescriptor, v protoreflect.Value) (any, bool) {
	switch x := v.Interface().(type) {
	case bool:
		return x, true
	case string:
		return x, utf8.ValidString(x) // the library looks at those of proto3 only
	case []byte:
		return string(x), true
	case protoreflect.EnumNumber:
		if f.Type.Kind == Int {
			return int32(x), true
		}
		if d := fd.Enum().Values().ByNumber(x); d != nil {
			return string(d.Name()), true
		}
		return nil, false
	case int32:
		return protoNumberOf(f, big.NewInt(int64(x)))
	case int64:
		return protoNumberOf(f, big.NewInt(x))
	case uint32:
		return protoNumberOf(f, big.NewInt(int64(x)))
	case uint64:
		return protoNumberOf(f, new(big.Int).SetUint64(x))
	case float32:
		if f.Type.Kind == Float {
			return x, true
		}
		return float64(x), true
	case float64:
		if f.Type.Kind == Float {
			return float32(x), float64(float32(x)) == x || x != x
		}
		return x, true
	case protoreflect.Message:
		return protoMessageOf(f, x)
	}
	panic(v.Interface())
}

func protoNumberOf(f *Field, v *big.Int) (any, bool) {
	switch f.Type.Kind {
	case Int:
		return int32(v.Int64()), v.IsInt64() && v.Int64() == int64(int32(v.Int64()))
	case Long:
		return v.Int64(), v.IsInt64()
	case Decimal:
		return dec(v.String()), true
	}
	d, _ := new(big.Float).SetInt(v).Float64()
	back, _ := big.NewFloat(d).Int(nil)
	return d, back.Cmp(v) == 0
}

func protoMessageOf(f *Field, msg protoreflect.Message) (any, bool) {
	number := func(n protoreflect.FieldNumber) int64 { return msg.Get(msg.Descriptor().Fields().ByNumber(n)).Int() }
	switch msg.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		t := time.Unix(number(1), number(2)).UTC()
		if t.Year() < 1 || t.Year() > 9999 || number(2) < 0 || number(2) > 999999999 || t.Unix() != number(1) {
			return nil, false
		}
		if f.Type.Kind == TimestampTzNs {
			return t.UnixNano(), time.Unix(0, t.UnixNano()).Equal(t)
		}
		return t.UnixMicro(), t.Nanosecond()%1000 == 0
	case "google.protobuf.Duration":
		s, n := number(1), number(2)
		all := new(big.Int).Add(new(big.Int).Mul(big.NewInt(s), big.NewInt(1e9)), big.NewInt(n))
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(9-f.Type.Scale)), nil)
		scaled, rest := new(big.Int).QuoRem(all, unit, new(big.Int))
		return dec(scaled.String()), rest.Sign() == 0 && (s >= 0 || n <= 0) && (s <= 0 || n >= 0) && n > -1e9 && n < 1e9 && s <= 315576000000 && s >= -315576000000
	case "google.protobuf.Int64Value", "google.protobuf.StringValue", "google.protobuf.BoolValue":
		return protoValueOf(f, msg.Descriptor().Fields().Get(0), msg)
	}
	return protoRowOf(f.Type.Fields, msg)
}

func protoRowOf(fields []Field, msg protoreflect.Message) (any, bool) {
	row := make([]any, len(fields))
	for i := range fields {
		fd := msg.Descriptor().Fields().ByName(protoreflect.Name(fields[i].Name))
		if fd == nil {
			continue
		}
		got, ok := protoValueOf(&fields[i], fd, msg)
		if !ok {
			return nil, false
		}
		row[i] = got
	}
	return row, true
}

// inOrder sorts the entries of maps, in the values of fields.
func inOrder(fields []Field, row any) any {
	vs, _ := row.([]any)
	for i := range vs {
		if vs[i] == nil {
			continue
		}
		t := &fields[min(i, len(fields)-1)].Type
		switch t.Kind {
		case Struct:
			inOrder(t.Fields, vs[i])
		case List:
			inOrder(t.Fields, vs[i])
		case Map:
			l := vs[i].([]any)
			var pairs [][2]any
			for k := 0; k < len(l); k += 2 {
				inOrder(t.Fields[1:], l[k+1:k+2])
				pairs = append(pairs, [2]any{l[k], l[k+1]})
			}
			slices.SortFunc(pairs, func(a, b [2]any) int {
				switch x := a[0].(type) {
				case int32:
					return cmp.Compare(x, b[0].(int32))
				case int64:
					return cmp.Compare(x, b[0].(int64))
				}
				return slices.Compare([]byte(a[0].(string)), []byte(b[0].(string)))
			})
			for k, p := range pairs {
				l[2*k], l[2*k+1] = p[0], p[1]
			}
		}
	}
	return row
}

type protoOracle struct {
	md protoreflect.MessageDescriptor
	s  *Schema
	m  Mapper
	cs *Columns
}

func newProtoOracle(t testing.TB) *protoOracle {
	schema := &ProtoSchema{Text: oracleProto, Imports: map[string]string{"two.proto": oracleProtoTwo}, Message: "o.R"}
	parsed, err := parseProto(schema)
	if err != nil {
		t.Fatal(err)
	}
	md, err := parsed.named("o.R")
	if err != nil {
		t.Fatal(err)
	}
	s := oracleProtoTable()
	m, cs := mustProto(t, s, ProtoOptions{Schema: schema})
	o := &protoOracle{md, s, m, cs}
	for range 2 {
		if err := m.Map(&source.Record{Value: o.seeds(t)[0]}, cs); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// fromText writes a message of the library's text format.
func fromText(t testing.TB, md protoreflect.MessageDescriptor, text string) []byte {
	t.Helper()
	msg := dynamicpb.NewMessage(md)
	if err := (prototext.UnmarshalOptions{AllowPartial: true}).Unmarshal([]byte(text), msg); err != nil {
		t.Fatal(err)
	}
	b, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (o *protoOracle) seeds(t testing.TB) (out [][]byte) {
	for _, text := range []string{
		``,
		`b: true i: -3 l: 5 u: 7 f32: 8 s64: -9 f: 1.5 d: 0.5 s: "héllo" y: "\377\001" e: NEG in { a: 5 b: "x" l: [1, -2] again { a: 7 } m { key: 3 value: true } t { seconds: 5 nanos: 1000 } x: "pick" }
		 ins { a: 1 y { u: 5 e: ONE } } ins { } ms { key: "k" value { u: 1 } } ms { key: "j" } strs: ["a", ""] packed: [1, 18446744073709551615] open: [1, 2] ts { seconds: 1700000000 nanos: 5 } du { seconds: -5 nanos: -1000 }
		 w { value: 5 } ws { value: "w" } ws { } es: [ONE, ZERO] o2 { u: 3 } left: "left" lefts { b: "l" } leftm { key: -1 value: "v" } leftp: [1, 2] oe: ONE md { key: 5 value: 1.5 }
		 two { a: 1 s: "s" n: true G { x: 5 H { z: "z" } H { } } open: [5, -6] d: nan }`,
		`o3 { value: true } in { y { e: ONE } } two { }`,
		`l: 0 oe: ZERO ts { } du { } w { } o4: "left"`,
	} {
		if o.md.ParentFile().Messages().ByName("In").Fields().ByName("again") == nil {
			text = strings.Replace(text, "again { a: 7 }", "", 1)
		}
		out = append(out, fromText(t, o.md, text))
	}
	return out
}

// decodeByLibrary makes an error of the library's panic: a map's key that is there twice, first as its type is written and then
// otherwise, is none to it.
func decodeByLibrary(b []byte, msg proto.Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the library panics: %v", r)
		}
	}()
	return proto.UnmarshalOptions{DiscardUnknown: true, AllowPartial: true}.Unmarshal(b, msg)
}

func (o *protoOracle) run(t testing.TB, b []byte) {
	before := rowsOf(o.cs)
	defer o.cs.Truncate(len(before))
	msg := dynamicpb.NewMessage(o.md)
	lerr := decodeByLibrary(b, msg)
	err := o.m.Map(&source.Record{Value: append([]byte{}, b...)}, o.cs)
	checkInvariants(t, o.cs)
	var bad *BadRecordError
	if err != nil && !errors.As(err, &bad) {
		t.Fatalf("%x: %v", b, err)
	}
	if err != nil && !reflect.DeepEqual(before[:1], rowsOf(o.cs)[:1]) {
		t.Fatalf("%x: the columns changed", b)
	}
	if lerr != nil {
		if err == nil {
			t.Fatalf("%x: accepted, but the library says %v", b, lerr)
		}
		return
	}
	want, ok := protoRowOf(o.s.Fields, msg)
	if err == nil {
		if got := inOrder(o.s.Fields, rowOf(o.cs, len(before))); !ok || !equalNaN(got, inOrder(o.s.Fields, want)) {
			t.Fatalf("%x: got %v\nwant %v %v", b, got, want, ok)
		}
		return
	}
	if !ok || bad.Code == CodeDepth {
		return
	}
	// The library takes it, the mapper does not: written as it should be, both must.
	clean, cerr := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(msg)
	if cerr != nil {
		return
	}
	if err := o.m.Map(&source.Record{Value: clean}, o.cs); err != nil {
		t.Fatalf("%x: %v; and written anew, %x: %v", b, bad, clean, err)
	}
	if got := inOrder(o.s.Fields, rowOf(o.cs, len(before))); !equalNaN(got, inOrder(o.s.Fields, want)) {
		t.Fatalf("%x: got %v\nwant %v", clean, got, want)
	}
}

func FuzzProtoAgainstOracle(f *testing.F) {
	o := newProtoOracle(f)
	for _, b := range o.seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { o.run(t, b) })
}

// The fuzzer's work for a fixed time and from a fixed seed.
func TestProtoMutationsAgainstOracle(t *testing.T) {
	o := newProtoOracle(t)
	r := rand.New(rand.NewPCG(7, 7))
	var seeds []string
	for _, b := range o.seeds(t) {
		o.run(t, b)
		if len(b) > 0 {
			seeds = append(seeds, string(b))
		}
	}
	alphabet := []byte{0, 1, 2, 3, 4, 6, 8, 10, 12, 13, 0x22, 0x62, 0x6a, 0x7f, 0x80, 0xff, 0x92, 'a'}
	n := 30000
	if testing.Short() {
		n = 8000
	}
	for range n {
		b := []byte(seeds[r.IntN(len(seeds))])
		for range r.IntN(4) {
			b = mutate(r, b, alphabet, seeds)
		}
		o.run(t, b)
	}
}

// FuzzProtoSchemas has hostile schemas beside hostile bodies: nothing panics, and nothing half done stays.
func FuzzProtoSchemas(f *testing.F) {
	o := newProtoOracle(f)
	f.Add(oracleProto, o.seeds(f)[1])
	f.Add(oracleProtoTwo, []byte{8, 1})
	f.Add(`syntax = "proto3"; package o; message R { repeated R ins = 1; }`, []byte{10, 0})
	f.Fuzz(func(t *testing.T, text string, b []byte) {
		m, err := NewProto(ProtoOptions{Schema: &ProtoSchema{Text: text, Imports: map[string]string{"two.proto": oracleProtoTwo}, Message: "o.R"}})(o.s)
		if err != nil {
			return
		}
		cs := mustColumns(t, o.s)
		err = m.Map(&source.Record{Value: append([]byte{}, b...)}, cs)
		checkInvariants(t, cs)
		if (err == nil) != (cs.Rows == 1) {
			t.Fatalf("%d rows after %v", cs.Rows, err)
		}
	})
}
