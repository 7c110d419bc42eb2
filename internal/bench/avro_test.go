package bench

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"

	client "github.com/stormfloe/floe/internal/registry"
	"github.com/stormfloe/floe/mapper"
)

// TestAvroRecordsSayWhatTheJSONOnesSay holds the records of avro-a, read by a library, against those of a.
func TestAvroRecordsSayWhatTheJSONOnesSay(t *testing.T) {
	a, err := WorkloadOf("a")
	if err != nil {
		t.Fatal(err)
	}
	w, err := WorkloadOf("avro-a")
	if err != nil || !reflect.DeepEqual(w.Columns, a.Columns) {
		t.Fatal(err, w.Columns)
	}
	schema := avro.MustParse(w.schema)
	plain, g := newGenerator(a, 9, 0), newGenerator(w, 9, 0)
	size, n := 0, 500
	for i := range int64(n) {
		rec := g.append(nil, i)
		size += len(rec)
		if string(rec[:5]) != "\x00\x00\x00\x00\x07" {
			t.Fatalf("header %x", rec[:5])
		}
		var got, want map[string]any
		if rest, err := schema.Decode(rec[5:], &got); err != nil || len(rest) > 0 {
			t.Fatalf("%x: %v, %d bytes behind it", rec, err, len(rest))
		}
		d := json.NewDecoder(strings.NewReader(string(plain.append(nil, i))))
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		got["ts"] = got["ts"].(time.Time).Format("2006-01-02T15:04:05.000Z")
		for _, name := range []string{"id", "user_id"} {
			got[name] = float64(got[name].(int64))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("record %d is %v, and %v as JSON", i, got, want)
		}
	}
	if mean := size / n; mean < 64 || mean > 70 {
		t.Errorf("%d bytes a record, want about 67", mean)
	}
}

func TestTheRegistrySpeaksTheProtocol(t *testing.T) {
	r, err := serveRegistry(schemaA)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	c, err := client.New(client.Config{URL: r.url})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.ResolveSchema(t.Context(), mapper.SchemaRef{ID: schemaID}); err != nil || got.Text != schemaA {
		t.Errorf("got %v %v", got, err)
	}
	if _, err := c.ResolveSchema(t.Context(), mapper.SchemaRef{ID: 1}); !errors.Is(err, mapper.ErrNoSchema) {
		t.Errorf("got %v", err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	resp, err := http.Get(r.url + "/schemas/ids/8")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "application/vnd.schemaregistry.v1+json" || !strings.Contains(string(body), `"error_code":40403`) {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
	}
}
