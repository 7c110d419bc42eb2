package mapper

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// Each of these is one JSON text by RFC 8259, or is none, whatever the columns are.
func TestJSONGrammar(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	values := map[string]Code{
		// Numbers.
		`0`: "", `-0`: "", `0e1`: "", `0E-0`: "", `1.0e+10`: "", `123456789012345678901234567890.5e-3`: "",
		`00`: CodeSyntax, `01`: CodeSyntax, `-01`: CodeSyntax, `1.`: CodeSyntax, `.1`: CodeSyntax, `+1`: CodeSyntax, `--1`: CodeSyntax, `1e`: CodeSyntax, `1e+`: CodeSyntax, `1.e1`: CodeSyntax,
		`0.e1`: CodeSyntax, `1eE2`: CodeSyntax, `1 000`: CodeSyntax, `0x1`: CodeSyntax, `NaN`: CodeSyntax, `-NaN`: CodeSyntax, `Infinity`: CodeSyntax, `-Infinity`: CodeSyntax, `Inf`: CodeSyntax,
		`1_0`: CodeSyntax, `１`: CodeSyntax, `-`: CodeSyntax, `1-`: CodeSyntax, `1+2`: CodeSyntax, `0.1.2`: CodeSyntax, `1a`: CodeSyntax,
		// Words.
		`true`: "", `false`: "", `null`: "", `True`: CodeSyntax, `nul`: CodeSyntax, `nulll`: CodeSyntax, `truth`: CodeSyntax, `undefined`: CodeSyntax, `None`: CodeSyntax,
		// Strings.
		`""`: "", `"\u0061\u20ac\uD83D\uDE00"`: "", `"\"\\\/\b\f\n\r\t"`: "", "\"\x7f\u2028\u2029\"": "", `"\u0000"`: "", `"\uFDD0\uFFFE"`: "",
		`"`: CodeSyntax, `"\"`: CodeSyntax, `"\a"`: CodeSyntax, `"\u"`: CodeSyntax, `"\u1"`: CodeSyntax, `"\u00g0"`: CodeSyntax, `"\U0041"`: CodeSyntax, `"\x41"`: CodeSyntax, `"\'"`: CodeSyntax,
		"\"\t\"": CodeSyntax, "\"\n\"": CodeSyntax, "\"\x00\"": CodeSyntax, "\"\x1f\"": CodeSyntax, `'a'`: CodeSyntax, `a`: CodeSyntax, `"a" "b"`: CodeSyntax, "\"\\\n\"": CodeSyntax,
		"\"\xff\"": CodeUTF8, "\"\xc3\"": CodeUTF8, "\"\xc0\xaf\"": CodeUTF8, "\"\xe0\x80\xaf\"": CodeUTF8, "\"\xed\xa0\x80\"": CodeUTF8, "\"\xf8\x88\x80\x80\x80\"": CodeUTF8, "\"\xf4\x90\x80\x80\"": CodeUTF8,
		`"\uD800"`: CodeUTF8, `"\uDC00"`: CodeUTF8, `"\uD800\uD800"`: CodeUTF8, `"\uD800\u0041"`: CodeUTF8, `"\uDE00\uD83D"`: CodeUTF8, `"\uD800abc"`: CodeUTF8, `"\uD800\u"`: CodeSyntax,
		// Arrays.
		`[]`: "", `[ ]`: "", "[\t1\r\n,\"a\" ]": "", `[[],[[]]]`: "", `[1,]`: CodeSyntax, `[,]`: CodeSyntax, `[,1]`: CodeSyntax, `[1,,2]`: CodeSyntax, `[1 2]`: CodeSyntax, `[`: CodeSyntax, `]`: CodeSyntax,
		`[1`: CodeSyntax, `[1,`: CodeSyntax, `[1}`: CodeSyntax, `[1:2]`: CodeSyntax, "[1\u00a0]": CodeSyntax, "[\f]": CodeSyntax, "[\v]": CodeSyntax, "[\xef\xbb\xbf]": CodeSyntax, `[1]]`: CodeSyntax, `[/*c*/]`: CodeSyntax, "[\xff]": CodeSyntax,
		// Objects.
		`{}`: "", `{ }`: "", `{"":0}`: "", `{"a":{"b":{}},"c":[{}]}`: "", `{"a":1,"a":2}`: "", "{\"\\u0000\":1}": "",
		`{"a":1,}`: CodeSyntax, `{,}`: CodeSyntax, `{"a"}`: CodeSyntax, `{"a":}`: CodeSyntax, `{:1}`: CodeSyntax, `{"a" 1}`: CodeSyntax, `{"a"::1}`: CodeSyntax, `{a:1}`: CodeSyntax, `{'a':1}`: CodeSyntax, `{1:1}`: CodeSyntax, `{"a":1;}`: CodeSyntax,
		`{"a":1]`: CodeSyntax, `{`: CodeSyntax, `{"a`: CodeSyntax, `{"a":1`: CodeSyntax, `{"a":1 "b":2}`: CodeSyntax, `{"a":1}}`: CodeSyntax, `{"a":1}x`: CodeSyntax, `{"a":1}//c`: CodeSyntax, `{"a":1}#`: CodeSyntax, "{\"\xff\":1}": CodeUTF8, `{null:1}`: CodeSyntax, `{"\uD800":1}`: CodeUTF8,
		``: CodeSyntax, ` `: CodeSyntax, "\x00": CodeSyntax, `*`: CodeSyntax, `<html>`: CodeSyntax,
		// The record's own object is level 1, what is in it begins at 2.
		deep(99): "", deep(100): CodeDepth, deep(100000): CodeDepth, strings.Repeat("[", 100000): CodeDepth, strings.Repeat(`{"a":`, 100000): CodeDepth,
	}
	s := &Schema{Fields: []Field{{Name: "c", Type: Type{Kind: Long}}}}
	for in, want := range values {
		for _, record := range []string{`{"c":1,"unknown":` + in + `}`, "{\"unknown\":\r\n\t" + in + " , \"c\":1}"} {
			row, bad := mapOne(t, s, record)
			switch {
			case want == "" && (bad != nil || row[0] != int64(1)):
				t.Errorf("%.60q: %v, row %v", record, bad, row)
			case want != "" && (bad == nil || bad.Code != want):
				t.Errorf("%.60q: %v, want code %s", record, bad, want)
			}
		}
	}
}

func TestJSONRecordAsAWhole(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "c", Type: Type{Kind: Long}}, {Name: "C", Type: Type{Kind: Long}}, {Name: "a.b", Type: Type{Kind: Long}},
		{Name: "q\"q", Type: Type{Kind: Long}}, {Name: "ü", Type: Type{Kind: Long}}, {Name: "a", Type: Type{Kind: Struct, Fields: []Field{{Name: "b", Type: Type{Kind: Long}}}}}}}
	type row = []any
	tests := map[string]any{
		`{}`: row{nil, nil, nil, nil, nil, nil}, " \t\r\n{ } \n": row{nil, nil, nil, nil, nil, nil},
		`{"c":1,"C":2}`: row{int64(1), int64(2), nil, nil, nil, nil}, `{"a.b":1,"a":{"b":2}}`: row{nil, nil, int64(1), nil, nil, []any{int64(2)}},
		`{"q\"q":1,"ü":2}`: row{nil, nil, nil, int64(1), int64(2), nil}, `{"q\u0022q":1,"\u00fc":2}`: row{nil, nil, nil, int64(1), int64(2), nil},
		`{"c":null,"d":1,"d":2}`: row{nil, nil, nil, nil, nil, nil},
		`{"c":1,"c":1}`:          CodeDuplicateKey, `{"c":null,"c":1}`: CodeDuplicateKey, `{"c":1,"\u0063":1}`: CodeDuplicateKey, `{"a":{},"a":{}}`: CodeDuplicateKey,
		``: CodeEmpty, ` `: CodeSyntax, "\xef\xbb\xbf{}": CodeSyntax, `{}{}`: CodeSyntax, `{} x`: CodeSyntax, "{}\x00": CodeSyntax,
		`[]`: CodeType, `null`: CodeType, `1`: CodeType, `"{}"`: CodeType, `[{"c":1}]`: CodeType, `nul`: CodeSyntax, `[`: CodeSyntax, `1 2`: CodeSyntax, "\xff": CodeSyntax, "\"\xff\"": CodeUTF8,
	}
	for in, want := range tests {
		got, bad := mapOne(t, s, in)
		if code, isCode := want.(Code); isCode {
			if bad == nil || bad.Code != code {
				t.Errorf("%q: %v, want code %s", in, bad, code)
			}
		} else if bad != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v", in, got, bad, want)
		}
	}
}

func TestJSONTombstoneIsFiltered(t *testing.T) {
	m, cs := mustJSON(t, schemaA())
	if err := m.Map(&source.Record{Key: []byte("k")}, cs); !errors.Is(err, ErrFiltered) || cs.Rows != 0 {
		t.Fatal(err)
	}
}

func TestJSONErrorNamesThePathAndNeverTheContents(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "in", Type: Type{Kind: Struct, Fields: []Field{
		{Name: "r", Type: Type{Kind: Long}, Required: true},
		{Name: "tags", Type: listOf(Field{Required: true, Type: Type{Kind: String}})},
		{Name: "m", Type: mapOf(Type{Kind: Int}, Field{Required: true, Type: Type{Kind: UUID}})}}}}}}
	tests := map[string]string{
		`{"in":{}}`: "in.r", `{"in":{"r":null}}`: "in.r", `{"in":{"r":"SECRET"}}`: "in.r", `{"in":{"r":1,"tags":["SECRET",null]}}`: "in.tags.element", `{"in":{"r":1,"tags":[7]}}`: "in.tags.element",
		`{"in":{"r":1,"tags":{"SECRET":1}}}`: "in.tags", `{"in":{"r":1,"m":{"SECRET":1}}}`: "in.m.key", `{"in":{"r":1,"m":{"1":"SECRET"}}}`: "in.m.value", `{"in":{"r":1,"m":{"1":null}}}`: "in.m.value",
		`{"in":{"r":1,"m":{"1":"00000000-0000-0000-0000-000000000000","1":"00000000-0000-0000-0000-000000000000"}}}`: "in.m.key", `{"in":{"r":1,"r":2}}`: "in.r",
		`{"SECRET":SECRET}`: "", `{"in":{"r":1},"SECRET":"SECRET`: "", "{\"SECRET\xff\":1}": "", "{\"in\":{\"r\":1,\"tags\":[\"SECRET\xff\"]}}": "in.tags.element",
		`{"in":{"r":99SECRET}}`: "", `{"in":"SECRET"}`: "in", `["SECRET"]`: "", `{"in":{"r":1}} SECRET`: "",
	}
	for in, path := range tests {
		_, bad := mapOne(t, s, in)
		if bad == nil || bad.Column != path || bad.Reason == "" || strings.Contains(bad.Error(), "SECRET") {
			t.Errorf("%s: %v, want column %q", in, bad, path)
		}
	}
}

func TestJSONFactoryRefusesWhatCannotBe(t *testing.T) {
	deep := Type{Kind: Long}
	for range 99 {
		deep = listOf(Field{Type: deep})
	}
	one := func(ty Type) *Schema { return &Schema{Fields: []Field{{Name: "c", Type: ty}}} }
	tests := []struct {
		name string
		opts JSONOptions
		s    *Schema
		ok   bool
	}{
		{"plain", JSONOptions{}, one(Type{Kind: Long}), true},
		{"every kind", JSONOptions{}, everyKind(), true},
		{"no schema", JSONOptions{}, nil, false},
		{"bad schema", JSONOptions{}, one(Type{}), false},
		{"negative depth", JSONOptions{MaxDepth: -1}, one(Type{Kind: Long}), false},
		{"huge depth", JSONOptions{MaxDepth: 10001}, one(Type{Kind: Long}), false},
		{"map with a struct as key", JSONOptions{}, one(mapOf(Type{Kind: Struct}, Field{Type: Type{Kind: Long}})), false},
		{"map with a list as key", JSONOptions{}, one(mapOf(listOf(Field{Type: Type{Kind: Long}}), Field{Type: Type{Kind: Long}})), false},
		{"99 lists", JSONOptions{}, one(deep), true},
		{"100 lists", JSONOptions{}, one(listOf(Field{Type: deep})), false},
		{"100 lists, deeper option", JSONOptions{MaxDepth: 101}, one(listOf(Field{Type: deep})), true},
		{"struct too deep", JSONOptions{MaxDepth: 1}, one(Type{Kind: Struct, Fields: []Field{{Name: "x", Type: Type{Kind: Long}}}}), false},
	}
	for _, tt := range tests {
		if _, err := NewJSON(tt.opts)(tt.s); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	m, _ := mustJSON(t, one(deep))
	cs := mustColumns(t, one(deep))
	if err := m.Map(&source.Record{Value: []byte(`{"c":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`)}, cs); err != nil {
		t.Error(err)
	}
	err := m.Map(&source.Record{Value: []byte(`{"c":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`)}, cs)
	var bad *BadRecordError
	if !errors.As(err, &bad) {
		t.Error(err)
	}
}

func TestJSONMapsIntoSeveralColumnsInTurn(t *testing.T) {
	m, a := mustJSON(t, schemaA())
	b := mustColumns(t, schemaA())
	recs := recordsA(100)
	for i := range recs {
		dst := a
		if i%3 == 0 {
			dst = b
		}
		if err := m.Map(&recs[i], dst); err != nil {
			t.Fatal(err)
		}
	}
	checkInvariants(t, a)
	checkInvariants(t, b)
	if a.Rows != 66 || b.Rows != 34 || b.Cols[0].I64[1] != 1000000003 {
		t.Fatalf("%d and %d rows", a.Rows, b.Rows)
	}
	if err := m.Map(&recs[0], mustColumns(t, schemaB())); !errors.Is(err, ErrSchema) {
		t.Fatal(err)
	}
}

func TestJSONFullColumns(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "c", Type: Type{Kind: String}}}}
	m, cs := mustJSON(t, s)
	cs.limit = 60
	rec := &source.Record{Value: []byte(`{"c":"12345678901234567890"}`)}
	n := 0
	for ; n < 10; n++ {
		if err := m.Map(rec, cs); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	checkInvariants(t, cs)
	if n != 2 || cs.Rows != 2 {
		t.Fatalf("%d rows", cs.Rows)
	}
	cs.Reset()
	if err := m.Map(rec, cs); err != nil {
		t.Fatal(err)
	}
	cs.Reset()
	var bad *BadRecordError
	if err := m.Map(&source.Record{Value: []byte(`{"c":"` + strings.Repeat("x", 60) + `"}`)}, cs); !errors.As(err, &bad) || bad.Code != CodeSize {
		t.Fatal(err)
	}
}
