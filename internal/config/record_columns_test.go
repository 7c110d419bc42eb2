package config

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestEveryKeyOfOtherPartsIsRead(t *testing.T) {
	parse := func(record string) Record {
		t.Helper()
		cfg, err := Parse("floe.yaml", []byte(smallest+"record: "+record+"\n"), env("REGION", "eu"))
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Record
	}
	r := parse(`{metadata: {topic: _t, partition: _p, offset: _o, timestamp: _ts, key: _k, headers: _h, tombstone: gone}, tombstones: row,
  headers: {trace-id: trace}, constants: {region: "${REGION}", version: 3}, key: {format: json, columns: {id: order_id, "a.b": c}}}`)
	if got, want := r.Metadata, (Metadata{"_t", "_p", "_o", "_ts", "_k", "_h", "gone"}); got != want {
		t.Errorf("got %+v", got)
	}
	if got, want := fmt.Sprint(r.Tombstones, r.Headers, r.Constants, *r.Key), "rowmap[trace-id:trace] map[region:eu version:3] {json [{id order_id} {a.b c}] { } { } {  }}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r = parse(`{format: csv, csv: {columns: [id, "", region], delimiter: "\t", quote: none, null_text: "\\N"},
  key: {format: csv, columns: [tenant, ""], csv: {delimiter: ";", quote: "'", null_text: "-"}}}`)
	if got, want := fmt.Sprintf("%+v %+v", r.CSV, *r.Key), `{Columns:[id  region] Header:false Delimiter:	 Quote:none NullText:\N} `+
		`{Format:csv Columns:[{Field:tenant Column:tenant} {Field: Column:}] Avro:{SchemaFile: ReaderSchemaFile:} Protobuf:{DescriptorFile: Message:} CSV:{Delimiter:; Quote:' NullText:-}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r = parse(`{format: csv, csv: {header: true}}`); !r.CSV.Header {
		t.Error("header is not read")
	}
	if r = parse(`{format: raw, raw: {column: body}, key: {format: raw, columns: [k]}}`); r.Raw.Column != "body" || r.Key.Columns[0] != (KeyColumn{"k", "k"}) {
		t.Errorf("got %+v", r)
	}
	if r = parse(`{format: raw, registry: {url: "http://r"}, key: {format: avro, columns: [id]}}`); r.Registry == nil {
		t.Error("the registry of an Avro key is not read")
	}
	data := smallest + "record: {key: {format: avro, columns: [id], avro: {schema_file: record_test.go, reader_schema_file: config.go}}}\n"
	cfg, err := Parse("./floe.yaml", []byte(data), env())
	if err != nil || cfg.Record.Key.Avro.SchemaFile != filepath.Clean("record_test.go") || cfg.Record.Key.Avro.ReaderSchemaFile != "config.go" {
		t.Error(err)
	}
}
