package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/stormfloe/floe/internal/registry"
	"github.com/stormfloe/floe/internal/services"
	"github.com/stormfloe/floe/mapper"
)

// TestRecordsOfARealRegistry runs where FLOE_TEST_REGISTRY names a schema registry (.ci/services starts one): records of each format
// that has schemas there, from the broker to the table.
func TestRecordsOfARealRegistry(t *testing.T) {
	url := services.Address(t, "FLOE_TEST_REGISTRY")
	// Its first answers may take their time.
	reg, err := sr.NewClient(sr.URLs(url), sr.HTTPClient(&http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	register := func(subject string, s sr.Schema) sr.SubjectSchema {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := reg.CreateSchema(ctx, run+"-"+subject, s)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	id := func(s sr.SubjectSchema) uint32 { return uint32(s.ID) }

	note := register("note", sr.Schema{Schema: `{"type":"enum","name":"Note","namespace":"shop","symbols":["NEW","PAID"]}`})
	avroOrder := `{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},{"name":"note","type":["null","shop.Note"]}]}`
	inAvro := register("avro", sr.Schema{Schema: avroOrder, References: []sr.SchemaReference{{Name: "shop.Note", Subject: note.Subject, Version: note.Version}}})
	notes := register("notes.proto", sr.Schema{Type: sr.TypeProtobuf, Schema: notesFile})
	inProto := register("proto", sr.Schema{Type: sr.TypeProtobuf, Schema: orderFile, References: []sr.SchemaReference{{Name: "notes.proto", Subject: notes.Subject, Version: notes.Version}}})
	inJSON := register("json", sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"}}}`})

	if c, err := registry.New(registry.Config{URL: url}); err != nil {
		t.Error(err)
	} else if err = c.ResolveJSONSchema(t.Context(), mapper.SchemaRef{ID: 1 << 30}); !errors.Is(err, mapper.ErrNoSchema) {
		t.Errorf("an id that nobody gave is %v", err)
	}

	whole := `{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},{"name":"note","type":["null",{"type":"enum","name":"Note","symbols":["NEW","PAID"]}]}]}`
	file := orderFiles(t)
	for format, c := range map[string]struct {
		right, other uint32
		records      [2]string
	}{
		"avro":     {id(inAvro), id(inJSON), [2]string{order(t, whole, map[string]any{"id": int64(1), "note": "PAID"}), order(t, whole, map[string]any{"id": int64(2), "note": nil})}},
		"protobuf": {id(inProto), id(inAvro), [2]string{"\x02\x02" + protoOrder(t, file, "id: 1 note: PAID lines { n: 5 }"), "\x02\x02" + protoOrder(t, file, "id: 2")}},
		"json":     {id(inJSON), id(inProto), [2]string{`{"id":1,"note":"PAID"}`, `{"id":2}`}},
	} {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t)
			cfg := w.config("http: {listen: off}", fmt.Sprintf("http: {listen: off}\nrecord: {format: %s, registry: {url: %q, timeout: 60s}}", format, url))
			w.produce(0, headed(c.right, c.records[0]), headed(c.right, c.records[1]))
			w.want(exitDone, "validate", cfg)
			w.want(exitDone, "run", "--until-caught-up", cfg)
			w.wantOrders(cfg, map[int64]string{1: "PAID", 2: ""})
			w.produce(1, headed(c.other, c.records[0]))
			if out := w.want(exitDone, "validate", cfg); !strings.Contains(out, "1 of 3 records") || !strings.Contains(out, "a schema of another type") {
				t.Error(out)
			}
			w.want(exitDone, "run", "--until-caught-up", cfg)
			w.wantOrders(cfg, map[int64]string{1: "PAID", 2: ""})
			if list := w.list(cfg); len(list.Rejects) != 1 || list.Rejects[0].Code != string(mapper.CodeSchema) {
				t.Errorf("got %+v", list.Rejects)
			}
		})
	}
}
