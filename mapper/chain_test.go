package mapper

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stormfloe/floe/source"
)

// Whatever came before a record, it gives the row or the error that it gives alone.
func TestRowsDoNotDependOnWhatCameBefore(t *testing.T) {
	s := customers()
	s.Fields[2].Required = false
	s.Fields[0].Required = false
	s.Fields = append(s.Fields, Field{Name: "_key", Type: of(Int)}, Field{Name: "_h", Type: mapOf(of(String), Field{Type: of(String)})}, Field{Name: "_k", Type: of(Binary)},
		Field{Name: "geo", Type: structOf(Field{Name: "wkb", Type: of(Binary)}, Field{Name: "srid", Type: of(Int), Required: true})}, Field{Name: "v", Type: Type{Kind: Decimal, Precision: 9, Scale: 2}}, Field{Name: "tz", Type: of(TimestampTz)})
	opts := customerOptions()
	opts.NullUnavailable = true
	opts.Skip = []DebeziumEvent{DebeziumTruncate, DebeziumHeartbeat, DebeziumTransaction}
	rules := customerRules(t)
	rules.FoldCase = true
	rules.Zone = zoneOf(t, "Europe/Berlin")
	rules.Casts = append(rules.Casts, ColumnCast{Path{"v"}, mustCast(t, "variable_scale")})
	flt, err := NewFilter([]FilterRule{{Name: "a", Key: &Match{In: []string{`{"k":13}`}}}, {Name: "b", Column: &ColumnMatch{Path: []string{"name"}, In: []string{`"gone"`}}}, {Name: "c", Column: &ColumnMatch{Path: []string{"geo", "srid"}, In: []string{`7`}}}})
	if err != nil {
		t.Fatal(err)
	}
	f := flt.Wrap(Compose(WithRules(rules, NewDebezium(opts, NewJSON(JSONOptions{}))), Parts{Key: NewJSON(JSONOptions{}), KeyColumns: map[string]string{"k": "_key"},
		Metadata: Metadata{Headers: "_h", Key: "_k"}, TombstoneRows: true}))
	rows := []string{ann, `{"ID":2,"name":"gone"}`, `{"id":3,"Name":"é\u0041","tags":["__debezium_unavailable_value"],"geo":{"wkb":"AQEAACDmEAAADCHn/f9/ZkAYQs77/39WQA==","srid":4326}}`,
		`{"id":4,"geo":{"wkb":null,"srid":7}}`, `{"id":5,"geo":{}}`, `{"id":6,"v":{"scale":1,"value":"AQ==","x":[1]}}`, `{"id":7,"v":{"scale":5,"value":"AQ=="}}`,
		`{"id":8,"tz":"2040-12-31T10:00:00"}`, `{"id":9,"tz":"2024-10-27T02:30:00"}`, `{"id":10,"name":"__debezium_unavailable_value","tags":["a",null,"b"]}`, `null`, `1`, `{"id":"x"}`, `{"id":11,"Id":12}`}
	r := rand.New(rand.NewPCG(3, 4))
	record := func() *source.Record {
		rec := &source.Record{Key: []byte([]string{`{"k":1}`, `{"k":13}`, `{"k":"x"}`, `{}`, `{"k":2}`}[r.IntN(5)])}
		if r.IntN(8) == 0 {
			rec.Key = nil
		}
		for range r.IntN(3) {
			rec.Headers = append(rec.Headers, source.Header{Key: []byte{'a' + byte(r.IntN(4))}, Value: []byte("v")})
		}
		if r.IntN(10) == 0 {
			return rec
		}
		ev := pgEvent([]string{"c", "u", "d", "d", "r", "t", "m", "x"}[r.IntN(8)], rows[r.IntN(len(rows))], rows[r.IntN(len(rows))])
		switch r.IntN(12) {
		case 0:
			ev = `{"ts_ms":1}`
		case 1:
			ev = `{"status":"END","id":"1","ts_ms":1}`
		case 2:
			ev = ev[:len(ev)-r.IntN(len(ev)-1)]
		case 3:
			ev = `{"op":"c","after":` + rows[r.IntN(len(rows))] + `,"source":` + mySource + `,"transaction":null}`
		}
		rec.Value = []byte(ev)
		return rec
	}
	m, err := f(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	cs.limit = 6000
	good := 0
	for range 2000 {
		rec := record()
		one, err := f(s)
		if err != nil {
			t.Fatal(err)
		}
		alone := mustColumns(t, s)
		want := one.Map(rec, alone)
		before := cs.Rows
		got := m.Map(rec, cs)
		if errors.Is(got, ErrFull) {
			cs.Reset()
			got, before = m.Map(rec, cs), 0
		}
		checkInvariants(t, cs)
		if fmt.Sprint(got) != fmt.Sprint(want) || cs.Rows-before != alone.Rows {
			t.Fatalf("%s: %v, alone %v", rec.Value, got, want)
		}
		if want == nil {
			good++
			if a, b := rowOf(cs, before), rowOf(alone, 0); !reflect.DeepEqual(a, b) {
				t.Fatalf("%s:\n%v\n%v", rec.Value, a, b)
			}
		}
		if r.IntN(400) == 0 {
			cs.Reset()
		}
		if r.IntN(400) == 0 {
			cs = mustColumns(t, s)
			cs.limit = 6000
		}
	}
	if good < 50 {
		t.Errorf("only %d rows", good)
	}
}
