package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

// columnsConfig is a configuration with these columns, as schema entries, and this record.
func (w *world) columnsConfig(columns, record string) string {
	return w.config("{schema: [{name: id, type: long, required: true}, {name: note, type: string}]}", "{schema: ["+columns+"]}",
		"http: {listen: off}", "http: {listen: off}\nrecord: "+record)
}

// rows are the table's, as JSON, sorted.
func (w *world) rows(cfg string) (out []string) {
	w.t.Helper()
	all, err := w.table(cfg).Scan().ToArrowTable(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer all.Release()
	r := array.NewTableReader(all, 1024)
	defer r.Release()
	for r.Next() {
		data, err := r.RecordBatch().MarshalJSON()
		if err != nil {
			w.t.Fatal(err)
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(data, &rows); err != nil {
			w.t.Fatal(err)
		}
		for _, row := range rows {
			out = append(out, string(row))
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) wantRows(cfg string, want ...string) {
	w.t.Helper()
	w.want(exitDone, "validate", cfg)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if got := w.rows(cfg); !slices.Equal(got, want) {
		w.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestColumnsAreFilledFromEveryPartOfARecord(t *testing.T) {
	w := newWorld(t)
	cfg := w.columnsConfig(`{name: id, type: long}, {name: order_id, type: long}, {name: _t, type: string, required: true}, {name: _p, type: int}, {name: _o, type: long}, {name: _ts, type: timestamptz},
    {name: _k, type: string}, {name: _h, type: "list<struct<key: string, value: string>>"}, {name: trace, type: string}, {name: attempt, type: int}, {name: region, type: string}, {name: gone, type: boolean}`,
		`{key: {format: json, columns: {id: order_id}}, metadata: {topic: _t, partition: _p, offset: _o, timestamp: _ts, key: _k, headers: _h, tombstone: gone},
    headers: {trace-id: trace, n: attempt}, constants: {region: eu}, tombstones: row, filter: [{name: others, column: {name: _p, equals: 0}}]}`)
	at := time.UnixMilli(1700000000123)
	w.send(
		&kgo.Record{Partition: 1, Timestamp: at, Key: []byte(`{"id":7}`), Value: []byte(`{"id":1,"region":"us"}`),
			Headers: []kgo.RecordHeader{{Key: "trace-id", Value: []byte("t1")}, {Key: "n", Value: []byte("2")}, {Key: "x"}}},
		&kgo.Record{Partition: 1, Timestamp: at, Key: []byte(`{"id":7}`)},
		&kgo.Record{Partition: 0, Timestamp: at, Key: []byte(`{"id":8}`), Value: []byte(`{"id":2}`)},
	)
	w.wantRows(cfg,
		`{"_h":[],"_k":"{\"id\":7}","_o":1,"_p":1,"_t":"orders","_ts":"2023-11-14T22:13:20.123Z","attempt":null,"gone":true,"id":null,"order_id":7,"region":"eu","trace":null}`,
		`{"_h":[{"key":"trace-id","value":"t1"},{"key":"n","value":"2"},{"key":"x","value":null}],"_k":"{\"id\":7}","_o":0,"_p":1,"_t":"orders","_ts":"2023-11-14T22:13:20.123Z","attempt":2,"gone":false,"id":1,"order_id":7,"region":"eu","trace":"t1"}`)
}

func TestCSVRecordsWithAKey(t *testing.T) {
	w := newWorld(t)
	cfg := w.columnsConfig(`{name: id, type: long}, {name: note, type: string}, {name: day, type: date}, {name: tenant, type: string}`,
		`{on_bad_record: stop, format: csv, csv: {columns: [id, "", note, day], delimiter: ";", quote: "'", null_text: "-"}, key: {format: csv, columns: ["", tenant], csv: {delimiter: "/"}}}`)
	w.send(
		&kgo.Record{Key: []byte("x/acme"), Value: []byte("1;left out;'it''s; fine';2024-02-29\n")},
		&kgo.Record{Value: []byte("2;;;-")},
	)
	w.wantRows(cfg, `{"day":"2024-02-29","id":1,"note":"it's; fine","tenant":"acme"}`, `{"day":null,"id":2,"note":"","tenant":null}`)
	w.send(&kgo.Record{Value: []byte("3;;a")})
	if out := w.want(exitFailed, "run", "--until-caught-up", cfg); !strings.Contains(out, "bad record (width): fewer than 4 fields: 3") {
		t.Error(out)
	}
}

func TestCSVRecordsWithAHeaderLine(t *testing.T) {
	w := newWorld(t)
	cfg := w.columnsConfig(`{name: id, type: long}, {name: note, type: string}`, `{format: csv, csv: {header: true}}`)
	w.produce(0, "note,id,more\nx,1,y\n", "id\n2")
	w.wantRows(cfg, `{"id":1,"note":"x"}`, `{"id":2,"note":null}`)
}

func TestRawRecordsWithAnAvroKey(t *testing.T) {
	w, reg := avroWorld(t)
	reg.SeedSchema("orders-key", 1, 3, sr.Schema{Schema: `{"type":"record","name":"K","fields":[{"name":"id","type":"long"},{"name":"more","type":"string"}]}`})
	cfg := w.columnsConfig(`{name: body, type: binary}, {name: id, type: long, required: true}`,
		fmt.Sprintf(`{on_bad_record: stop, format: raw, registry: {url: %q}, key: {format: avro, columns: [id]}}`, reg.URL()))
	w.send(&kgo.Record{Key: []byte(headed(3, "\x0e\x02x")), Value: []byte("\x00\xff")}, &kgo.Record{Key: []byte(headed(3, "\x10\x02x")), Value: []byte{}})
	w.wantRows(cfg, `{"body":"","id":8}`, `{"body":"AP8=","id":7}`)
	w.send(&kgo.Record{Key: []byte(headed(9, "\x0e\x02x")), Value: []byte("v")})
	if out := w.want(exitFailed, "run", "--until-caught-up", cfg); !strings.Contains(out, "bad record (schema): in the record's key: the schema registry has no schema 9") {
		t.Error(out)
	}
}

// The key's schema and the value's are both fetched, one after the other, also for a sample.
func TestAvroRecordsWithAnAvroKey(t *testing.T) {
	w, reg := avroWorld(t)
	reg.SeedSchema("orders-key", 1, 3, sr.Schema{Schema: `{"type":"record","name":"K","fields":[{"name":"k","type":"long"}]}`})
	cfg := w.columnsConfig(`{name: id, type: long}, {name: k, type: long}`,
		fmt.Sprintf(`{on_bad_record: stop, format: avro, registry: {url: %q}, key: {format: avro, columns: [k]}}`, reg.URL()))
	w.send(&kgo.Record{Key: []byte(headed(3, "\x0e")), Value: []byte(headed(1, "\x10"))})
	w.wantRows(cfg, `{"id":8,"k":7}`)
}

// What the table can't take is said before a record is read.
func TestPartsThatTheTableCanNotTake(t *testing.T) {
	for want, record := range map[string]string{
		`the table has no column "_o" for the offset: add it to the table, or name another`:                    `{metadata: {offset: _o}}`,
		`column "note" is of type string, which the offset does not go to: make it long`:                       `{metadata: {offset: note}}`,
		`the constant for column "id" of type long does not fit: not a number`:                                 `{constants: {id: x}}`,
		`column "id" is required, but a record without a value has none for it`:                                `{metadata: {key: note}, tombstones: row}`,
		`the record's key: mapper: raw: column "note2" is of type list<long>: bytes go to`:                     `{key: {format: raw, columns: [note2]}}`,
		`there are 3 columns for the value: name the one that takes it`:                                        `{format: raw}`,
		`mapper: csv: column "id": the column is required, and no field has its name`:                          `{format: csv, csv: {columns: [note]}}`,
		`column "nope": the table has no such column`:                                                          `{format: csv, csv: {columns: [id, nope]}}`,
		`record.key.avro.schema_file: `:                                                                        `{key: {format: avro, columns: [note], avro: {schema_file: floe.yaml}}}`,
		`record.metadata.tombstone: belongs to tombstones: row`:                                                `{metadata: {tombstone: gone}}`,
		`record.constants.note: the column "note" is filled by record.metadata.topic too; name another column`: `{metadata: {topic: note}, constants: {note: x}}`,
	} {
		w := newWorld(t)
		w.produce(0, `{"id":1}`)
		cfg := w.columnsConfig(`{name: id, type: long, required: true}, {name: note, type: string}, {name: note2, type: list<long>}`, record)
		for _, args := range [][]string{{"validate"}, {"run", "--until-caught-up"}} {
			if a := call(t, append(args, cfg)...); a.code == exitDone || !strings.Contains(a.out+a.err, want) {
				t.Errorf("floe %s with %s: exit code %d\n%s%s", args[0], record, a.code, a.out, a.err)
			}
		}
	}
}
