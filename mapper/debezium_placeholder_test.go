package mapper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// What a record tells beside placeholders is never lost with them.
func TestThePlaceholderTakesNothingElseWithIt(t *testing.T) {
	const gone = `"__debezium_unavailable_value"`
	bytes := strings.ReplaceAll(strings.Trim(fmt.Sprint([]byte("__debezium_unavailable_value")), "[]"), " ", ",")
	text, required := Field{Type: of(String)}, Field{Type: of(String), Required: true}
	pair := structOf(Field{Name: "x", Type: of(Long)}, Field{Name: "y", Type: of(String)})
	for _, c := range []struct {
		typ      Type
		in, want string
	}{
		{listOf(text), `["keep",` + gone + `,"",null,"é"]`, "[keep <nil>  <nil> é]"},
		{listOf(text), `[` + gone + `,null,` + gone + `]`, "<nil>"},
		{listOf(text), `[null]`, "[<nil>]"},
		{listOf(required), `["keep",` + gone + `]`, "bad unavailable c.element"},
		{listOf(required), `[` + gone + `]`, "<nil>"},
		{listOf(Field{Type: listOf(Field{Type: of(Int)})}), `[[1],[` + bytes + `],[],[2]]`, "[[1] <nil> [] [2]]"},
		{listOf(Field{Type: listOf(text)}), `[[` + gone + `],["x",` + gone + `]]`, "[<nil> [x <nil>]]"},
		{listOf(Field{Type: pair}), `[{"x":5,"y":` + gone + `},null,{"x":6,"y":"z"}]`, "[[5 <nil>] <nil> [6 z]]"},
		{mapOf(of(String), text), `{"k":` + gone + `,"l":"v"}`, "map[k:<nil> l:v]"},
		{mapOf(of(String), text), `{` + gone + `:"v"}`, "bad unavailable c.key"},
		{mapOf(of(String), text), `{` + gone + `:` + gone + `,"k":"v"}`, "bad unavailable c.key"},
		{mapOf(of(String), text), `{` + gone + `:` + gone + `}`, "<nil>"},
		{mapOf(of(String), Field{Type: listOf(text)}), `{"k":["x",` + gone + `],"l":[` + gone + `]}`, "map[k:[x <nil>] l:<nil>]"},
		{mapOf(of(String), required), `{"k":` + gone + `}`, "bad unavailable c.value"},
		{structOf(Field{Name: "l", Type: listOf(text)}), `{"l":["x",` + gone + `]}`, "[[x <nil>]]"},
	} {
		s := &Schema{Fields: []Field{{Name: "op", Type: of(String)}, {Name: "c", Type: c.typ}}}
		m, err := NewDebezium(DebeziumOptions{Op: "op", NullUnavailable: true}, NewJSON(JSONOptions{}))(s)
		if err != nil {
			t.Fatal(err)
		}
		cs := mustColumns(t, s)
		for i, op := range []string{"u", "d"} {
			side := map[string]string{"u": "after", "d": "before"}[op]
			err := m.Map(&source.Record{Value: []byte(`{"op":"` + op + `","` + side + `":{"c":` + c.in + `}}`)}, cs)
			checkInvariants(t, cs)
			got := verdictOf(t, err)
			if got == "row" {
				got = plainly(cs.Cols[1], i)
			}
			if got != c.want {
				t.Errorf("%s of %s: %s, want %s", c.in, op, got, c.want)
			}
		}
	}
}

// plainly is value i of c, a column of lists, maps and structs of texts and numbers.
func plainly(c *Column, i int) string {
	var parts []string
	switch {
	case c.IsNull(i):
		return "<nil>"
	case c.kind == String:
		return string(c.Slot(i))
	case c.kind == Int:
		return fmt.Sprint(c.I32[i])
	case c.kind == Long:
		return fmt.Sprint(c.I64[i])
	case c.kind == Struct:
		for _, k := range c.Kids {
			parts = append(parts, plainly(k, i))
		}
	default:
		for e := int(c.Off[i]); e < int(c.Off[i+1]); e++ {
			part := plainly(c.Kids[0], e)
			if c.kind == Map {
				part += ":" + plainly(c.Kids[1], e)
			}
			parts = append(parts, part)
		}
	}
	if c.kind == Map {
		return "map[" + strings.Join(parts, " ") + "]"
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func TestThePlaceholderInAvroTakesNothingElseWithIt(t *testing.T) {
	const gone = "__debezium_unavailable_value"
	schema := AvroSchema{Text: `{"type":"record","name":"E","fields":[{"name":"before","type":["null",{"type":"record","name":"V","fields":[{"name":"c",
		"type":{"type":"array","items":"string"}}]}]},{"name":"after","type":["null","V"]},{"name":"op","type":"string"}]}`}
	s := &Schema{Fields: []Field{{Name: "op", Type: of(String)}, {Name: "c", Type: listOf(Field{Type: of(String)})}}}
	m, err := NewDebezium(DebeziumOptions{Op: "op", NullUnavailable: true}, NewAvro(AvroOptions{Schema: &schema}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	list := "\x04\x08keep" + string(rune(2*len(gone))) + gone + "\x00"
	for i, record := range []string{"\x00\x02" + list + "\x02u", "\x02" + list + "\x00\x02d"} {
		if err := m.Map(&source.Record{Value: []byte(record)}, cs); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, cs)
		if got := plainly(cs.Cols[1], i); got != "[keep <nil>]" {
			t.Errorf("%q: %s", record, got)
		}
	}
}
