package replay_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/replay"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
	"github.com/stormfloe/floe/wal"
)

var (
	mainName    = table.Identifier{"db", "orders"}
	rejectsName = table.Identifier{"db", "bad"}
)

// world is a topic, and a topology that writes it to a table of 32-bit ids.
type world struct {
	t   *testing.T
	cat catalog.Catalog
	log *memory.Log
	// branch is that of the main table; empty: main.
	branch string
	// step is called before and after each request to the catalog, where it is set.
	step func() error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	cat, closeCatalog, err := catalogs.Open(t.Context(), "floe", map[string]string{"type": "sqlite",
		"uri": filepath.Join(dir, "c.db"), "warehouse": filepath.Join(dir, "wh")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeCatalog() })
	w := &world{t: t, cat: cat, log: memory.NewLog()}
	w.log.CreateTopic("orders", 1)
	sc, err := tableio.ParseSchema([]tableio.Column{{Name: "id", Type: "int", Required: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tableio.Ensure(t.Context(), cat, mainName, tableio.Definition{Schema: sc}); err != nil {
		t.Fatal(err)
	}
	return w
}

// run consumes values, which are new to the topic.
func (w *world) run(values ...string) {
	w.t.Helper()
	for _, v := range values {
		w.log.AppendValues("orders", 0, []byte(v))
	}
	bad, err := topology.RejectsFrom(w.t.Context(), w.cat, rejectsName...)
	if err != nil {
		w.t.Fatal(err)
	}
	top, err := topology.New(topology.Config{Name: "orders", Source: w.log.Source(memory.Options{}), Mapper: mapper.NewJSON(mapper.JSONOptions{}),
		Table: topology.LoadFrom(w.cat, mainName...), Rejects: bad, UntilCaughtUp: true,
		Committer: topology.CommitterConfig{Branch: w.branch}})
	if err == nil {
		err = top.Run(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// stepper is a catalog whose requests can fail before they are there, or after.
type stepper struct {
	catalog.Catalog
	w *world
}

func (s *stepper) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if err := s.w.step(); err != nil {
		return nil, err
	}
	return s.Catalog.LoadTable(ctx, ident)
}

func (s *stepper) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if err := s.w.step(); err != nil {
		return nil, "", err
	}
	m, loc, err := s.Catalog.CommitTable(ctx, ident, reqs, updates)
	if err == nil {
		err = s.w.step()
	}
	return m, loc, err
}

func (w *world) config() replay.Config {
	cat := w.cat
	if w.step != nil {
		cat = &stepper{w.cat, w}
	}
	bad := tableio.New(cat, rejectsName)
	return replay.Config{Topology: "orders", Branch: w.branch, Mapper: mapper.NewJSON(mapper.JSONOptions{}), Main: tableio.New(cat, mainName), Rejects: bad,
		Committer: func(main committer.Loader) (*committer.Committer, error) {
			return committer.New(committer.Config{Topology: "orders", Branch: w.branch, Rejects: bad}, main, wal.New("", "orders"))
		}}
}

func (w *world) replay(want replay.Result) {
	w.t.Helper()
	got, err := replay.Run(w.t.Context(), w.config())
	if len(got.Commits) != len(want.Commits) {
		w.t.Errorf("commits %v", got.Commits)
	}
	got.Commits, want.Commits = nil, nil
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func (w *world) load(ident table.Identifier) *table.Table {
	w.t.Helper()
	tbl, err := w.cat.LoadTable(w.t.Context(), ident)
	if err != nil {
		w.t.Fatal(err)
	}
	return tbl
}

// mend makes the ids of the main table 64 bits wide.
func (w *world) mend() {
	w.t.Helper()
	tx := w.load(mainName).NewTransaction()
	err := tx.UpdateSchema(true, false).UpdateColumn([]string{"id"}, table.ColumnUpdate{
		FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}}).Commit()
	if err == nil {
		_, err = tx.Commit(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// ids are those of the rows, sorted.
func (w *world) ids() (out []int64) {
	w.t.Helper()
	rows, err := w.load(mainName).Scan().ToArrowTable(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Release()
	for _, c := range rows.Column(0).Data().Chunks() {
		switch c := c.(type) {
		case *array.Int64:
			out = append(out, c.Int64Values()...)
		case *array.Int32:
			for i := range c.Len() {
				out = append(out, int64(c.Value(i)))
			}
		}
	}
	slices.Sort(out)
	return out
}

// rejects are "offset state", sorted.
func (w *world) rejects() string {
	w.t.Helper()
	line, out := rejects.NewLine(w.load(mainName), "main"), []string{}
	err := rejects.Read(w.t.Context(), w.load(rejectsName), rejects.ReadOptions{Contents: true}, func(st *rejects.Stored) error {
		state := line.Of(st).String()
		if line.Open(st) {
			state = "open"
		} else if st.Replayed != "" {
			state += " replayed"
		}
		if !strings.Contains(string(st.Record.Value), "id") && string(st.Record.Value) != "x" {
			w.t.Errorf("value %q", st.Record.Value)
		}
		out = append(out, fmt.Sprint(st.Record.Position, " ", state))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (w *world) want(ids []int64, rejects string) {
	w.t.Helper()
	if got := w.ids(); !slices.Equal(got, ids) {
		w.t.Errorf("rows %v, want %v", got, ids)
	}
	if got := w.rejects(); got != rejects {
		w.t.Errorf("rejects %s, want %s", got, rejects)
	}
}

const big = 5_000_000_000

func TestAReplayTakesInWhatFitsNowAndLeavesTheRest(t *testing.T) {
	w := newWorld(t)
	w.run(`{"id":1}`, `{"id":5000000000}`, `x`, `{"id":2}`)
	w.run(`{"id":3}`, `{"id":5000000001}`)
	w.want([]int64{1, 2, 3}, "1 open, 2 open, 5 open")
	w.replay(replay.Result{Left: 3})
	w.want([]int64{1, 2, 3}, "1 open, 2 open, 5 open")
	w.mend()
	w.replay(replay.Result{Replayed: 2, Left: 1, Commits: []string{"", ""}})
	w.want([]int64{1, 2, 3, big, big + 1}, "1 current replayed, 2 open, 5 current replayed")
	w.replay(replay.Result{Left: 1})
	w.run(`{"id":4}`)
	w.replay(replay.Result{Left: 1})
	w.want([]int64{1, 2, 3, 4, big, big + 1}, "1 current replayed, 2 open, 5 current replayed")
}

// After a rollback what is history is not replayed: its records are read again.
func TestAReplayLeavesHistoryAlone(t *testing.T) {
	w := newWorld(t)
	w.run(`{"id":1}`, `{"id":5000000000}`)
	first := w.load(mainName).CurrentSnapshot().SnapshotID
	w.run(`{"id":2}`, `{"id":5000000001}`)
	w.mend()
	w.rollback(first)
	w.replay(replay.Result{Replayed: 1, Commits: []string{""}})
	w.run()
	w.want([]int64{1, 2, big, big + 1}, "1 current replayed, 3 history")
	w.replay(replay.Result{})
}

func (w *world) rollback(to int64) {
	w.t.Helper()
	if _, _, err := w.cat.CommitTable(w.t.Context(), mainName, nil,
		[]table.Update{table.NewSetSnapshotRefUpdate("main", to, table.BranchRef, -1, -1, -1)}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAReplayThatDiesAtAnyStepIsFinishedByTheNext kills it at each request to the catalog, before it and after it was applied.
func TestAReplayThatDiesAtAnyStepIsFinishedByTheNext(t *testing.T) {
	killed := errors.New("killed")
	for k := 1; ; k++ {
		w := newWorld(t)
		w.run(`{"id":1}`, `{"id":5000000000}`, `x`)
		w.run(`{"id":5000000001}`)
		w.mend()
		ctx, cancel := context.WithCancel(t.Context())
		n, dead := 0, false
		w.step = func() error {
			if n++; n >= k {
				dead = true
				cancel()
				return killed
			}
			return nil
		}
		_, err := replay.Run(ctx, w.config())
		cancel()
		w.step = nil
		if !dead {
			if err != nil || k < 5 {
				t.Errorf("it ended after %d steps: %v", n, err)
			}
			return
		}
		if k%2 == 0 {
			w.run() // whoever comes first finishes it
		}
		res, err := replay.Run(t.Context(), w.config())
		if err != nil || res.Left > 1 {
			t.Errorf("step %d: %+v, %v", k, res, err)
		}
		w.want([]int64{1, big, big + 1}, "1 current replayed, 2 open, 3 current replayed")
		if t.Failed() {
			t.Fatalf("step %d", k)
		}
	}
}

// A branch that is set back while a replay is under way ends it: what it judged is looked at again.
func TestARollbackDuringAReplayIsSeen(t *testing.T) {
	for k := 1; k < 9; k++ {
		w := newWorld(t)
		w.run(`{"id":1}`)
		first := w.load(mainName).CurrentSnapshot().SnapshotID
		w.run(`{"id":5000000000}`)
		w.mend()
		n := 0
		w.step = func() error {
			if n++; n == k {
				w.rollback(first)
			}
			return nil
		}
		if _, err := replay.Run(t.Context(), w.config()); err != nil {
			t.Fatal(err)
		}
		w.step = nil
		w.run()
		if got := w.ids(); !slices.Equal(got, []int64{1, big}) {
			t.Fatalf("step %d: rows %v", k, got)
		}
	}
}

// What a replay judges by is the head of its own branch, wherever main stands.
func TestAReplayFollowsItsOwnBranch(t *testing.T) {
	set := func(w *world, branch string, to int64) {
		if _, _, err := w.cat.CommitTable(t.Context(), mainName, nil,
			[]table.Update{table.NewSetSnapshotRefUpdate(branch, to, table.BranchRef, -1, -1, -1)}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 8 {
		rolledBack := k > 0
		w := newWorld(t)
		w.run(`{"id":1}`)
		first := w.load(mainName).CurrentSnapshot().SnapshotID
		set(w, "audit", first)
		w.branch = "audit"
		w.run(`{"id":5000000000}`)
		w.mend()
		if rolledBack {
			n := 0
			w.step = func() error {
				if n++; n == k {
					set(w, "audit", first)
				}
				return nil
			}
		} else {
			w.rollback(first)
			w.branch = ""
			w.run(`{"id":3}`)
			w.branch = "audit"
		}
		if _, err := replay.Run(t.Context(), w.config()); err != nil {
			t.Errorf("step %d: %v", k, err)
		}
		w.step = nil
		w.run()
		set(w, "main", w.load(mainName).Metadata().SnapshotByName("audit").SnapshotID)
		want := []int64{1, big}
		if !rolledBack {
			want = []int64{1, 3, big}
		}
		if got := w.ids(); !slices.Equal(got, want) {
			t.Errorf("set back at step %d: rows %v", k, got)
		}
	}
}
