package mapper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stormfloe/floe/source"
)

type jsonSchemas struct {
	known map[uint32]bool
	other map[uint32]bool
	err   error
	asks  int
}

func (s *jsonSchemas) ResolveJSONSchema(_ context.Context, ref SchemaRef) error {
	id := ref.ID
	if ref.ByGUID() {
		id = 1000 + uint32(ref.GUID[15])
	}
	s.asks++
	switch {
	case s.err != nil:
		return s.err
	case s.other[id]:
		return fmt.Errorf("%w: it is AVRO", ErrWrongSchema)
	case !s.known[id]:
		return ErrNoSchema
	}
	return nil
}

func TestJSONSchemaWireFormat(t *testing.T) {
	reg := &jsonSchemas{known: map[uint32]bool{1: true, 2: true}, other: map[uint32]bool{3: true}, err: errors.New("away")}
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, err := NewJSONSchema(JSONSchemaOptions{Resolver: reg}, NewJSON(JSONOptions{}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	for range 3 {
		if err := mapWire(t, m, cs, wire(1, []byte(`{"a":1}`))); err == nil || codeOf(err) != "" {
			t.Fatalf("a registry that is away gave %v", err)
		}
	}
	reg.err, reg.asks = nil, 0
	for i, c := range []struct {
		rec  *source.Record
		want any
	}{
		{wire(1, []byte(`{"a":1}`)), []any{int64(1)}},
		{wire(2, []byte(` {"a":2} `)), []any{int64(2)}},
		{wire(1, []byte(`{"b":1}`)), []any{nil}},
		{wire(1, []byte(`{"a":"x"}`)), CodeType},
		{wire(1, []byte(`{"a":1`)), CodeSyntax},
		{wire(1), CodeEmpty},
		{wire(3, []byte(`{"a":1}`)), CodeSchema},
		{wire(3, []byte(`{"a":1}`)), CodeSchema},
		{wire(9, []byte(`{"a":1}`)), CodeSchema},
		{wire(1<<31, []byte(`{"a":1}`)), CodeSchema},
		{wire(1, []byte(`{"a":7}`)), []any{int64(7)}},
		{&source.Record{Value: []byte(`{"a":1}`)}, CodeSyntax},
		{&source.Record{Value: []byte{0, 0, 0, 0}}, CodeSyntax},
		{&source.Record{Value: []byte{}}, CodeEmpty},
	} {
		cs.Reset()
		err := mapWire(t, m, cs, c.rec)
		if code, ok := c.want.(Code); ok {
			if codeOf(err) != code {
				t.Errorf("%d: got %v, want %s", i, err, code)
			}
		} else if err != nil || !reflect.DeepEqual(rowOf(cs, 0), c.want) {
			t.Errorf("%d: got %v %v, want %v", i, rowsOf(cs), err, c.want)
		}
	}
	if err := m.Map(&source.Record{}, cs); !errors.Is(err, ErrFiltered) {
		t.Errorf("a tombstone gave %v", err)
	}
	// 1, 2, 3 and 9 once each, what no id can be never.
	if reg.asks != 4 {
		t.Errorf("asked %d times", reg.asks)
	}
	if _, err := NewJSONSchema(JSONSchemaOptions{}, NewJSON(JSONOptions{}))(s); err == nil {
		t.Error("no resolver was taken")
	}
	rec := wire(1, []byte(`{"a":1}`))
	if n := testing.AllocsPerRun(100, func() {
		cs.Reset()
		if err := m.Map(rec, cs); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}
