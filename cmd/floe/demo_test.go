package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// outcome is what demo --json prints, as far as tests look at it.
type outcome struct {
	OK       bool
	Records  int64
	Produced int64
	Error    string
	Check    struct{ Rows, Distinct, Missing, Duplicate, Foreign, Wrong int64 }
	Config   string
	Location string
	Queries  struct{ DuckDB, PyIceberg string }
}

func demoJSON(t *testing.T, args ...string) outcome {
	t.Helper()
	a := call(t, append([]string{"demo", "--json"}, args...)...)
	var o outcome
	if err := json.Unmarshal([]byte(a.out), &o); err != nil {
		t.Fatalf("exit code %d, %v: %s%s", a.code, err, a.out, a.err)
	}
	if a.code != exitDone || !o.OK || o.Error != "" {
		t.Fatalf("exit code %d: %s", a.code, a.out)
	}
	if o.Check.Rows != o.Records || o.Check.Distinct != o.Records {
		t.Fatalf("not each event once: %+v", o)
	}
	return o
}

func TestDemoGoesOnWhereItEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	first := demoJSON(t, "--dir", dir, "--records", "3001")
	if first.Records != 3001 || first.Produced != 3001 {
		t.Errorf("first run: %+v", first)
	}
	again := demoJSON(t, "--dir", dir)
	if again.Records != 3001 || again.Produced != 0 {
		t.Errorf("second run: %+v", again)
	}
	more := demoJSON(t, "--dir", dir, "--records", "5000")
	if more.Records != 5000 || more.Produced != 1999 {
		t.Errorf("third run: %+v", more)
	}
	for _, name := range []string{"catalog.db", "warehouse", "broker", "floe.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	// Without the WAL and without the group's offsets the table alone says where it stands.
	removeFolders(t, dir, "_storm_wal")
	if err := os.Remove(filepath.Join(dir, "broker", "groups.log")); err != nil {
		t.Error(err)
	}
	if last := demoJSON(t, "--dir", dir, "--records", "6000"); last.Produced != 1000 {
		t.Errorf("last run: %+v", last)
	}
}

func removeFolders(t *testing.T, dir, name string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != name {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return fs.SkipDir
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDemoTellsWhereAndHowToQuery(t *testing.T) {
	dir := t.TempDir()
	a := call(t, "demo", "--records", "1000", "--dir", dir)
	if a.code != exitDone {
		t.Fatal(a.text())
	}
	for _, want := range []string{
		"Every one of 1000 events is in the table exactly once", "iceberg_scan('" + dir, "load_catalog('default'",
		"sqlite:///" + dir + "/catalog.db", "snapshots  ", "floe demo --dir " + dir,
	} {
		if !strings.Contains(a.out, want) {
			t.Errorf("%q is missing in\n%s", want, a.out)
		}
	}
	for _, want := range []string{"producing", "ingesting", "verifying", "1000 of 1000 events"} {
		if !strings.Contains(a.err, want) {
			t.Errorf("%q is missing in\n%s", want, a.err)
		}
	}
	if strings.Contains(a.err, "\r") {
		t.Error("a line is written over where there is no terminal")
	}
}

func TestDemoWhoseBrokerWasRemovedSaysSo(t *testing.T) {
	dir := t.TempDir()
	demoJSON(t, "--dir", dir, "--records", "100")
	if err := os.RemoveAll(filepath.Join(dir, "broker")); err != nil {
		t.Fatal(err)
	}
	a := call(t, "demo", "--dir", dir)
	if a.code != exitFailed || !strings.Contains(a.err, "remove "+dir+" and start again") {
		t.Error(a.text())
	}
}

func TestDemoFolderThatCantBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(filepath.Dir(file), "a b")} {
		a := call(t, "demo", "--dir", dir)
		if a.code != exitFailed || !strings.Contains(a.err, "choose another with --dir") {
			t.Error(a.text())
		}
	}
}

// TestDemoKilled kills a process at many moments, and starts it again: each event is there once.
func TestDemoKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for some seconds")
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const records = "150000"
	for i, at := range []struct {
		line  string
		after time.Duration // a moment behind it, and nothing that is waited for
	}{
		{"producing", 0}, {"producing", 200}, {"ingesting", 0}, {"ingesting", 200}, {"ingesting", 500}, {"ingesting", 900},
		{"verifying", 0},
	} {
		err := killedAt(t, exec.Command(self, "demo", "--dir", dir, "--records", records), at.line, at.after*time.Millisecond)
		t.Logf("run %d ended %d ms after %q: %v", i, at.after, at.line, err)
		if i == 4 {
			removeFolders(t, dir, "_storm_wal")
		}
	}
	out, err := exec.Command(self, "demo", "--dir", dir, "--json").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := fmt.Sprintf("\"rows\": %s,\n    \"distinct\": %s,\n    \"missing\": 0", records, records); !strings.Contains(string(out), want) {
		t.Errorf("not each event once: %s", out)
	}
}

// killedAt runs a process and kills it a while after it has said a line that begins like this, unless it has ended by then.
func killedAt(t *testing.T, cmd *exec.Cmd, line string, after time.Duration) error {
	t.Helper()
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var killer *time.Timer
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if killer == nil && strings.HasPrefix(lines.Text(), line) {
			killer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	if killer != nil {
		killer.Stop()
	}
	return err
}
