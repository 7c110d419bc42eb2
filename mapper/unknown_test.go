package mapper

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

func textField(name string) Field { return Field{Name: name, Type: Type{Kind: String}} }

// kept gives the rows of records, or the codes of bad ones, where unknown fields go to the column rest.
func kept(t *testing.T, rest Field, records ...string) (out []any) {
	t.Helper()
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}, rest,
		{Name: "s", Type: Type{Kind: Struct, Fields: []Field{{Name: "m", Type: Type{Kind: Long}}}}}}}
	m, err := NewJSON(JSONOptions{Unknown: UnknownOptions{Policy: UnknownKeep, Column: rest.Name}})(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	for _, r := range records {
		before := cs.Rows
		err := m.Map(&source.Record{Value: []byte(r)}, cs)
		checkInvariants(t, cs)
		var bad *BadRecordError
		switch {
		case errors.As(err, &bad):
			out = append(out, bad.Code)
		case err != nil:
			t.Fatal(r, err)
		default:
			out = append(out, rowOf(cs, before)[1])
		}
	}
	return out
}

var keepRecords = []string{
	`{"a":1}`, `{"x":1,"a":2,"y":"é\n"}`, `{ "x" : [1, {"b":null}] , "k\u0022":null,"s":{"m":1,"other":2}}`, `{"rest":7}`,
	`{"x":1,"y":2,"x":3}`, `{"x":1,"\u0078":3}`, `{"x":"\ud800"}`, `{"x":01}`, `{"x":1,"a":1.5}`, `{"true":true,"n":-1.50e3,"s":null}`,
}

func TestUnknownFieldsAreKeptAsJSON(t *testing.T) {
	want := []any{nil, `{"x":1,"y":"é\n"}`, `{"x":[1, {"b":null}],"k\u0022":null}`, `{"rest":7}`,
		CodeDuplicateKey, CodeDuplicateKey, CodeUTF8, CodeSyntax, CodePrecision, `{"true":true,"n":-1.50e3}`}
	if got := kept(t, textField("rest"), keepRecords...); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	required := textField("rest")
	required.Required = true
	if got := kept(t, required, `{"a":1}`, `{"x":1}`); !reflect.DeepEqual(got, []any{`{}`, `{"x":1}`}) {
		t.Errorf("required: %q", got)
	}
}

func TestUnknownFieldsAreKeptInAMap(t *testing.T) {
	rest := Field{Name: "rest", Type: mapOf(Type{Kind: String}, textField("value"))}
	got := kept(t, rest, keepRecords...)
	type pairs = []any
	want := []any{nil, pairs{"x", "1", "y", "é\n"}, pairs{"x", `[1, {"b":null}]`, `k"`, nil}, pairs{"rest", "7"},
		CodeDuplicateKey, CodeDuplicateKey, CodeUTF8, CodeSyntax, CodePrecision, pairs{"true", "true", "n", "-1.50e3"}}
	if len(got) != len(want) {
		t.Fatal(got)
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s: got %#v, want %#v", keepRecords[i], got[i], want[i])
		}
	}
	// An empty map, and not null, where the column is required.
	rest.Required = true
	if got := kept(t, rest, `{"a":1}`); reflect.ValueOf(got[0]).Len() != 0 {
		t.Errorf("required: %v", got)
	}
}

func TestAColumnForUnknownFieldsMustTakeThem(t *testing.T) {
	for want, s := range map[string]*Schema{
		"there is no column":     {Fields: []Field{textField("a")}},
		"is of type long":        {Fields: []Field{{Name: "rest", Type: Type{Kind: Long}}}},
		"values that may be nul": {Fields: []Field{{Name: "rest", Type: mapOf(Type{Kind: String}, Field{Name: "value", Type: Type{Kind: String}, Required: true})}}},
	} {
		_, err := NewJSON(JSONOptions{Unknown: UnknownOptions{Policy: UnknownKeep, Column: "rest"}})(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, o := range []UnknownOptions{{Policy: UnknownKeep}, {Column: "c"}, {Policy: 9}} {
		if o.Validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestUnknownFieldsAreRejected(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}, {Name: "s", Type: Type{Kind: Struct, Fields: []Field{{Name: "m", Type: Type{Kind: Long}}}}}}}
	m, err := NewJSON(JSONOptions{Unknown: UnknownOptions{Policy: UnknownReject}})(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	for record, want := range map[string]string{
		`{"a":1,"s":{"m":2}}`: "-", `{}`: "-", `{"a":1,"new":null}`: "new", `{"s":{"new_1":{}}}`: "s.new_1",
		// What is no identifier may be what the record holds.
		`{"bob@example.com":1}`: "?", `{"":1}`: "?", `{"` + strings.Repeat("k", 65) + `":1}`: "?",
	} {
		err := m.Map(&source.Record{Value: []byte(record)}, cs)
		checkInvariants(t, cs)
		var bad *BadRecordError
		switch {
		case want == "-" && err != nil:
			t.Errorf("%s: %v", record, err)
		case want == "-":
		case !errors.As(err, &bad) || bad.Code != CodeUnknown || bad.Column != want:
			t.Errorf("%s: %v, want column %q", record, err, want)
		}
	}
	if cs.Rows != 2 {
		t.Errorf("%d rows", cs.Rows)
	}
}

func TestAvroFieldsThatAreNoColumnAreRejected(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	w := recordOf("a long", "b long")
	opts := AvroOptions{Schema: &w, Unknown: UnknownOptions{Policy: UnknownReject}}
	if _, err := NewAvro(opts)(s); err == nil || !strings.Contains(err.Error(), `column "b": a field that is no column`) {
		t.Errorf("fixed schema: %v", err)
	}
	// What a reader's schema leaves out was left out on purpose.
	r := recordOf("a long")
	opts.Reader = &r
	m, cs := mustAvro(t, s, opts)
	if row, bad := mapAvro(t, m, cs, zz(1, 2)); bad != nil || row[0] != int64(1) {
		t.Error(row, bad)
	}
	opts = AvroOptions{Resolver: resolverFunc(func(uint32) (AvroSchema, error) { return w, nil }), Unknown: opts.Unknown}
	m, cs = mustAvro(t, s, opts)
	if err := mapWire(t, m, cs, wire(7, zz(1, 2))); codeOf(err) != CodeUnknown {
		t.Error(err)
	}
	opts.Unknown = UnknownOptions{Policy: UnknownKeep, Column: "a"}
	if opts.Validate() == nil {
		t.Error("keep is taken")
	}
}
