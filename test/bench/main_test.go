package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/bench"
)

// TestMain is also what stands in for floe: its bench gives a result at once.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		standInForBench(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

// standInForBench makes its figures out of its flags.
func standInForBench(args []string) {
	if slices.Contains(args, "--fail") {
		fmt.Fprintln(os.Stderr, "no luck")
		os.Exit(1)
	}
	r := bench.Result{Records: 1000, ValueBytes: 143_000, CPUNsPerRecord: 500, RecordsPerSecond: 2e6, CommitP50Seconds: 0.02, PeakRSSBytes: 2e8,
		Machine: bench.Machine{CPUs: 2, Go: "go", OS: "os", Arch: "arch"}}
	if slices.Contains(args, "1") {
		r.CPUNsPerRecord = 400
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
}

// bin calls the program in this process.
func bin(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = run(context.Background(), args, &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestTableRunsEachRowAndPrintsRatios(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	code, out, errOut := bin("table", "--floe", os.Args[0], "--runs", "1", "--only", "writers,history", "--rows", "2", "--out", file)
	if code != 0 {
		t.Fatal(code, errOut)
	}
	for _, want := range []string{
		"### Writers\n\n| | records/s", "| 1 | 2000000 | 0 | 400 | 0.0000 | 200 | 20 | 1.00 | 1 |", "| 2 | 2000000 | 0 | 500 | 0.0000 | 200 | 20 | 1.25 | 1 |",
		"### Snapshots before", "| 100 |", "commit p50, ratio", "Machine: 2 CPUs, go, os/arch.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "| 4 |") || !strings.Contains(errOut, "Writers, 2, run 1: 500 ns CPU a record") {
		t.Error(out, errOut)
	}
	if _, again, _ := bin("print", file); again != out {
		t.Errorf("the file gives another table:\n%s", again)
	}
	code, plot, errOut := bin("plot", file)
	if code != 0 || !strings.Contains(plot, "500 ns, 2.00 M records/s") || !strings.Contains(plot, "prefers-color-scheme: dark") {
		t.Error(code, plot, errOut)
	}
	for d := xml.NewDecoder(strings.NewReader(plot)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err, plot)
		}
	}
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "Commands:", nil},
		{2, "Commands:", []string{"draw"}},
		{2, `there is no group "speed"`, []string{"table", "--only", "writers,speed"}},
		{2, "0 arguments, want 1", []string{"print"}},
		{1, "line 1 is no run", []string{"plot", bad}},
		{1, "no such file", []string{"print", bad + ".none"}},
		{1, "no luck", []string{"table", "--floe", os.Args[0], "--flags", "--fail", "--out", bad}},
		{2, "--for and --rate", []string{"steady", "--rate", "0"}},
		{2, "--writers 0", []string{"steady", "--writers", "0"}},
		{2, `"much" is not a size`, []string{"steady", "--overhead", "much"}},
	} {
		if code, out, errOut := bin(c.args...); code != c.code || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("%q: exit code %d, %s%s", c.args, code, out, errOut)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, of := range map[float64][]float64{0: nil, 3: {9, 3, 1}, 2.5: {4, 1, 3, 2}} {
		if got := medianOf(of); got != want {
			t.Errorf("%v: %v, want %v", of, got, want)
		}
	}
}

func TestTheVerdictOnMemory(t *testing.T) {
	flat := func(levels ...float64) (s []float64) {
		for _, l := range levels {
			s = append(s, slices.Repeat([]float64{l}, 10)...)
		}
		return s
	}
	for name, c := range map[string]struct {
		v    verdict
		want string
	}{
		"flat":         {judge(flat(50, 100, 104), 110, 120), ""},
		"warms up":     {judge(flat(10, 100, 100), 110, 120), ""},
		"grows":        {judge(flat(100, 100, 106), 110, 120), "the resident set grows: it is 6.0 %"},
		"passes over":  {judge(flat(100, 100, 100), 130e6, 120e6), "the peak is 10.0 MB above the bound"},
		"no samples":   {judge(nil, 0, 120), "there are too few samples"},
		"falls behind": {verdict{second: 1, last: 1, rows: 5, produced: 100, fewest: 50}, "5 rows are visible, and at least 50"},
		"too many":     {verdict{second: 1, last: 1, rows: 101, produced: 100}, "101 rows are visible"},
	} {
		err := c.v.err()
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q; %s", name, got, c.want, c.v)
		}
	}
}

// TestFigures holds the units that the plot writes.
func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"740 ns": duration(740), "25 µs": duration(25_000), "12 ms": duration(12e6),
		"1.25 M": thousands(1.25e6), "210 k": thousands(210_000), "950": thousands(950),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
