package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// world is a broker, a folder for catalog and warehouse, and a configuration of both.
type world struct {
	t       *testing.T
	cluster *kfake.Cluster
	addr    string
	dir     string
	// Masks hide what differs from run to run.
	masks []string
}

func newWorld(t *testing.T, opts ...kfake.Opt) *world {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.ClusterID("test"), kfake.SeedTopics(2, "orders")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := t.TempDir()
	return &world{t: t, cluster: c, addr: c.ListenAddrs()[0], dir: dir, masks: []string{dir, "DIR"}}
}

// config writes a configuration; the pairs replace text in it.
func (w *world) config(pairs ...string) string {
	w.t.Helper()
	text := fmt.Sprintf(`
name: orders
source: {kafka: {brokers: [%q], topics: [orders], sasl_here: x}}
catalog: {type: sqlite, uri: %q, warehouse: %q}
table:
  name: db.orders
  create: {schema: [{name: id, type: long, required: true}, {name: note, type: string}]}
writer: {seal: {interval: 200ms}}
committer: {interval: 100ms}
http: {listen: off}
log: {level: warn}
startup_timeout: 3s
`, w.addr, filepath.Join(w.dir, "catalog.db"), filepath.Join(w.dir, "warehouse"))
	text = strings.NewReplacer(append(pairs, ", sasl_here: x", "")...).Replace(text)
	path := filepath.Join(w.t.TempDir(), "floe.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.masks = append(w.masks, path, "floe.yaml")
	return path
}

// produce appends values to a partition of orders.
func (w *world) produce(partition int32, values ...string) {
	w.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	for _, v := range values {
		rec := &kgo.Record{Topic: "orders", Partition: partition, Value: []byte(v)}
		if err := cl.ProduceSync(context.Background(), rec).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// want fails the test unless the call ended with code, and gives its output without what differs from run to run.
func (w *world) want(code int, args ...string) string {
	w.t.Helper()
	a := call(w.t, args...)
	if a.code != code {
		w.t.Fatalf("floe %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), a.code, code, a.out, a.err)
	}
	return "$ floe " + strings.NewReplacer(w.masks...).Replace(strings.Join(args, " ")) + "\n" + a.text(w.masks...)
}

func TestRunUntilCaughtUpAndPositions(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	var all strings.Builder
	all.WriteString(w.want(exitDone, "validate", cfg))
	all.WriteString(w.want(exitDone, "positions", "show", cfg))
	w.produce(0, `{"id":1}`, `{"id":2,"note":"x"}`, `{"id":3}`)
	w.produce(1, `{"id":4}`)
	all.WriteString(w.want(exitDone, "validate", cfg))
	all.WriteString(w.want(exitDone, "run", "--until-caught-up", cfg))
	all.WriteString(w.want(exitDone, "positions", "show", cfg))
	all.WriteString(w.want(exitDone, "validate", cfg))
	// Nobody says yes.
	all.WriteString(w.want(exitFailed, "positions", "set", cfg, "orders/0=1"))
	all.WriteString(w.want(exitFailed, "positions", "set", "--yes", cfg, "orders/0=9"))
	all.WriteString(w.want(exitFailed, "positions", "set", "--yes", cfg, "orders/7=0"))
	all.WriteString(w.want(exitUsage, "positions", "set", "--yes", cfg, "orders/0=x"))
	all.WriteString(w.want(exitDone, "positions", "set", "--yes", cfg, "orders/0=1", "orders/1=latest"))
	all.WriteString(w.want(exitDone, "run", "--until-caught-up", cfg))
	all.WriteString(w.want(exitDone, "positions", "show", cfg))
	golden(t, "positions", all.String())
}

// TestJSON holds that each command prints one object, also when it fails.
func TestJSON(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	bad := w.config("topics:", "topcis:")
	w.produce(0, `{"id":1}`)
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitDone, []string{"run", "--until-caught-up", "--json", cfg}, `{"ok":true`},
		{exitUsage, []string{"run", "--json", bad}, `{"ok":false`},
		{exitDone, []string{"validate", "--json", cfg}, `{"ok":true`},
		{exitUsage, []string{"validate", "--json", bad}, `{"ok":false`},
		{exitDone, []string{"positions", "show", "--json", cfg}, `"next":1`},
		{exitDone, []string{"positions", "set", "--json", "--yes", "--all", "latest", cfg}, `"behind":0`},
		{exitDone, []string{"version", "--json"}, `"catalogs":[`},
	} {
		a := call(t, c.args...)
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(a.out)); err != nil || a.code != c.code || !strings.Contains(compact.String(), c.want) {
			t.Errorf("%q: exit code %d, %v: %s%s", c.args, a.code, err, a.out, a.err)
		}
	}
}

func TestPositionsSetAsksBefore(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	w.produce(0, `{"id":1}`, `{"id":2}`)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	a := callWith(t, "yes\n", noEnv, "positions", "set", "--all", "earliest", cfg)
	golden(t, "positions-set-asks", a.text(w.masks...))
}

func TestUserErrors(t *testing.T) {
	cases := []struct {
		name     string
		code     int
		args     []string
		replaced []string
		badValue bool
	}{
		{name: "no broker", code: exitFailed, args: []string{"run"}, replaced: []string{"BROKER", "127.0.0.1:1", "startup_timeout: 3s", "startup_timeout: 1s"}},
		{name: "no broker, validate", code: exitFailed, args: []string{"validate"}, replaced: []string{"BROKER", "127.0.0.1:1"}},
		{name: "no such topic", code: exitFailed, args: []string{"validate"}, replaced: []string{"topics: [orders]", "topics: [order]"}},
		{name: "no such table", code: exitFailed, args: []string{"run"}, replaced: []string{"  create:", "  #create:"}},
		{name: "no such table, validate", code: exitFailed, args: []string{"validate"}, replaced: []string{"  create:", "  #create:"}},
		{name: "no such table, positions", code: exitFailed, args: []string{"positions", "show"}, replaced: []string{"  create:", "  #create:"}},
		{name: "unknown catalog", code: exitUsage, args: []string{"run"}, replaced: []string{"type: sqlite", "type: dynamodb"}},
		{name: "no folder for the catalog", code: exitUsage, args: []string{"run"}, replaced: []string{"catalog.db", "no/catalog.db"}},
		{name: "group_by an unknown column", code: exitUsage, args: []string{"run"}, replaced: []string{"writer: {", "writer: {group_by: [nope], "}},
		{name: "bad record, validate", code: exitFailed, args: []string{"validate"}, replaced: []string{"log: {level: warn}", "log: {level: warn}\nrecord: {on_bad_record: stop}"}, badValue: true},
		{name: "bad record", code: exitFailed, args: []string{"run", "--until-caught-up"}, replaced: []string{"log: {level: warn}", "log: {level: warn}\nrecord: {on_bad_record: stop}"}, badValue: true},
		{name: "a reject, validate", code: exitDone, args: []string{"validate"}, badValue: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.produce(0, `{"id":1}`)
			if c.badValue {
				w.produce(1, `{"id":"the record's own words"}`)
			}
			for i, r := range c.replaced {
				c.replaced[i] = strings.ReplaceAll(r, "BROKER", w.addr)
			}
			out := w.want(c.code, append(c.args, w.config(c.replaced...))...)
			if strings.Contains(out, "own words") {
				t.Errorf("an error shows what is in a record: %s", out)
			}
			golden(t, "errors/"+strings.NewReplacer(" ", "-", ",", "").Replace(c.name), out)
		})
	}
}

func TestWrongPasswordIsSaidAndNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "app", "right"))
	cfg := w.config(", sasl_here: x", `, sasl: {mechanism: SCRAM-SHA-256, username: app, password: "${PW}"}`, "startup_timeout: 3s", "startup_timeout: 1s")
	env := func(name string) (string, bool) { return "hunter22", name == "PW" }
	for _, args := range [][]string{{"validate", cfg}, {"run", cfg}, {"positions", "set", "--all", "latest", "--yes", cfg}} {
		a := callWith(t, "", env, args...)
		if a.code != exitFailed || strings.Contains(a.out+a.err, "hunter22") || !strings.Contains(strings.ToLower(a.out+a.err), "sasl") {
			t.Errorf("%q: %s", args, a.text())
		}
	}
}

func TestPermissionIsExplained(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	w := newWorld(t)
	if err := os.Chmod(w.dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(w.dir, 0o700) })
	if out := w.want(exitFailed, "run", w.config()); !strings.Contains(out, "permission") {
		t.Error(out)
	}
}

func TestPortInUse(t *testing.T) {
	w := newWorld(t)
	out := w.want(exitFailed, "run", w.config("listen: off", "listen: "+w.addr))
	if !strings.Contains(out, "http.listen") || !strings.Contains(out, "write another address, or off") {
		t.Error(out)
	}
}

// started runs `floe run` in the background with signals of its own.
type started struct {
	signals chan os.Signal
	log     *lockedBuffer
	code    chan int
}

func start(t *testing.T, args ...string) *started { return startWith(t, noEnv, args...) }

func startWith(t *testing.T, env func(string) (string, bool), args ...string) *started {
	t.Helper()
	s := &started{signals: make(chan os.Signal, 2), log: &lockedBuffer{}, code: make(chan int, 1)}
	c := &cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: s.log, env: env,
		signals: func() (<-chan os.Signal, func()) { return s.signals, func() {} }}
	go func() { s.code <- c.main(args) }()
	return s
}

func (s *started) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-s.code:
		return code
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not end:\n%s", s.log)
		return 0
	}
}

func TestSignalEndsGracefully(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`, `{"id":2}`)
	// Nothing is sealed before the end.
	cfg := w.config("interval: 200ms", "interval: 1h", "level: warn", "level: info", "listen: off", "listen: 127.0.0.1:0")
	s := start(t, "run", cfg)
	addr := s.log.find(t, "address=")
	w.eventually(func() error {
		if code, body := get(t, addr, "/status"); !strings.Contains(body, `"open_rows": 2`) && !strings.Contains(body, `"read": 2`) {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
	for path, want := range map[string]string{
		"/livez": "ok", "/readyz": "ready", "/metrics": "go_goroutines", "/": "<title>floe</title>", "/nope": "404",
	} {
		if _, body := get(t, addr, path); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	s.signals <- syscall.SIGTERM
	if code := s.wait(t); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, s.log)
	}
	if out := w.want(exitDone, "positions", "show", cfg); !strings.Contains(out, "orders/0     2") {
		t.Error(out)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.produce(0, `{"id":1}`)
	// The catalog's file vanishes, so that the graceful end can't commit.
	cfg := w.config("interval: 200ms", "interval: 1h", "level: warn", "level: info", "listen: off", "listen: 127.0.0.1:0")
	s := start(t, "run", cfg)
	addr := s.log.find(t, "address=")
	w.eventually(func() error {
		if _, body := get(t, addr, "/status"); !strings.Contains(body, `"read": 1`) {
			return errors.New(body)
		}
		return nil
	})
	s.signals <- os.Interrupt
	s.signals <- os.Interrupt
	if code := s.wait(t); code != exitFailed && code != exitDone {
		t.Fatalf("exit code %d\n%s", code, s.log)
	}
}

func get(t *testing.T, addr, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
