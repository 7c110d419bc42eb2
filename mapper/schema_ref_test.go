package mapper

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stormfloe/floe/source"
)

// guidOf is a reference by the GUID that ends in n.
func guidOf(n byte) []byte { return append(append([]byte{1}, make([]byte, 15)...), n) }

// referred is a record whose headers name the schema of its value.
func referred(value []byte, refs ...[]byte) *source.Record {
	rec := &source.Record{Value: value, Headers: []source.Header{{Key: []byte("other"), Value: []byte("x")}}}
	for _, ref := range refs {
		rec.Headers = append(rec.Headers, source.Header{Key: []byte(ValueSchemaHeader), Value: ref})
	}
	return rec
}

func TestASchemaIsNamedInTheValueOrInAHeader(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "v", Type: of(Long)}}}
	avro := &schemas{byID: map[uint32]AvroSchema{1: recordOf("v long"), 1002: recordOf("x string", "v long")}}
	proto := protoSchemas{1: {Text: `syntax = "proto3"; message M { int64 v = 1; }`}, 1002: {Text: `syntax = "proto3"; message A { } message M { int64 v = 2; }`}}
	js := &jsonSchemas{known: map[uint32]bool{1: true, 1002: true}}
	id, unknown := []byte{0, 0, 0, 0, 1}, guidOf(9)
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	type cell struct {
		rec  *source.Record
		want any // of v, or a code
	}
	for name, c := range map[string]struct {
		factory func(header string) Factory
		cells   []cell
	}{
		"avro": {func(h string) Factory { return NewAvro(AvroOptions{Resolver: resolverFunc(avro.at), Header: h}) }, []cell{
			{referred(join(id, zz(5))), int64(5)}, {referred(zz(6), id), int64(6)}, {referred(join(zstr("a"), zz(7)), guidOf(2)), int64(7)}, {referred(join(guidOf(2), zstr("a"), zz(8))), int64(8)},
			{referred(zz(9), guidOf(2), id), int64(9)}, {referred(join(id, zz(5)), id), CodeSyntax}, {referred(zz(5), unknown), CodeSchema}, {referred(zz(5), join(id, []byte{0})), CodeSyntax},
			{referred(zz(5), id[:4]), CodeSyntax}, {referred(zz(5), []byte{}), CodeSyntax}, {referred(zz(5), nil), CodeSyntax}, {referred(zz(5), guidOf(0)), CodeSyntax}, {referred(zz(5), []byte("1")), CodeSyntax},
			{referred([]byte{}, id), CodeSyntax}, {referred(nil, id), "filtered"}, {referred(join(id, zz(11))), int64(11)},
		}},
		"protobuf": {func(h string) Factory { return NewProto(ProtoOptions{Resolver: proto, Header: h}) }, []cell{
			{referred(join(id, []byte{0, 8, 5})), int64(5)}, {referred([]byte{8, 6}, join(id, []byte{0})), int64(6)}, {referred([]byte{16, 7}, join(guidOf(2), []byte{2, 2})), int64(7)},
			{referred(join(guidOf(2), []byte{2, 2, 16, 8})), int64(8)}, {referred([]byte{}, join(id, []byte{0})), int64(0)}, {referred([]byte{8, 6}, id), CodeSyntax}, {referred([]byte{8, 6}, join(id, []byte{0, 8, 1})), CodeSyntax},
			{referred([]byte{8, 6}, join(unknown, []byte{0})), CodeSchema}, {referred(nil, join(id, []byte{0})), "filtered"},
		}},
		"json": {func(h string) Factory {
			return NewJSONSchema(JSONSchemaOptions{Resolver: js, Header: h}, NewJSON(JSONOptions{}))
		}, []cell{
			{referred(join(id, []byte(`{"v":5}`))), int64(5)}, {referred([]byte(`{"v":6}`), id), int64(6)}, {referred([]byte(`{"v":7}`), guidOf(2)), int64(7)}, {referred([]byte(`{"v":8}`)), CodeSyntax},
			{referred([]byte(`{"v":9}`), unknown), CodeSchema}, {referred([]byte(`{"v":9}`), join(id, id)), CodeSyntax}, {referred(nil, id), "filtered"},
		}},
	} {
		m, err := c.factory(ValueSchemaHeader)(s)
		if err != nil {
			t.Fatal(err)
		}
		without, err := c.factory("")(s)
		if err != nil {
			t.Fatal(err)
		}
		cs := mustColumns(t, s)
		for i, cell := range c.cells {
			cs.Reset()
			before := *cell.rec
			before.Value = bytes.Clone(before.Value)
			err := mapWire(t, m, cs, cell.rec)
			var got any = codeOf(err)
			switch {
			case errors.Is(err, ErrFiltered):
				got = "filtered"
			case err == nil:
				got = rowOf(cs, 0)[0]
			}
			if got != cell.want || !bytes.Equal(before.Value, cell.rec.Value) {
				t.Errorf("%s %d: %v %v, want %v", name, i, got, err, cell.want)
			}
		}
		rec := c.cells[1].rec
		if n := testing.AllocsPerRun(100, func() {
			cs.Reset()
			if err := m.Map(rec, cs); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a record", name, n)
		}
		cs.Reset()
		if err := mapWire(t, without, cs, rec); err == nil && name != "protobuf" {
			t.Errorf("%s: the header was looked at", name)
		}
	}
}

// A key of JSON may be in the wire format or not: what begins with a zero, or a one, is no JSON.
func TestJSONOfWhichNothingNamesASchema(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "v", Type: of(Long)}}}
	js := &jsonSchemas{known: map[uint32]bool{1: true}}
	m, err := NewJSONSchema(JSONSchemaOptions{Resolver: js, Header: KeySchemaHeader, Bare: true}, NewJSON(JSONOptions{}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	for text, code := range map[string]Code{`{"v":1}`: "", ` {"v":1}`: "", "\x00\x00\x00\x00\x01{\"v\":1}": "", "\x00\x00\x00\x00\x02{\"v\":1}": CodeSchema, "\x00{": CodeSyntax, "\x01{": CodeSyntax, "": CodeEmpty, "x": CodeSyntax} {
		if err := mapWire(t, m, cs, &source.Record{Value: []byte(text)}); codeOf(err) != code {
			t.Errorf("%q: %v, want %q", text, err, code)
		}
	}
}

func TestSchemaRefsShowAsTheRegistryHasThem(t *testing.T) {
	if got := (SchemaRef{ID: 7}).String(); got != "7" {
		t.Error(got)
	}
	if got := (SchemaRef{GUID: [16]byte{0xcc, 14, 14, 14, 0x53, 0xc1, 0x4a, 0x1a, 0x8f, 0x1a, 0, 0, 0, 0, 0, 1}}).String(); got != "cc0e0e0e-53c1-4a1a-8f1a-000000000001" {
		t.Error(got)
	}
}
