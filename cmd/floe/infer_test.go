package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/stormfloe/floe/internal/tableio"
)

// inferring is a configuration whose table has the columns of what create says.
func (w *world) inferring(create, record string) string {
	w.t.Helper()
	return w.config("create: {schema: [{name: id, type: long, required: true}, {name: note, type: string}]}", "create: {"+create+"}",
		"http: {listen: off}", "http: {listen: off}\nrecord: {"+record+"}")
}

// columns are those of the table, as they would be written down.
func (w *world) columns(cfg string) string {
	w.t.Helper()
	now, err := w.look(cfg)
	if err != nil {
		return "no table"
	}
	var out []string
	for _, f := range now.Schema().Fields() {
		out = append(out, f.Name+" "+tableio.FormatType(f.Type))
	}
	return strings.Join(out, ", ")
}

func TestATableIsMadeFromASample(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id": 1, "name": "a", "tags": [], "place": {"lat": 1, "zip": null}, "gone": null}`, `{"id": 2.5, "tags": ["x"], "empty": {"a": null}}`)
	w.produce(1, `{"id": 3, "place": {"lat": 2.5, "road": {"no": 7}}, "items": [{"n": 1}, {"ok": true}]}`, `{"id": `)
	cfg := w.inferring("from: sample, partition_by: [name], properties: {write.target-file-size-bytes: \"1048576\"}",
		"metadata: {topic: _topic, partition: _partition, offset: _offset, timestamp: _ts, key: _key, headers: _headers}")
	// One of four records is broken: it becomes a reject.
	got := w.want(exitDone, "validate", cfg)
	golden(t, "create-from-sample", got)
	if c := w.columns(cfg); c != "no table" {
		t.Fatalf("validate made %s", c)
	}
	w.want(exitDone, "run", "--until-caught-up", cfg)
	const want = "_topic string, _partition int, _offset long, _ts timestamptz, _key binary, _headers list<struct<key: string, value: binary>>, " +
		"id double, name string, place struct<lat: double, road: struct<no: long>>, tags list<string>, items list<struct<n: long, ok: boolean>>"
	if c := w.columns(cfg); c != want {
		t.Errorf("got  %s\nwant %s", c, want)
	}
	// The table is there: nothing is sampled any more, and what no longer fits is no matter.
	w.produce(0, `{"id": "text"}`)
	if out := w.want(exitDone, "run", "--until-caught-up", cfg); strings.Contains(out, "that is to be made") {
		t.Error(out)
	}
}

func TestASampleThatGivesNoTableMakesNone(t *testing.T) {
	for _, c := range []struct {
		name, record, create, want string
		a, b                       []string
	}{
		{"two types", "", "", `the field "place.zip" has two types that no column takes: string and long`, []string{`{"id": 1, "place": {"zip": "a"}}`}, []string{`{"place": {"zip": 1}}`}},
		{"two types in one partition", "", "", `orders/0, offset 1: the field "list.element" has two types that no column takes: struct and long`, []string{`{"list": [{"a": 1}]}`, `{"list": [1]}`}, nil},
		{"integers that no double holds", "", "", `the field "id" has numbers with a fraction or an exponent, which a long does not hold, and integers that a double may not hold exactly (from 2^53 on); write from: schema`,
			[]string{`{"id": 9007199254740993}`}, []string{`{"id": 2.5}`}},
		{"no record", "", "", "there is no field in 0 records that could become a column (none was there)", nil, nil},
		{"null alone", "", "", "no columns: a, b)", []string{`{"a": null, "b": []}`}, nil},
		{"broken records", "", "", "1 of 1 records can't become rows; the first: orders/0, offset 0", []string{`{`}, nil},
		{"no type", "", "", `column "big": a field that is no column, and an integer beyond 64 bits`, []string{`{"id": 1}`, `{"id": 1, "big": 123456789012345678901}`}, nil},
		{"case", "", "", `the field "ID" can't become a column: its name differs from that of the column "id"`, []string{`{"id": 1, "ID": 1}`}, nil},
		{"partition", "", ", partition_by: [region]", "table.create.partition_by: ", []string{`{"id": 1}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.produce(0, c.a...)
			w.produce(1, c.b...)
			cfg := w.inferring("from: sample"+c.create, c.record)
			if got := w.want(exitFailed, "validate", cfg); !strings.Contains(got, c.want) || !strings.Contains(got, "failed   table") {
				t.Errorf("validate says\n%s", got)
			}
			a := call(t, "run", "--until-caught-up", cfg)
			if a.code == exitDone || !strings.Contains(a.text(w.masks...), c.want) {
				t.Errorf("run says %d\n%s", a.code, a.text(w.masks...))
			}
			if got := w.columns(cfg); got != "no table" {
				t.Errorf("made %s", got)
			}
		})
	}
}

func TestASampleLeavesOutWhatIsFilteredOrDropped(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id": 1, "secret": "x"}`, `{"id": 2, "more": true}`)
	cfg := w.inferring("from: sample", "unknown: reject, drop: [secret], filter: [{name: small, column: {name: id, in: [1]}}, {name: none, topic: {equals: other}}]")
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if c := w.columns(cfg); c != "id long, more boolean" {
		t.Error(c)
	}
	w = newWorld(t)
	w.produce(0, `{"id": 1}`)
	if got := w.want(exitFailed, "validate", w.inferring("from: sample", "filter: [{name: all, topic: {equals: orders}}]")); !strings.Contains(got, "there is no field in 1 records") {
		t.Error(got)
	}
}

func TestATableIsMadeFromASampleOfAvro(t *testing.T) {
	w, reg := avroWorld(t)
	cfg := w.inferring("from: sample", fmt.Sprintf("format: avro, registry: {url: %q}", reg.URL()))
	w.produce(0, headed(1, order(t, orderV1, map[string]any{"id": int64(1)})))
	w.produce(1, headed(2, order(t, orderV2, map[string]any{"id": int32(2), "note": "NEW", "more": map[string]any{}})))
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if c := w.columns(cfg); c != "id long, note string, more map<string, double>" {
		t.Error(c)
	}
}

// A schema does not tell how large the integers are.
func TestLongAndDoubleOfAvroGiveNoTable(t *testing.T) {
	w, reg := avroWorld(t)
	for i, typ := range []string{"long", "double"} {
		reg.SeedSchema("number", i+1, 21+i, sr.Schema{Schema: `{"type":"record","name":"N","fields":[{"name":"n","type":"` + typ + `"}]}`})
	}
	w.produce(0, headed(21, "\x02"), headed(22, "\x00\x00\x00\x00\x00\x00\xf8\x3f"))
	cfg := w.inferring("from: sample", fmt.Sprintf("format: avro, registry: {url: %q}", reg.URL()))
	if got := w.want(exitFailed, "validate", cfg); !strings.Contains(got, `the field "n" has numbers with a fraction`) {
		t.Error(got)
	}
}

func TestATableIsMadeFromTheRegistrysNewestSchema(t *testing.T) {
	w, reg := avroWorld(t)
	cfg := w.inferring("from: registry, partition_by: [note]", fmt.Sprintf("format: avro, metadata: {offset: _offset}, registry: {url: %q}", reg.URL()))
	out := w.want(exitDone, "validate", "--samples", "0", cfg)
	golden(t, "create-from-registry", out)
	w.produce(0, headed(2, order(t, orderV2, map[string]any{"id": int32(2), "note": "NEW", "more": map[string]any{}})))
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if c := w.columns(cfg); c != "_offset long, note string, id int, more map<string, double>" {
		t.Error(c)
	}
}

// protoWorld has a registry with the order's schema of Protobuf, whose second message records are.
func protoWorld(t *testing.T) (*world, *srfake.Registry, func(text string) string) {
	t.Helper()
	w, reg := newWorld(t), srfake.New()
	t.Cleanup(reg.Close)
	reg.SeedSchema("notes", 1, 1, sr.Schema{Type: sr.TypeProtobuf, Schema: notesFile})
	reg.SeedSchema("orders-value", 1, 2, sr.Schema{Type: sr.TypeProtobuf, Schema: orderFile, References: []sr.SchemaReference{{Name: "notes.proto", Subject: "notes", Version: 1}}})
	file := orderFiles(t)
	return w, reg, func(text string) string { return headed(2, "\x02\x02"+protoOrder(t, file, text)) }
}

func TestATableIsMadeFromSchemasOfProtobuf(t *testing.T) {
	const want = "id long, note string, lines list<struct<n: long>>"
	for from, message := range map[string]string{"sample": "", "registry": ", protobuf: {message: shop.Order}"} {
		w, reg, order := protoWorld(t)
		cfg := w.inferring("from: "+from, fmt.Sprintf("format: protobuf, registry: {url: %q}%s", reg.URL(), message))
		w.produce(0, order("id: 1 note: PAID lines { n: 5 }"), order("id: 2"))
		if got := w.want(exitDone, "validate", cfg); !strings.Contains(got, "CREATE TABLE db.orders (\n  id long,\n  note string,\n  lines ") {
			t.Error(got)
		}
		w.want(exitDone, "run", "--until-caught-up", cfg)
		if c := w.columns(cfg); c != want {
			t.Errorf("%s: %s", from, c)
		}
	}
}

func TestAProtobufSchemaThatGivesNoTableMakesNone(t *testing.T) {
	w, reg, _ := protoWorld(t)
	reg.SeedSchema("one", 1, 7, sr.Schema{Type: sr.TypeProtobuf, Schema: `syntax = "proto3"; message One { int64 id = 1; }`})
	reg.SeedSchema("open", 1, 8, sr.Schema{Type: sr.TypeProtobuf, Schema: `syntax = "proto3"; import "google/protobuf/struct.proto"; message Open { google.protobuf.Value any = 1; }`})
	reg.SeedSchema("bare", 1, 9, sr.Schema{Type: sr.TypeProtobuf, Schema: `syntax = "proto3";`})
	reg.SeedSchema("avro", 1, 10, sr.Schema{Schema: `"long"`})
	cfg := func(subject, more string) string {
		return w.inferring("from: registry", fmt.Sprintf("format: protobuf, registry: {url: %q, subject: %s}%s", reg.URL(), subject, more))
	}
	for _, c := range [][3]string{
		{"orders-value", "", "it declares 2 messages, shop.Line the first of them, and none is named; the message that records are can be named as record.protobuf.message"},
		{"orders-value", ", protobuf: {message: shop.Nothing}", "it has no message shop.Nothing"},
		{"open", "", "google.protobuf.Value, which holds values of any type"},
		{"bare", "", "it declares no message"},
		{"avro", "", "the registry says that it is AVRO, and the records are PROTOBUF"},
	} {
		if got := w.want(exitFailed, "validate", cfg(c[0], c[1])); !strings.Contains(got, c[2]) {
			t.Errorf("%s: %s", c[0], got)
		}
		if a := call(t, "run", "--until-caught-up", cfg(c[0], c[1])); a.code == exitDone || !strings.Contains(a.err, c[2]) {
			t.Errorf("%s: %d %s", c[0], a.code, a.err)
		}
	}
	if c := w.columns(cfg("one", "")); c != "no table" {
		t.Errorf("made %s", c)
	}
	if got := w.want(exitDone, "validate", cfg("one", "")); !strings.Contains(got, "CREATE TABLE db.orders (\n  id long\n)") {
		t.Error(got)
	}
}

func TestARegistrysSchemaThatGivesNoTableMakesNone(t *testing.T) {
	w, reg := avroWorld(t)
	reg.SeedSchema("union", 1, 7, sr.Schema{Schema: `{"type":"record","name":"U","fields":[{"name":"u","type":["int","string"]}]}`})
	reg.SeedSchema("text", 1, 8, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
	for subject, want := range map[string]string{
		"none":  "the newest schema of the subject none: ",
		"union": `column "u": a field that is no column: a union of several types`,
		"text":  "the registry says that it is JSON, and the records are AVRO",
	} {
		cfg := w.inferring("from: registry", fmt.Sprintf("format: avro, registry: {url: %q, subject: %s}", reg.URL(), subject))
		if got := w.want(exitFailed, "validate", cfg); !strings.Contains(got, want) {
			t.Errorf("%s: %s", subject, got)
		}
		if a := call(t, "run", "--until-caught-up", cfg); a.code == exitDone || !strings.Contains(a.err, want) {
			t.Errorf("%s: %d %s", subject, a.code, a.err)
		}
		if c := w.columns(cfg); c != "no table" {
			t.Errorf("%s: made %s", subject, c)
		}
	}
}

func TestTopicsWhoseSchemasDifferNeedASubject(t *testing.T) {
	w := newWorld(t, kfake.SeedTopics(1, "returns"))
	_, reg := avroWorld(t)
	reg.SeedSchema("returns-value", 1, 3, sr.Schema{Schema: orderV1})
	topics := func(cfg string) string {
		return w.config("create: {schema: [{name: id, type: long, required: true}, {name: note, type: string}]}", "create: {from: registry}",
			"topics: [orders", "topics: [orders, returns", "http: {listen: off}", "http: {listen: off}\nrecord: {format: avro, registry: {url: \""+reg.URL()+"\""+cfg+"}}")
	}
	if got := w.want(exitFailed, "validate", topics("")); !strings.Contains(got, "the subjects orders-value and returns-value give different columns; name one as record.registry.subject") {
		t.Error(got)
	}
	if got := w.want(exitDone, "validate", topics(", subject: returns-value")); !strings.Contains(got, "CREATE TABLE db.orders (\n  id long\n)") {
		t.Error(got)
	}
}

func TestATableThatLacksAColumnOfMetadataIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id": 1}`)
	cfg := w.config("http: {listen: off}", "http: {listen: off}\nrecord: {metadata: {offset: _offset}}")
	const want = `the table has no column "_offset" for the offset`
	if got := w.want(exitFailed, "validate", cfg); !strings.Contains(got, want) {
		t.Error(got)
	}
	if a := call(t, "run", "--until-caught-up", cfg); a.code != exitUsage || !strings.Contains(a.err, want) {
		t.Errorf("%d %s", a.code, a.err)
	}
	if c := w.columns(cfg); c != "no table" {
		t.Errorf("made %s", c)
	}
}
