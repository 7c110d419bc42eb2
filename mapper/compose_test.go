package mapper

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// partsSchema has a column for each part, and two that the value fills.
func partsSchema() *Schema {
	return &Schema{Fields: []Field{
		{ID: 1, Name: "_topic", Type: Type{Kind: String}, Required: true},
		{ID: 2, Name: "id", Type: Type{Kind: Long}, Required: true},
		{ID: 3, Name: "_partition", Type: Type{Kind: Int}, Required: true},
		{ID: 4, Name: "_offset", Type: Type{Kind: Long}, Required: true},
		{ID: 5, Name: "_ts", Type: Type{Kind: TimestampTz}},
		{ID: 6, Name: "_key", Type: Type{Kind: Binary}},
		{ID: 7, Name: "tags", Type: Type{Kind: List, Fields: []Field{{ID: 20, Name: "element", Type: Type{Kind: String}}}}},
		{ID: 8, Name: "_headers", Type: mapOf(Type{Kind: String}, Field{ID: 22, Name: "value", Type: Type{Kind: Binary}}), Required: true},
		{ID: 9, Name: "order", Type: Type{Kind: Long}},
		{ID: 10, Name: "tenant", Type: Type{Kind: String}},
		{ID: 11, Name: "trace", Type: Type{Kind: String}},
		{ID: 12, Name: "attempt", Type: Type{Kind: Int}},
		{ID: 13, Name: "region", Type: Type{Kind: String}, Required: true},
	}}
}

func everyPart() Parts {
	return Parts{
		Key:        NewJSON(JSONOptions{}),
		KeyColumns: map[string]string{"id": "order", "tenant": "tenant"},
		Metadata:   Metadata{Topic: "_topic", Partition: "_partition", Offset: "_offset", Timestamp: "_ts", Key: "_key", Headers: "_headers"},
		Headers:    map[string]string{"trace-id": "trace", "n": "attempt"},
		Constants:  map[string]string{"region": "eu"},
	}
}

func mustCompose(t testing.TB, s *Schema, p Parts) (Mapper, *Columns) {
	t.Helper()
	m, err := Compose(NewJSON(JSONOptions{}), p)(s)
	if err != nil {
		t.Fatal(err)
	}
	SetPartition(m, source.Partition{Topic: "orders", ID: 3})
	return m, mustColumns(t, s)
}

func header(key, value string) source.Header {
	return source.Header{Key: []byte(key), Value: []byte(value)}
}

func TestEachPartFillsItsColumns(t *testing.T) {
	m, cs := mustCompose(t, partsSchema(), everyPart())
	recs := []source.Record{
		{Position: 7, TimestampMs: 1700000000000, Key: []byte(`{"id":1,"tenant":"a"}`), Value: []byte(`{"id":10,"tags":["x","y"],"order":99,"region":"us"}`),
			Headers: []source.Header{header("trace-id", "t1"), header("n", "2"), {Key: []byte("none")}}},
		{Position: 9, TimestampMs: -1, Value: []byte(`{"id":11}`)},
	}
	for i := range recs {
		if err := m.Map(&recs[i], cs); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, cs)
	}
	want := []string{
		`[orders 10 3 7 1700000000000000 [123 34 105 100 34 58 49 44 34 116 101 110 97 110 116 34 58 34 97 34 125] [x y] [[trace-id [116 49]] [n [50]] [none <nil>]] 1 a t1 2 eu]`,
		`[orders 11 3 9 <nil> <nil> <nil> [] <nil> <nil> <nil> <nil> eu]`,
	}
	for i := range want {
		if got := showRow(cs, i); got != want[i] {
			t.Errorf("row %d: got\n%s, want\n%s", i, got, want[i])
		}
	}
}

// showRow writes a row, with binary values as numbers.
func showRow(cs *Columns, row int) string {
	var show func(c *Column, i int) string
	show = func(c *Column, i int) string {
		if c.IsNull(i) {
			return "<nil>"
		}
		var parts []string
		switch c.kind {
		case Binary:
			return fmt.Sprint(c.Slot(i))
		case Struct:
			for _, k := range c.Kids {
				parts = append(parts, show(k, i))
			}
		case List:
			for e := c.Off[i]; e < c.Off[i+1]; e++ {
				parts = append(parts, show(c.Kids[0], int(e)))
			}
		case Map:
			for e := c.Off[i]; e < c.Off[i+1]; e++ {
				parts = append(parts, "["+show(c.Kids[0], int(e))+" "+show(c.Kids[1], int(e))+"]")
			}
		default:
			return fmt.Sprint(valueOf(c, i))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	var out []string
	for _, c := range cs.Cols {
		out = append(out, show(c, row))
	}
	return "[" + strings.Join(out, " ") + "]"
}

func TestAnErrorInAnyPartLeavesTheColumnsAsTheyWere(t *testing.T) {
	s := partsSchema()
	s.Fields[4].Required, s.Fields[8].Required = true, true
	m, cs := mustCompose(t, s, everyPart())
	good := source.Record{Key: []byte(`{"id":1,"tenant":"a"}`), Value: []byte(`{"id":10,"tags":["x"]}`), Headers: []source.Header{header("n", "1")}}
	if err := m.Map(&good, cs); err != nil {
		t.Fatal(err)
	}
	before := rowsOf(cs)
	for name, c := range map[string]struct {
		change func(r *source.Record)
		code   Code
		column string
	}{
		"value":           {func(r *source.Record) { r.Value = []byte(`{"id":1,"tags":["x","y",3]}`) }, CodeType, "tags.element"},
		"value lacks id":  {func(r *source.Record) { r.Value = []byte(`{"tags":["x"]}`) }, CodeRequired, "id"},
		"key":             {func(r *source.Record) { r.Key = []byte(`{"tenant":"b","id":"x"}`) }, CodeType, "order"},
		"no key":          {func(r *source.Record) { r.Key = nil }, CodeRequired, "order"},
		"key is no JSON":  {func(r *source.Record) { r.Key = []byte(`k`) }, CodeSyntax, ""},
		"key of no bytes": {func(r *source.Record) { r.Key = []byte{} }, CodeEmpty, ""},
		"no time":         {func(r *source.Record) { r.TimestampMs = -1 }, CodeRequired, "_ts"},
		"time is far":     {func(r *source.Record) { r.TimestampMs = 1 << 60 }, CodeRange, "_ts"},
		"header twice": {func(r *source.Record) {
			r.Headers = []source.Header{header("a", "1"), header("b", "1"), header("a", "2")}
		}, CodeDuplicateKey, "_headers.key"},
		"header's name":      {func(r *source.Record) { r.Headers = []source.Header{header("a", "1"), header("\xff", "1")} }, CodeUTF8, "_headers.key"},
		"header is no int":   {func(r *source.Record) { r.Headers = []source.Header{header("n", "x")} }, CodeType, "attempt"},
		"header is no text":  {func(r *source.Record) { r.Headers = []source.Header{header("trace-id", "\xff")} }, CodeUTF8, "trace"},
		"header is a number": {func(r *source.Record) { r.Headers = []source.Header{header("n", "2147483648")} }, CodeRange, "attempt"},
	} {
		r := good
		c.change(&r)
		var bad *BadRecordError
		if err := m.Map(&r, cs); !errors.As(err, &bad) || bad.Code != c.code || bad.Column != c.column {
			t.Errorf("%s: got %v", name, err)
		}
		if strings.Contains(name, "key") && name != "no key" && !strings.HasPrefix(bad.Reason, "in the record's key: ") {
			t.Errorf("%s: %v", name, bad)
		}
		checkInvariants(t, cs)
		if !reflect.DeepEqual(before, rowsOf(cs)) {
			t.Errorf("%s: the columns have changed", name)
		}
	}
	if err := m.Map(&source.Record{Key: good.Key}, cs); !errors.Is(err, ErrFiltered) {
		t.Errorf("a tombstone: %v", err)
	}
	if err := m.Map(&good, cs); err != nil || cs.Rows != 2 {
		t.Fatal(err)
	}
	checkInvariants(t, cs)
}

func TestATombstoneIsARowOfItsKeyWhereThatIsWanted(t *testing.T) {
	s := &Schema{Fields: []Field{
		{ID: 1, Name: "id", Type: Type{Kind: Long}, Required: true},
		{ID: 2, Name: "amount", Type: Type{Kind: Double}},
		{ID: 3, Name: "gone", Type: Type{Kind: Boolean}},
	}}
	p := Parts{Key: NewJSON(JSONOptions{}), KeyColumns: map[string]string{"id": "id"}, Metadata: Metadata{Tombstone: "gone"}, TombstoneRows: true}
	m, cs := mustCompose(t, s, p)
	for _, r := range []source.Record{
		{Key: []byte(`{"id":1}`), Value: []byte(`{"amount":2.5,"id":7}`)}, {Key: []byte(`{"id":1}`)}, {Key: []byte(`{"id":2}`), Value: []byte(`{}`)},
	} {
		if err := m.Map(&r, cs); err != nil {
			t.Fatal(err)
		}
	}
	checkInvariants(t, cs)
	if got, want := fmt.Sprint(rowsOf(cs)), "[[1 2.5 false] [1 <nil> true] [2 <nil> false]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var bad *BadRecordError
	if err := m.Map(&source.Record{}, cs); !errors.As(err, &bad) || bad.Code != CodeRequired || bad.Column != "id" {
		t.Errorf("neither key nor value: %v", err)
	}
	s.Fields[1].Required = true
	if _, err := Compose(NewJSON(JSONOptions{}), p)(s); err == nil || !strings.Contains(err.Error(), `"amount" is required`) {
		t.Errorf("a column that tombstones can't fill is required: %v", err)
	}
	if _, err := Compose(NewJSON(JSONOptions{}), Parts{TombstoneRows: true})(s); err == nil || !strings.Contains(err.Error(), "need the key") {
		t.Errorf("without a key: %v", err)
	}
}

func TestPartsThatDoNotFitTheTableAreRefused(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "id", Type: Type{Kind: Long}}, {ID: 2, Name: "s", Type: Type{Kind: String}}}}
	key := NewJSON(JSONOptions{})
	for want, p := range map[string]Parts{
		`no column "x" for the offset`:                    {Metadata: Metadata{Offset: "x"}},
		`"id" is to be filled from the offset and from`:   {Metadata: Metadata{Offset: "id"}, Headers: map[string]string{"h": "id"}},
		`"s" is to be filled from the constant and from`:  {Constants: map[string]string{"s": "x"}, Key: key, KeyColumns: map[string]string{"s": "s"}},
		"nothing that reads it":                           {KeyColumns: map[string]string{"s": "s"}},
		"no columns are named for the key":                {Key: key},
		`the record's key: mapper: raw: column "k" is of`: {Key: NewRaw(RawOptions{}), KeyColumns: map[string]string{"k": "id"}},
	} {
		if _, err := Compose(key, p)(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestWithoutPartsTheValuesFactoryIsUsedAsItIs(t *testing.T) {
	m, err := Compose(NewJSON(JSONOptions{}), Parts{})(everyKind())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.(*jsonMapper); !ok {
		t.Errorf("got a %T", m)
	}
}

func TestComposedRowsSurviveFullColumnsAndOtherColumns(t *testing.T) {
	m, cs := mustCompose(t, partsSchema(), everyPart())
	cs.limit = 2000
	rec := source.Record{Key: []byte(`{"id":1,"tenant":"a"}`), Value: []byte(`{"id":10,"tags":["xxxxxxxxxxxxxxxxxxxxxxxxx"]}`), Headers: []source.Header{header("trace-id", "t")}}
	rows := 0
	for {
		err := m.Map(&rec, cs)
		checkInvariants(t, cs)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil || cs.Rows != rows+1 {
			t.Fatal(err, cs.Rows)
		}
		if cs.bound < cs.extent() {
			t.Fatalf("row %d: the bound %d is below the extent %d", rows, cs.bound, cs.extent())
		}
		rows++
	}
	// The longest column has 25 bytes a row; the bound counts all bytes, and is counted anew when it nears the limit.
	if rows < 2000/2/30 || cs.Rows != rows {
		t.Errorf("%d rows", rows)
	}
	cs.Reset()
	other := mustColumns(t, partsSchema())
	for _, dst := range []*Columns{cs, other, cs, other} {
		if err := m.Map(&rec, dst); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, dst)
	}
	if !reflect.DeepEqual(rowsOf(cs), rowsOf(other)) || cs.Rows != 2 {
		t.Errorf("got %v and %v", rowsOf(cs), rowsOf(other))
	}
	huge := rec
	huge.Headers = []source.Header{header("h", strings.Repeat("x", 2000))}
	cs.Reset()
	var bad *BadRecordError
	if err := m.Map(&huge, cs); !errors.As(err, &bad) || bad.Code != CodeSize {
		t.Errorf("a record beyond the limit: %v", err)
	}
	if err := m.Map(&rec, mustColumns(t, everyKind())); !errors.Is(err, ErrSchema) {
		t.Errorf("columns of another schema: %v", err)
	}
}

func TestAComposedRecordAllocatesNothing(t *testing.T) {
	m, cs := mustCompose(t, partsSchema(), everyPart())
	rec := source.Record{Key: []byte(`{"id":1,"tenant":"a"}`), Value: []byte(`{"id":10,"tags":["x"]}`), Headers: []source.Header{header("trace-id", "t"), header("n", "3")}}
	run := func() {
		for range 100 {
			if err := m.Map(&rec, cs); err != nil {
				t.Fatal(err)
			}
		}
		cs.Reset()
	}
	run()
	if n := testing.AllocsPerRun(10, run); n > 0 {
		t.Errorf("%v allocations for 100 records", n)
	}
}

// notReady needs something to be fetched.
type notReady struct{}

func (notReady) Map(*source.Record, *Columns) error { return &NotReadyError{What: "schema 7"} }

func TestAPartThatIsNotReadyIsToldOf(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "id", Type: Type{Kind: Long}}, {ID: 2, Name: "k", Type: Type{Kind: Long}}}}
	m, cs := mustCompose(t, s, Parts{Key: func(*Schema) (Mapper, error) { return notReady{}, nil }, KeyColumns: map[string]string{"k": "k"}})
	var wait *NotReadyError
	if err := m.Map(&source.Record{Key: []byte("x"), Value: []byte(`{"id":1}`)}, cs); !errors.As(err, &wait) || cs.Rows != 0 {
		t.Errorf("got %v", err)
	}
	checkInvariants(t, cs)
}

func TestAFieldNamedAsAnotherPartsColumnBecomesNoColumn(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "id", Type: Type{Kind: Long}}, {ID: 2, Name: "region", Type: Type{Kind: String}}}}
	e := Evolution{Add: true, MaxColumns: 3}
	avro := recordOf("id long", "region string")
	for name, c := range map[string]struct {
		f           Factory
		value, more string
	}{
		"json": {NewJSON(JSONOptions{Evolve: e}), `{"id":1,"region":"us"}`, `{"id":1,"region":"us","new":1,"more":2}`},
		"avro": {NewAvro(AvroOptions{Schema: &avro, Evolve: e}), "\x02\x04us", ""},
	} {
		m, err := Compose(c.f, Parts{Constants: map[string]string{"region": "eu"}})(s)
		if err != nil {
			t.Fatal(name, err)
		}
		cs := mustColumns(t, s)
		if err := m.Map(&source.Record{Value: []byte(c.value)}, cs); err != nil || showRow(cs, 0) != "[1 eu]" {
			t.Errorf("%s: %v", name, err)
		}
		if c.more == "" {
			continue
		}
		// The cap counts the other parts' columns.
		var bad *BadRecordError
		if err := m.Map(&source.Record{Value: []byte(c.more)}, cs); !errors.As(err, &bad) || !strings.Contains(bad.Reason, "beyond 3 columns") {
			t.Errorf("%s: %v", name, err)
		}
		checkInvariants(t, cs)
	}
}

// A part that counts its columns anew does not forget what the others are about to append.
func TestComposedRowsNeverPassTheLimit(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "v", Type: of(String)}, {Name: "k", Type: of(String)}}}
	m, err := Compose(NewRaw(RawOptions{}), Parts{Metadata: Metadata{Key: "k"}})(s)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		cs := mustColumns(t, s)
		cs.limit = 2000
		for {
			rec := &source.Record{Key: make([]byte, r.IntN(700)), Value: make([]byte, r.IntN(1+r.IntN(700)))}
			if err := m.Map(rec, cs); errors.Is(err, ErrFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if e := cs.extent(); e > cs.limit {
				t.Fatalf("the columns hold %d bytes of %d", e, cs.limit)
			}
		}
	}
}
