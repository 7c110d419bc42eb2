package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// kills makes the long tier: go test ./test/proof -run Soak -args -kills 30.
var kills = flag.Int("kills", 0, "SIGKILLs of TestSoak; 0 skips it")

func TestMain(m *testing.M) {
	if os.Getenv(asFloe) != "" {
		os.Exit(pretend(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// proofs runs a command and gives its exit code and what it printed.
func proofs(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(context.Background(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestWrongUsageIsExplained(t *testing.T) {
	for args, want := range map[string]string{
		"":                        "Usage: proof COMMAND",
		"sok":                     "Usage: proof COMMAND",
		"soak --kills 0":          "--kills and --round",
		"soak --session 1ms":      "--session",
		"soak --catalog uri":      "KEY=VALUE",
		"soak more":               `"more" is one argument too many`,
		"soak --nope":             "-nope",
		"faults --turn 5s":        "--turn",
		"faults --for 40s":        "--for",
		"produce --topic t":       "--brokers",
		"check":                   "one configuration",
		"check no-such-file.yaml": "no such file",
		"proxy":                   "--to",
		"proxy --to http://x --faults commit:never": "route:fault:when",
		"proxy --to nowhere":                        "no http address",
	} {
		code, stdout, stderr := proofs(strings.Fields(args)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("proof %s: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, command := range []string{"soak", "faults", "produce", "check", "proxy"} {
		if code, _, stderr := proofs(command, "--help"); code != 0 || !strings.Contains(stderr, "Flags:") {
			t.Errorf("proof %s --help: exit code %d\n%s", command, code, stderr)
		}
	}
}

// TestSoak is a whole soak with nothing but Go, and then the checker as a command: on what the soak has left it finds nothing;
// told that something else was produced, it does.
func TestSoak(t *testing.T) {
	if *kills == 0 {
		t.Skip("builds floe and kills it; run it with -args -kills 10")
	}
	dir := t.TempDir()
	code, stdout, stderr := proofs("soak", "--kills", fmt.Sprint(*kills), "--dir", dir)
	t.Logf("%s%s", stderr, stdout)
	if code != 0 || !strings.Contains(stdout, "0 doubled, 0 lost") {
		t.Fatalf("exit code %d", code)
	}
	truth, cfg := filepath.Join(dir, "round-001", "truth.json"), filepath.Join(dir, "round-001", "floe.json")
	if code, stdout, stderr = proofs("check", "--truth", truth, cfg); code != 0 {
		t.Errorf("check: exit code %d\n%s%s", code, stdout, stderr)
	}
	p, err := loadPattern(truth)
	if err != nil {
		t.Fatal(err)
	}
	p.Seed++
	other := filepath.Join(dir, "other.json")
	if err := p.save(other); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr = proofs("check", "--truth", other, cfg); code != 1 || !strings.Contains(stdout, "altered") ||
		!strings.Contains(stderr, "the table is wrong") {
		t.Errorf("check against something else: exit code %d\n%s%s", code, stdout, stderr)
	}
}
