package main

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// evolvingConfig is columnsConfig for a table that records may change in every way, with two writers.
func (w *world) evolvingConfig(columns, record string) string {
	return w.config("  create: {schema: [{name: id, type: long, required: true}, {name: note, type: string}]}",
		"  evolve: [add, widen, optional]\n  create: {schema: ["+columns+"]}",
		"http: {listen: off}", "http: {listen: off}\nrecord: "+record, "writer: {", "writer: {tasks: 2, ")
}

// schemas is how many schemas the table has had.
func (w *world) schemas(cfg string) int { return len(w.table(cfg).Metadata().Schemas()) }

func TestProtobufRecordsChangeTheSchema(t *testing.T) {
	w, reg, file := newWorld(t), srfake.New(), orderFiles(t)
	t.Cleanup(reg.Close)
	reg.SeedSchema("notes", 1, 1, sr.Schema{Type: sr.TypeProtobuf, Schema: notesFile})
	reg.SeedSchema("orders-value", 1, 2, sr.Schema{Type: sr.TypeProtobuf, Schema: orderFile, References: []sr.SchemaReference{{Name: "notes.proto", Subject: "notes", Version: 1}}})
	cfg := w.evolvingConfig("{name: id, type: int}", fmt.Sprintf("{format: protobuf, on_bad_record: stop, registry: {url: %q}}", reg.URL()))
	order := func(text string) string { return headed(2, "\x02\x02"+protoOrder(t, file, text)) }
	w.produce(0, order("id: 1 note: PAID lines { n: 5 }"), order("id: 3000000000"))
	w.produce(1, order("id: 2 lines { n: 7 } lines { }"))
	w.wantRows(cfg, `{"id":1,"lines":[{"n":5}],"note":"PAID"}`, `{"id":2,"lines":[{"n":7},{"n":0}],"note":null}`, `{"id":3000000000,"lines":[],"note":null}`)
	if n := w.schemas(cfg); n > 3 {
		t.Errorf("%d schemas", n)
	}
}

// Two writers see one new field in two cases: it is one column.
func TestNewFieldsInAnyCaseAreOneColumn(t *testing.T) {
	w := newWorld(t)
	cfg := w.evolvingConfig("{name: id, type: long}", "{case: insensitive, on_bad_record: stop}")
	w.produce(0, `{"ID":1,"Note":"a"}`, `{"id":2,"NOTE":"b"}`)
	w.produce(1, `{"Id":3,"note":"c"}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: "a", 2: "b", 3: "c"})
	if n := len(w.table(cfg).Schema().Fields()); n != 2 || w.schemas(cfg) != 2 {
		t.Errorf("%d columns, %d schemas", n, w.schemas(cfg))
	}
}
