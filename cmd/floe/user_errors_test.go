package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/config"
)

// TestEachMistakeIsOneSentence holds that what a user can do wrong is answered on the last line of stderr: what, where
// and what to do, with its exit code, and in the time that startup_timeout gives it.
func TestEachMistakeIsOneSentence(t *testing.T) {
	t.Parallel()
	const closed = "127.0.0.1:1" // nobody listens there
	cases := []struct {
		name string
		code int
		// replace pairs change the configuration; before changes the world, after it has a table where made is set.
		replace []string
		made    bool
		before  func(t *testing.T, w *world)
		args    []string
	}{
		{name: "wrong port", code: exitFailed, replace: []string{"BROKER", closed}},
		{name: "no such host", code: exitFailed, replace: []string{"BROKER", "nowhere.invalid:9092"}},
		{name: "port missing", code: exitUsage, replace: []string{"BROKER", "localhost"}},
		{name: "no such topic", code: exitFailed, replace: []string{"topics: [orders]", "topics: [order]"}},
		{name: "no such topic, run for good", code: exitFailed, replace: []string{"topics: [orders]", "topics: [order]"}, args: []string{"run", "CONFIG"}},
		{name: "topic pattern", code: exitUsage, replace: []string{"topics: [orders]", `topic_pattern: "orders-("`}},
		{name: "table name without a namespace", code: exitUsage, replace: []string{"name: db.orders", "name: orders"}},
		{name: "no such namespace", code: exitFailed, made: true, replace: []string{"name: db.orders", "name: other.orders", "  create:", "  #create:"}},
		{name: "no such table", code: exitFailed, made: true, replace: []string{"name: db.orders", "name: db.order", "  create:", "  #create:"}},
		{name: "unknown key", code: exitUsage, replace: []string{"committer:", "commiter:"}},
		{name: "wrong type", code: exitUsage, replace: []string{"interval: 200ms", "interval: soon"}},
		{name: "variable that is not set", code: exitUsage, replace: []string{", sasl_here: x", `, sasl: {mechanism: PLAIN, username: u, password: "${PW}"}`}},
		{name: "file of a secret is missing", code: exitUsage, replace: []string{", sasl_here: x", `, sasl: {mechanism: PLAIN, username: u, password: "${file:/nowhere/pw}"}`}},
		{name: "postgres away", code: exitFailed, replace: []string{"type: sqlite, uri:", "type: postgres, uri: \"postgres://u:hunter22@" + closed + "/db\", other:"}},
		{name: "postgres that is another server", code: exitFailed, replace: []string{"type: sqlite, uri:", "type: postgres, uri: \"postgres://u:hunter22@BROKER/db?read_timeout=1s\", other:"}},
		{name: "unknown catalog type", code: exitUsage, replace: []string{"type: sqlite", "type: hive"}},
		{name: "catalog without the tag", code: exitUsage, replace: []string{"type: sqlite", "type: hive"}},
		{name: "catalog in a file's place", code: exitUsage, replace: []string{"/catalog.db", "/a-file/catalog.db"},
			before: func(t *testing.T, w *world) { w.file(t, "a-file") }},
		{name: "catalog is no database", code: exitFailed, before: func(t *testing.T, w *world) { w.file(t, "catalog.db") }},
		{name: "catalog may not be written", code: exitFailed, replace: []string{"DIR/catalog.db", "/proc/catalog.db"}},
		{name: "warehouse in a file's place", code: exitFailed, before: func(t *testing.T, w *world) { w.file(t, "warehouse") }},
		{name: "warehouse may not be written", code: exitFailed, replace: []string{"DIR/warehouse", "/proc/warehouse"}},
		{name: "table folder gone bad", code: exitFailed, made: true, before: func(t *testing.T, w *world) {
			data := filepath.Join(w.dir, "warehouse", "db.db", "orders", "data")
			if err := os.RemoveAll(data); err != nil {
				t.Fatal(err)
			}
			w.file(t, "warehouse/db.db/orders/data")
			w.produce(0, `{"id":2}`)
		}},
		{name: "port taken", code: exitFailed, replace: []string{"listen: off", "listen: BROKER"}},
		{name: "listen is no address", code: exitUsage, replace: []string{"listen: off", "listen: nine"}},
		{name: "group_by", code: exitUsage, replace: []string{"writer: {", "writer: {group_by: [nope], "}},
		{name: "group_by, existing table", code: exitFailed, made: true, replace: []string{"writer: {", "writer: {group_by: [nope], "}},
		{name: "unknown column type", code: exitUsage, replace: []string{"type: long", "type: lung"}},
		{name: "partition_by unknown column", code: exitUsage, replace: []string{"create: {", "create: {partition_by: [nope], "}},
		{name: "partition_by wrong transform", code: exitUsage, replace: []string{"create: {", "create: {partition_by: [day(id)], "}},
		{name: "format version 1", code: exitUsage, replace: []string{"create: {", `create: {properties: {format-version: "1"}, `}},
		{name: "wap", code: exitUsage, replace: []string{"create: {", `create: {properties: {write.wap.enabled: "true"}, `}},
		{name: "orc", code: exitUsage, replace: []string{"create: {", `create: {properties: {write.format.default: orc}, `}},
		{name: "s3 without the tag", code: exitUsage, replace: []string{"DIR/warehouse", "gs://bucket/warehouse"}},
		{name: "no such branch of a table", code: exitDone, made: true, replace: []string{"committer: {", "committer: {branch: nope, "}},
		{name: "bad record", code: exitFailed, replace: []string{"log: {level: warn}", "log: {level: warn}\nrecord: {on_bad_record: stop}"}, before: func(_ *testing.T, w *world) {
			w.produce(1, `{"id":8}`, `{"id":"the record's own words"}`, `{"id":9}`)
		}},
		{name: "several stopped partitions", code: exitFailed, made: true, before: func(_ *testing.T, w *world) {
			w.produce(1, `{"id":8}`)
			w.want(exitDone, "run", "--until-caught-up", w.config())
			w.remake()
		}},
		{name: "positions syntax", code: exitUsage, args: []string{"positions", "set", "CONFIG", "orders:0=1"}},
		{name: "positions of no number", code: exitUsage, args: []string{"positions", "set", "CONFIG", "orders/0=-1"}},
		{name: "positions of no partition", code: exitFailed, args: []string{"positions", "set", "CONFIG", "orders/9=1"}},
		{name: "no such file", code: exitUsage, args: []string{"run", "/nowhere/floe.yaml"}},
		{name: "no configuration", code: exitUsage, args: []string{"run"}},
		{name: "a folder", code: exitUsage, args: []string{"run", "/"}},
		{name: "unknown flag", code: exitUsage, args: []string{"run", "--fast", "CONFIG"}},
		{name: "demo in a file's place", code: exitFailed, args: []string{"demo", "--dir", "/proc/version"}},
		{name: "demo where nothing can be made", code: exitFailed, args: []string{"demo", "--dir", "/proc/demo"}},
	}
	said := make([]string, len(cases))
	t.Run("each", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // most of them wait
				w := newWorld(t)
				w.produce(0, `{"id":1}`)
				if c.made {
					w.want(exitDone, "run", "--until-caught-up", w.config())
				}
				if c.before != nil {
					c.before(t, w)
				}
				in := strings.NewReplacer("BROKER", w.addr, "DIR", w.dir)
				var pairs []string
				if c.code == exitFailed {
					pairs = []string{"startup_timeout: 3s", "startup_timeout: 1s"}
				}
				for i := 0; i < len(c.replace); i += 2 {
					from := c.replace[i]
					if from == "BROKER" {
						from = w.addr
					}
					pairs = append(pairs, in.Replace(from), in.Replace(c.replace[i+1]))
				}
				cfg := w.config(pairs...)
				args := []string{"run", "--until-caught-up", cfg}
				if c.args != nil {
					args = nil
					for _, a := range c.args {
						args = append(args, strings.ReplaceAll(a, "CONFIG", cfg))
					}
				}
				w.masks = append(w.masks, closed, "CLOSED")
				said[i] = fmt.Sprintf("%s: exit code %d\n%s\n\n", c.name, c.code, w.oneSentence(c.code, args))
			})
		}
	})
	golden(t, "errors/sentences", strings.Join(said, ""))
}

// oneSentence makes the call and gives what it said beside the log, without what differs from run to run.
func (w *world) oneSentence(code int, args []string) string {
	t := w.t
	t.Helper()
	a := call(t, args...)
	if a.code != code {
		t.Errorf("exit code %d, want %d", a.code, code)
	}
	for _, bad := range []string{"hunter22", "own words", "goroutine ", "panic", "load table: load"} {
		if strings.Contains(a.out+a.err, bad) {
			t.Errorf("%q is said:\n%s", bad, a.err)
		}
	}
	var said []string
	for _, line := range strings.Split(answer{err: a.err}.text(w.masks...), "\n")[3:] {
		if line != "" && !strings.HasPrefix(line, "time=") {
			said = append(said, line)
		}
	}
	if code != exitDone && len(said) != 1 {
		t.Errorf("%d lines:\n%s", len(said), a.err)
	}
	return strings.Join(said, "\n")
}

// file makes a file that is none of what floe expects there.
func (w *world) file(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte("no database and no folder\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// remake deletes the topic and makes it again: another incarnation of it.
func (w *world) remake() {
	w.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.DisableClientMetrics())
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	del, topic := kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr("orders")
	del.Topics, del.TopicNames = append(del.Topics, topic), []string{"orders"}
	if _, err := del.RequestWith(context.Background(), cl); err != nil {
		w.t.Fatal(err)
	}
	again, fresh := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewCreateTopicsRequestTopic()
	fresh.Topic, fresh.NumPartitions, fresh.ReplicationFactor = "orders", 2, 1
	again.Topics = append(again.Topics, fresh)
	if _, err := again.RequestWith(context.Background(), cl); err != nil {
		w.t.Fatal(err)
	}
}

// TestABadRecordIsSkippedAsToldAndNothingElse holds that what floe says after a bad record is what goes on behind it.
func TestABadRecordIsSkippedAsToldAndNothingElse(t *testing.T) {
	w := newWorld(t)
	cfg := w.config("log: {level: warn}", "log: {level: warn}\nrecord: {on_bad_record: stop}")
	w.produce(0, `{"id":1}`, `{"id":2}`)
	w.produce(1, `{"id":3}`, `{"id":"?"}`, `{"id":4}`, `{"id":5}`)
	out := w.want(exitFailed, "run", "--until-caught-up", cfg)
	_, told, ok := strings.Cut(out, "To skip it: floe positions set CONFIG ")
	if !ok {
		t.Fatal(out)
	}
	w.want(exitDone, "positions", "set", "--yes", cfg, strings.TrimSpace(told))
	w.want(exitDone, "run", "--until-caught-up", cfg)
	loaded, err := config.Load(cfg, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := newTable(loaded)
	if err != nil {
		t.Fatal(err)
	}
	now, err := tbl.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rows := now.CurrentSnapshot().Summary.Properties["total-records"]; rows != "5" {
		t.Errorf("%s rows, want 5", rows)
	}
}
