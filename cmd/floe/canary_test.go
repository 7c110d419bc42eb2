package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The canaries: each secret of a configuration, with characters that JSON, URLs and logs write in another way, and parts of records.
var (
	canarySecrets = map[string]string{
		"PW": `cAnary-pw-"<&>\é`, "WRONG": "cAnary-wr0ng-pw", "TOKEN": `cAnary-tok"en`, "KEY": "cAnary/s3+key==", "CRED": "cAnary-cred<1>", "REGPW": "cAnary-reg%pw",
	}
	// In columns they stand behind the 16 characters that Iceberg keeps of a bound.
	canaryRecords = []string{"cAnaryKey", "cAnaryHeader", "cAnaryName", "cAnaryValue", "cAnaryType", "cAnarySyntax", "91827364554637281909", "cAnaryEnd"}
)

var base64Run = regexp.MustCompile(`[A-Za-z0-9+/]{16,}={0,2}`)

// searched collects what floe says, by where, and finds canaries in it.
type searched struct {
	t     *testing.T
	bytes int
	// bounds says that those of a column were found in a WAL entry, so that more would have been.
	bounds bool
}

// look fails where one of the canaries is in what floe said, however it was written.
func (s *searched) look(where string, said []byte, canaries ...string) {
	s.t.Helper()
	s.bytes += len(said)
	for _, c := range canaries {
		inJSON, err := json.Marshal(c)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, form := range []string{c, strings.Trim(string(inJSON), `"`), fmt.Sprintf("%q", c)[1 : len(fmt.Sprintf("%q", c))-1],
			url.QueryEscape(c), url.PathEscape(c), url.UserPassword("", c).String()[1:], base64.StdEncoding.EncodeToString([]byte(c))} {
			if i := bytes.Index(said, []byte(form)); i >= 0 {
				s.t.Errorf("%s has the canary %q: …%s…", where, c, said[max(0, i-300):min(len(said), i+len(form)+100)])
				break
			}
		}
	}
}

func allCanaries() []string {
	all := append([]string{}, canaryRecords...)
	for _, c := range canarySecrets {
		all = append(all, c)
	}
	return all
}

func (s *searched) everything(where, said string) { s.look(where, []byte(said), allCanaries()...) }

// call runs a command and searches what it says.
func (s *searched) call(args ...string) answer {
	s.t.Helper()
	a := callWith(s.t, "", canaryEnv, args...)
	s.everything("floe "+strings.Join(args, " "), a.out+a.err)
	return a
}

// files searches what lies in a folder: names and metadata for all canaries. Data files hold records, and manifests their bounds, but
// no secret.
func (s *searched) files(dir string) {
	s.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.everything("the name of a file", path)
		if ext := filepath.Ext(path); ext == ".parquet" || ext == ".avro" {
			for _, c := range canarySecrets {
				s.look(path, data, c)
			}
			return nil
		}
		s.everything(path, string(data))
		// A WAL entry has what a manifest would hold in base64.
		for _, run := range base64Run.FindAll(data, -1) {
			if plain, err := base64.StdEncoding.DecodeString(string(run)); err == nil {
				s.everything(path+" in base64", string(plain))
				s.bounds = s.bounds || bytes.Contains(plain, []byte("sixteen and mor"))
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func canaryEnv(name string) (string, bool) { v, ok := canarySecrets[name]; return v, ok }

// produceCanaries appends good records and bad ones of several kinds.
func (w *world) produceCanaries() {
	w.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics(),
		kgo.SASL(scram.Auth{User: "app", Pass: canarySecrets["PW"]}.AsSha256Mechanism()))
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	var records []*kgo.Record
	for i, v := range []string{`{"id":1,"note":"sixteen and more cAnaryValue"}`, `{"id":2,"note":"sixteen and more cAnaryValue"}`, `{"id":3}`, `{"id":4}`, `{"id":5}`,
		`{"id":6}`, `{"id":"cAnaryType"}`, `{"id":7 cAnarySyntax}`, `{"id":91827364554637281909}`, `{"id":8,"note":"cAnaryEnd`, "\x00\x00\x00\x00\x01cAnaryEnd"} {
		records = append(records, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: []byte(v), Key: []byte("cAnaryKey"),
			Headers: []kgo.RecordHeader{{Key: "cAnaryName", Value: []byte("cAnaryHeader")}}})
	}
	if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// TestSecretsAndRecordsAppearNowhere plants canaries in every secret and in records, goes good ways and bad ones, and searches all that
// floe says and writes.
func TestSecretsAndRecordsAppearNowhere(t *testing.T) {
	w := newWorld(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "app", canarySecrets["PW"]))
	s := &searched{t: t}
	sasl := func(name string) string {
		return `sasl: {mechanism: SCRAM-SHA-256, username: app, password: "${` + name + `}"}`
	}
	cfg := func(pairs ...string) string {
		return w.config(append(pairs, ", sasl_here: x", ", "+sasl("PW"), "type: sqlite", `type: sqlite, token: "${TOKEN}", s3.secret-access-key: "${KEY}", credential: "id:${CRED}"`,
			"listen: off", "listen: 127.0.0.1:0", "level: warn", "level: debug")...)
	}
	w.produceCanaries()
	good := cfg()
	for _, args := range [][]string{{"validate", good}, {"validate", "--json", good}} {
		if a := s.call(args...); a.code != exitDone {
			t.Fatal(a.text())
		}
	}
	s.running(w, good)

	w.produceCanaries()
	if a := s.call("run", "--until-caught-up", "--json", cfg("level: warn", "level: debug, format: json")); a.code != exitDone {
		t.Fatal(a.text())
	}
	for _, args := range [][]string{{"positions", "show"}, {"rejects", "list"}, {"rejects", "count"}} {
		for _, more := range []string{"", "--json"} {
			if a := s.call(append(args, strings.Fields(more+" "+good)...)...); a.code != exitDone {
				t.Error(a.text())
			}
		}
	}
	// The bad ways: a record that stops, a wrong password, a registry that nobody answers for.
	other := []string{"name: orders\n", "name: other\n"}
	registry := fmt.Sprintf(`level: debug}%srecord: {format: avro, registry: {url: "http://127.0.0.1:1", username: app, password: "${REGPW}"}`, "\n")
	for _, pairs := range [][]string{
		{"startup_timeout: 3s", "startup_timeout: 3s\nrecord: {on_bad_record: stop}"},
		{", sasl_here: x", ", " + sasl("WRONG"), "startup_timeout: 3s", "startup_timeout: 1s"},
		{"level: warn", registry, "startup_timeout: 3s", "startup_timeout: 1s"},
		{"level: warn", strings.Replace(registry, "http://127", "http://app:${REGPW}@127", 1), "startup_timeout: 3s", "startup_timeout: 1s"},
	} {
		bad := cfg(append(pairs, other...)...)
		for _, args := range [][]string{{"validate", bad}, {"run", "--until-caught-up", "--json", bad}} {
			if a := s.call(args...); a.code == exitDone {
				t.Errorf("%q went well: %s", pairs, a.text())
			}
		}
	}
	s.files(w.dir)
	if s.bytes < 500_000 || !s.bounds {
		t.Errorf("%d bytes were searched; the bounds of a column were seen: %v", s.bytes, s.bounds)
	}
}

// running searches what a floe says while it runs, also while its catalog can't be written and an entry is in the WAL.
func (s *searched) running(w *world, cfg string) {
	s.t.Helper()
	p := startWith(s.t, canaryEnv, "run", cfg)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Log(p.log)
		}
	})
	addr := p.log.find(s.t, "address=")
	endpoints := func() {
		for _, path := range []string{"/", "/page.js", "/metrics", "/status", "/readyz", "/history.json"} {
			_, body := get(s.t, addr, path)
			s.everything(path, body)
		}
	}
	w.eventually(func() error {
		if _, body := get(s.t, addr, "/status"); !strings.Contains(body, `"snapshot_id"`) {
			return errors.New(body)
		}
		return nil
	})
	endpoints()

	db, err := sql.Open("sqlite", filepath.Join(w.dir, "catalog.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := conn.ExecContext(s.t.Context(), "PRAGMA busy_timeout = 20000; BEGIN IMMEDIATE"); err != nil {
		s.t.Fatal(err)
	}
	w.produceCanaries()
	w.eventually(func() error {
		entries, err := filepath.Glob(filepath.Join(w.dir, "warehouse", "*", "orders", "metadata", "_storm_wal", "*", "*", "*", "*.json"))
		if err == nil && len(entries) == 0 {
			err = errors.New("there is no WAL entry")
		}
		return err
	})
	endpoints()
	s.files(w.dir)
	if _, err := conn.ExecContext(s.t.Context(), "ROLLBACK"); err != nil {
		s.t.Fatal(err)
	}
	p.signals <- syscall.SIGTERM
	if code := p.wait(s.t); code != exitDone {
		s.t.Errorf("exit code %d", code)
	}
	s.everything("the log", p.log.String())
}
