package mapper

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/avro"

	"github.com/stormfloe/floe/source"
)

// customers is a table of customers with what their envelopes tell.
func customers() *Schema {
	return &Schema{Fields: []Field{{Name: "id", Type: of(Int), Required: true}, {Name: "name", Type: of(String)}, {Name: "_op", Type: of(String), Required: true},
		{Name: "born", Type: of(Date)}, {Name: "since", Type: of(Timestamp)}, {Name: "_lsn", Type: of(Long)}, {Name: "_table", Type: of(String)},
		{Name: "credit", Type: Type{Kind: Decimal, Precision: 10, Scale: 2}}, {Name: "_at", Type: of(TimestampTz)}, {Name: "_tx", Type: of(String)}, {Name: "tags", Type: listOf(Field{Type: of(String)})}}}
}

func customerOptions() DebeziumOptions {
	return DebeziumOptions{Op: "_op", Source: map[string]string{"lsn": "_lsn", "table": "_table", "ts_ms": "_at"}, Transaction: map[string]string{"id": "_tx"}}
}

func customerRules(t testing.TB) Rules {
	return Rules{Casts: []ColumnCast{{Path{"since"}, mustCast(t, "epoch_us")}, {Path{"credit"}, mustCast(t, "unscaled(2)")}}}
}

const (
	pgSource = `{"version":"2.7.0.Final","connector":"postgresql","name":"dbserver1","ts_ms":1723000000123,"snapshot":"false","db":"inventory","sequence":"[\"34492104\",\"34492392\"]",` +
		`"ts_us":1723000000123456,"ts_ns":1723000000123456000,"schema":"inventory","table":"customers","txId":780,"lsn":34492392,"xmin":null}`
	mySource = `{"version":"2.7.0.Final","connector":"mysql","name":"dbserver1","ts_ms":1723000000000,"snapshot":"true","db":"inventory","table":"customers","server_id":223344,"gtid":null,` +
		`"file":"mysql-bin.000003","pos":805,"row":0,"thread":11,"query":null}`
	ann    = `{"id":1,"name":"Ann","born":19000,"since":1600000000000001,"credit":"BNI=","tags":["a","b"]}`
	annRow = `1 Ann %s 19000 1600000000000001 34492392 customers 1234 1723000000123000 %s [a b]`
	tx     = `{"id":"780:34492392","total_order":1,"data_collection_order":1}`
)

func pgEvent(op, before, after string) string {
	return fmt.Sprintf(`{"before":%s,"after":%s,"source":%s,"transaction":%s,"op":%q,"ts_ms":1723000000456,"ts_us":1723000000456789,"ts_ns":1723000000456789000}`, before, after, pgSource, tx, op)
}

// shown is a row as text, decimals as their digits.
func shown(s *Schema, row []any) string {
	parts := make([]string, len(row))
	for i, v := range row {
		if b, ok := v.(string); ok && s.Fields[i].Type.Kind == Decimal {
			v = int64(load([]byte(b), 0))
		}
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, " ")
}

func TestDebeziumEventsBecomeRows(t *testing.T) {
	truncate := fmt.Sprintf(`{"source":%s,"ts_ms":1,"op":"t","transaction":null}`, pgSource)
	message := fmt.Sprintf(`{"op":"m","ts_ms":1,"source":%s,"message":{"prefix":"p","content":"Zm9v"}}`, pgSource)
	begin := `{"status":"BEGIN","id":"780:34492392","event_count":null,"data_collections":null,"ts_ms":1723000000456}`
	heartbeat := `{"ts_ms":1723000000456}`
	all := []DebeziumEvent{DebeziumTruncate, DebeziumMessage, DebeziumHeartbeat, DebeziumTransaction}
	for name, tt := range map[string]struct {
		event string
		skip  []DebeziumEvent
		want  string // the row, or the error's code and column, or "filtered"
	}{
		"created": {pgEvent("c", "null", ann), nil, fmt.Sprintf(annRow, "c", "780:34492392")},
		"read":    {pgEvent("r", "null", ann), nil, fmt.Sprintf(annRow, "r", "780:34492392")},
		"updated": {pgEvent("u", `{"id":7,"name":[]}`, ann), nil, fmt.Sprintf(annRow, "u", "780:34492392")},
		"deleted": {pgEvent("d", ann, "null"), nil, fmt.Sprintf(annRow, "d", "780:34492392")},
		"deleted, known by its key": {pgEvent("d", `{"id":1,"name":null,"born":null,"since":null,"credit":null,"tags":null}`, "null"), nil,
			"1 <nil> d <nil> <nil> 34492392 customers <nil> 1723000000123000 780:34492392 <nil>"},
		"MySQL": {fmt.Sprintf(`{"before":null,"after":{"id":1},"source":%s,"op":"c","ts_ms":1,"transaction":null}`, mySource), nil,
			"1 <nil> c <nil> <nil> <nil> customers <nil> 1723000000000000 <nil> <nil>"},
		"another order":              {fmt.Sprintf(`{"op":"c","source":%s,"after":%s,"before":null}`, pgSource, ann), nil, fmt.Sprintf(annRow, "c", "<nil>")},
		"no row":                     {pgEvent("u", ann, "null"), all, "envelope"},
		"no row that was":            {pgEvent("d", "null", ann), all, "envelope"},
		"neither":                    {fmt.Sprintf(`{"op":"c","source":%s}`, pgSource), all, "envelope"},
		"another op":                 {pgEvent("x", ann, ann), all, "envelope"},
		"no source":                  {fmt.Sprintf(`{"op":"c","after":%s}`, ann), all, "envelope"},
		"a required column":          {pgEvent("c", "null", `{"name":"x"}`), nil, "required id"},
		"a required column that was": {pgEvent("d", `{"name":"x"}`, "null"), nil, "required id"},
		"a wrong value":              {pgEvent("c", "null", `{"id":1,"born":"x"}`), nil, "type born"},
		"a wrong source":             {strings.Replace(pgEvent("c", "null", ann), `"lsn":34492392`, `"lsn":"x"`, 1), nil, "type _lsn"},
		"a wrong op":                 {strings.Replace(pgEvent("c", "null", ann), `"op":"c"`, `"op":1`, 1), nil, "type _op"},
		"a bare row":                 {ann, nil, "envelope"},
		"a list":                     {`[]`, all, "type"},
		"after is no row":            {pgEvent("c", "null", `1`), all, "type"},
		"twice":                      {strings.Replace(pgEvent("c", "null", ann), `"before"`, `"after"`, 1), nil, "duplicate_key"},
		"truncated":                  {truncate, nil, "envelope"},
		"truncated, skipped":         {truncate, all[:1], "filtered"},
		"message":                    {message, all[:1], "envelope"},
		"message, skipped":           {message, all[1:2], "filtered"},
		"heartbeat":                  {heartbeat, nil, "envelope"},
		"heartbeat, skipped":         {heartbeat, all[2:3], "filtered"},
		"transaction":                {begin, all[:3], "envelope"},
		"transaction, skipped":       {begin, all[3:], "filtered"},
		"a bare row with an id":      {`{"id":"1","status":"open","ts_ms":1}`, all, "envelope"},
		"not even a heartbeat":       {`{}`, all, "envelope"},
		"the end of a transaction":   {`{"status":"END","id":"780:1","event_count":2,"data_collections":[{"data_collection":"a.b","event_count":2}],"ts_ms":1}`, all, "filtered"},
		"a bare row with a time":     {`{"ts_ms":1,"name":"x"}`, all, "envelope"},
		"a bare row that begins":     {`{"id":"1","status":"BEGIN","ts_ms":1,"name":"x"}`, all, "envelope"},
		"a count, and no row":        {`{"ts_ms":1,"event_count":1}`, all, "envelope"},
		"a time and no op":           {`{"ts_ms":1,"op":null}`, all, "envelope"},
		"a row without an op":        {fmt.Sprintf(`{"ts_ms":1,"after":%s}`, ann), all, "envelope"},
		"a source without an op":     {fmt.Sprintf(`{"ts_ms":1,"source":%s}`, pgSource), all, "envelope"},
	} {
		for _, wrapped := range []bool{false, true} {
			s, opts := customers(), customerOptions()
			opts.Skip, opts.Wrapped = tt.skip, wrapped
			event := tt.event
			if wrapped {
				event = `{"schema":{"type":"struct","fields":[],"name":"Envelope"},"payload":` + event + `}`
			}
			m, err := WithRules(customerRules(t), NewDebezium(opts, NewJSON(JSONOptions{})))(s)
			if err != nil {
				t.Fatal(err)
			}
			cs := mustColumns(t, s)
			for n := range 3 { // rows before it and behind it stay
				rec := source.Record{Value: []byte(pgEvent("c", "null", strings.Replace(ann, "Ann", fmt.Sprint("Bob", n), 1)))}
				if wrapped {
					rec.Value = []byte(`{"payload":` + string(rec.Value) + `}`)
				}
				if err := m.Map(&rec, cs); err != nil {
					t.Fatal(err)
				}
				rows := cs.Rows
				err := m.Map(&source.Record{Value: []byte(event)}, cs)
				checkInvariants(t, cs)
				var got string
				var bad *BadRecordError
				switch {
				case errors.Is(err, ErrFiltered):
					got = "filtered"
				case errors.As(err, &bad):
					got = strings.TrimSpace(string(bad.Code) + " " + bad.Column)
				case err != nil:
					got = err.Error()
				default:
					got = shown(s, rowOf(cs, rows))
				}
				if got != tt.want || err != nil && cs.Rows != rows {
					t.Errorf("%s (wrapped: %v): %s, want %s", name, wrapped, got, tt.want)
				}
				if err == nil && n == 1 {
					cs.Reset()
				}
			}
		}
	}
}

func TestDebeziumTombstonesAreFiltered(t *testing.T) {
	s := customers()
	_, err := ruled(t, NewDebezium(customerOptions(), NewJSON(JSONOptions{})), s, nil)
	if !errors.Is(err, ErrFiltered) {
		t.Error(err)
	}
}

func TestDebeziumTimestampsNeedAUnit(t *testing.T) {
	s := customers()
	f := NewDebezium(customerOptions(), NewJSON(JSONOptions{}))
	_, err := ruled(t, f, s, []byte(pgEvent("c", "null", `{"id":1,"since":1600000000000}`)))
	if err == nil || !strings.Contains(err.Error(), "unit") {
		t.Error(err)
	}
	row, err := ruled(t, f, s, []byte(pgEvent("c", "null", `{"id":1,"since":"1970-01-01T00:00:01"}`)))
	if err != nil || row[4] != int64(1000000) {
		t.Error(row, err)
	}
}

func TestDebeziumPlaceholderIsNeverAValue(t *testing.T) {
	const text = "__debezium_unavailable_value"
	spelled := strings.Trim(strings.Join(strings.Fields(fmt.Sprint([]byte(text))), ","), "[]")
	b64 := base64.StdEncoding.EncodeToString([]byte(text))
	var cents []string // as digits of decimals in their scale
	for _, c := range []byte(text) {
		cents = append(cents, fmt.Sprintf("%d.%02d", c/100, c%100))
	}
	for _, tt := range []struct {
		typ Type
		in  string
	}{
		{of(String), `"` + text + `"`}, {of(String), `"` + b64 + `"`}, {of(String), `"` + hex.EncodeToString([]byte(text)) + `"`}, {of(String), `"\u005f_debezium_unavailable_value"`},
		{of(Binary), `"` + b64 + `"`}, {Type{Kind: Fixed, Length: len(text)}, `"` + b64 + `"`}, {of(UUID), `"9a1bf1ba-6f40-3dba-8b5c-000000000000"`},
		{listOf(Field{Type: of(String)}), `["` + text + `"]`}, {listOf(Field{Type: of(Int)}), `[` + spelled + `]`}, {listOf(Field{Type: of(Long)}), `[` + spelled + `]`},
		{listOf(Field{Type: of(Double)}), `[` + spelled + `]`}, {listOf(Field{Type: Type{Kind: Decimal, Precision: 9, Scale: 2}}), `[` + spelled + `]`}, {listOf(Field{Type: of(Date)}), `[` + spelled + `]`},
		{mapOf(of(String), Field{Type: of(String)}), `{"` + text + `":"` + text + `"}`}, {structOf(Field{Name: "a", Type: of(String)}), `{"a":"` + text + `"}`},
		{listOf(Field{Type: Type{Kind: Decimal, Precision: 9, Scale: 3}}), `[` + strings.Join(cents, ",") + `]`},
		{listOf(Field{Type: of(String)}), `["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]`}, {of(String), `"{\"` + text + `\":\"` + text + `\"}"`},
		{structOf(Field{Name: "wkb", Type: of(String)}), `{"wkb":"` + base64.StdEncoding.EncodeToString(newPlaceholder("").shapes[1]) + `"}`},
		{structOf(Field{Name: "wkb", Type: of(Binary)}), `{"wkb":"` + base64.StdEncoding.EncodeToString(newPlaceholder("").shapes[0]) + `"}`},
	} {
		in := tt.in
		if tt.typ.Kind == UUID {
			u := newPlaceholder(text).uuid
			h := hex.EncodeToString(u[:])
			in = `"` + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:] + `"`
		}
		s := &Schema{Fields: []Field{{Name: "op", Type: of(String)}, {Name: "c", Type: tt.typ}}}
		event := []byte(`{"op":"u","after":{"c":` + in + `}}`)
		_, err := ruled(t, NewDebezium(DebeziumOptions{Op: "op"}, NewJSON(JSONOptions{})), s, event)
		if codeOf(err) != CodeUnavailable || strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", in, err)
		}
		row, err := ruled(t, NewDebezium(DebeziumOptions{Op: "op", NullUnavailable: true}, NewJSON(JSONOptions{})), s, event)
		if err != nil || row[1] != nil && !reflect.DeepEqual(row[1], []any{nil}) {
			t.Errorf("%s: %v %v", in, row, err)
		}
		row, err = ruled(t, NewDebezium(DebeziumOptions{Op: "op", Unavailable: "another"}, NewJSON(JSONOptions{})), s, event)
		if tt.typ.Kind != Struct && (err != nil || row[1] == nil) {
			t.Errorf("%s: %v %v", in, row, err)
		}
		s.Fields[1].Required = true
		if tt.typ.Kind == Struct {
			s.Fields[1].Type.Fields[0].Required = true
		}
		if _, err := ruled(t, NewDebezium(DebeziumOptions{Op: "op", NullUnavailable: true}, NewJSON(JSONOptions{})), s, event); codeOf(err) != CodeUnavailable {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestDebeziumPlaceholderInHexadecimalDigits(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "op", Type: of(String)}, {Name: "b", Type: of(Binary)}, {Name: "t", Type: of(String)},
		{Name: "l", Type: listOf(Field{Type: of(Int)})}, {Name: "d", Type: listOf(Field{Type: Type{Kind: Decimal, Precision: 9, Scale: 1}})}}}
	f := NewDebezium(DebeziumOptions{Op: "op", Unavailable: "hex:ff00c3a9"}, NewJSON(JSONOptions{}))
	for row, want := range map[string]Code{`{"b":"/wDDqQ=="}`: CodeUnavailable, `{"t":"\ufffd\u0000é"}`: CodeUnavailable, `{"t":"ff00c3a9"}`: CodeUnavailable,
		`{"l":[-1,0,-61,-87]}`: CodeUnavailable, `{"d":[-0.1,0,-6.1,-8.7]}`: CodeUnavailable, `{"d":[-1,0,-61,-87]}`: CodeUnavailable, `{"l":[-1,0,-61,-86]}`: "", `{"t":"hex:ff00c3a9"}`: ""} {
		if _, err := ruled(t, f, s, []byte(`{"op":"u","after":`+row+`}`)); codeOf(err) != want {
			t.Errorf("%s: %v", row, err)
		}
	}
}

func TestDebeziumOptionsThatDoNotFitAreRefused(t *testing.T) {
	for want, change := range map[string]func(o *DebeziumOptions, s *Schema){
		"no column is named for op":     func(o *DebeziumOptions, _ *Schema) { o.Op = "" },
		`the table has no column "x"`:   func(o *DebeziumOptions, _ *Schema) { o.Source["pos"] = "x" },
		"make it a string":              func(o *DebeziumOptions, _ *Schema) { o.Op = "id" },
		"is to take two things":         func(o *DebeziumOptions, _ *Schema) { o.TSMs = "_at" },
		"is required, and is to take t": func(o *DebeziumOptions, s *Schema) { s.Fields[9].Required = true },
	} {
		o, s := customerOptions(), customers()
		change(&o, s)
		if _, err := NewDebezium(o, NewJSON(JSONOptions{}))(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// debeziumAvro is an envelope as Kafka Connect's Avro converter writes it.
const debeziumAvro = `{"type":"record","name":"Envelope","namespace":"dbserver1.inventory.customers","connect.version":2,"connect.name":"dbserver1.inventory.customers.Envelope","fields":[
 {"name":"before","type":["null",{"type":"record","name":"Value","connect.name":"dbserver1.inventory.customers.Value","fields":[
  {"name":"id","type":"int"},{"name":"name","type":["null","string"],"default":null},
  {"name":"born","type":["null",{"type":"int","connect.version":1,"connect.name":"io.debezium.time.Date"}],"default":null},
  {"name":"since","type":["null",{"type":"long","connect.version":1,"connect.name":"io.debezium.time.MicroTimestamp"}],"default":null},
  {"name":"credit","type":["null",{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}],"default":null},
  {"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null}]}],"default":null},
 {"name":"after","type":["null","Value"],"default":null},
 {"name":"source","type":{"type":"record","name":"Source","namespace":"io.debezium.connector.postgresql","connect.name":"io.debezium.connector.postgresql.Source","fields":[
  {"name":"version","type":"string"},{"name":"ts_ms","type":"long"},
  {"name":"snapshot","type":[{"type":"string","connect.version":1,"connect.parameters":{"allowed":"true,last,false,incremental"},"connect.default":"false","connect.name":"io.debezium.data.Enum"},"null"],"default":"false"},
  {"name":"table","type":"string"},{"name":"lsn","type":["null","long"],"default":null}]}},
 {"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"],"default":null},
 {"name":"transaction","type":["null",{"type":"record","name":"block","namespace":"event","fields":[{"name":"id","type":"string"},{"name":"total_order","type":"long"}]}],"default":null}]}`

func TestDebeziumAvro(t *testing.T) {
	parsed := avro.MustParse(debeziumAvro)
	row := func(name string) map[string]any {
		return map[string]any{"id": 1, "name": name, "born": 19000, "since": int64(1600000000000001), "credit": json.Number("12.34"), "tags": []any{"a", "b"}}
	}
	encode := func(op string, before, after any) []byte {
		b, err := parsed.Encode(map[string]any{"before": before, "after": after, "op": op, "ts_ms": int64(1), "transaction": map[string]any{"id": "780:34492392", "total_order": int64(1)},
			"source": map[string]any{"version": "2.7", "ts_ms": int64(1723000000123), "snapshot": "false", "table": "customers", "lsn": int64(34492392)}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s := customers()
	f := NewDebezium(customerOptions(), NewAvro(AvroOptions{Schema: &AvroSchema{Text: debeziumAvro}}))
	for _, tt := range []struct {
		value []byte
		want  string
	}{
		{encode("c", nil, row("Ann")), fmt.Sprintf(annRow, "c", "780:34492392")}, {encode("u", row("Bob"), row("Ann")), fmt.Sprintf(annRow, "u", "780:34492392")},
		{encode("d", row("Ann"), nil), fmt.Sprintf(annRow, "d", "780:34492392")}, {encode("c", row("Ann"), nil), "envelope"}, {encode("t", nil, nil), "envelope"},
		{encode("u", nil, row("__debezium_unavailable_value")), "unavailable"},
	} {
		got, err := ruled(t, f, s, tt.value)
		if err == nil && shown(s, got) != tt.want || err != nil && string(codeOf(err)) != tt.want {
			t.Errorf("%v %v, want %s", got, err, tt.want)
		}
	}
}

// Records of another schema, without an op at all, are told apart where the table requires one.
func TestDebeziumAvroWithoutAnEnvelope(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "_op", Type: of(String), Required: true}, {Name: "id", Type: of(Int)}}}
	opts := DebeziumOptions{Op: "_op", Skip: []DebeziumEvent{DebeziumTransaction}}
	for _, tt := range []struct {
		w     AvroSchema
		value []byte
		want  string
	}{
		{recordOf("name string"), zstr("x"), "envelope"},
		{recordOf("status string", "id string"), append(zstr("BEGIN"), zstr("7")...), "filtered"},
		{recordOf("status string", "id string"), append(zstr("open"), zstr("7")...), "envelope"},
	} {
		_, err := ruled(t, NewDebezium(opts, NewAvro(AvroOptions{Schema: &tt.w})), s, tt.value)
		got := string(codeOf(err))
		if errors.Is(err, ErrFiltered) {
			got = "filtered"
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %s", tt.w.Text, err, tt.want)
		}
	}
}

func TestDebeziumProtobufWithoutAnEnvelope(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "_op", Type: of(String), Required: true}, {Name: "id", Type: of(Int)}}}
	schema := &ProtoSchema{Message: "M", Text: `syntax = "proto3"; message M { int32 id = 1; }`}
	_, err := ruled(t, NewDebezium(DebeziumOptions{Op: "_op"}, NewProto(ProtoOptions{Schema: schema})), s, []byte{8, 1})
	if codeOf(err) != CodeEnvelope {
		t.Error(err)
	}
}

// FuzzDebezium holds the envelope against its parts, read apart.
func FuzzDebezium(f *testing.F) {
	for _, op := range []string{"c", "u", "d", "r", "t", "m"} {
		f.Add([]byte(pgEvent(op, ann, ann)), int64(1))
		f.Add([]byte(pgEvent(op, ann, "null")), int64(2))
	}
	f.Add([]byte(`{"ts_ms":1}`), int64(3))
	f.Add([]byte(`{"status":"END","id":"1","ts_ms":1}`), int64(4))
	s := customers()
	rows := &Schema{Fields: []Field{s.Fields[0], s.Fields[1], s.Fields[3], s.Fields[4], s.Fields[7], s.Fields[10]}}
	opts := customerOptions()
	opts.Skip = []DebeziumEvent{DebeziumTruncate, DebeziumHeartbeat, DebeziumTransaction}
	m, err := WithRules(customerRules(f), NewDebezium(opts, NewJSON(JSONOptions{})))(s)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := WithRules(customerRules(f), NewJSON(JSONOptions{}))(rows)
	if err != nil {
		f.Fatal(err)
	}
	cs, want := mustColumns(f, s), mustColumns(f, rows)
	f.Fuzz(func(t *testing.T, b []byte, seed int64) {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		for range 1 + r.IntN(3) {
			if len(b) > 0 && seed%3 != 0 {
				b = mutate(r, bytes.Clone(b), []byte(`{}[]",:0123null\u"dcu`), []string{ann, `"op":"d"`, `"after":null`, "__debezium_unavailable_value"})
			}
		}
		cs.Reset()
		want.Reset()
		for range 2 {
			err := m.Map(&source.Record{Value: b}, cs)
			checkInvariants(t, cs)
			var bad *BadRecordError
			if err != nil && !errors.As(err, &bad) && !errors.Is(err, ErrFiltered) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
		}
		var e struct {
			Op            string
			Before, After json.RawMessage
		}
		keys, values := oracleObject(b)
		for i, k := range keys {
			switch k {
			case "op":
				_ = json.Unmarshal(values[i], &e.Op)
			case "before":
				e.Before = values[i]
			case "after":
				e.After = values[i]
			}
		}
		side := e.After
		if e.Op == "d" {
			side = e.Before
		}
		if err := plain.Map(&source.Record{Value: side}, want); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		got, exp := rowOf(cs, 1), rowOf(want, 0)
		if !sameValues([]any{got[0], got[1], got[3], got[4], got[7], got[10]}, exp) || got[2] != e.Op || strings.Contains(fmt.Sprint(got), "__debezium_unavailable_value") && got[6] == "customers" && got[1] == "__debezium_unavailable_value" {
			t.Errorf("%s: %v, want %v", b, got, exp)
		}
	})
}

// What the envelope has beside the row costs nothing once the row is there, and rows before it cost no time.
func TestDebeziumKeepsNothingOfTheEnvelope(t *testing.T) {
	s, opts := customers(), customerOptions()
	opts.Skip = []DebeziumEvent{DebeziumTransaction}
	f, err := WithRules(customerRules(t), NewDebezium(opts, NewJSON(JSONOptions{})))(s)
	if err != nil {
		t.Fatal(err)
	}
	m, cs := f.(*debezium), mustColumns(t, s)
	event := strings.Replace(pgEvent("c", "null", ann), `"transaction":`+tx, `"transaction":null,"id":"`+strings.Repeat("x", 1000)+`"`, 1)
	for n := range 2000 {
		if n == 700 {
			cs.Reset()
		}
		if n%100 == 0 {
			if err := m.Map(&source.Record{Value: []byte(pgEvent("d", ann, "null"))}, cs); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Map(&source.Record{Value: []byte(event)}, cs); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Map(&source.Record{Value: []byte(`{"ts_ms":1,"status":"END","id":"1"}`)}, cs); !errors.Is(err, ErrFiltered) || m.events.cols.Rows > 0 || len(m.events.members[2].Data) > 0 {
		t.Errorf("%v, and %d bytes of ids are kept", err, len(m.events.members[2].Data))
	}
	p := m.plans.sides[0]
	for _, c := range p.structs {
		nulls := 0
		for i := range c.Len {
			if c.IsNull(i) {
				nulls++
			}
		}
		if nulls != c.Nulls {
			t.Errorf("%s counts %d nulls, and has %d", c.Field.Name, c.Nulls, nulls)
		}
	}
}

func TestDebeziumAllocatesNothing(t *testing.T) {
	s := customers()
	m, err := WithRules(customerRules(t), NewDebezium(customerOptions(), NewJSON(JSONOptions{})))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	recs := []source.Record{{Value: []byte(pgEvent("c", "null", ann))}, {Value: []byte(pgEvent("d", ann, "null"))}, {Value: []byte(pgEvent("u", ann, ann))}}
	if n := testing.AllocsPerRun(100, func() {
		for i := range recs {
			if err := m.Map(&recs[i], cs); err != nil {
				t.Fatal(err)
			}
		}
		cs.Reset()
	}); n != 0 {
		t.Error(n)
	}
}

// Protobuf has the envelope too: what of it goes to no column is left out, and its times are in the units that their names say.
func TestDebeziumEventsInProtobuf(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "x", Type: of(Long)}, {Name: "_op", Type: of(String)}, {Name: "_lsn", Type: of(Long)}, {Name: "_at", Type: of(TimestampTz)}, {Name: "_was", Type: of(Timestamp)}}}
	m, err := NewDebezium(DebeziumOptions{Op: "_op", TSMs: "_at", Source: map[string]string{"lsn": "_lsn", "ts_us": "_was"}}, NewProto(ProtoOptions{
		Unknown: UnknownOptions{Policy: UnknownReject},
		Schema: &ProtoSchema{Message: "Envelope", Text: `syntax = "proto3"; import "google/protobuf/wrappers.proto"; message Value { int64 x = 1; int64 y = 2; }
			message Source { int64 lsn = 1; string db = 2; google.protobuf.Int64Value ts_us = 3; }
			message Envelope { Value before = 1; Value after = 2; Source source = 3; string op = 4; uint64 ts_ms = 5; Source other = 6; }`}}))(s)
	if err != nil {
		t.Fatal(err)
	}
	cs := mustColumns(t, s)
	src := raw(1, 9, 2, "db", 3, raw(1, 1723000000123456), 8, "new")
	for in, want := range map[string]string{
		string(raw(2, raw(1, 7), 3, src, 4, "c", 5, 1723000000456, 6, src)): "[7 c 9 1723000000456000 1723000000123456]",
		string(raw(1, raw(1, 7), 3, src, 4, "d", 5, 1)):                     "[7 d 9 1000 1723000000123456]",
		string(raw(2, raw(1, 7), 3, src, 4, "c", 5, -1)):                    "range _at",
		string(raw(2, raw(1, 7, 2, 1), 3, src, 4, "c")):                     "unknown_field Value.y",
	} {
		row, bad := mapAvro(t, m, cs, []byte(in))
		got := fmt.Sprint(row)
		if bad != nil {
			got = fmt.Sprint(bad.Code, " ", bad.Column)
		}
		if got != want {
			t.Errorf("%x: got %s, want %s", in, got, want)
		}
	}
}
