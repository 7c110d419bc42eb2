package explorer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/source"
)

// audit is what is known of every head that the branch ever had.
type audit struct {
	// heads are by snapshot id, and stay when the snapshot is gone.
	heads map[int64]*head
	// manifests caches the rows of manifests, which never change.
	manifests map[string][]row
	files     map[string][]row
	// properties are the values that the positions property has had.
	properties []string
}

// head is one head of the branch.
type head struct {
	parent *int64
	// at is where each topology stands in truth, also where floe has to ask.
	at map[string]positions
	// told says which topologies' positions floe itself would read there.
	told map[string]bool
}

type positions map[int32]source.Position

type row struct {
	part    int32
	off     int64
	payload string
}

func newAudit() audit {
	return audit{heads: map[int64]*head{}, manifests: map[string][]row{}, files: map[string][]row{}}
}

// fixed is a table as it was loaded.
type fixed struct{ tbl *table.Table }

func (f fixed) Load(context.Context) (*table.Table, error) { return f.tbl, nil }

var silent = slog.New(slog.DiscardHandler)

// read gives the positions that floe finds in the table; a *committer.StopError where a person has to say.
func read(tbl *table.Table, topo string) (positions, error) {
	c, err := committer.New(committer.Config{Topology: topo, Instance: "audit", Logger: silent}, fixed{tbl}, nil)
	if err != nil {
		return nil, err
	}
	ps, err := c.Load(context.Background())
	if err != nil {
		return nil, err
	}
	out := positions{}
	for p, pr := range ps.At {
		out[p.ID] = pr.Next
	}
	return out, nil
}

// auditLocked looks at the head of the branch, which has just moved. Whatever floe's own walk can't tell is as in the
// parent.
func (x *explorer) auditLocked(what string) *head {
	tbl, err := x.w.Catalog.LoadTable(context.Background(), ident)
	if err != nil {
		x.findLocked("table", "%s: %v", what, err)
		return nil
	}
	if v := tbl.Properties()["storm.iceberg.positions.main"]; v != "" &&
		(len(x.mu.properties) == 0 || x.mu.properties[len(x.mu.properties)-1] != v) {
		x.mu.properties = append(x.mu.properties, v)
	}
	s := tbl.CurrentSnapshot()
	if s == nil {
		return nil
	}
	h := &head{parent: s.ParentSnapshotID, at: map[string]positions{}, told: map[string]bool{}}
	var before *head
	if h.parent != nil {
		before = x.mu.heads[*h.parent]
	}
	if was := x.mu.heads[s.SnapshotID]; was != nil {
		before = was // the branch was set to it
	}
	for _, topo := range x.topologies() {
		at, err := read(tbl, topo)
		var stop *committer.StopError
		switch {
		case err == nil:
			h.told[topo] = true
		case errors.As(err, &stop) && before != nil:
			at = before.at[topo]
		case errors.As(err, &stop):
			at = positions{}
		default:
			x.findLocked("table", "%s: %v", what, err)
			return nil
		}
		h.at[topo] = maps.Clone(at)
		x.heldLocked(topo, at)
	}
	x.mu.heads[s.SnapshotID] = h
	x.noteLocked("%s: head %d on %s, %v", what, s.SnapshotID%100000, short(h.parent), h.at)
	x.monotoneLocked(what, before, h)
	x.compareLocked(what, tbl, h)
	return h
}

func short(id *int64) string {
	if id == nil {
		return "nothing"
	}
	return fmt.Sprint(*id % 100000)
}

func (x *explorer) heldLocked(topo string, at positions) {
	if x.mu.held[topo] == nil {
		x.mu.held[topo] = positions{}
	}
	for p, pos := range at {
		x.mu.held[topo][p] = max(x.mu.held[topo][p], pos)
	}
}

// monotoneLocked: no position lies below the parent's.
func (x *explorer) monotoneLocked(what string, before, now *head) {
	if before == nil {
		return
	}
	for topo, at := range before.at {
		for p, pos := range at {
			if now.at[topo][p] < pos {
				x.findLocked("backward", "%s: %s of partition %d went from %d to %d", what, topo, p, pos, now.at[topo][p])
			}
		}
	}
}

// compareLocked: the rows are exactly those below the positions.
func (x *explorer) compareLocked(what string, tbl *table.Table, h *head) {
	rows, err := x.rowsLocked(tbl.CurrentSnapshot())
	if err != nil {
		x.findLocked("dangling", "%s: %v", what, err)
		return
	}
	got := make([][]int, len(x.mu.want))
	for p, w := range x.mu.want {
		got[p] = make([]int, len(w))
	}
	for _, r := range rows {
		if int(r.part) >= len(got) || r.off >= int64(len(got[r.part])) || x.mu.want[r.part][r.off] != r.payload {
			x.findLocked("altered", "%s: a row of partition %d, offset %d holds %q", what, r.part, r.off, r.payload)
			return
		}
		got[r.part][r.off]++
	}
	for p, w := range x.mu.want {
		for off, payload := range w {
			want := 0
			for _, at := range h.at {
				if payload != "" && int64(off) < int64(at[int32(p)]) {
					want++
				}
			}
			if n := got[p][off]; n != want {
				x.findLocked(lostOr(n > want), "%s: partition %d, offset %d is there %d times, want %d; positions %v", what, p, off, n, want, h.at)
				return
			}
		}
	}
}

func lostOr(doubled bool) string {
	if doubled {
		return "doubled"
	}
	return "lost"
}

// rowsLocked reads a snapshot's rows.
func (x *explorer) rowsLocked(s *table.Snapshot) (out []row, err error) {
	manifests, err := proof.Manifests(x.w.Files, s)
	if err != nil {
		return nil, err
	}
	for _, path := range manifests {
		rows, cached := x.mu.manifests[path]
		if !cached {
			if rows, err = x.manifestLocked(path); err != nil {
				return nil, err
			}
			x.mu.manifests[path] = rows
		}
		out = append(out, rows...)
	}
	return out, nil
}

func (x *explorer) manifestLocked(path string) (out []row, err error) {
	files, err := proof.Files(x.w.Files, path)
	if err != nil {
		return nil, err
	}
	for _, d := range files {
		rows, cached := x.mu.files[d.Path]
		if !cached {
			if rows, err = x.fileRows(d.Path); err != nil {
				return nil, fmt.Errorf("%s: %w", d.Path, err)
			}
			x.mu.files[d.Path] = rows
		}
		if int64(len(rows)) != d.Rows {
			return nil, fmt.Errorf("%s holds %d rows, its entry says %d", d.Path, len(rows), d.Rows)
		}
		out = append(out, rows...)
	}
	return out, nil
}

func (x *explorer) fileRows(path string) (out []row, err error) {
	f, err := x.w.Files.Open(path)
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
	for tr.Next() {
		rec := tr.RecordBatch()
		part, off, payload := rec.Column(0).(*array.Int32), rec.Column(1).(*array.Int64), rec.Column(3).(*array.String)
		for i := range int(rec.NumRows()) {
			out = append(out, row{part.Value(i), off.Value(i), payload.Value(i)})
		}
	}
	return out, tr.Err()
}
