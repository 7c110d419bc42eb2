package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// In the wire format of JSON Schema a record is a row where the registry knows its schema as one, and only there.
func TestJSONSchemaRecords(t *testing.T) {
	w, reg := newWorld(t), srfake.New()
	t.Cleanup(reg.Close)
	reg.SeedSchema("orders-value", 1, 1, sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object"}`})
	reg.SeedSchema("other-value", 1, 2, sr.Schema{Schema: `"long"`})
	cfg := w.config("http: {listen: off}", fmt.Sprintf("http: {listen: off}\nrecord: {format: json, registry: {url: %q}}", reg.URL()))
	w.produce(0, headed(1, `{"id":1,"note":"NEW"}`), headed(1, `{"id":2}`))
	w.want(exitDone, "validate", cfg)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: "NEW", 2: ""})
	w.produce(1, headed(2, `{"id":3}`))
	if out := w.want(exitDone, "validate", cfg); !strings.Contains(out, "schema 2: mapper: a schema of another type: the registry says that it is AVRO") {
		t.Error(out)
	}
}
