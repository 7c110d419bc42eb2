package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Two topologies in one process: one stops at a bad record, the other goes on until the end.
func TestSeveralTopologiesHaveFatesOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`, `{"id":2}`)
	good := w.config("level: warn", "level: info", "listen: off", "listen: 127.0.0.1:0")
	bad := w.config("name: orders", "name: other", "name: db.orders", "name: db.other", "{name: id, type: long, required: true}",
		"{name: id, type: long, required: true}, {name: more, type: long, required: true}", "http: {listen: off}", "record: {on_bad_record: stop, filter: [{name: tests, key: {equals: test}}]}",
		"log: {level: warn}\n", "")
	s := start(t, "run", good, bad)
	addr := s.log.find(t, "address=")
	w.eventually(func() error {
		_, body := get(t, addr, "/status")
		code, ready := get(t, addr, "/readyz")
		if !strings.Contains(body, `"committed": 2`) || !strings.Contains(body, `"phase": "ended"`) || code != 503 || !strings.Contains(ready, "\nother: the topology is ended") {
			return errors.New(body + ready)
		}
		return nil
	})
	// Of the one that has ended no metric is left, and its status still has the reason.
	w.eventually(func() error {
		if _, body := get(t, addr, "/metrics"); strings.Contains(body, `"db.other"`) || !strings.Contains(body, `"db.orders"`) ||
			!strings.Contains(body, `floe_topologies{state="failed"} 1`) || !strings.Contains(body, `floe_topologies{state="running"} 1`) {
			return errors.New(body)
		}
		return nil
	})
	if _, body := get(t, addr, "/status"); !strings.Contains(body, `"last_error": "`) || !strings.Contains(body, `"tests": 0`) {
		t.Errorf("the reason, or the rules of a filter, are missing in %s", body)
	}
	// What comes after is still written.
	w.produce(1, `{"id":3}`)
	w.eventually(func() error {
		if _, body := get(t, addr, "/metrics"); !strings.Contains(body, `floe_rows_committed_total{table="db.orders",task="committer/0",topology="orders"} 3`) {
			return errors.New(body)
		}
		return nil
	})
	s.signals <- os.Interrupt
	if code := s.wait(t); code != exitFailed {
		t.Fatalf("exit code %d\n%s", code, s.log)
	}
	text := s.log.String()
	for _, want := range []string{"config=" + good, "config=" + bad, `msg="the topology has failed"`, "\n" + bad + ": "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\n"+good+": ") {
		t.Errorf("the one that went on is said to have failed:\n%s", text)
	}
}

func TestSeveralTopologiesCatchUp(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`, `{"id":2}`)
	one, two := w.config(), w.config("name: orders", "name: other", "name: db.orders", "name: db.other", "note, type: string", "remark, type: string")
	a := call(t, "run", "--until-caught-up", "--json", one, two)
	if a.code != exitDone || strings.Count(a.out, `"rows": 2`) < 2 || !strings.Contains(a.out, fmt.Sprintf(`"config": %q`, two)) {
		t.Errorf("%+v", a)
	}
	a = call(t, "run", one, one)
	if a.code != exitUsage || !strings.Contains(a.err, `"orders" writes to table db.orders in`) {
		t.Errorf("%+v", a)
	}
	nope := w.config("topics:", "topcis:")
	if a = call(t, "run", nope, one, "nope.yaml"); a.code != exitUsage || !strings.Contains(a.err, "topcis") || !strings.Contains(a.err, "nope.yaml") {
		t.Errorf("%+v", a)
	}
}
