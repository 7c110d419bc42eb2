package mapper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stormfloe/floe/source"
)

// schemas are those of a registry; a missing one is unknown.
type schemas struct {
	byID map[uint32]AvroSchema
	err  error
	asks atomic.Int32
}

type resolverFunc func(id uint32) (AvroSchema, error)

func (f resolverFunc) ResolveSchema(_ context.Context, ref SchemaRef) (AvroSchema, error) {
	if ref.ByGUID() {
		return f(1000 + uint32(ref.GUID[15]))
	}
	return f(ref.ID)
}

func (s *schemas) at(id uint32) (AvroSchema, error) {
	s.asks.Add(1)
	if s.err != nil {
		return AvroSchema{}, s.err
	}
	if got, ok := s.byID[id]; ok {
		return got, nil
	}
	return AvroSchema{}, fmt.Errorf("%w: %d", ErrNoSchema, id)
}

func wire(id uint32, body ...[]byte) *source.Record {
	return &source.Record{Value: slices.Concat(binary.BigEndian.AppendUint32([]byte{0}, id), slices.Concat(body...))}
}

// mapWire maps a record, fetching what is missing.
func mapWire(t testing.TB, m Mapper, cs *Columns, rec *source.Record) error {
	t.Helper()
	for range 3 {
		before := rowsOf(cs)
		err := m.Map(rec, cs)
		checkInvariants(t, cs)
		var wait *NotReadyError
		if !errors.As(err, &wait) {
			return err
		}
		if !reflect.DeepEqual(before, rowsOf(cs)) {
			t.Fatal("the columns changed")
		}
		if err := wait.Fetch(context.Background()); err != nil {
			return err
		}
	}
	t.Fatal("not ready after it was fetched")
	return nil
}

func codeOf(err error) Code {
	var bad *BadRecordError
	if errors.As(err, &bad) {
		return bad.Code
	}
	return ""
}

func TestAvroWireFormat(t *testing.T) {
	reg := &schemas{byID: map[uint32]AvroSchema{
		1: recordOf("a long"), 2: recordOf("b string", "a long"), 3: recordOf("a string"), 4: {Text: `"string"`}, 5: {Text: `{"type":"record"}`},
		6: {Text: `[` + recordOf("a long").Text + `,{"type":"record","name":"S","fields":[{"name":"b","type":"string"},{"name":"a","type":"long"}]},"null"]`},
		7: recordOf("b string"),
	}}
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}, Required: true}, {Name: "b", Type: Type{Kind: String}}}}
	m, cs := mustAvro(t, s, AvroOptions{Resolver: resolverFunc(reg.at)})
	for i, c := range []struct {
		rec  *source.Record
		want any
	}{
		{wire(1, zz(5)), []any{int64(5), nil}},
		{wire(2, zstr("x"), zz(6)), []any{int64(6), "x"}},
		{wire(1, zz(7)), []any{int64(7), nil}},
		{wire(6, zz(0, 8)), []any{int64(8), nil}},
		{wire(6, zz(1), zstr("y"), zz(9)), []any{int64(9), "y"}},
		{wire(6, zz(2)), CodeType},
		{wire(6, zz(3)), CodeSyntax},
		{wire(1, zz(5, 5)), CodeSyntax},
		{wire(1), CodeSyntax},
		{wire(3, zstr("x")), CodeSchema},
		{wire(4, zstr("x")), CodeSchema},
		{wire(5), CodeSchema},
		{wire(7, zstr("x")), CodeRequired},
		{wire(99), CodeSchema},
		{wire(1 << 31), CodeSchema},
		{&source.Record{Value: []byte{1, 0, 0, 0, 1, 10}}, CodeSyntax},
		{&source.Record{Value: []byte{0, 0, 0, 0}}, CodeSyntax},
		{&source.Record{Value: []byte{}}, CodeEmpty},
	} {
		cs.Reset()
		err := mapWire(t, m, cs, c.rec)
		switch want := c.want.(type) {
		case Code:
			if codeOf(err) != want {
				t.Errorf("%d: got %v, want %s", i, err, want)
			}
		default:
			if err != nil || !reflect.DeepEqual(rowOf(cs, 0), c.want) {
				t.Errorf("%d: got %v %v, want %v", i, rowsOf(cs), err, want)
			}
		}
	}
	if err := m.Map(&source.Record{}, cs); !errors.Is(err, ErrFiltered) {
		t.Errorf("a tombstone gave %v", err)
	}
	// 1 to 7 and 99 once each, what no id can be never.
	if n := reg.asks.Load(); n != 8 {
		t.Errorf("asked %d times", n)
	}
}

// A registry that is away is no verdict about a record.
func TestAvroWaitsForASchema(t *testing.T) {
	reg := &schemas{byID: map[uint32]AvroSchema{1: recordOf("a long")}, err: errors.New("away")}
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, cs := mustAvro(t, s, AvroOptions{Resolver: resolverFunc(reg.at)})
	for range 3 {
		if err := mapWire(t, m, cs, wire(1, zz(5))); err == nil || codeOf(err) != "" {
			t.Fatalf("got %v", err)
		}
	}
	reg.err = nil
	if err := mapWire(t, m, cs, wire(1, zz(5))); err != nil {
		t.Fatal(err)
	}
}

func TestAvroAsksForASchemaOnce(t *testing.T) {
	reg := &schemas{byID: map[uint32]AvroSchema{1: recordOf("a long")}}
	factory := NewAvro(AvroOptions{Resolver: resolverFunc(reg.at)})
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			m, err := factory(s)
			if err != nil {
				t.Error(err)
				return
			}
			if err := mapWire(t, m, mustColumns(t, s), wire(1, zz(5))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := reg.asks.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// A field that is no column is checked as strictly as any other, and so is what lies in it.
func TestAvroChecksWhatItLeavesOut(t *testing.T) {
	all := `{"type":"record","name":"X","fields":[{"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":"long"},{"name":"f","type":"float"},{"name":"d","type":"double"},
	{"name":"s","type":"string"},{"name":"y","type":"bytes"},{"name":"x","type":{"type":"fixed","name":"F","size":2}},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},
	{"name":"u","type":["null","string"]},{"name":"r","type":{"type":"array","items":"string"}},{"name":"m","type":{"type":"map","values":"int"}},{"name":"n","type":"null"}]}`
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}}
	m, cs := mustAvro(t, s, AvroOptions{Schema: ptr(recordOf("x "+all, "a long"))})
	parts := [][]byte{{1}, zz(5), zz(math.MinInt64), f32(1), f64(2), zstr("text"), zstr("\xff"), []byte("ab"), zz(1), append(zz(1), zstr("u")...),
		slices.Concat(zz(-1, 2), zstr("r"), zz(0)), slices.Concat(zz(1), zstr("k"), zz(1, 0)), {}}
	body := func(i int, part []byte) []byte {
		p := slices.Clone(parts)
		if i >= 0 {
			p[i] = part
		}
		return append(slices.Concat(p...), zz(7)...)
	}
	if row, bad := mapAvro(t, m, cs, body(-1, nil)); bad != nil || row[0] != int64(7) {
		t.Fatalf("got %v %v", row, bad)
	}
	for i, broken := range map[int][]byte{0: {2}, 1: zz(math.MaxInt32 + 1), 5: zstr("\xff"), 8: zz(2), 9: zz(2), 10: slices.Concat(zz(-1, 3), zstr("r"), zz(0)), 11: slices.Concat(zz(1), zstr("\xff"), zz(1, 0))} {
		if row, bad := mapAvro(t, m, cs, body(i, broken)); bad == nil || bad.Code != CodeSyntax {
			t.Errorf("part %d: got %v %v", i, row, bad)
		}
	}
	// Cut anywhere, or with something behind it, it is bad.
	whole := body(-1, nil)
	for n := range whole {
		if row, bad := mapAvro(t, m, cs, whole[:n]); bad == nil {
			t.Errorf("%d bytes of %d gave %v", n, len(whole), row)
		}
	}
	if _, bad := mapAvro(t, m, cs, append(whole, 0)); bad == nil || bad.Code != CodeSyntax {
		t.Errorf("got %v", bad)
	}
}

func TestAvroNamesAndNests(t *testing.T) {
	s := &Schema{Fields: []Field{
		{Name: "p", Type: Type{Kind: Struct, Fields: []Field{{Name: "lat", Type: Type{Kind: Double}, Required: true}, {Name: "far.off", Type: Type{Kind: Long}}}}},
		{Name: "l", Type: listOf(Field{Type: Type{Kind: Struct, Fields: []Field{{Name: "x", Type: Type{Kind: Int}, Required: true}}}})},
		{Name: "P", Type: Type{Kind: String}},
	}}
	m, cs := mustAvro(t, s, AvroOptions{Schema: ptr(recordOf(
		`l {"type":"array","items":["null",{"type":"record","name":"X","namespace":"n","fields":[{"name":"y","type":"string"},{"name":"x","type":"int"}]}]}`,
		`q n.X`,
		`p ["null",{"type":"record","name":"P","fields":[{"name":"lat","type":"float"}]}]`))})
	x := append(zstr("left out"), zz(3)...)
	row, bad := mapAvro(t, m, cs, slices.Concat(zz(2, 0, 1), x, zz(0), x, zz(1), f32(1.5)))
	if want := []any{[]any{1.5, nil}, []any{nil, []any{int32(3)}}, nil}; bad != nil || !reflect.DeepEqual(row, want) {
		t.Errorf("got %v %v, want %v", row, bad, want)
	}
	if row, bad = mapAvro(t, m, cs, slices.Concat(zz(0), x, zz(0))); bad != nil || row[0] != nil {
		t.Errorf("got %v %v", row, bad)
	}
	// Required inside of what is there.
	m, cs = mustAvro(t, s, AvroOptions{Schema: ptr(recordOf(`p ["null",{"type":"record","name":"P","fields":[]}]`))})
	if _, bad = mapAvro(t, m, cs, zz(0)); bad != nil {
		t.Error(bad)
	}
	if _, bad = mapAvro(t, m, cs, zz(1)); bad == nil || bad.Code != CodeRequired || bad.Column != "p.lat" {
		t.Errorf("got %v", bad)
	}
}

func TestAvroRequired(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}, Required: true}}}
	m, cs := mustAvro(t, s, AvroOptions{Schema: ptr(recordOf(`a ["null","long"]`))})
	if _, bad := mapAvro(t, m, cs, zz(0)); bad == nil || bad.Code != CodeRequired || bad.Column != "a" {
		t.Errorf("got %v", bad)
	}
	if _, err := NewAvro(AvroOptions{Schema: ptr(recordOf("b long"))})(s); err == nil || !strings.Contains(err.Error(), `column "a": the column is required`) {
		t.Errorf("got %v", err)
	}
}

func TestAvroReferences(t *testing.T) {
	text := AvroSchema{Text: `{"type":"record","name":"R","namespace":"x","fields":[{"name":"a","type":"x.A"},{"name":"b","type":["null","A"]}]}`,
		References: []string{`{"type":"enum","name":"B","namespace":"x","symbols":["ONE","TWO"]}`, `{"type":"record","name":"A","namespace":"x","fields":[{"name":"b","type":"B"}]}`}}
	typ := Type{Kind: Struct, Fields: []Field{{Name: "b", Type: Type{Kind: String}}}}
	m, cs := mustAvro(t, &Schema{Fields: []Field{{Name: "a", Type: typ}, {Name: "b", Type: typ}}}, AvroOptions{Schema: &text})
	if row, bad := mapAvro(t, m, cs, zz(1, 1, 0)); bad != nil || !reflect.DeepEqual(row, []any{[]any{"TWO"}, []any{"ONE"}}) {
		t.Errorf("got %v %v", row, bad)
	}
}

func TestAvroFullColumnsAreLeftAlone(t *testing.T) {
	long := strings.Repeat("S", 60)
	s := &Schema{Fields: []Field{{Name: "e", Type: Type{Kind: String}}, {Name: "s", Type: Type{Kind: String}}}}
	m, cs := mustAvro(t, s, AvroOptions{Schema: ptr(recordOf(`e {"type":"enum","name":"E","symbols":["`+long+`"]}`, "s string"))})
	cs.limit = 100
	body := &source.Record{Value: append(zz(0), zstr("x")...)}
	if err := m.Map(body, cs); err != nil {
		t.Fatal(err)
	}
	if err := m.Map(body, cs); !errors.Is(err, ErrFull) {
		t.Fatalf("got %v", err)
	}
	checkInvariants(t, cs)
	cs.Reset()
	cs.limit = 50
	if err := m.Map(body, cs); codeOf(err) != CodeSize {
		t.Fatalf("got %v", err)
	}
	other := mustColumns(t, &Schema{Fields: []Field{{Name: "e", Type: Type{Kind: Long}}}})
	if err := m.Map(body, other); !errors.Is(err, ErrSchema) {
		t.Fatalf("got %v", err)
	}
}

func TestAvroOptionsAreChecked(t *testing.T) {
	r := resolverFunc(nil)
	for _, o := range []AvroOptions{{}, {Resolver: r, Schema: &AvroSchema{}}, {Resolver: r, MaxDepth: -1}, {Resolver: r, MaxDepth: 1001}, {Schema: &AvroSchema{Text: "{"}}, {Resolver: r, Reader: &AvroSchema{Text: `"long"`}}} {
		if _, err := NewAvro(o)(&Schema{}); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	deep := `"long"`
	for range 200 {
		deep = `{"type":"array","items":` + deep + `}`
	}
	if _, err := NewAvro(AvroOptions{Schema: ptr(recordOf("a " + deep))})(&Schema{}); err == nil || !strings.Contains(err.Error(), "nested deeper than 100") {
		t.Errorf("got %v", err)
	}
}

// A schema whose types each hold the one before twice is no larger than its text.
func TestAvroSchemaDoesNotBlowUp(t *testing.T) {
	var fields []string
	for i := range 40 {
		typ := `"int"`
		if i > 0 {
			typ = fmt.Sprintf(`"T%d"`, i-1)
		}
		fields = append(fields, fmt.Sprintf(`f%d {"type":"record","name":"T%d","fields":[{"name":"a","type":["null",%s]},{"name":"b","type":["null",%s]}]}`, i, i, typ, typ))
	}
	m, cs := mustAvro(t, &Schema{}, AvroOptions{Schema: ptr(recordOf(fields...))})
	if _, bad := mapAvro(t, m, cs, make([]byte, 80)); bad != nil {
		t.Error(bad)
	}
}

// Records that hold records of nothing but nulls take no byte, and would take for ever.
func TestAvroSchemaOfTooManyParts(t *testing.T) {
	typ := `"null"`
	for i := range 30 {
		typ = fmt.Sprintf(`{"type":"record","name":"T%d","fields":[{"name":"a","type":%s},{"name":"b","type":%s}]}`, i, typ, map[bool]string{true: `"null"`, false: fmt.Sprintf(`"T%d"`, i-1)}[i == 0])
	}
	if _, err := NewAvro(AvroOptions{Schema: ptr(recordOf("a " + typ))})(&Schema{}); err == nil || !strings.Contains(err.Error(), "made of more than") {
		t.Errorf("got %v", err)
	}
}
