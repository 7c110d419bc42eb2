package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// ProduceWith adds a record that Check expects as it does Produce's, with more members: text such as `,"extra":1`.
func (w *World) ProduceWith(id int32, more string) source.Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	off := w.end(id)
	payload := fmt.Sprintf("payload-%d-%d", id, off)
	value := fmt.Sprintf(`{"part":%d,"off":%d,"region":"r%d","payload":%q%s}`, id, off, off%3, payload, more)
	w.Log.Append(Topic, id, source.Record{TimestampMs: int64(off), Value: []byte(value)})
	w.mu.want[key{id, off}] = payload
	return off
}

// ProduceRejectWith adds a record as ProduceWith does, which Check expects in the rejects table.
func (w *World) ProduceRejectWith(id int32, more string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value := fmt.Sprintf(`{"part":%d,"off":%d,"region":"r","payload":"p"%s}`, id, w.end(id), more)
	off := w.Log.Append(Topic, id, source.Record{TimestampMs: 1, Value: []byte(value)})
	w.mu.bad[key{id, off}] = value
}

// Values gives a column of the head's rows as JSON, by the record's partition and position; rows with null are left out.
func (w *World) Values(t testing.TB, column string) map[string]string {
	t.Helper()
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	if _, there := tbl.Schema().FindFieldByName(column); !there {
		return out
	}
	_, batches, err := tbl.Scan(table.WithSelectedFields("part", "off", column)).ToArrowRecords(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		text, err := b.MarshalJSON()
		b.Release()
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if v := string(r[column]); v != "null" && v != "" {
				out[string(r["part"])+"/"+string(r["off"])] = v
			}
		}
	}
	return out
}
