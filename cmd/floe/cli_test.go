package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// TestMain is also floe itself: bench starts its own binary, TestDemoKilled and the completion of shells this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{benchBroker, "demo", "completion", completeWord}, os.Args[1]) {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
	}
	goleak.VerifyTestMain(m)
}

// answer is what one call of the binary gave.
type answer struct {
	code     int
	out, err string
}

func noEnv(string) (string, bool) { return "", false }

// call calls the binary in this process.
func call(t *testing.T, args ...string) answer {
	t.Helper()
	return callWith(t, "", noEnv, args...)
}

func callWith(t *testing.T, stdin string, env func(string) (string, bool), args ...string) answer {
	t.Helper()
	var out bytes.Buffer
	errOut := &lockedBuffer{}
	signals := make(chan os.Signal, 1)
	// What should have ended by itself is ended, so that a test fails with the log in its hands.
	watchdog := time.AfterFunc(20*time.Second, func() { signals <- os.Interrupt })
	defer watchdog.Stop()
	c := &cli{stdin: strings.NewReader(stdin), stdout: &out, stderr: errOut, env: env,
		signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	code := c.main(args)
	return answer{code, out.String(), errOut.String()}
}

// text is everything that the user sees, for a golden file. What differs from run to run is masked.
func (a answer) text(masks ...string) string {
	s := "exit code " + string(rune('0'+a.code)) + "\n--- stdout\n" + a.out + "--- stderr\n" + a.err
	for i := 0; i+1 < len(masks); i += 2 {
		s = strings.ReplaceAll(s, masks[i], masks[i+1])
	}
	for _, m := range []struct{ pattern, with string }{
		{`127\.0\.0\.1:\d{4,5}`, "127.0.0.1:PORT"},
		{`time=\S+`, "time=TIME"},
		{`snapshot \d{10,}`, "snapshot ID"},
		{`incarnation of the topic \(\S+, now \S+\)`, "incarnation of the topic (ONE, now ANOTHER)"},
		{` on \S+: no such host`, ": no such host"},
		{`write anything for \d+s`, "write anything for TIME"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
	} {
		s = regexp.MustCompile(m.pattern).ReplaceAllString(s, m.with)
	}
	return s
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"usage": {"--help"}, "demo": {"demo", "--help"}, "run": {"run", "-h"}, "validate": {"help", "validate"}, "doctor": {"doctor", "--help"},
		"positions": {"positions", "--help"}, "version": {"version", "--help"}, "bench": {"bench", "--help"}, "rejects": {"rejects", "--help"},
		"status": {"status", "--help"}, "config": {"config", "--help"}, "completion": {"completion", "--help"}, "wal": {"wal", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, args...)
			if a.code != exitDone || a.err != "" {
				t.Errorf("exit code %d, stderr %q", a.code, a.err)
			}
			golden(t, "help/"+name, a.out)
		})
	}
}

// TestExamplesInTheHelpAreCallsOfTheCommand holds the examples' first words and flags against the command.
func TestExamplesInTheHelpAreCallsOfTheCommand(t *testing.T) {
	for _, cmd := range commands() {
		flags, examples, _ := strings.Cut(call(t, cmd.name, "--help").out, "\nExamples:\n")
		if strings.TrimSpace(cmd.examples) == "" || !strings.HasPrefix(examples, "  floe "+cmd.name) {
			t.Errorf("%s: %q are no examples of it", cmd.name, examples)
		}
		for _, f := range regexp.MustCompile(`--[a-z-]+`).FindAllString(examples, -1) {
			if !strings.Contains(flags, f) {
				t.Errorf("%s: there is no flag %s", cmd.name, f)
			}
		}
	}
}

func TestWrongUsageIsOneSentenceAndExitCode2(t *testing.T) {
	var all strings.Builder
	for _, args := range [][]string{
		{}, {"fly"}, {"run"}, {"run", "--fast", "x.yaml"}, {"run", "nope.yaml"}, {"run", "nope.yaml", "more"},
		{"demo", "now"}, {"demo", "--records"}, {"demo", "--records", "many"}, {"demo", "--records", "-1"},
		{"validate"}, {"validate", "--samples", "-1", "testdata/valid.yaml"}, {"validate", "testdata/valid.yaml", "b"},
		{"doctor"}, {"doctor", "--interval", "-1s", "testdata/valid.yaml"}, {"doctor", "testdata/valid.yaml", "b"},
		{"positions"}, {"positions", "get"}, {"positions", "show"}, {"positions", "show", "testdata/valid.yaml", "a/0=1"},
		{"positions", "set", "testdata/valid.yaml"}, {"positions", "forget", "testdata/valid.yaml"},
		{"positions", "forget", "--all", "latest", "testdata/valid.yaml", "orders"},
		{"wal"}, {"wal", "drop"}, {"wal", "list"}, {"wal", "list", "testdata/valid.yaml", "0b6c4f0e"}, {"wal", "show", "testdata/valid.yaml"},
		{"positions", "set", "--all", "first", "testdata/valid.yaml"},
		{"bench", "a"}, {"bench", "--workload", "c"}, {"bench", "--records", "0"},
		{"bench", "--partitions", "0"}, {"bench", "--writers", "0"}, {"bench", "--iceberg-partitions", "-1"}, {"bench", "--history", "-1"},
		{"bench", "--warm-up", "11", "--records", "10"}, {"bench", "--interval", "-1s"}, {"bench", "--interval", "soon"},
		{"bench", "--record-bytes", "100"}, {"bench", "--record-bytes", "2000", "--workload", "b"}, {"bench", "--codec", "zip"},
		{"bench", "--brokers", "localhost:9092"}, {"bench", "--topic", "t"}, {"bench", "--produced"},
		{"bench", "--memory", "much"}, {"bench", "--seal-bytes", "2", "--memory", "1MiB"},
		{"version", "now"}, {"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}, {"config"}, {"config", "show"}, {"config", "schema", "more"}, {"config", "example", "--json"}, {"run", "testdata"}, {"run", "testdata/unknown.yaml"}, {"run", "testdata/secret.yaml"},
		{"run", "testdata/schema.yaml"}, {"run", "testdata/partition.yaml"}, {"run", "testdata/catalog.yaml"}, {"run", "testdata/ca.yaml"},
	} {
		a := call(t, args...)
		if a.code != exitUsage || a.out != "" {
			t.Errorf("%q: exit code %d, stdout %q", args, a.code, a.out)
		}
		all.WriteString("$ floe " + strings.Join(args, " ") + "\n" + a.err)
	}
	golden(t, "usage-errors", all.String())
}

func TestVersion(t *testing.T) {
	a := call(t, "version")
	if a.code != exitDone || !strings.Contains(a.out, "catalogs: postgres, ") || !strings.Contains(a.out, "schemes: file") {
		t.Errorf("got %+v", a)
	}
	if b := call(t, "--version", "--json"); !strings.Contains(b.out, `"go": "go1.`) {
		t.Errorf("got %+v", b)
	}
}

func TestArgumentsAndFlagsInAnyOrder(t *testing.T) {
	for _, args := range [][]string{
		{"--x", "a", "b"}, {"a", "--x", "b"}, {"a", "b", "--x"}, {"--x", "--", "a", "b"}, {"a", "--x", "--", "b"},
	} {
		fs := flag.NewFlagSet("c", flag.ContinueOnError)
		x := fs.Bool("x", false, "")
		rest, err := (&cli{}).parse(&command{name: "c"}, fs, args)
		if err != nil || !*x || strings.Join(rest, " ") != "a b" {
			t.Errorf("%q: %q, %v, %v", args, rest, *x, err)
		}
	}
}
