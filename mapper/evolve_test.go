package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

var everything = Evolution{Add: true, Widen: true, Optional: true}

// describe gives a type with the members of its structs.
func describe(t *Type) string {
	var parts []string
	for i := range t.Fields {
		f := &t.Fields[i]
		if s := describe(&f.Type); t.Kind == Struct {
			parts = append(parts, f.Name+":"+s)
		} else {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return t.String()
	}
	return t.Kind.String() + "<" + strings.Join(parts, ",") + ">"
}

func describeAll(changes []Change) string {
	var out []string
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case AddColumn:
			out = append(out, fmt.Sprintf("add %d %s %s", c.ID, c.Name, describe(&c.Type)))
		case WidenType:
			out = append(out, fmt.Sprintf("widen %d %s", c.ID, describe(&c.Type)))
		case MakeOptional:
			out = append(out, fmt.Sprintf("optional %d", c.ID))
		}
	}
	return strings.Join(out, "; ")
}

// apply makes the changes, as a table would.
func apply(fields []Field, id int, changes []Change, next *int) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		for _, c := range changes {
			switch {
			case c.Kind == WidenType && c.ID == f.ID:
				f.Type = c.Type
			case c.Kind == MakeOptional && c.ID == f.ID:
				f.Required = false
			}
		}
		f.Type.Fields = apply(f.Type.Fields, f.ID, changes, next)
	}
	for _, c := range changes {
		if c.Kind == AddColumn && c.ID == id && !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == c.Name }) {
			f := []Field{{Name: c.Name, Type: c.Type}}
			giveIDs(f, next)
			fields = append(fields, f...)
		}
	}
	return fields
}

func giveIDs(fields []Field, next *int) {
	for i := range fields {
		*next++
		fields[i].ID = *next
		fields[i].Type.Fields = slices.Clone(fields[i].Type.Fields)
		giveIDs(fields[i].Type.Fields, next)
	}
}

func growing() *Schema {
	member := []Field{{ID: 21, Name: "m", Type: Type{Kind: Int}, Required: true}}
	s := Type{Kind: Struct, Fields: member}
	return &Schema{Fields: []Field{
		{ID: 1, Name: "a", Type: Type{Kind: Long}, Required: true}, {ID: 2, Name: "s", Type: s},
		{ID: 3, Name: "l", Type: Type{Kind: List, Fields: []Field{{ID: 31, Name: "element", Type: Type{Kind: Struct, Fields: []Field{{ID: 32, Name: "x", Type: Type{Kind: Float}}}}}}}},
		{ID: 4, Name: "m", Type: Type{Kind: Map, Fields: []Field{{ID: 41, Name: "key", Type: Type{Kind: String}, Required: true},
			{ID: 42, Name: "value", Type: Type{Kind: Struct, Fields: []Field{{ID: 43, Name: "y", Type: Type{Kind: Int}}}}}}}},
		{ID: 5, Name: "d", Type: Type{Kind: Decimal, Precision: 4, Scale: 2}},
	}}
}

// ask maps one record and says what it asks for, why it is bad, or that it is a row.
func ask(t testing.TB, s *Schema, e Evolution, record string) string {
	t.Helper()
	m, err := NewJSON(JSONOptions{Evolve: e})(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	err = m.Map(&source.Record{Value: []byte(record)}, cs)
	checkInvariants(t, cs)
	return verdictOf(t, err)
}

// verdictOf says what became of a record.
func verdictOf(t testing.TB, err error) string {
	t.Helper()
	var want *EvolveError
	var bad *BadRecordError
	switch {
	case errors.As(err, &want):
		return describeAll(want.Changes)
	case errors.As(err, &bad):
		return "bad " + string(bad.Code) + " " + bad.Column
	case err != nil:
		t.Fatal(err)
	}
	return "row"
}

func TestJSONRecordsAskForWhatTheyNeed(t *testing.T) {
	for _, c := range []struct{ record, want string }{
		{`{"a":1}`, "row"},
		{`{"a":1,"n":null,"e":{},"f":[],"g":[null,{}],"h":{"i":{"j":[]}}}`, "row"},
		{`{"a":1,"b":true,"n":-7,"x":7.0,"e":7e0,"t":"2024-01-01"}`, "add 0 b boolean; add 0 n long; add 0 x double; add 0 e double; add 0 t string"},
		{`{"a":1,"o":{"p":1,"q":null,"r":{"s":"","z":{}}}}`, "add 0 o struct<p:long,r:struct<s:string>>"},
		{`{"a":1,"o":[1,null,2]}`, "add 0 o list<long>"},
		{`{"a":1,"o":[1,2.5]}`, "add 0 o list<double>"},
		{`{"a":1,"o":[[],[["x"]]]}`, "add 0 o list<list<list<string>>>"},
		{`{"a":1,"o":[{"p":1},{"q":[true]},{"p":1.5}]}`, "add 0 o list<struct<p:double,q:list<boolean>>>"},
		{`{"a":1,"s":{"m":1,"n":2},"l":[{"z":1},{"x":1,"w":""}],"m":{"k":{"v":[1]}}}`,
			"add 2 n long; add 31 z long; add 31 w string; add 42 v list<long>"},
		{`{"s":{}}`, "optional 21; optional 1"},
		{`{"a":null,"new":1}`, "optional 1; add 0 new long"},
		{`{"a":1,"s":{"m":3000000000}}`, "widen 21 long"},
		{`{"a":1,"l":[{"x":1e300}],"m":{"k":{"y":-3e9}}}`, "widen 32 double; widen 43 long"},
		{`{"a":1,"l":[{"x":16777217}]}`, "widen 32 double"},
		{`{"a":1,"d":12345.67}`, "widen 5 decimal(7,2)"},
		{`{"a":1,"d":"123.4"}`, "widen 5 decimal(5,2)"},
		{`{"a":1,"d":1e35}`, "widen 5 decimal(38,2)"},
		// What no change mends.
		{`{"a":1,"d":1e36}`, "bad range d"},
		{`{"a":1,"d":1.234}`, "bad precision d"},
		{`{"a":1,"l":[{"x":9007199254740993}]}`, "bad precision l.element.x"},
		{`{"a":1,"s":{"m":9223372036854775808}}`, "bad range s.m"},
		{`{"a":9223372036854775808,"new":1}`, "bad range a"},
		{`{"a":"x","new":1}`, "bad type a"},
		{`{"a":1,"new":9223372036854775808}`, "bad unknown_field new"},
		{`{"a":1,"new":1e999}`, "bad unknown_field new"},
		{`{"a":1,"new":[1,"x"]}`, "bad unknown_field new"},
		{`{"a":1,"new":[{"p":1},{"p":"x"}]}`, "bad unknown_field new"},
		{`{"a":1,"s":{"m":1,"new":{"p":1,"p":2}}}`, "bad unknown_field s.new"},
		{`{"a":1,"new":1,"new":null}`, "bad duplicate_key new"},
		{`{"a":1,"":1}`, "bad unknown_field ?"},
		{`{"a":1,"x\u200b":1}`, "bad unknown_field ?"},
		{`{"a":1,"new":{"p\u0000":1}}`, "bad unknown_field new"},
		{`{"a":1,"` + strings.Repeat("k", 256) + `":1}`, "bad unknown_field ?"},
		{`{"a":1,"new":` + strings.Repeat("[", 30) + "1" + strings.Repeat("]", 30) + `}`, "bad unknown_field new"},
		// Broken behind what a change would mend.
		{`{"s":{},"a":null,"x":01}`, "bad syntax "},
		{`{"a":1,"new":1}}`, "bad syntax "},
	} {
		if got := ask(t, growing(), everything, c.record); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.record, got, c.want)
		}
	}
}

func TestOnlyTheChangesThatAreSwitchedOnAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		e            Evolution
		record, want string
	}{
		{Evolution{Widen: true, Optional: true}, `{"a":1,"new":1}`, "row"},
		{Evolution{Add: true, Widen: true}, `{"new":1}`, "bad required a"},
		{Evolution{Add: true, Optional: true}, `{"a":1,"new":1,"s":{"m":3000000000}}`, "bad range s.m"},
		{Evolution{Optional: true}, `{"new":1}`, "optional 1"},
		{Evolution{Add: true, MaxColumns: 13}, `{"a":1,"b":1,"c":2}`, "add 0 b long; add 0 c long"},
		{Evolution{Add: true, MaxColumns: 12}, `{"a":1,"b":1,"c":2}`, "bad unknown_field c"},
		{Evolution{Add: true, MaxColumns: 13}, `{"a":1,"b":{"c":{"d":1}}}`, "bad unknown_field b"},
	} {
		if got := ask(t, growing(), c.e, c.record); got != c.want {
			t.Errorf("%+v %s: got %s, want %s", c.e, c.record, got, c.want)
		}
	}
	if n := countFields(growing().Fields); n != 11 {
		t.Errorf("%d fields", n)
	}
}

func TestChangesOfARecordAreMergedWithOthers(t *testing.T) {
	add := func(name string, t Type) Change { return Change{Kind: AddColumn, Name: name, Type: t} }
	member := func(name string, k Kind) Type {
		return Type{Kind: Struct, Fields: []Field{{Name: name, Type: Type{Kind: k}}}}
	}
	got := MergeChanges(nil, add("a", Type{Kind: Long}), add("b", member("x", Long)), add("a", Type{Kind: Double}), add("b", member("y", String)),
		add("b", member("x", String)), add("a", Type{Kind: String}), Change{Kind: MakeOptional, ID: 3}, Change{Kind: MakeOptional, ID: 3},
		Change{Kind: WidenType, ID: 5, Type: Type{Kind: Decimal, Precision: 9, Scale: 2}}, Change{Kind: WidenType, ID: 5, Type: Type{Kind: Decimal, Precision: 7, Scale: 2}})
	if s := describeAll(got); s != "add 0 a double; add 0 b struct<x:long,y:string>; optional 3; widen 5 decimal(9,2)" {
		t.Error(s)
	}
}

func TestAvroRecordsAskForWhatTheirSchemaSays(t *testing.T) {
	s := &Schema{Fields: []Field{
		{ID: 1, Name: "a", Type: Type{Kind: Int}, Required: true}, {ID: 2, Name: "f", Type: Type{Kind: Float}},
		{ID: 3, Name: "d", Type: Type{Kind: Decimal, Precision: 4, Scale: 2}},
		{ID: 4, Name: "l", Type: listOf(Field{ID: 41, Name: "element", Type: Type{Kind: Struct, Fields: []Field{{ID: 42, Name: "x", Type: Type{Kind: Int}}}}})},
	}}
	inner := `{"type":"array","items":{"type":"record","name":"E","fields":[{"name":"x","type":"int"},{"name":"y","type":"float"}]}}`
	dec := `{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{[]string{"a int"}, ""},
		{[]string{"a int", "b long", "c float", "e double", "g bytes", "h string", "i boolean", "n null"},
			"add 0 b long; add 0 c float; add 0 e double; add 0 g binary; add 0 h string; add 0 i boolean"},
		{[]string{"a int", "b " + logical("int", "date"), "c " + logical("long", "timestamp-millis"), "e " + logical("long", "local-timestamp-nanos"), "g " + logical("string", "uuid"), "h " + logical("int", "time-millis")},
			"add 0 b date; add 0 c timestamptz; add 0 e timestamp_ns; add 0 g uuid; add 0 h time"},
		{[]string{"a int", `b ["null",{"type":"map","values":["null","int"]}]`, `c {"type":"enum","name":"N","symbols":["A"]}`, `e {"type":"fixed","name":"F","size":3}`, "g " + fmt.Sprintf(dec, 20, 3)},
			"add 0 b map<string,int>; add 0 c string; add 0 e fixed[3]; add 0 g decimal(20,3)"},
		{[]string{"a int", `r {"type":"record","name":"S","fields":[{"name":"x","type":"int"},{"name":"z","type":"null"}]}`}, "add 0 r struct<x:int>"},
		{[]string{"a long", "f double", "d " + fmt.Sprintf(dec, 9, 2)}, "widen 1 long; widen 2 double; widen 3 decimal(9,2)"},
		{[]string{"f float", "l " + inner}, "add 41 y float; optional 1"},
		// What no change mends.
		{[]string{"a int", `b ["int","string"]`}, "bad unknown_field b"},
		{[]string{"a int", "b " + logical("long", "time-nanos")}, "bad unknown_field b"},
		{[]string{"a int", "b " + fmt.Sprintf(dec, 39, 3)}, "bad unknown_field b"},
		{[]string{"a string", "b int"}, "bad schema a"},
	} {
		w := recordOf(slices.Clone(c.fields)...)
		m, cs := mustAvro(t, s, AvroOptions{Resolver: resolverFunc(func(uint32) (AvroSchema, error) { return w, nil }), Evolve: everything})
		err := mapWire(t, m, cs, wire(7, zz(1)))
		var want *EvolveError
		var bad *BadRecordError
		got := ""
		switch {
		case errors.As(err, &want):
			got = describeAll(want.Changes)
		case errors.As(err, &bad):
			got = "bad " + string(bad.Code) + " " + bad.Column
		}
		if got != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", c.fields, got, c.want)
		}
	}
}

func TestAvroNullAsksForAnOptionalColumn(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 6, Name: "a", Type: Type{Kind: Int}, Required: true}}}
	w := recordOf(`a ["null","int"]`)
	m, cs := mustAvro(t, s, AvroOptions{Schema: &w, Evolve: Evolution{Optional: true}})
	if row, bad := mapAvro(t, m, cs, zz(1, 5)); bad != nil || row[0] != int32(5) {
		t.Error(row, bad)
	}
	err := m.Map(&source.Record{Value: zz(0)}, cs)
	var want *EvolveError
	if !errors.As(err, &want) || describeAll(want.Changes) != "optional 6" || cs.Rows != 1 {
		t.Error(err)
	}
}

// A record that asks gets what it asks for, and is then a row or bad: it never asks for ever.
func FuzzJSONEvolution(f *testing.F) {
	for _, s := range oracleSeeds() {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":null,"s":{"n":[{"o":1}]},"l":[{"z":1.5}],"m":{"k":{"v":{}}},"d":12345,"new":[[1],[2.5]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, next := growing(), 100
		ignoring := ask(t, growing(), Evolution{}, string(b))
		for asks := 0; ; asks++ {
			m, err := NewJSON(JSONOptions{Evolve: everything})(s)
			if err != nil {
				t.Fatal(err)
			}
			cs := mustColumns(t, s)
			err = m.Map(&source.Record{Value: b}, cs)
			checkInvariants(t, cs)
			var want *EvolveError
			if !errors.As(err, &want) {
				if strings.HasPrefix(ignoring, "bad syntax") && err == nil {
					t.Fatal("what is no JSON became a row")
				}
				return
			}
			if asks == 2 {
				t.Fatalf("it asks once more: %s", describeAll(want.Changes))
			}
			s = &Schema{Fields: apply(s.Fields, 0, want.Changes, &next)}
		}
	})
}

// The column takes the other field alone: there is nothing to add.
func TestARenamedColumnsOwnNameAsksForNoColumn(t *testing.T) {
	rules := Rules{Renames: []Rename{{Field: Path{"x"}, Column: "a"}, {Field: Path{"s", "y"}, Column: "m"}}}
	s := &Schema{Fields: []Field{{ID: 1, Name: "a", Type: Type{Kind: Long}},
		{ID: 2, Name: "s", Type: Type{Kind: Struct, Fields: []Field{{ID: 3, Name: "m", Type: Type{Kind: Long}}}}}}}
	ruled, err := rules.apply(s)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"x":1,"a":2}`:             "row",
		`{"x":1,"s":{"y":1,"m":2}}`: "row",
		`{"x":1,"a":2,"new":true}`:  "add 0 new boolean",
	} {
		if got := ask(t, ruled, everything, in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	m, cs := mustAvro(t, ruled, AvroOptions{Schema: ptr(recordOf("x long", "a long")), Evolve: everything})
	if row, bad := mapAvro(t, m, cs, zz(1, 2)); bad != nil || !sameValue(any(row), any([]any{int64(1), nil})) {
		t.Errorf("Avro: %v %v", row, bad)
	}
}

// A field that differs from a column in case alone is that column's, where case does not count, and never a new one.
func TestNewColumnsBesideNamesInAnyCase(t *testing.T) {
	s := growing()
	ruled, err := (&Rules{FoldCase: true}).apply(s)
	if err != nil {
		t.Fatal(err)
	}
	ruled.elsewhere = []Field{{ID: 9, Name: "_Key", Type: Type{Kind: String}}}
	for in, want := range map[string]string{
		`{"A":1,"S":{"M":1}}`:                        "row",
		`{"A":1,"_KEY":"x"}`:                         "row",
		`{"A":1,"New":true,"S":{"m":1,"N":2}}`:       "add 0 New boolean; add 2 N long",
		`{"A":null,"D":12345}`:                       "optional 1; widen 5 decimal(7,2)",
		`{"A":1,"L":[{"X":1e300,"z":1},{"Z":2}]}`:    "widen 32 double; add 31 z long; add 31 z long",
		`{"a":1,"new":1,"NEW":2}`:                    "bad duplicate_key NEW",
		`{"a":1,"stra\u00dfe":1}`:                    "add 0 straße long",
		`{"a":1,"new":{"k":1,"\u212a":2}}`:           "bad unknown_field new",
		`{"a":1,"new":[{"k":1},{"K":2.5},{"o":""}]}`: "add 0 new list<struct<k:double,o:string>>",
		`{"a":1,"A":2}`:                              "bad duplicate_key a",
	} {
		if got := ask(t, ruled, everything, in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
	m, cs := mustAvro(t, ruled, AvroOptions{Schema: ptr(recordOf("A long", "_KEY string", "New long")), Evolve: everything})
	if got := verdictOf(t, m.Map(&source.Record{Value: zz(1)}, cs)); got != "add 0 New long" {
		t.Errorf("Avro: %s", got)
	}
	if got := askProto(t, ruled, everything, protoOf("int64 A=1; string _KEY=2; int64 New=3; N S=4;"), ""); got != "add 2 x long; add 2 s string; add 2 l list<int>; add 0 New long" {
		t.Errorf("Protobuf: %s", got)
	}
}
