package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

// leave writes an entry as a process that died would have left it: one batch of records that are no rows, from a position to another.
func (w *world) leave(cfg string, id uuid.UUID, age time.Duration, from, to source.Position) {
	w.t.Helper()
	c, err := config.Load(cfg, noEnv)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := build(c, quietLogger(c, os.Stderr))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = p.close() }()
	tbl, err := p.table.Look(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	com, err := p.committer(p.table)
	if err != nil {
		w.t.Fatal(err)
	}
	now, err := com.Load(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	var part source.Partition
	for q := range now.At {
		if q.ID == 0 {
			part = q
		}
	}
	m := tbl.Metadata()
	d := &descriptor.Descriptor{ID: uuid.MustParse("11111111-2222-4333-8444-555555555555"), Topology: c.Name, Task: "writer/0", TableUUID: m.TableUUID(),
		SchemaID: tbl.Schema().ID, FormatVersion: m.Version(), SealedAt: time.Now(),
		Inputs: []descriptor.Input{{Range: source.Range{Partition: part, From: from, To: to}, Filtered: int64(to - from), MaxTimestampMs: -1}}}
	g := &descriptor.Group{CommitID: id, Topology: c.Name, Instance: "dead\x1b[31m", Component: "committer", TableUUID: m.TableUUID(), Branch: "main",
		CreatedAt: time.Now().Add(-age), Descriptors: []*descriptor.Descriptor{d}}
	if _, err := wal.New("", c.Name).Put(context.Background(), tbl, g); err != nil {
		w.t.Fatal(err)
	}
}

func TestWAL(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	w.produce(0, `{"id":1}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if out := w.want(exitDone, "wal", "list", cfg); !strings.Contains(out, "has no entries") {
		t.Error(out)
	}
	first, second := uuid.MustParse("0b6c4f0e-6a3f-4c0e-8a6c-2f4f6a0c9b11"), uuid.MustParse("1c6c4f0e-6a3f-4c0e-8a6c-2f4f6a0c9b11")
	w.leave(cfg, second, time.Minute, 3, 4) // joins up behind first
	w.leave(cfg, first, time.Second, 1, 3)
	w.leave(cfg, uuid.New(), time.Minute, 7, 9) // joins up with nothing
	found, err := filepath.Glob(filepath.Join(w.dir, "warehouse", "*", "*", "metadata", "_storm_wal", "orders", "committer", "0"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], uuid.NewString()+".json"), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := w.want(exitDone, "wal", "list", cfg)
	for _, want := range []string{"\nUUID orders AGE 1 0 0 adopt\n", "\nUUID orders AGE 1 0 0 leave\n", "\n- - AGE 0 0 0 set aside\n", "not readable"} {
		if !strings.Contains(aged.ReplaceAllString(squeeze(out), " AGE "), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	out = w.want(exitDone, "wal", "show", cfg, "0B6C")
	for _, want := range []string{`instance       dead\x1b[31m`, "a start would  adopt", "orders/0 from 1 to 3", "first made on  snapshot none"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if out := w.want(exitDone, "wal", "show", "--json", cfg, second.String()); !strings.Contains(out, `"start_would": "adopt"`) || !strings.Contains(out, `"from": 3`) {
		t.Error(out)
	}
	if out := w.want(exitFailed, "wal", "show", cfg, "ffff"); !strings.Contains(out, "has no entry of a commit") {
		t.Error(out)
	}
	if out := w.want(exitDone, "wal", "list", "--json", cfg); strings.Count(out, `"start_would": "adopt"`) != 4 {
		t.Error(out)
	}
	// What was said is what a start does.
	w.produce(0, `{"id":2}`, `{"id":3}`, `{"id":4}`, `{"id":5}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if out := w.want(exitDone, "positions", "show", "--json", cfg); !strings.Contains(out, `"filtered": 3`) || !strings.Contains(out, `"next": 5`) {
		t.Error(out)
	}
	if out := w.want(exitDone, "wal", "list", "--json", cfg); strings.Count(out, `"path"`) != 1 || !strings.Contains(out, `"start_would": "leave"`) {
		t.Error(out)
	}
}

var aged = regexp.MustCompile(` (\d+m)?\d+s `)

// squeeze leaves one space of several.
func squeeze(s string) string {
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

func TestPositionsForget(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	w.produce(0, `{"id":1}`, `{"id":2}`)
	w.produce(1, `{"id":3}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	var all strings.Builder
	all.WriteString(w.want(exitFailed, "positions", "forget", cfg, "orders/0"))
	all.WriteString(w.want(exitFailed, "positions", "forget", "--yes", cfg, "orders/7"))
	a := callWith(t, "yes\n", noEnv, "positions", "forget", cfg, "orders/0")
	all.WriteString(a.text(w.masks...))
	all.WriteString(w.want(exitDone, "positions", "forget", "--yes", cfg, "orders"))
	golden(t, "positions-forget", all.String())
	// All of it is read again: that is what was asked for.
	w.want(exitDone, "run", "--until-caught-up", cfg)
	if out := w.want(exitDone, "positions", "show", "--json", cfg); !strings.Contains(out, `"next": 2`) || !strings.Contains(out, `"rows": 2`) {
		t.Error(out)
	}
}

func TestPositionsOfATopologyThatRunsAreNotForgotten(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`)
	cfg := w.config("level: warn", "level: info", "listen: off", "listen: 127.0.0.1:0")
	s := start(t, "run", cfg)
	addr := s.log.find(t, "address=")
	w.eventually(func() error {
		if _, body := get(t, addr, "/status"); !strings.Contains(body, `"committed": 1`) {
			return errors.New(body)
		}
		return nil
	})
	if out := w.want(exitFailed, "positions", "forget", "--yes", cfg, "orders"); !strings.Contains(out, "its consumer group floe-orders has 1 members") {
		t.Error(out)
	}
	s.signals <- os.Interrupt
	if code := s.wait(t); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, s.log)
	}
	w.want(exitDone, "positions", "forget", "--yes", cfg, "orders")
}
