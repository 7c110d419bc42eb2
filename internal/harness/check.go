package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// Check compares the table with the model: in every snapshot of the history each record below the positions is there
// once, and at the head the positions have reached the log's ends.
func (w *World) Check(t testing.TB) {
	t.Helper()
	w.CheckOf(t, "orders")
	at, err := w.Positions("orders")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range w.Log.Bounds() {
		if got := at[b.Partition]; got != b.Last {
			t.Errorf("%s: the table stands at %d, the log ends at %d", b.Partition, got, b.Last)
		}
	}
}

// CheckOf checks every snapshot for topologies that read the whole topic into the table. With several, each row is there
// once for each.
func (w *World) CheckOf(t testing.TB, topologies ...string) {
	t.Helper()
	if err := w.check(topologies); err != nil {
		t.Errorf("%v\n%s", err, w.Describe())
	}
}

func (w *World) check(topologies []string) error {
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		return err
	}
	var child []map[source.Partition]source.Position
	for s := tbl.CurrentSnapshot(); s != nil; s = parent(tbl, s) {
		at := make([]map[source.Partition]source.Position, len(topologies))
		for i, name := range topologies {
			if at[i], err = w.positionsAt(tbl, s.SnapshotID, name); err != nil {
				return fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
			}
			if child == nil {
				continue
			}
			for p, pos := range at[i] {
				if child[i][p] < pos {
					return fmt.Errorf("snapshot after %d: %s of %s went back from %d to %d", s.SnapshotID, p, name, pos, child[i][p])
				}
			}
		}
		child = at
		rows, err := w.rowsAt(tbl, s.SnapshotID)
		if err != nil {
			return err
		}
		if err := w.compare(rows, at); err != nil {
			return fmt.Errorf("snapshot %d (%s): %w", s.SnapshotID, s.Summary.Operation, err)
		}
	}
	return nil
}

func parent(tbl *table.Table, s *table.Snapshot) *table.Snapshot {
	if s.ParentSnapshotID == nil {
		return nil
	}
	return tbl.SnapshotByID(*s.ParentSnapshotID)
}

// compare: rows are exactly the records below each topology's positions.
func (w *World) compare(rows []row, at []map[source.Partition]source.Position) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := map[key]int{}
	for _, r := range rows {
		want, produced := w.mu.want[r.key]
		if !produced || want != r.payload {
			return fmt.Errorf("row of partition %d, offset %d holds %q, produced was %q", r.part, r.off, r.payload, want)
		}
		got[r.key]++
	}
	for k := range w.mu.want {
		want := 0
		for _, m := range at {
			for p, pos := range m {
				if p.ID == k.part && k.off < pos {
					want++
				}
			}
		}
		if got[k] != want {
			return fmt.Errorf("partition %d, offset %d is there %d times, want %d", k.part, k.off, got[k], want)
		}
	}
	return nil
}

// Positions are those of a topology at the head.
func (w *World) Positions(topology string) (map[source.Partition]source.Position, error) {
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		return nil, err
	}
	return read(tbl, topology)
}

// positionsAt are those of a topology as of a snapshot: what would be read if the branch stood there.
func (w *World) positionsAt(tbl *table.Table, id int64, topology string) (map[source.Partition]source.Position, error) {
	if s := tbl.CurrentSnapshot(); s.SnapshotID == id {
		return read(tbl, topology)
	}
	meta, err := table.UpdateTableMetadata(tbl.Metadata(), []table.Update{
		table.NewRemovePropertiesUpdate([]string{"storm.iceberg.positions.main"}),
		table.NewSetSnapshotRefUpdate(table.MainBranch, id, table.BranchRef, -1, -1, -1)}, tbl.MetadataLocation())
	if err != nil {
		return nil, err
	}
	return read(w.Catalog.at(meta, tbl.MetadataLocation()), topology)
}

type fixed struct{ tbl *table.Table }

func (f fixed) Load(context.Context) (*table.Table, error) { return f.tbl, nil }

func read(tbl *table.Table, topology string) (map[source.Partition]source.Position, error) {
	c, err := committer.New(committer.Config{Topology: topology}, fixed{tbl}, nil)
	if err != nil {
		return nil, err
	}
	ps, err := c.Load(context.Background())
	if err != nil {
		return nil, err
	}
	out := map[source.Partition]source.Position{}
	for p, pr := range ps.At {
		out[p] = pr.Next
	}
	return out, nil
}

// rowsAt reads the rows of a snapshot, file by file.
func (w *World) rowsAt(tbl *table.Table, id int64) ([]row, error) {
	tasks, err := tbl.Scan(table.WithSnapshotID(id)).PlanFiles(context.Background())
	if err != nil {
		return nil, fmt.Errorf("plan snapshot %d: %w", id, err)
	}
	var out []row
	for _, task := range tasks {
		rows, err := w.fileRows(task.File.FilePath())
		if err != nil {
			return nil, err
		}
		if int64(len(rows)) != task.File.Count() {
			return nil, fmt.Errorf("%s holds %d rows, its entry says %d", task.File.FilePath(), len(rows), task.File.Count())
		}
		out = append(out, rows...)
	}
	return out, nil
}

func (w *World) fileRows(path string) ([]row, error) {
	w.mu.Lock()
	rows, cached := w.mu.read[path]
	w.mu.Unlock()
	if cached {
		return rows, nil
	}
	rows, err := readFile(w, path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.read[path] = rows
	return rows, nil
}

func readFile(w *World, path string) ([]row, error) {
	f, err := w.Files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	pf, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer func() { _ = pf.Close() }()
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	tbl, err := r.ReadTable(context.Background())
	if err != nil {
		return nil, err
	}
	defer tbl.Release()
	tr := array.NewTableReader(tbl, -1)
	defer tr.Release()
	var out []row
	for tr.Next() {
		rec := tr.RecordBatch()
		part, off := rec.Column(0).(*array.Int32), rec.Column(1).(*array.Int64)
		payload := rec.Column(3).(*array.String)
		for i := range int(rec.NumRows()) {
			out = append(out, row{key{part.Value(i), source.Position(off.Value(i))}, payload.Value(i)})
		}
	}
	return out, tr.Err()
}

// Describe shows the history, newest first, for a test that failed.
func (w *World) Describe() string {
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	for s := tbl.CurrentSnapshot(); s != nil; s = parent(tbl, s) {
		fmt.Fprintf(&b, "snapshot %d %s\n", s.SnapshotID, s.Summary.Operation)
		for _, k := range slices.Sorted(maps.Keys(s.Summary.Properties)) {
			fmt.Fprintf(&b, "  %s=%s\n", k, s.Summary.Properties[k])
		}
	}
	return b.String()
}

// Rows counts the rows at the head.
func (w *World) Rows(t testing.TB) int {
	t.Helper()
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		t.Fatal(err)
	}
	if tbl.CurrentSnapshot() == nil {
		return 0
	}
	rows, err := w.rowsAt(tbl, tbl.CurrentSnapshot().SnapshotID)
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}
