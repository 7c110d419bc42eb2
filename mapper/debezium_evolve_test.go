package mapper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// changing is a table of rows in envelopes, whose own columns are narrow and required too.
func changing() *Schema {
	s := growing()
	s.Fields = append(s.Fields, Field{ID: 90, Name: "_op", Type: Type{Kind: String}, Required: true}, Field{ID: 91, Name: "_pos", Type: Type{Kind: Int}, Required: true},
		Field{ID: 92, Name: "_at", Type: Type{Kind: Int}, Required: true},
		Field{ID: 93, Name: "_more", Type: Type{Kind: Struct, Fields: []Field{{ID: 94, Name: "k", Type: Type{Kind: Int}, Required: true}}}})
	return s
}

func changingOptions(null, wrapped bool) DebeziumOptions {
	return DebeziumOptions{Op: "_op", TSMs: "_at", Source: map[string]string{"pos": "_pos", "more": "_more"}, NullUnavailable: null, Wrapped: wrapped}
}

// askEvent maps one record in an envelope, and gives the paths of what it asks for too.
func askEvent(t testing.TB, s *Schema, f Factory, record []byte) (verdict, paths string) {
	t.Helper()
	m, err := f(s)
	if err != nil {
		return "refused", ""
	}
	cs := mustColumns(t, s)
	for range 2 { // an error may be kept for many records
		err = m.Map(&source.Record{Value: record}, cs)
		checkInvariants(t, cs)
	}
	var want *EvolveError
	if errors.As(err, &want) {
		for _, c := range want.Changes {
			paths += " " + c.Path
		}
		paths += ": " + want.Bad.Column
	}
	return verdictOf(t, err), strings.TrimSpace(paths)
}

const changedSource = `"source":{"pos":1,"more":{"k":1},"new":1}`

func TestRowsInEnvelopesAskForWhatTheyNeed(t *testing.T) {
	event := func(op, row string) string {
		sides := `"before":null,"after":` + row
		if op == "d" {
			sides = `"after":null,"before":` + row
		}
		return `{` + sides + `,` + changedSource + `,"op":"` + op + `","ts_ms":5,"ts_us":7,"other":{"x":1}}`
	}
	for _, c := range []struct{ record, want, paths string }{
		{event("c", `{"a":1}`), "row", ""},
		{event("c", `{"a":1,"op":"x","source":{"y":[1.5]},"z":null}`), "add 0 op string; add 0 source struct<y:list<double>>", "op source: op"},
		{event("d", `{"a":1,"new":true}`), "add 0 new boolean", "new: new"},
		{event("u", `{"a":1,"s":{"m":1,"q":"x"},"l":[{"z":1}],"m":{"k":{"w":1}}}`), "add 2 q string; add 31 z long; add 42 w long", "s.q l.element.z m.value.w: s.q"},
		{event("c", `{"a":1,"l":[{"x":0.1e300}],"m":{"k":{"y":3000000000}},"d":123.45}`), "widen 32 double; widen 43 long; widen 5 decimal(5,2)", "l.element.x m.value.y d: l.element.x"},
		{event("c", `{"a":1,"d":12345.67}`), "widen 5 decimal(7,2)", "d: d"},
		{event("c", `{"s":{}}`), "optional 21; optional 1", "s.m a: s.m"},
		{event("d", `{"a":null}`), "optional 1", "a: a"},
		// A field may have the name of a column that an option takes: it is none, as ever.
		{event("c", `{"a":1,"_op":"x","_pos":5000000000,"_more":{"j":1}}`), "row", ""},
		// The envelope's own columns stay as they are.
		{strings.Replace(event("c", `{"a":1}`), `"pos":1`, `"pos":5000000000`, 1), "bad range _pos", ""},
		{strings.Replace(event("c", `{"a":1}`), `"pos":1,`, ``, 1), "bad required _pos", ""},
		{strings.Replace(event("c", `{"a":1}`), `"pos":1`, `"pos":null`, 1), "bad required _pos", ""},
		{strings.Replace(event("c", `{"a":1}`), `"ts_ms":5`, `"ts_ms":5000000000`, 1), "bad range _at", ""},
		{strings.Replace(event("c", `{"a":1}`), `"ts_ms":5`, `"ts_ms":null`, 1), "bad required _at", ""},
		{strings.Replace(event("c", `{"a":1}`), `{"k":1}`, `{"k":1,"new":1}`, 1), "row", ""},
		{strings.Replace(event("c", `{"a":1}`), `{"k":1}`, `{"k":5000000000}`, 1), "bad range _more.k", ""},
		{strings.Replace(event("c", `{"a":1}`), `{"k":1}`, `{}`, 1), "bad required _more.k", ""},
		// What does not become a row asks for nothing.
		{event("c", `{"a":1,"new":[1,"x"]}`), "bad unknown_field new", ""},
		{event("x", `{"a":1,"new":1}`), "bad envelope ", ""},
		{strings.Replace(event("c", `{"a":null,"new":1}`), `"op":"c",`, ``, 1), "bad envelope ", ""},
		// Only before is the row of a deletion.
		{strings.Replace(event("d", `{"a":1}`), `"after":null`, `"after":{"a":null,"new":1}`, 1), "row", ""},
		{strings.Replace(event("d", `{"a":1,"d":123.45}`), `"after":null`, `"after":{"a":1,"new":1}`, 1), "widen 5 decimal(5,2)", "d: d"},
		{strings.Replace(event("d", `null`), `"after":null`, `"after":{"a":1,"new":1}`, 1), "bad envelope ", ""},
		{`{"op":"t","ts_ms":1,` + changedSource + `}`, "bad envelope ", ""},
	} {
		for _, wrapped := range []bool{false, true} {
			record := c.record
			if wrapped {
				record = `{"schema":null,"payload":` + record + `}`
			}
			got, paths := askEvent(t, changing(), NewDebezium(changingOptions(false, wrapped), NewJSON(JSONOptions{Evolve: everything})), []byte(record))
			if got != c.want || paths != c.paths {
				t.Errorf("%s (wrapped: %v)\ngot  %s (%s)\nwant %s (%s)", c.record, wrapped, got, paths, c.want, c.paths)
			}
		}
	}
}

func TestTheEnvelopesStructsCountForNoColumn(t *testing.T) {
	s := changing()
	have := countFields(s.Fields)
	record := []byte(`{"after":{"a":1,"new":1},` + changedSource + `,"op":"c","ts_ms":1}`)
	for more, want := range []string{"bad unknown_field new", "add 0 new long"} {
		f := NewDebezium(changingOptions(false, false), NewJSON(JSONOptions{Evolve: Evolution{Add: true, MaxColumns: have + more}}))
		if got, _ := askEvent(t, s, f, record); got != want {
			t.Errorf("%d more columns: %s, want %s", more, got, want)
		}
	}
}

func TestThePlaceholderDefinesNoColumn(t *testing.T) {
	const gone = `"__debezium_unavailable_value"`
	var spelled []string
	for _, b := range []byte("__debezium_unavailable_value") {
		spelled = append(spelled, fmt.Sprint(b))
	}
	bytes := "[" + strings.Join(spelled, ",") + "]"
	for _, c := range []struct{ row, bad, null string }{
		{`{"a":1,"new":` + gone + `}`, "bad unavailable new", "row"},
		{`{"a":1,"new":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}`, "bad unavailable new", "row"},
		{`{"a":1,"new":` + bytes + `}`, "bad unavailable new", "row"},
		{`{"a":1,"new":[` + strings.Join(spelled[1:], ",") + `]}`, "add 0 new list<long>", "add 0 new list<long>"},
		{`{"a":1,"new":[null,[` + gone + `]]}`, "bad unavailable new", "row"},
		{`{"a":1,"new":["x",` + gone + `]}`, "bad unavailable new.element", "add 0 new list<string>"},
		{`{"a":1,"new":[[` + gone + `],["x"]]}`, "bad unavailable new.element", "add 0 new list<list<string>>"},
		{`{"a":1,"new":[{"x":{"y":` + gone + `}}]}`, "bad unavailable new.element.x.y", "row"},
		{`{"a":1,"new":[{"x":5,"y":` + gone + `},{"y":` + gone + `}]}`, "bad unavailable new.element.y", "add 0 new list<struct<x:long>>"},
		{`{"a":1,"new":[{"x":"k"},{"x":` + gone + `}]}`, "bad unavailable new.element.x", "add 0 new list<struct<x:string>>"},
		// No column holds both what is known and the placeholder.
		{`{"a":1,"new":[5,` + gone + `]}`, "bad unavailable new.element", "bad unavailable new"},
		{`{"a":1,"new":[["x"],` + bytes + `]}`, "bad unavailable new.element", "bad unavailable new"},
		{`{"a":1,"new":[{"x":5},` + gone + `]}`, "bad unavailable new.element", "bad unavailable new"},
		{`{"a":1,"new":[{"x":5},{"x":` + gone + `}]}`, "bad unavailable new.element.x", "bad unavailable new"},
		{`{"a":1,"new":{"x":1,"y":` + gone + `}}`, "bad unavailable new.y", "add 0 new struct<x:long>"},
		{`{"a":1,"new":{` + gone + `:` + gone + `}}`, "bad unavailable new.__debezium_unavailable_value", "row"},
		{`{"a":1,"s":{"m":1,"q":` + gone + `},"r":1}`, "bad unavailable s.q", "add 0 r long"},
	} {
		for _, null := range []bool{false, true} {
			want := c.bad
			if null {
				want = c.null
			}
			record := []byte(`{"after":` + c.row + `,` + changedSource + `,"op":"u","ts_ms":1}`)
			f := NewDebezium(changingOptions(null, false), NewJSON(JSONOptions{Evolve: everything}))
			if got, _ := askEvent(t, changing(), f, record); got != want {
				t.Errorf("%s (null: %v): %s, want %s", c.row, null, got, want)
			}
			if strings.HasPrefix(want, "add") {
				becomesARow(t, changing(), f, record)
			}
		}
	}
	// A placeholder that looks like a number makes no column wider.
	opts := changingOptions(true, false)
	opts.Unavailable = "99999999"
	record := []byte(`{"after":{"a":1,"d":"99999999"},` + changedSource + `,"op":"u","ts_ms":1}`)
	if got, _ := askEvent(t, changing(), NewDebezium(opts, NewJSON(JSONOptions{Evolve: everything})), record); got != "bad precision d" && got != "bad range d" {
		t.Error(got)
	}
}

func TestTheSchemaBesideThePayloadTellsTheTypeOfANewColumn(t *testing.T) {
	scale := func(n string) string { return `,"parameters":{"scale":"2","connect.decimal.precision":"` + n + `"}` }
	text := `"__debezium_unavailable_value"`
	for _, c := range []struct{ field, value, want string }{
		{connectField("v", "int32", "", ""), "1", "add 0 v int"},
		{connectField("v", "int16", "", ""), "1", "add 0 v int"},
		{connectField("v", "int64", "", ""), "1", "add 0 v long"},
		{connectField("v", "float", "", ""), "1", "add 0 v float"},
		{connectField("v", "double", "", ""), "1", "add 0 v double"},
		{connectField("v", "bytes", "", ""), `"AAE="`, "add 0 v binary"},
		{connectField("v", "string", "io.debezium.data.Json", ""), `"{}"`, "add 0 v string"},
		{connectField("v", "int32", "io.debezium.time.Date", ""), "19000", "add 0 v date"},
		{connectField("v", "int64", "io.debezium.time.MicroTime", ""), "1", "add 0 v time"},
		{connectField("v", "int64", "io.debezium.time.NanoTime", ""), "1", "bad unknown_field v"},
		{connectField("v", "int64", "io.debezium.time.MicroTimestamp", ""), "1", "add 0 v timestamp"},
		{connectField("v", "int64", "io.debezium.time.NanoTimestamp", ""), "1", "add 0 v timestamp_ns"},
		{connectField("v", "int64", "org.apache.kafka.connect.data.Timestamp", ""), "1", "add 0 v timestamptz"},
		{connectField("v", "bytes", connectDecimal, scale("10")), `"BNI="`, "add 0 v decimal(10,2)"},
		{connectField("v", "bytes", connectDecimal, `,"parameters":{"scale":"2"}`), `"BNI="`, "add 0 v decimal(38,2)"},
		{connectField("v", "bytes", connectDecimal, scale("65")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("012")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("12abc")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("0x10")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("1_0")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("+12")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale(" 12")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "bytes", connectDecimal, scale("9223372036854775808")), `"BNI="`, "bad unknown_field v"},
		{connectField("v", "struct", "io.debezium.data.VariableScaleDecimal", `,"fields":[{"type":"int32","field":"scale"},{"type":"bytes","field":"value"}]`), `{"scale":1,"value":"ew=="}`,
			"add 0 v struct<scale:int,value:binary>"},
		{connectField("v", "array", "", `,"items":{"type":"int64","name":"io.debezium.time.Timestamp"}`), "[]", "add 0 v list<timestamp>"},
		{connectField("v", "map", "", `,"keys":{"type":"string"},"values":{"type":"int32"}`), `{"k":1}`, "add 0 v map<string,int>"},
		{connectField("v", "map", "", `,"keys":{"type":"int32"},"values":{"type":"int32"}`), `[[1,1]]`, "bad unknown_field v"},
		{connectField("v", "int64", "", ""), "null", "row"},
		{connectField("v", "string", "", ""), text, "bad unavailable v"},
		{connectField("v", "array", "", `,"items":{"type":"string"}`), "[" + text + "]", "bad unavailable v"},
		{connectField("v", "struct", "", `,"fields":[{"type":"string","field":"t"}]`), `{"t":` + text + `}`, "bad unavailable v"},
		{connectField("w", "int64", "", ""), "1.5", "add 0 v double"},
		// What does not fit its own schema asks for nothing.
		{connectField("v", "int32", "", ""), `"abc"`, "bad type v"},
		{connectField("v", "int32", "", ""), "5000000000", "bad range v"},
		{connectField("v", "int64", "", ""), "[1]", "bad type v"},
		{connectField("v", "int64", "io.debezium.time.MicroTimestamp", ""), `"x"`, "bad type v"},
		{connectField("v", "bytes", connectDecimal, scale("3")), `"BNI="`, "bad range v"},
		{connectField("v", "array", "", `,"items":{"type":"int64"}`), `[1,"x"]`, "bad type v.element"},
		{connectField("v", "struct", "", `,"fields":[{"type":"int32","field":"q"}]`), `{"q":[]}`, "bad type v.q"},
		{connectField("v", "struct", "", `,"fields":[{"type":"int32","field":"q"}]`), `{"zz":[1,"x"]}`, "bad unknown_field v.zz"},
	} {
		for _, op := range []string{"c", "d"} {
			s := &Schema{Fields: []Field{{ID: 1, Name: "_op", Type: Type{Kind: String}}, {ID: 2, Name: "old", Type: Type{Kind: Long}}}}
			f := NewDebezium(DebeziumOptions{Op: "_op", Wrapped: true}, NewJSON(JSONOptions{Evolve: everything}))
			record := []byte(wrappedEvent(op, c.field, c.value))
			got, _ := askEvent(t, s, f, record)
			if got != c.want {
				t.Errorf("%s of %s: %s, want %s", c.value, c.field, got, c.want)
			}
			if strings.HasPrefix(got, "add") {
				becomesARow(t, s, f, record)
			}
		}
	}
}

// becomesARow makes the changes that a record asks for, under which it keeps all that it has.
func becomesARow(t *testing.T, s *Schema, f Factory, record []byte) {
	t.Helper()
	m, err := f(s)
	if err != nil {
		t.Fatal(err)
	}
	var want *EvolveError
	if err := m.Map(&source.Record{Value: record}, mustColumns(t, s)); !errors.As(err, &want) {
		t.Fatal(err)
	}
	next := 1000
	s = &Schema{Fields: apply(s.Fields, 0, want.Changes, &next)}
	if m, err = f(s); err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	if err := m.Map(&source.Record{Value: record}, cs); err != nil || cs.Cols[len(cs.Cols)-1].IsNull(0) {
		t.Errorf("%s under %v: %v", record, describeAll(want.Changes), err)
	}
}

func TestMembersBesideThePayloadsSchemaHaveItsTypes(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "_op", Type: Type{Kind: String}}, {ID: 2, Name: "v", Type: listOf(Field{ID: 3, Name: "element",
		Type: Type{Kind: Struct, Fields: []Field{{ID: 4, Name: "old", Type: Type{Kind: Long}}}}})}}}
	f := NewDebezium(DebeziumOptions{Op: "_op", Wrapped: true}, NewJSON(JSONOptions{Evolve: everything}))
	field := connectField("v", "array", "", `,"items":{"type":"struct","fields":[{"type":"int32","name":"io.debezium.time.Date","field":"day"}]}`)
	if got, paths := askEvent(t, s, f, []byte(wrappedEvent("c", field, `[{"day":19000}]`))); got != "add 3 day date" || paths != "v.element.day: v.element.day" {
		t.Error(got, paths)
	}
}

func TestRowsInAvroEnvelopesAskForWhatTheirSchemaSays(t *testing.T) {
	envelope := func(row, more string) AvroSchema {
		return AvroSchema{Text: `{"type":"record","name":"E","fields":[{"name":"before","type":["null",{"type":"record","name":"V","fields":[` + row + `]}]},
			{"name":"after","type":["null","V"]},` + more + `{"name":"op","type":"string"},{"name":"new","type":"long"}]}`}
	}
	const narrow = `{"name":"source","type":{"type":"record","name":"S","fields":[{"name":"pos","type":"int"},{"name":"new","type":"long"}]}},{"name":"ts_ms","type":"int"},`
	const a, q = `{"name":"a","type":"long"}`, `{"name":"q","type":{"type":"long","logicalType":"timestamp-micros"}}`
	for _, c := range []struct{ row, more, want string }{
		{a + `,` + q, narrow, "add 0 q timestamptz"},
		{a + `,{"name":"s","type":{"type":"record","name":"T","fields":[{"name":"m","type":"long"},{"name":"op","type":"int"}]}}`, narrow, "widen 21 long; add 2 op int"},
		{q, narrow, "add 0 q timestamptz; optional 1"},
		{a + `,` + q, strings.Replace(narrow, `"pos","type":"int"`, `"pos","type":"long"`, 1), "add 0 q timestamptz"}, // read value by value
		{a, strings.Replace(narrow, `"pos","type":"int"`, `"pos","type":"double"`, 1), "refused"},
		{a, strings.Replace(narrow, `{"name":"ts_ms","type":"int"},`, "", 1), "refused"},
	} {
		opts := DebeziumOptions{Op: "_op", TSMs: "_at", Source: map[string]string{"pos": "_pos"}}
		s := changing()
		s.Fields = s.Fields[:len(s.Fields)-1]
		schema := envelope(c.row, c.more)
		got, _ := askEvent(t, s, NewDebezium(opts, NewAvro(AvroOptions{Schema: &schema, Evolve: everything})), []byte{0})
		if got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.row, c.more, got, c.want)
		}
	}
	// A value beyond the column, and null, are found as the record is read.
	schema := envelope(a, `{"name":"source","type":{"type":"record","name":"S","fields":[{"name":"pos","type":["null","long"]}]}},`)
	s := &Schema{Fields: []Field{{ID: 1, Name: "a", Type: Type{Kind: Long}}, {ID: 2, Name: "_op", Type: Type{Kind: String}}, {ID: 3, Name: "_pos", Type: Type{Kind: Int}, Required: true}}}
	f := NewDebezium(DebeziumOptions{Op: "_op", Source: map[string]string{"pos": "_pos"}}, NewAvro(AvroOptions{Schema: &schema, Evolve: everything}))
	for want, pos := range map[string][]byte{"bad required _pos": zz(0), "bad range _pos": zz(1, 5000000000), "row": zz(1, 5)} {
		record := append(append(zz(0, 1, 7), pos...), append(zstr("c"), zz(9)...)...)
		if got, _ := askEvent(t, s, f, record); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRowsInProtobufEnvelopesAskForWhatTheyNeed(t *testing.T) {
	envelope := &ProtoSchema{Message: "Envelope", Text: `syntax = "proto3"; message Value { optional int64 a = 1; int64 q = 2; T s = 3; } message T { optional int64 m = 1; string op = 2; }
		message Source { optional int64 pos = 1; string db = 2; } message Envelope { Value before = 1; Value after = 2; Source source = 3; string op = 4; optional int64 ts_ms = 5; Source other = 6; }`}
	s := changing()
	s.Fields = append(s.Fields[:2:2], s.Fields[5:8]...)
	opts := DebeziumOptions{Op: "_op", TSMs: "_at", Source: map[string]string{"pos": "_pos"}}
	f := func(e Evolution) Factory {
		return NewDebezium(opts, NewProto(ProtoOptions{Schema: envelope, Evolve: e}))
	}
	src := raw(1, 9, 2, "db")
	good := raw(2, raw(1, 7), 3, src, 4, "c", 5, 1)
	if got, paths := askEvent(t, s, f(everything), good); got != "add 2 op string; add 0 q long" || paths != "s.op q: s.op" {
		t.Error(got, paths)
	}
	for _, c := range []struct {
		record []byte
		want   string
	}{
		{good, "row"},
		{raw(2, raw(3, raw(1, 1)), 3, src, 4, "c", 5, 1), "optional 1"},
		{raw(1, raw(3, raw(1, 1)), 3, src, 4, "d", 5, 1), "optional 1"},
		{raw(2, raw(1, 7, 3, raw(1, 5000000000)), 3, src, 4, "c", 5, 1), "widen 21 long"},
		{raw(2, raw(1, 7), 3, raw(1, 5000000000), 4, "c", 5, 1), "bad range _pos"},
		{raw(2, raw(1, 7), 3, raw(2, "db"), 4, "c", 5, 1), "bad required _pos"},
		{raw(2, raw(1, 7), 3, src, 4, "c", 5, 5000000000), "bad range _at"},
		{raw(2, raw(1, 7), 3, src, 4, "c"), "bad required _at"},
	} {
		if got, _ := askEvent(t, s, f(Evolution{Widen: true, Optional: true}), c.record); got != c.want {
			t.Errorf("%x: %s, want %s", c.record, got, c.want)
		}
	}
}

// The records that are skipped are told by what they have, whatever their members could become.
func TestDebeziumsOwnRecordsAskForNothing(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "_op", Type: Type{Kind: String}}, {ID: 2, Name: "a", Type: Type{Kind: Long}, Required: true}}}
	opts := DebeziumOptions{Op: "_op", Skip: []DebeziumEvent{DebeziumHeartbeat, DebeziumTransaction}}
	m, err := NewDebezium(opts, NewJSON(JSONOptions{Evolve: everything}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	for _, record := range []string{`{"ts_ms":1}`, `{"status":"END","id":"7","event_count":1,"data_collections":[{"data_collection":"a","event_count":1,"new":1}],"ts_ms":1}`} {
		if err := m.Map(&source.Record{Value: []byte(record)}, cs); !errors.Is(err, ErrFiltered) {
			t.Errorf("%s: %v", record, err)
		}
	}
	if err := m.Map(&source.Record{Value: []byte(`{"ts_ms":1,"a":1}`)}, cs); codeOf(err) != CodeEnvelope {
		t.Error(err)
	}
}

func TestDecimalsBesideThePayloadsSchemaAskForMoreDigits(t *testing.T) {
	s := &Schema{Fields: []Field{{ID: 1, Name: "_op", Type: Type{Kind: String}}, {ID: 2, Name: "v", Type: Type{Kind: Decimal, Precision: 4, Scale: 2}}}}
	field := connectField("v", "bytes", connectDecimal, `,"parameters":{"scale":"2","connect.decimal.precision":"10"}`)
	opts := DebeziumOptions{Op: "_op", Wrapped: true}
	for value, want := range map[string]string{
		`"BNI="`: "row", `"AeJA"`: "widen 2 decimal(6,2)", `"1234"`: "widen 2 decimal(7,2)", `123456.78`: "widen 2 decimal(8,2)",
		`"////////////////////////////////"`: "row", `"f///////////////////////////////////"`: "bad range v",
	} {
		if got, _ := askEvent(t, s, NewDebezium(opts, NewJSON(JSONOptions{Evolve: everything})), []byte(wrappedEvent("c", field, value))); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
		if strings.HasPrefix(want, "widen") {
			want = "bad range v"
		}
		if got, _ := askEvent(t, s, NewDebezium(opts, NewJSON(JSONOptions{Evolve: Evolution{Add: true}})), []byte(wrappedEvent("c", field, value))); got != want {
			t.Errorf("%s without widen: %s", value, got)
		}
	}
}
