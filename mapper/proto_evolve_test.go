package mapper

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// askProto maps one record, in the library's text format, and says what it asks for, why it is bad, or that it is a row.
func askProto(t testing.TB, s *Schema, e Evolution, schema *ProtoSchema, record string) string {
	t.Helper()
	m, err := NewProto(ProtoOptions{Schema: schema, Evolve: e})(s)
	if err != nil {
		return "refused"
	}
	cs := mustColumns(t, s)
	err = m.Map(&source.Record{Value: fromText(t, descriptorOf(t, schema), record)}, cs)
	checkInvariants(t, cs)
	return verdictOf(t, err)
}

func TestProtoRecordsAskForWhatTheyNeed(t *testing.T) {
	kind := func(k Kind) Type { return Type{Kind: k} }
	n := Type{Kind: Struct, Fields: []Field{{ID: 21, Name: "x", Type: kind(Int)}, {ID: 22, Name: "need", Type: kind(String), Required: true}}}
	table := &Schema{Fields: []Field{
		{ID: 1, Name: "a", Type: kind(Int), Required: true}, {ID: 2, Name: "n", Type: n}, {ID: 3, Name: "f", Type: kind(Float)},
		{ID: 4, Name: "l", Type: listOf(Field{ID: 41, Name: "element", Type: Type{Kind: Struct, Fields: []Field{{ID: 42, Name: "x", Type: kind(Long)}, {ID: 43, Name: "s", Type: kind(String)}}}})},
		{ID: 5, Name: "m", Type: mapOf(kind(Int), Field{ID: 52, Name: "value", Type: kind(Int)})},
		{ID: 6, Name: "d", Type: Type{Kind: Decimal, Precision: 10, Scale: 9}},
	}}
	for _, c := range []struct{ body, record, want string }{
		{"int32 a=1;", "a: 5", "row"},
		{"int32 a=1; bool b=2; uint32 c=3; fixed64 e=4; float g=5; double h=6; string i=7; bytes j=8; E k=9; sint64 o=10;", "a: 5",
			"add 0 b boolean; add 0 c long; add 0 e decimal(20,0); add 0 g float; add 0 h double; add 0 i string; add 0 j binary; add 0 k string; add 0 o long"},
		{"int32 a=1; repeated E b=2; map<uint64, N> c=3; google.protobuf.UInt64Value e=4; repeated google.protobuf.StringValue g=5;", "a: 5",
			"add 0 b list<string>; add 0 c map<decimal(20,0),struct<x:long,s:string,l:list<int>>>; add 0 e decimal(20,0); add 0 g list<string>"},
		{"int32 a=1; google.protobuf.Timestamp b=2; google.protobuf.Duration c=3; oneof o { int32 e=4; N g=5; }", "a: 5",
			"add 0 b timestamptz; add 0 c decimal(21,9); add 0 e int; add 0 g struct<x:long,s:string,l:list<int>>"},
		{"int32 a=1; message Z {} Z b=2; repeated Z c=3; map<string, Z> e=4;", "a: 5 b {}", "row"},
		{"int32 a=1; repeated N l=2;", "a: 5 l { x: 1 l: 1 }", "add 41 l list<int>"},
		// By what the record holds.
		{"int64 a=1;", "a: 2147483647", "row"},
		{"int64 a=1;", "a: 2147483648", "widen 1 long"},
		{"uint64 a=1;", "a: 2147483648", "widen 1 long"},
		{"int32 a=1; double f=2;", "a: 1 f: 0.1", "widen 3 double"},
		{"int32 a=1; double f=2;", "a: 1 f: 0.5", "row"},
		{"int32 a=1; map<int64, google.protobuf.Int64Value> m=2;", "a: 1 m { key: 1 value { value: 3000000000 } }", "widen 52 long"},
		{"int32 a=1; google.protobuf.Duration d=2;", "a: 1 d { seconds: 5 }", "row"},
		{"int32 a=1; google.protobuf.Duration d=2;", "a: 1 d { seconds: 50 }", "widen 6 decimal(21,9)"},
		{"optional int32 a=1;", "", "optional 1"},
		{"int64 q=1;", "", "add 0 q long"},
		{"N n=1;", "n { x: 3000000000 }", "add 2 s string; add 2 l list<int>"},
		{"message O { optional string need=1; } O n=1; int32 a=2;", "n { }", "optional 22"},
		// What no change mends.
		{"int32 a=1; map<int64, int32> m=2;", "a: 1 m { key: 3000000000 }", "bad range m.key"},
		{"int32 a=1; google.protobuf.Value b=2; M c=3; confluent.type.Decimal e=4;", "a: 1", "row"},
		{"int32 a=1; google.protobuf.Value b=2;", "a: 1 b { bool_value: true }", "bad unknown_field M.b"},
		{"int32 a=1; repeated M c=2;", "a: 1 c { a: 1 }", "bad unknown_field M.c"},
		{"int32 a=1; confluent.type.Decimal e=2;", "a: 1 e { }", "bad unknown_field M.e"},
		{"string a=1; int32 z=2;", "", "refused"},
	} {
		if got := askProto(t, table, everything, protoOf(c.body), c.record); got != c.want {
			t.Errorf("%s with %s\ngot  %s\nwant %s", c.body, c.record, got, c.want)
		}
	}
}

func TestProtoAsksForNothingThatIsNotSwitchedOn(t *testing.T) {
	table := &Schema{Fields: []Field{{ID: 1, Name: "a", Type: Type{Kind: Int}, Required: true}}}
	const big = "message L { N a=1; N b=2; N c=3; } L l=3; "
	for _, c := range []struct {
		e                  Evolution
		body, record, want string
	}{
		{Evolution{Widen: true, Optional: true}, "int32 a=1; int32 b=2;", "a: 1 b: 2", "row"},
		{Evolution{Add: true}, "optional int32 a=1;", "", "bad required a"},
		{Evolution{Add: true}, "int64 a=1;", "a: 3000000000", "bad range a"},
		{Evolution{Add: true}, "int32 z=1;", "", "refused"},
		{Evolution{Add: true, MaxColumns: 2}, "int32 a=1; int32 b=2; int32 c=3;", "a: 1", "add 0 b int"},
		{Evolution{Add: true, MaxColumns: 1}, "int32 a=1; int32 b=2; int32 c=3;", "a: 1 c: 1", "bad unknown_field M.c"},
		{Evolution{Add: true, MaxColumns: 16}, "int32 a=1; " + big, "a: 1 l { }", "bad unknown_field M.l"},
		{Evolution{Add: true, MaxColumns: 17}, "int32 a=1; " + big, "a: 1 l { }",
			"add 0 l struct<a:struct<x:long,s:string,l:list<int>>,b:struct<x:long,s:string,l:list<int>>,c:struct<x:long,s:string,l:list<int>>>"},
	} {
		if got := askProto(t, table, c.e, protoOf(c.body), c.record); got != c.want {
			t.Errorf("%+v %s: got %s, want %s", c.e, c.body, got, c.want)
		}
	}
}

// Sixty messages that each hold the next one twice stand for 2^60 columns.
func TestAProtoSchemaThatStandsForCountlessColumnsIsReadInTime(t *testing.T) {
	var text strings.Builder
	text.WriteString(`syntax = "proto3"; message M { int32 a=1; A0 b=2; } `)
	for i := range 60 {
		fmt.Fprintf(&text, "message A%d { A%d l=1; A%d r=2; } ", i, i+1, i+1)
	}
	text.WriteString("message A60 { int32 x=1; }")
	table := &Schema{Fields: []Field{{ID: 1, Name: "a", Type: Type{Kind: Int}}}}
	schema := &ProtoSchema{Text: text.String(), Message: "M"}
	for record, want := range map[string]string{"a: 1": "row", "b { }": "bad unknown_field M.b"} {
		if got := askProto(t, table, everything, schema, record); got != want {
			t.Errorf("%s: got %s, want %s", record, got, want)
		}
	}
}

func TestAFieldThatTheSchemaDoesNotHaveIsNotLostBesideNewColumns(t *testing.T) {
	table := &Schema{Fields: []Field{{ID: 1, Name: "a", Type: Type{Kind: Int}}}}
	m, cs := mustProto(t, table, ProtoOptions{Schema: protoOf("int32 a=1;"), Evolve: everything})
	if got := verdictOf(t, m.Map(&source.Record{Value: []byte{8, 1, 0x98, 1, 5}}, cs)); got != "bad unknown_field " || cs.Rows != 0 {
		t.Error(got)
	}
}

// grownProto gives the table that records of the schema ask for where there is none, and its mapper.
func grownProto(t testing.TB) *protoOracle {
	t.Helper()
	schema := &ProtoSchema{Text: strings.Replace(oracleProto, "In again = 4;", "", 1), Imports: map[string]string{"two.proto": oracleProtoTwo}, Message: "o.R"}
	o := &protoOracle{md: descriptorOf(t, schema), s: &Schema{}}
	next := 0
	for range 2 {
		o.m, o.cs = mustProto(t, o.s, ProtoOptions{Schema: schema, Evolve: everything})
		err := o.m.Map(&source.Record{Value: []byte{}}, o.cs)
		var want *EvolveError
		if !errors.As(err, &want) {
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		o.s = &Schema{Fields: apply(o.s.Fields, 0, want.Changes, &next)}
	}
	t.Fatal("it asks once more")
	return nil
}

// The columns that a schema asks for take what the library reads, field by field.
func FuzzProtoEvolution(f *testing.F) {
	o := grownProto(f)
	for _, b := range o.seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { o.run(t, b) })
}

func TestNewColumnsTakeWhatTheLibraryReads(t *testing.T) {
	o, r := grownProto(t), rand.New(rand.NewPCG(7, 8))
	if n := len(o.s.Fields); n != o.md.Fields().Len() {
		t.Errorf("%d columns for %d fields", n, o.md.Fields().Len())
	}
	var seeds []string
	for _, b := range o.seeds(t) {
		o.run(t, b)
		if len(b) > 0 {
			seeds = append(seeds, string(b))
		}
	}
	for range 8000 {
		b := []byte(seeds[r.IntN(len(seeds))])
		for range r.IntN(4) {
			b = mutate(r, b, []byte{0, 1, 2, 8, 10, 0x22, 0x62, 0x7f, 0x80, 0xff, 'a'}, seeds)
		}
		o.run(t, b)
	}
}
