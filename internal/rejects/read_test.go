package rejects_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/tableio"
)

// stored is a rejects table that another library has written to.
func stored(t *testing.T, appends ...[2]string) *table.Table {
	t.Helper()
	dir := t.TempDir()
	cat, closeCatalog, err := catalogs.Open(t.Context(), "floe", map[string]string{"type": "sqlite",
		"uri": filepath.Join(dir, "c.db"), "warehouse": filepath.Join(dir, "wh")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeCatalog() })
	ident := table.Identifier{"db", "t_rejects"}
	if _, err := rejects.Ensure(t.Context(), cat, ident); err != nil {
		t.Fatal(err)
	}
	tbl, err := tableio.New(cat, ident).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc, err := table.SchemaToArrowSchema(tbl.Schema(), nil, true, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range appends {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, sc, strings.NewReader(a[1]))
		if err != nil {
			t.Fatal(err)
		}
		rdr, err := array.NewRecordReader(sc, []arrow.RecordBatch{rec})
		if err != nil {
			t.Fatal(err)
		}
		if tbl, err = tbl.Append(t.Context(), rdr, iceberg.Properties{"storm.iceberg.commit-id": a[0]}); err != nil {
			t.Fatal(err)
		}
	}
	return tbl
}

const (
	whole = `[{"topology":"a","cluster":"c","topic":"orders","incarnation":"i","partition":3,"offset":7,"timestamp":"1970-01-01T00:00:01.500000Z","key":"aw==","value":"AP8=",
		"headers":[{"key":"aA==","value":"eA=="},{"key":"","value":null}],"code":"type","reason":"not an integer","column":"id","rejected_at":"2026-11-30T12:00:00.000000Z","batch":"b1","replayed":"r1"}]`
	late  = `[{"topology":"a","topic":"orders","partition":0,"offset":9,"key":"","code":"range","reason":"x; its timestamp, 1700000000000000 ms, is later than the column can tell","rejected_at":"2026-11-30T12:00:00.000000Z","batch":"b3"}]`
	least = `[{"topology":"b","topic":"orders","partition":0,"offset":8,"key":null,"value":"","headers":[],"code":"syntax","reason":"x","rejected_at":"2026-11-30T12:00:00.000000Z","batch":"b2"},
		{"topology":"a","topic":"orders","partition":0,"offset":9,"key":"","value":null,"headers":null,"code":"empty","reason":"x","rejected_at":"2026-11-30T12:00:00.000000Z","batch":"b2"}]`
)

func TestRejectsAreReadAsTheyWereWritten(t *testing.T) {
	tbl := stored(t, [2]string{"one", whole}, [2]string{"two,three", least}, [2]string{"", least}, [2]string{"four", late})
	read := func(opts rejects.ReadOptions) (out []string) {
		t.Helper()
		err := rejects.Read(t.Context(), tbl, opts, func(st *rejects.Stored) error {
			out = append(out, fmt.Sprintf("%s %s/%s/%d/%s@%d %dms key %q value %q headers %q %s %q %q %s %s %q %q", st.Topology, st.Partition.Cluster, st.Partition.Topic,
				st.Partition.ID, st.Partition.Incarnation, st.Record.Position, st.Record.TimestampMs, st.Record.Key, st.Record.Value, st.Record.Headers,
				st.Code, st.Reason, st.Column, st.At.Format("15:04:05"), st.Batch, st.Replayed, st.Commits))
			if (st.Record.Key == nil) != (st.Record.Position != 9 && st.Record.Position != 7 || !opts.Contents) || !strings.Contains(st.File, "parquet") || st.Moved {
				t.Errorf("key %v, file %s", st.Record.Key, st.File)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(out)
		return out
	}
	got := read(rejects.ReadOptions{Topology: "a", Contents: true})
	want := []string{
		`a /orders/0/@9 -1ms key "" value "" headers [] empty "x" "" 12:00:00 b2 "" ["two" "three"]`,
		`a /orders/0/@9 -1ms key "" value "" headers [] empty "x" "" 12:00:00 b2 "" []`,
		`a /orders/0/@9 1700000000000000ms key "" value "" headers [] range "x" "" 12:00:00 b3 "" ["four"]`, // the time that the column can't hold
		`a c/orders/3/i@7 1500ms key "k" value "\x00\xff" headers [{"h" "x"} {"" ""}] type "not an integer" "id" 12:00:00 b1 "r1" ["one"]`,
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := read(rejects.ReadOptions{}); len(got) != 6 || strings.Contains(strings.Join(got, ""), `key "k"`) {
		t.Errorf("got %q", got)
	}
	stop := errors.New("stop")
	if err := rejects.Read(t.Context(), tbl, rejects.ReadOptions{}, func(*rejects.Stored) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := rejects.Read(t.Context(), stored(t), rejects.ReadOptions{}, func(*rejects.Stored) error { return stop }); err != nil {
		t.Errorf("an empty table: %v", err)
	}
}

// snap is a snapshot of the main table: its number, its parent's (0: none), its commit, and what its outbox names.
type snap struct {
	id, parent     int64
	commit, outbox string
}

func mainTable(t *testing.T, head int64, snaps ...snap) *table.Table {
	t.Helper()
	m, err := table.NewMetadata(iceberg.NewSchema(0), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://t", iceberg.Properties{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.MetadataBuilderFromBase(m, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snaps {
		x := &table.Snapshot{SnapshotID: s.id, SequenceNumber: s.id, TimestampMs: m.LastUpdatedMillis() + s.id, ManifestList: "mem://l",
			Summary: &table.Summary{Operation: table.OpAppend, Properties: iceberg.Properties{"storm.iceberg.commit-id": s.commit, "storm.iceberg.positions": s.outbox}}}
		if s.parent != 0 {
			x.ParentSnapshotID = &s.parent
		}
		if err := b.AddSnapshot(x); err != nil {
			t.Fatal(err)
		}
	}
	if head != 0 {
		if err := b.SetSnapshotRef("main", head, table.BranchRef); err != nil {
			t.Fatal(err)
		}
	}
	if m, err = b.Build(); err != nil {
		t.Fatal(err)
	}
	return table.New(table.Identifier{"db", "t"}, m, "", nil, nil)
}

func TestARejectStandsAsItsCommitDoes(t *testing.T) {
	box := `{"v":1,"topologies":{"a":{"outbox":[{"commit":"B","files":[{"path":"f"}]}]}}}`
	rolledBack := mainTable(t, 4, snap{1, 0, "A", ""}, snap{2, 1, "B", box}, snap{3, 2, "C", box}, snap{4, 1, "D", ""})
	expired := mainTable(t, 8, snap{7, 6, "B", ""}, snap{8, 6, "D", ""})
	headless := mainTable(t, 9, snap{9, 0, "D", ""})
	cut := mainTable(t, 9, snap{8, 0, "D", ""}, snap{9, 8, "E", ""})
	replaced := mainTable(t, 3, snap{1, 0, "A", ""}, snap{2, 1, "B", ""}, snap{3, 0, "C", ""})
	type st = rejects.Stored
	for name, c := range map[string]struct {
		main *table.Table
		st   rejects.Stored
		want rejects.Standing
		open bool
	}{
		"on the branch":                   {rolledBack, st{Commits: []string{"A"}}, rejects.Current, true},
		"rolled back":                     {rolledBack, st{Commits: []string{"B"}}, rejects.History, false},
		"of a commit that is nowhere":     {rolledBack, st{Commits: []string{"X"}}, rejects.History, false},
		"nobody knows":                    {rolledBack, st{}, rejects.Unknown, false},
		"two that are on the branch":      {rolledBack, st{Commits: []string{"A", "D"}}, rejects.Current, true},
		"two that went different ways":    {rolledBack, st{Commits: []string{"A", "B"}}, rejects.Unknown, false},
		"two, and an outbox tells":        {rolledBack, st{Commits: []string{"A", "B"}, File: "f"}, rejects.History, false},
		"replayed":                        {rolledBack, st{Commits: []string{"D"}, Moved: true, Replayed: "D"}, rejects.Current, false},
		"replayed, and rolled back":       {rolledBack, st{Commits: []string{"A"}, Replayed: "C"}, rejects.Current, true},
		"behind a replay off the branch":  {rolledBack, st{Commits: []string{"C"}, Moved: true}, rejects.Unknown, false},
		"expired":                         {expired, st{Commits: []string{"A"}}, rejects.Unknown, false},
		"expired, and known to be off":    {expired, st{Commits: []string{"B"}}, rejects.History, false},
		"replayed by what has expired":    {expired, st{Commits: []string{"D"}, Replayed: "X"}, rejects.Current, false},
		"a catalog without history":       {headless, st{Commits: []string{"A"}}, rejects.Unknown, false},
		"expired, and the parent with it": {cut, st{Commits: []string{"A"}}, rejects.Unknown, false},
		"a table that was made anew":      {replaced, st{Commits: []string{"X"}}, rejects.History, false},
		"an empty table":                  {mainTable(t, 0), st{Commits: []string{"A"}}, rejects.History, false},
	} {
		l := rejects.NewLine(c.main, "main")
		var n rejects.Tally
		n.Add(l, &c.st)
		if got := l.Of(&c.st); got != c.want || l.Open(&c.st) != c.open || (n.Open == 1) != c.open || n.Current+n.History+n.Unknown != 1 {
			t.Errorf("%s: %s, open %v, counted %+v; want %s, %v", name, got, l.Open(&c.st), n, c.want, c.open)
		}
	}
}
