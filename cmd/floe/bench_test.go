package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/bench"
)

// benchOutcome is what bench --json prints.
type benchOutcome struct {
	bench.Result
	Compare *bench.Comparison
	Error   string
}

func benchJSON(t *testing.T, args ...string) benchOutcome {
	t.Helper()
	a := call(t, append([]string{"bench", "--json"}, args...)...)
	var o benchOutcome
	if err := json.Unmarshal([]byte(a.out), &o); err != nil {
		t.Fatalf("exit code %d, %v: %s%s", a.code, err, a.out, a.err)
	}
	if a.code != exitDone || !o.OK || o.Error != "" {
		t.Fatalf("exit code %d: %s%s", a.code, a.out, a.err)
	}
	return o
}

func TestBenchMeasuresFromEndToEnd(t *testing.T) {
	dir := t.TempDir()
	o := benchJSON(t, "--records", "20000", "--partitions", "3", "--history", "2", "--iceberg-partitions", "4", "--seal-records", "5000",
		"--interval", "10ms", "--dir", dir, "--cpuprofile", filepath.Join(dir, "cpu"), "--memprofile", filepath.Join(dir, "mem"))
	if o.Records != 20_000 || o.Workload != "a" || o.Check.Rows != 20_000 || o.Settings.Partitions != 3 || o.Settings.WarmUp != 2000 {
		t.Errorf("%+v", o)
	}
	for name, v := range map[string]float64{
		"seconds": o.Seconds, "records_per_second": o.RecordsPerSecond, "mb_per_second": o.MBPerSecond,
		"cpu_ns_per_record": o.CPUNsPerRecord, "broker_cpu_ns_per_record": *o.BrokerCPUNsPerRecord,
		"allocs_per_record": o.AllocsPerRecord, "bytes_allocated_per_record": o.BytesAllocatedPerRecord,
		"peak_rss_bytes": float64(o.PeakRSSBytes), "commits": float64(o.Commits), "commit_p50_seconds": o.CommitP50Seconds,
		"commit_p99_seconds": o.CommitP99Seconds, "first_row_seconds": o.FirstRowSeconds,
		"file_bytes_per_row": o.FileBytesPerRow, "data_files": float64(o.DataFiles), "cpus": float64(o.Machine.CPUs),
	} {
		if v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if o.FirstRowSeconds > o.Seconds || o.CommitP50Seconds > o.CommitP99Seconds {
		t.Errorf("%+v", o.Result)
	}
	for _, name := range []string{"cpu", "mem", filepath.Join(filepath.Base(o.Dir), "events.yaml"), filepath.Join(filepath.Base(o.Dir), "catalog.db")} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBenchComparesWithAnEarlierRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "before.json")
	args := []string{"--workload", "b", "--records", "2000", "--warm-up", "0", "--codec", "none"}
	before := benchJSON(t, append(args, "--writers", "2")...)
	data, err := json.Marshal(before.Result)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := benchJSON(t, append(args, "--writers", "1", "--compare", file)...)
	if len(o.Compare.Ratios) < 8 || o.Compare.Ratios[0].Before != before.RecordsPerSecond || *o.Compare.Ratios[1].Ratio != o.Compare.Ratios[1].Now/o.Compare.Ratios[1].Before {
		t.Errorf("%+v", o.Compare)
	}
	if got := strings.Join(o.Compare.Differ, "; "); got != "writers: 2 before, 1 now" {
		t.Errorf("the runs differ in %q", got)
	}
}

func TestBenchPrintsWhatItHasMeasured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "before.json")
	if err := os.WriteFile(file, []byte(`{"records": 5, "cpu_ns_per_record": 1, "settings": {"workload": "b"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	text := call(t, "bench", "--records", "1000", "--compare", file)
	for _, want := range []string{"Workload a: 1000 records", "cpu_ns_per_record", "The runs differ in workload: b before, a now", "Each record is in the table once."} {
		if !strings.Contains(text.out, want) {
			t.Errorf("%q is missing in\n%s", want, text.out)
		}
	}
	if !strings.Contains(text.err, "preloading  1000 of 1000 records") || !strings.Contains(text.err, "measuring") {
		t.Error(text.err)
	}
}

func TestBenchSaysWhatItCantRead(t *testing.T) {
	for name, content := range map[string]string{"empty.json": "", "other.json": `{"records": 0}`} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		a := call(t, "bench", "--compare", file)
		if a.code != exitFailed || a.err != "floe: "+file+" is not what floe bench --json prints\n" && a.err != file+" is not what floe bench --json prints\n" {
			t.Error(a.text())
		}
	}
}

// TestBenchOnARealBroker has the records produced by one run and used again by the next.
func TestBenchOnARealBroker(t *testing.T) {
	w := newWorld(t)
	args := []string{"--brokers", w.addr, "--topic", "filled", "--records", "3000", "--warm-up", "0"}
	if o := benchJSON(t, args...); o.BrokerCPUNsPerRecord != nil || o.Check.Rows != 3000 {
		t.Errorf("%+v", o)
	}
	if o := benchJSON(t, append(args, "--produced")...); o.ValueBytes < 3000*130 || o.Check.Rows != 3000 {
		t.Errorf("%+v", o)
	}
}
