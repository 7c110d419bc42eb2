package mapper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// inferred are the columns of JSON records, and the fields without a type.
func inferred(t *testing.T, max int, records ...string) (columns string, err error) {
	t.Helper()
	in, schema := &Inference{}, &Schema{Fields: []Field{{ID: 1, Name: "_offset", Type: Type{Kind: Long}}}}
	m, err := Compose(NewJSON(JSONOptions{Evolve: in.Evolution(max)}), Parts{Metadata: Metadata{Offset: "_offset"}})(schema)
	if err != nil {
		t.Fatal(err)
	}
	dst, err := NewColumns(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		err := m.Map(&source.Record{Value: []byte(r)}, dst)
		var ask *EvolveError
		if errors.As(err, &ask) {
			err = in.Add(ask.Changes...)
		}
		if err != nil {
			return "", err
		}
	}
	var out []string
	if m := in.Mixed(); len(m) > 0 {
		defer func() { columns += fmt.Sprint(" mixed ", m) }()
	}
	for _, c := range in.Columns() {
		out = append(out, c.Name+" "+shape(&c.Type))
	}
	return fmt.Sprint(strings.Join(out, ", "), " without ", in.Untyped()), nil
}

// shape is the type with the members of structs.
func shape(t *Type) string {
	if t.Kind != Struct && t.Kind != List {
		return t.String()
	}
	var parts []string
	for i := range t.Fields {
		parts = append(parts, t.Fields[i].Name+": "+shape(&t.Fields[i].Type))
	}
	return t.Kind.String() + "<" + strings.Join(parts, ", ") + ">"
}

func TestTheColumnsOfRecordsAreGathered(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []string
		want    string
	}{
		{"none", nil, " without []"},
		{"one", []string{`{"b": 1, "a": "x"}`}, "b long, a string without []"},
		{"wider", []string{`{"a": 1}`, `{"a": 1.5}`, `{"a": 2}`}, "a double without [] mixed [a]"},
		{"members", []string{`{"s": {"a": 1, "l": [{"x": 1}]}}`, `{"s": {"b": true, "l": [{"x": 0.5, "y": "z"}]}}`},
			"s struct<a: long, l: list<element: struct<x: double, y: string>>, b: boolean> without [] mixed [s.l.element.x]"},
		{"null first", []string{`{"a": null, "s": {}, "l": [], "n": {"in": null}}`, `{"a": 1, "s": {"x": 1}, "l": [null, 2]}`},
			"a long, s struct<x: long>, l list<element: long> without [n n.in]"},
		{"null last", []string{`{"a": 1}`, `{"a": null, "odd name": null}`}, "a long without [?]"},
		{"filled by another part", []string{`{"_offset": null, "a": 1}`, `{"_offset": "x"}`}, "a long without []"},
	} {
		if got, err := inferred(t, 0, c.records...); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestFieldsOfTwoTypesAreAConflict(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a": 1}`, `{"a": "x"}`, `"a" has two types that no column takes: long and string`},
		{`{"a": "x"}`, `{"a": 1}`, `"a" has two types that no column takes: string and long`},
		{`{"a": 9007199254740993}`, `{"a": 1.5}`, `"a" has numbers with a fraction or an exponent, which a long does not hold, and integers that a double may not hold`},
		{`{"a": 1.5}`, `{"a": -9223372036854775807}`, `"a" has numbers with a fraction`},
		{`{"a": 9007199254740993}`, `{"a": 1}`, ``},
		{`{"a": 9007199254740992}`, `{"a": 1.5}`, ``},
		{`{"a": -9223372036854775808}`, `{"a": 1e0}`, ``},
		{`{}`, `{"l": [{"x": 9007199254740993}, {"x": 0.5}]}`, `"l.element.x" has numbers with a fraction`},
		{`{"s": {"l": [9007199254740993, 1]}}`, `{"s": {"l": [0.5]}}`, `"s.l.element" has numbers with a fraction`},
		{`{"a": {"x": 1}}`, `{"a": [1]}`, `"a" has two types that no column takes: struct and list<long>`},
		{`{"s": {"x": 1, "l": [{"y": true}]}}`, `{"s": {"l": [{"y": 1}]}}`, `"s.l.element.y" has two types that no column takes: boolean and long`},
	} {
		_, err := inferred(t, 0, c.a, c.b)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s and %s: %v", c.a, c.b, err)
			}
			continue
		}
		var conflict *TypeConflict
		if !errors.As(err, &conflict) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
	}
}

func TestARecordOfTooManyColumnsIsBad(t *testing.T) {
	_, err := inferred(t, 3, `{"a": 1, "b": 1, "c": 1}`)
	var bad *BadRecordError
	if !errors.As(err, &bad) || bad.Code != CodeUnknown {
		t.Error(err)
	}
}
