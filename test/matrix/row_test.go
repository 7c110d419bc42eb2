package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/services"
)

// bench is what all rows share: the programs under test, and the services, each started by the first row that needs it.
type bench struct {
	dir, floe, proof string
	s                *services.Services
	made             map[string]any
}

// start gives a service, started before or now. Where it can't be had the test is skipped, or fails in CI.
func start[T any](t *testing.T, b *bench, name string, f func(context.Context) (T, error)) T {
	t.Helper()
	if v, ok := b.made[name].(T); ok {
		return v
	}
	if err := services.Get(t.Context(), name); err != nil {
		services.Missing(t, "%s can't be had: %v", name, err)
	}
	v, err := f(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.made[name] = v
	return v
}

type m = map[string]any

// setup gives the keys of source.kafka and of the catalog, the broker for the producer, and what is to happen after the first
// commit and at the end.
type setup struct {
	kafka    m
	catalog  map[string]string
	plain    string
	midway   func()
	finished func(*testing.T)
}

func (b *bench) setup(t *testing.T, row Row) (s setup) {
	t.Helper()
	s.midway, s.finished = func() {}, func(*testing.T) {}
	b.setKafka(t, row, &s)
	b.setCatalog(t, row, &s)
	return s
}

func (b *bench) setKafka(t *testing.T, row Row, s *setup) {
	t.Helper()
	if row.Kafka == "three brokers, one killed" {
		c := start(t, b, "cluster", b.s.Cluster)
		s.kafka, s.plain = m{"brokers": c.Brokers}, strings.Join(c.Brokers, ",")
		s.midway = func() {
			if err := c.Kill(2); err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(c.Stop)
		return
	}
	k := start(t, b, "kafka", b.s.Kafka)
	s.plain = k.Plain
	sasl := func(mechanism string) m {
		return m{"brokers": []string{k.SASL}, "sasl": m{"mechanism": mechanism, "username": services.User, "password": services.Password}}
	}
	switch row.Kafka {
	case "SASL/PLAIN":
		s.kafka = sasl("PLAIN")
	case "SASL/SCRAM-SHA-256":
		s.kafka = sasl("SCRAM-SHA-256")
	case "SASL/SCRAM-SHA-512":
		s.kafka = sasl("SCRAM-SHA-512")
	case "TLS":
		s.kafka = m{"brokers": []string{k.TLS}, "tls": m{"ca_file": k.Certificates.CA}}
	case "mutual TLS":
		s.kafka = m{"brokers": []string{k.MTLS}, "tls": m{"ca_file": k.Certificates.CA, "cert_file": k.Certificates.ClientCert, "key_file": k.Certificates.ClientKey}}
	case "SASL/OAUTHBEARER, tokens of 5 s":
		g := b.s.NewTokens(5 * time.Second)
		id, secret, _ := strings.Cut(services.Credential, ":")
		s.kafka = m{"brokers": []string{k.OAuth}, "sasl": m{"mechanism": "OAUTHBEARER", "oauth": m{"token_url": g.TokenURL, "client_id": id, "client_secret": secret}}}
		s.finished = func(t *testing.T) {
			if n := g.Count().Tokens; n < 4 {
				t.Errorf("only %d tokens were asked for", n)
			}
		}
	case "one broker, plaintext":
		s.kafka = m{"brokers": []string{k.Plain}}
	default:
		t.Fatalf("%s: Kafka is %q", row.Name, row.Kafka)
	}
}

func (b *bench) setCatalog(t *testing.T, row Row, s *setup) {
	t.Helper()
	s.catalog = map[string]string{"warehouse": "file://" + filepath.Join(b.dir, row.Name, "warehouse")}
	add := func(keys map[string]string) { maps.Copy(s.catalog, keys) }
	switch row.Store {
	case "Azure (ADLS Gen2)":
		add(start(t, b, "azure", b.s.Azure))
		add(map[string]string{"warehouse": services.AzureWarehouse})
	case "Google Cloud Storage":
		add(start(t, b, "gcs", b.s.GCS))
		add(map[string]string{"warehouse": "gs://lake/wh"})
	case "S3":
		add(start(t, b, "s3", b.s.S3).Properties())
		add(map[string]string{"warehouse": "s3://lake/" + row.Name})
	}
	switch row.Catalog {
	case "SQLite":
		add(map[string]string{"type": "sqlite", "uri": filepath.Join(b.dir, row.Name, "catalog.db")})
	case "Postgres":
		add(map[string]string{"type": "postgres", "uri": start(t, b, "postgres", b.s.Postgres)})
	case "Hive":
		uri := start(t, b, "hive", b.s.Hive)
		add(map[string]string{"type": "hive", "uri": uri})
		s.midway = func() { leaveLocks(t, uri, tableOf(row), tableOf(row)+"_rejects") }
	case "Glue":
		s3 := start(t, b, "s3", b.s.S3)
		add(map[string]string{"type": "glue", "glue.endpoint": s3.URL, "glue.region": "us-east-1", "glue.access-key-id": "test", "glue.secret-access-key": "test"})
	case "REST", "REST, OAuth 2 with tokens of 8 s":
		add(map[string]string{"type": "rest", "uri": start(t, b, "rest", b.s.REST)})
		delete(s.catalog, "warehouse")
		b.setGate(t, row, s)
	default:
		t.Fatalf("%s: the catalog is %q", row.Name, row.Catalog)
	}
}

func (b *bench) setGate(t *testing.T, row Row, s *setup) {
	t.Helper()
	switch {
	case row.Catalog != "REST":
		g, err := b.s.NewGate(t.Context(), 8*time.Second, true, false)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(s.catalog, map[string]string{"uri": g.Catalog, "credential": services.Credential, "oauth2-server-uri": g.TokenURL})
		s.finished = func(t *testing.T) { t.Logf("%+v", g.Count()); atLeast(t, "tokens", g.Count().Tokens, 4) }
	case row.Store != "S3":
		g, err := b.s.NewGate(t.Context(), 12*time.Second, false, true)
		if err != nil {
			t.Fatal(err)
		}
		s.catalog["uri"] = g.Catalog
		s.finished = func(t *testing.T) { t.Logf("%+v", g.Count()); atLeast(t, "keys", g.Count().Keys, 4) }
	}
}

func atLeast(t *testing.T, what string, n, least int) {
	t.Helper()
	if n < least {
		t.Errorf("only %d %s were handed out, at least %d must be", n, what, least)
	}
}

const namespace = "matrix"

func tableOf(row Row) string { return strings.ReplaceAll(row.Name, "-", "_") }

// config writes the configuration of a row.
func (b *bench) config(t *testing.T, row Row, s setup, topic string) string {
	t.Helper()
	maps.Copy(s.kafka, m{"topics": []string{topic}, "session_timeout": "3s", "heartbeat_interval": "300ms", "rebalance_timeout": "6s",
		"fetch": m{"max_wait": "100ms"}, "dial_timeout": "5s", "request_timeout": "10s", "metadata_interval": "2s"})
	data, err := json.MarshalIndent(m{
		"name": row.Name, "source": m{"kafka": s.kafka}, "catalog": s.catalog,
		"table": m{"name": namespace + "." + tableOf(row), "create": m{"partition_by": []string{"region"}, "schema": []m{
			{"name": "part", "type": "int", "required": true}, {"name": "off", "type": "long", "required": true},
			{"name": "region", "type": "string"}, {"name": "payload", "type": "string"}}}},
		"writer":    m{"seal": m{"interval": "500ms"}},
		"committer": m{"interval": "500ms"},
		"http":      m{"listen": "127.0.0.1:0"},
		"memory":    "64MiB",
		// Longer than Hive's metastore keeps the lock of a process that was killed.
		"shutdown_timeout": "1m",
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, row.Name, "floe.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run starts a program with its output in a file of the row's folder, for at most the time of the test.
func (b *bench) run(t *testing.T, log, program string, args ...string) *exec.Cmd {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := b.s.Start(cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func tail(path string) string {
	data, _ := os.ReadFile(path)
	return string(data[max(0, len(data)-4000):])
}

var addressOf = regexp.MustCompile(`msg="HTTP server listens" address=(\S+)`)

// rowTime bounds each wait of a row.
const rowTime = 3 * time.Minute

// commits waits until the floe whose log this is has committed. ctx ends with the producer's failure.
func commits(ctx context.Context, t *testing.T, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, rowTime)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond) // a process says by its page alone that it has committed
	defer tick.Stop()
	for {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if found := addressOf.FindAllSubmatch(data, -1); found != nil && committed(ctx, string(found[len(found)-1][1])) > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("floe has not committed (%v):\n%s", context.Cause(ctx), tail(log))
		}
	}
}

// committed asks a running floe how many commits it has made; 0 where it does not answer.
func committed(ctx context.Context, addr string) (n int64) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", nil)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	var st struct{ Committers []struct{ Commits int64 } }
	if data, err := io.ReadAll(resp.Body); err != nil || json.Unmarshal(data, &st) != nil {
		return 0
	}
	for _, c := range st.Committers {
		n += c.Commits
	}
	return n
}

// transactions is how many are produced, four in a second: where something expires, so many that it does while floe runs.
func transactions(row Row) int {
	if strings.Contains(row.Store, "vended") {
		return 160
	}
	return 60
}

// try does what a row says, from the first record to the comparison, and gives the checker's report.
func (b *bench) try(t *testing.T, row Row) string {
	dir := filepath.Join(b.dir, row.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := b.setup(t, row)
	topic := "matrix-" + row.Name
	log, truth, produced := filepath.Join(dir, "floe.log"), filepath.Join(dir, "truth.json"), filepath.Join(dir, "produce.log")
	producer := b.run(t, produced, b.proof, "produce", "--brokers", s.plain, "--topic", topic, "--transactions", strconv.Itoa(transactions(row)), "--pause", "250ms", "--truth", truth)
	config := b.config(t, row, s, topic)
	ctx, fail := context.WithCancelCause(t.Context())
	defer fail(nil)
	ended := make(chan error, 1)
	go func() {
		err := producer.Wait()
		if err != nil {
			fail(fmt.Errorf("produce: %w, see %s", err, produced))
		}
		ended <- err
	}()
	floe := b.run(t, log, b.floe, "run", config)
	commits(ctx, t, log)
	if err := floe.Process.Kill(); err != nil {
		t.Fatalf("floe has ended before it was killed: %v\n%s", err, tail(log))
	}
	if err := floe.Wait(); floe.ProcessState.Exited() {
		t.Fatalf("floe has ended before it was killed: %v\n%s", err, tail(log))
	}
	s.midway()
	floe = b.run(t, log, b.floe, "run", config)
	if err := <-ended; err != nil {
		t.Fatalf("produce: %v\n%s", err, tail(produced))
	}
	_ = floe.Process.Kill()
	_ = floe.Wait() // killed
	floe = b.run(t, log, b.floe, "run", "--until-caught-up", config)
	if err := floe.Wait(); err != nil {
		t.Fatalf("floe run --until-caught-up: %v\n%s", err, tail(log))
	}
	report, err := exec.CommandContext(t.Context(), b.proof, "check", "--truth", truth, config).CombinedOutput()
	if err != nil {
		t.Fatalf("the table is wrong: %v\n%s", err, report)
	}
	s.finished(t)
	return strings.TrimSpace(string(report))
}

// build builds a program with everything linked in.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	out := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "cloud", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Dir = filepath.Join("..", "..")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("build %s: %w\n%s", pkg, err, text))
	}
	return out
}
