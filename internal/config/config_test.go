package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// smallest is the least that is valid.
const smallest = `
name: orders
source: {kafka: {brokers: ["localhost:9092"], topics: [orders]}}
catalog: {type: rest, uri: "http://localhost:8181"}
table: {name: db.orders}
`

func env(pairs ...string) Env {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestSmallestConfigurationHasEveryDefault(t *testing.T) {
	cfg, err := Parse("floe.yaml", []byte(smallest), env())
	if err != nil {
		t.Fatal(err)
	}
	k := cfg.Source.Kafka
	got := fmt.Sprintln(k.Group, k.Start, k.Isolation, k.ClientID, k.Fetch.MaxBytes, k.DialTimeout,
		cfg.Record, cfg.Writer, cfg.Committer, cfg.HTTP, cfg.Memory, cfg.Log, cfg.StartupTimeout, cfg.ShutdownTimeout)
	want := "floe-orders earliest read_committed floe 16MiB 10s {json <nil> { } { } {[] false   } {} <nil> {      } map[] map[] filter exact [] [] []  none {_op  map[] map[] false [] bad __debezium_unavailable_value} reject [] ignore } {2 [] {0 128MiB 30s} 256} {5s 1000  main false} " +
		"{127.0.0.1:9464 false} 256MiB {info text} 1m0s 30s\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEvolutionIsThereForEachFormatInAnEnvelope(t *testing.T) {
	const rest = "name: n\nsource: {kafka: {brokers: [\"a:1\"], topics: [t]}}\ncatalog: {type: rest}\ntable: {name: d.t, evolve: [add, widen, optional]}\nrecord: "
	for record, refused := range map[string]string{
		"{format: json, envelope: debezium}":                                                             "",
		"{format: json, envelope: debezium, debezium: {wrapped: true}}":                                  "",
		"{format: json, envelope: debezium, registry: {url: \"http://r\"}}":                              "",
		"{format: avro, envelope: debezium, registry: {url: \"http://r\"}}":                              "",
		"{format: protobuf, envelope: debezium, registry: {url: \"http://r\"}}":                          "",
		"{format: csv, envelope: debezium, unknown: evolve, csv: {columns: [a]}}":                        "table.evolve",
		"{format: json, envelope: debezium, unknown: reject, debezium: {op: _op, unavailable: as_null}}": "record.unknown",
	} {
		_, err := Parse("floe.yaml", []byte(rest+record+"\n"), env())
		if (err != nil) != (refused != "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v", record, err)
		}
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"pw": "from-file\n", "ca.pem": "x", "app.pem": "x", "app.key": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse(filepath.Join(dir, "floe.yaml"), data, env("TASKS", "3", "TOKEN", "t0ken-value"))
	if err != nil {
		t.Fatal(err)
	}
	k := cfg.Source.Kafka
	checks := []struct {
		name      string
		got, want any
	}{
		{"brokers", strings.Join(k.Brokers, " "), "a:9092 b:9093"},
		{"group", k.Group, "g"},
		{"start", k.Start.Offsets["orders"][3], int64(12)},
		{"password from a file beside the configuration", k.SASL.Password.Reveal(), "from-file"},
		{"relative path", k.TLS.CAFile, filepath.Join(dir, "ca.pem")},
		{"fetch", k.Fetch, Fetch{MaxWait: 100 * time.Millisecond, MinBytes: 2, MaxBytes: 8 << 20, PartitionMaxBytes: 2 << 20, MaxRecordBatchBytes: 3 << 20}},
		{"session", k.SessionTimeout, 20 * time.Second},
		{"catalog verbatim", cfg.Catalog.Properties["rest.sigv4-enabled"], "true"},
		{"catalog number verbatim", cfg.Catalog.Properties["n"], "0017"},
		{"catalog secret", cfg.Catalog.Properties["token"], "Bearer t0ken-value$"},
		{"unknown fields", cfg.Record.Unknown + " " + cfg.Record.UnknownColumn, "keep rest"},
		{"evolution", fmt.Sprint(cfg.Table.Evolve, cfg.Table.EvolveMaxColumns), "[widen optional] 50"},
		{"column", cfg.Table.Create.Schema[0], Column{Name: "id", Type: "long", Required: true, Doc: "key"}},
		{"partition_by", strings.Join(cfg.Table.Create.PartitionBy, " "), "region day(event_time)"},
		{"property", cfg.Table.Create.Properties["write.target-file-size-bytes"], "1048576"},
		{"tasks from a variable", cfg.Writer.Tasks, 3},
		{"seal", cfg.Writer.Seal, Seal{Records: 10, Interval: time.Second}},
		{"committer", cfg.Committer, Committer{Interval: time.Second, MaxDataFiles: 5, WALNamespace: "blue", Branch: "audit", ExpireSnapshots: true}},
		{"http off", cfg.HTTP.Off() && cfg.HTTP.Pprof, true},
		{"memory", cfg.Memory, Size(1 << 30)},
		{"log", cfg.Log, Log{Level: "debug", Format: "json"}},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestAQuietStreamIsSealedUnlessThatIsTurnedOff(t *testing.T) {
	for seal, want := range map[string]Seal{
		"{}":                        {Bytes: 128 << 20, Interval: 30 * time.Second},
		"{records: 5}":              {Records: 5, Interval: 30 * time.Second},
		"{bytes: 1MiB}":             {Bytes: 1 << 20, Interval: 30 * time.Second},
		"{interval: 1s}":            {Bytes: 128 << 20, Interval: time.Second},
		"{interval: 0}":             {Bytes: 128 << 20},
		"{records: 5, interval: 0}": {Records: 5},
	} {
		cfg, err := Parse("floe.yaml", []byte(smallest+"writer: {seal: "+seal+"}\n"), env())
		if err != nil {
			t.Errorf("%s: %v", seal, err)
			continue
		}
		if cfg.Writer.Seal != want {
			t.Errorf("%s: got %v, want %v", seal, cfg.Writer.Seal, want)
		}
	}
}

// TestErrors compares each testdata/errors/*.yaml with the errors beside it. Rewrite with -rewrite.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse("floe.yaml", data, env("EMPTY", "", "SECRET", "s3cr3t-value"))
			var es Errors
			if !errors.As(err, &es) {
				t.Fatalf("accepted, or another error: %v", err)
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("a secret is printed: %v", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	text := smallest + `
http: {listen: "off"}
`
	text = strings.Replace(text, "topics: [orders]", `topics: [orders], sasl: {mechanism: PLAIN, username: u, password: hunter22}`, 1)
	text = strings.Replace(text, "type: rest", `type: rest, token: abcdefgh, credential: "id:${SECRET}"`, 1)
	text = strings.Replace(text, "http://localhost:8181", "http://user:pa55word@localhost:8181?password=x", 1)
	cfg, err := Parse("floe.yaml", []byte(text), env("SECRET", "s3cr3t"))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{
		fmt.Sprint(cfg.Source.Kafka.SASL), fmt.Sprintf("%+v %#v", cfg.Catalog, cfg.Catalog), string(asJSON),
		fmt.Sprintf("%#v", *cfg.Source.Kafka.SASL), cfg.Redact("dial failed for s3cr3t and hunter22"),
	} {
		for _, secret := range []string{"hunter22", "abcdefgh", "s3cr3t", "pa55word", "password=x"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q is printed in %s", secret, out)
			}
		}
	}
}

func TestStart(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"earliest", "earliest"}, {"latest", "latest"}, {"group", "group"},
		{"2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"},
		{`"2026-01-31T10:00:00.5+02:00"`, "2026-01-31T10:00:00.5+02:00"},
		{"{offsets: {orders: {0: 1, 1: 9007199254740993}}}", "offsets"},
	} {
		cfg, err := Parse("f", []byte(strings.Replace(smallest, "topics: [orders]", "topics: [orders], start: "+c.text, 1)), env())
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := cfg.Source.Kafka.Start.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		str  string
	}{
		{"0", 0, "0"}, {"1", 1, "1"}, {"128MiB", 128 << 20, "128MiB"}, {"1GB", 1e9, "1000000000"}, {"2 KiB", 2048, "2KiB"},
		{"7B", 7, "7"}, {"8388607TiB", 8388607 << 40, "8388607TiB"},
	} {
		got, err := parseSize(c.text)
		if err != nil || got != c.want || got.String() != c.str {
			t.Errorf("%s: got %d (%s) %v, want %d (%s)", c.text, got, got, err, c.want, c.str)
		}
	}
	for _, bad := range []string{"", "MiB", "-1", "-1MiB", "1.5GiB", "1mb", "1 2KiB", "8388608TiB", "9223372036854775808"} {
		if got, err := parseSize(bad); err == nil {
			t.Errorf("%q is accepted as %d", bad, got)
		}
	}
}

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("line one\nline two\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := expander{env: env("A", "1", "B", "${A}", "EMPTY", ""), dir: dir}
	for in, want := range map[string]string{
		"plain": "plain", "${A}": "1", "x${A}y${A}": "x1y1", "$$": "$", "$${A}": "${A}", "$": "$", "$5": "$5",
		"${B}": "${A}", "[${EMPTY}]": "[]", "${file:f}": "line one\nline two", "a$$$$b": "a$$b",
	} {
		if got, err := x.expand(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{"${A", "${}", "${A-B}", "${file:}", "${file:nope}", "${file:.}", "${NOPE}", "${A:-x}"} {
		if got, err := x.expand(bad); err == nil {
			t.Errorf("%q is accepted as %q", bad, got)
		}
	}
}

func TestFilesThatCantBeRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "nope.yaml"): "there is no such file",
		dir:                             "is a folder",
		big:                             "has 1048577 bytes",
	} {
		_, err := Load(path, env())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// FuzzParse holds that no text makes the decoder panic or loop, and that what is accepted is valid again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest))
	if full, err := os.ReadFile("testdata/full.yaml"); err == nil {
		f.Add(full)
	}
	files, _ := filepath.Glob("testdata/errors/*.yaml")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("floe.yaml", data, env("SECRET", "s3cr3t-value"))
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "s3cr3t-value") && !strings.Contains(string(data), "s3cr3t-value") {
				t.Errorf("a bad error: %q", err)
			}
			return
		}
		if errs := cfg.validate(); len(errs) > 0 {
			t.Errorf("accepted, and then invalid: %v", errs)
		}
	})
}
