package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/topology"
)

// listening writes a configuration whose floe listens there.
func listening(t *testing.T, listen string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "floe.yaml")
	text := "name: orders\nsource: {kafka: {brokers: ['127.0.0.1:1'], topics: [orders]}}\ncatalog: {type: sqlite, uri: c.db, warehouse: w}\n" +
		"table: {name: db.orders}\nhttp: {listen: '" + listen + "'}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// answering is a server with the statuses, and its address.
func answering(t *testing.T, all ...topology.Status) string {
	t.Helper()
	st := &site{status: func() []topology.Status { return all }, redact: func(s string) string { return s }}
	srv := httptest.NewServer(st.handler())
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

func sick() topology.Status {
	then := time.Now().Add(-90 * time.Second)
	end, lag := source.Position(40), int64(12)
	return topology.Status{
		Topology: "orders", Table: "db.orders", Phase: topology.PhaseRunning, NotReady: []string{"committer/0 is held up"}, Started: &then,
		Troubles:  []topology.TroubleStatus{{Part: "committer/0", Error: "the catalog is away", Hint: "Start it.", Since: then}},
		LastError: "a bad thing\x1b[31m", LastErrorAt: &then,
		Tasks:      []topology.TaskStatus{{Task: "writer/0", Phase: "waiting", OpenRows: 5, InFlight: 2, Sealed: topology.SealedStatus{Rows: 30, Files: 3, Rejects: 1}}},
		Committers: []topology.CommitterStatus{{Committer: "committer/0", Phase: "held up", Commits: 4, Rows: 28, Files: 2, PendingFiles: 1, LastCommit: &then}},
		Partitions: []topology.PartitionStatus{{Topic: "orders", Partition: 1, Read: 35, Sealed: 30, Committed: 28, End: &end, LagRecords: &lag}, {Topic: "orders", Partition: 2, Stopped: "its log was cut off"}},
		WAL:        &topology.WALStatus{Entries: 1}, Rejects: map[mapper.Code]int64{mapper.CodeType: 1},
	}
}

func TestStatusTellsWhatTheRunningFloeSays(t *testing.T) {
	got := call(t, "status", listening(t, answering(t, sick())))
	if got.code != exitFailed || got.err != "" {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	golden(t, "status", regexp.MustCompile(`[12]m[0-9]+s`).ReplaceAllString(got.out, "1m30s"))
	well := sick()
	well.Ready, well.NotReady = true, nil
	other := sick()
	other.Topology = "returns"
	if got := call(t, "status", "--json", listening(t, answering(t, other, well))); got.code != exitDone || !strings.Contains(got.out, `"topology": "orders"`) {
		t.Errorf("of two: exit code %d, %s", got.code, got.out)
	}
	if got := call(t, "status", "--address", answering(t, well), listening(t, "127.0.0.1:0")); got.code != exitDone {
		t.Errorf("at another address: exit code %d, %s", got.code, got.err)
	}
}

func TestStatusSaysWhyThereIsNoAnswer(t *testing.T) {
	other := sick()
	other.Topology = "returns"
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for name, c := range map[string]struct{ listen, want string }{
		"off":             {"off", "http.listen is off"},
		"any port":        {"127.0.0.1:0", "--address"},
		"nobody":          {"127.0.0.1:1", "Nothing listens at that address"},
		"another program": {strings.TrimPrefix(web.URL, "http://"), "is no floe"},
		"another floe":    {answering(t, other), "runs returns, and not orders"},
	} {
		if got := call(t, "status", listening(t, c.listen)); got.code == exitDone || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", name, got.code, got.err, c.want)
		}
	}
}
