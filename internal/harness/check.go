package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/source"
)

// Check compares the table with the model: in every snapshot of the history each record below the positions is there
// once, and at the head the positions have reached the log's ends.
func (w *World) Check(t testing.TB) {
	t.Helper()
	w.CheckBy(t, proof.Options{Topologies: []string{"orders"}, Whole: true})
}

// CheckOf checks every snapshot for topologies that read the whole topic into the table. With several, each row is there
// once for each.
func (w *World) CheckOf(t testing.TB, topologies ...string) {
	t.Helper()
	w.CheckBy(t, proof.Options{Topologies: topologies})
}

// CheckBy is Report for a test: what is found is its error.
func (w *World) CheckBy(t testing.TB, o proof.Options) {
	t.Helper()
	r, err := w.Report(o)
	if err == nil {
		err = r.Err()
	}
	if w.Rejects != nil {
		err = errors.Join(err, w.checkRejects(o.Whole))
	}
	if err != nil {
		t.Errorf("%v\n%s", err, w.Describe())
	}
}

// Report compares the table with what was produced. Topic, Partitions and Cache are filled in.
func (w *World) Report(o proof.Options) (*proof.Report, error) {
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		return nil, err
	}
	ends := map[int32]source.Position{}
	for _, b := range w.Log.Bounds() {
		if b.Partition.Topic == Topic {
			ends[b.Partition.ID] = b.Last
		}
	}
	o.Topic, o.Partitions, o.Cache = Topic, len(ends), &w.cache
	return proof.Check(context.Background(), tbl, truth{w, ends}, o)
}

// truth is what the world had produced at a moment.
type truth struct {
	w    *World
	ends map[int32]source.Position
}

func (t truth) End(id int32) int64 { return int64(t.ends[id]) }

func (t truth) Payload(id int32, at int64) (string, bool) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	payload, ok := t.w.mu.want[key{id, source.Position(at)}]
	return payload, ok
}

// Positions are those of a topology at the head, as a start of it would find them.
func (w *World) Positions(topology string) (map[source.Partition]source.Position, error) {
	tbl, err := w.Catalog.LoadTable(context.Background(), w.ident)
	if err != nil {
		return nil, err
	}
	c, err := committer.New(committer.Config{Topology: topology, Logger: slog.New(slog.DiscardHandler)}, fixed{tbl}, nil)
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

type fixed struct{ tbl *table.Table }

func (f fixed) Load(context.Context) (*table.Table, error) { return f.tbl, nil }

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

func parent(tbl *table.Table, s *table.Snapshot) *table.Snapshot {
	if s.ParentSnapshotID == nil {
		return nil
	}
	return tbl.SnapshotByID(*s.ParentSnapshotID)
}

// Rows counts the rows at the head, right or wrong.
func (w *World) Rows(t testing.TB) int {
	t.Helper()
	r, err := w.Report(proof.Options{Topologies: []string{"orders"}})
	if err != nil {
		t.Fatal(err)
	}
	return int(r.Rows)
}

// Manifests says between how many manifests the snapshots of main have, in the later half of its history.
func (w *World) Manifests(t testing.TB) (fewest, most int) {
	t.Helper()
	m := w.Catalog.Metadata()
	all := m.Snapshots()
	for i, s := range all[len(all)/2:] {
		ms, err := s.Manifests(w.Files)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 || len(ms) < fewest {
			fewest = len(ms)
		}
		most = max(most, len(ms))
	}
	return fewest, most
}
