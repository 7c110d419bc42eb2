package main

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// send appends records to orders.
func (w *world) send(records ...*kgo.Record) {
	w.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	for _, r := range records {
		r.Topic = "orders"
	}
	if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

func TestFilterRulesLeaveOutAndCount(t *testing.T) {
	w := newWorld(t)
	filter := func(rules string) string {
		return w.config("http: {listen: off}", "http: {listen: 127.0.0.1:0}\nrecord: {filter: ["+rules+"]}", "level: warn", "level: info")
	}
	cfg := filter(`{name: never, topic: {equals: other}}, {name: gone, topic: {in: [orders]}, tombstones: true}, {name: heartbeats, key: {equals: hb}}, {name: tests, header: {name: env, in: [test]}}, {name: closed, column: {name: note, in: [closed, gone]}}`)
	w.send(
		&kgo.Record{Value: []byte(`{"id":1}`)},
		&kgo.Record{Key: []byte("hb"), Value: []byte("no JSON at all")},
		&kgo.Record{Value: []byte(`{"id":2,"note":"closed"}`)},
		&kgo.Record{Value: []byte(`{"id":3}`), Headers: []kgo.RecordHeader{{Key: "env", Value: []byte("test")}}},
		&kgo.Record{},
		&kgo.Record{Value: []byte(`{"id":4,"note":"open"}`), Headers: []kgo.RecordHeader{{Key: "env", Value: []byte("prod")}}},
	)
	if out := w.want(exitDone, "validate", cfg); !strings.Contains(out, "2 records become rows, 4 yield none (rule gone: 1, rule heartbeats: 1, rule tests: 1, rule closed: 1)") {
		t.Error(out)
	}
	s := start(t, "run", cfg)
	addr := s.log.find(t, "address=")
	want := `floe_records_filtered_by_rule_total{rule="closed",table="db.orders",topology="orders"} 1`
	w.eventually(func() error {
		_, body := get(t, addr, "/metrics")
		if !strings.Contains(body, want) {
			return errors.New(body)
		}
		return nil
	})
	s.signals <- syscall.SIGTERM
	if code := s.wait(t); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, s.log)
	}
	w.wantOrders(cfg, map[int64]string{1: "", 4: "open"})
	if out := w.want(exitDone, "positions", "show", cfg); !strings.Contains(out, "orders/0     6      0     6       0     2        0         4        0") {
		t.Error(out)
	}
	// What can't be meant is said before anything is read.
	for rule, want := range map[string]string{
		`{name: a, column: {name: nope, equals: x}}`: `rule "a": column "nope": the table has no such column`,
		`{name: a, column: {name: id, equals: x}}`:   `rule "a": column "id" of type long: the value "x": not an integer`,
	} {
		for _, args := range [][]string{{"validate"}, {"run", "--until-caught-up"}} {
			a := call(t, append(args, filter(rule))...)
			if a.code == exitDone || !strings.Contains(a.out+a.err, want) {
				t.Errorf("%s: exit code %d\n%s%s", rule, a.code, a.out, a.err)
			}
		}
	}
}
