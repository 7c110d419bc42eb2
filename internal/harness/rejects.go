package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

var rejectsIdent = table.Identifier{"db", "orders_rejects"}

// makeRejects makes the rejects table, in a catalog of its own, and has the main table's history remembered.
func (w *World) makeRejects(t testing.TB) {
	t.Helper()
	sc, err := tableio.ParseSchema(rejects.Columns())
	if err != nil {
		t.Fatal(err)
	}
	props := rejects.Properties()
	props["format-version"], props["write.parquet.compression-codec"] = "2", "uncompressed"
	meta, err := table.NewMetadata(sc, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://warehouse/rejects", props)
	if err != nil {
		t.Fatal(err)
	}
	if w.Rejects, err = newCatalog(w.Files, rejectsIdent, meta); err != nil {
		t.Fatal(err)
	}
	w.Catalog.remember(&w.past)
}

// RejectsLoader loads the rejects table under a plan; nil where there is none.
func (w *World) RejectsLoader(plan *fault.Plan) committer.Loader {
	if w.Rejects == nil {
		return nil
	}
	return tableio.New(fault.WrapCatalog(w.Rejects, plan), rejectsIdent, tableio.WithIO(plan.IO))
}

// produceReject adds a record that can't become a row.
func (w *World) produceReject(id int32, i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value := fmt.Sprintf(`{"part":%d,"off":"text %d","region":"r%d"}`, id, i, i%3)
	off := w.Log.Append(Topic, id, source.Record{TimestampMs: int64(i), Value: []byte(value)})
	w.mu.bad[key{id, off}] = value
}

// past is every snapshot that the main table ever had: also those that have expired since.
type past struct {
	mu sync.Mutex
	of map[int64]passed
}

// passed is what a snapshot says of rejects.
type passed struct {
	parent *int64
	commit string
	// outbox are the files by commit id; nil where the snapshot says nothing of positions.
	outbox map[string][]proof.File
}

// note keeps what is new.
func (p *past) note(meta table.Metadata) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[int64]passed{}
	}
	for _, s := range meta.Snapshots() {
		if _, known := p.of[s.SnapshotID]; known {
			continue
		}
		n := passed{parent: s.ParentSnapshotID}
		if s.Summary != nil {
			n.commit = s.Summary.Properties["storm.iceberg.commit-id"]
			n.outbox = outboxOf(s.Summary.Properties["storm.iceberg.positions"])
		}
		p.of[s.SnapshotID] = n
	}
}

// outboxOf reads the outbox from a positions value, by the description of the format.
func outboxOf(value string) map[string][]proof.File {
	var v struct {
		Topologies map[string]struct {
			Outbox []struct {
				Commit string
				Files  []struct {
					Path        string
					Rows, Bytes int64
				}
			}
		}
	}
	if json.Unmarshal([]byte(value), &v) != nil {
		return nil
	}
	out := map[string][]proof.File{}
	for _, t := range v.Topologies {
		for _, b := range t.Outbox {
			for _, f := range b.Files {
				out[b.Commit] = append(out[b.Commit], proof.File{Path: f.Path, Rows: f.Rows, Bytes: f.Bytes})
			}
		}
	}
	return out
}

// line gives the files of rejects that the commits from the head down have passed, those that the newest outbox still names, and
// those of all commits that there ever were.
func (p *past) line(head int64) (passed, waiting, all map[string]proof.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	passed, waiting, all = map[string]proof.File{}, map[string]proof.File{}, map[string]proof.File{}
	for _, s := range p.of {
		add(all, s.outbox[s.commit])
	}
	told := false
	for id := &head; id != nil; {
		s, known := p.of[*id]
		if !known {
			break
		}
		if s.outbox != nil && !told { // others' snapshots above it say nothing of positions
			told = true
			for _, files := range s.outbox {
				add(waiting, files)
			}
		}
		add(passed, s.outbox[s.commit])
		id = s.parent
	}
	return passed, waiting, all
}

func add(to map[string]proof.File, files []proof.File) {
	for _, f := range files {
		to[f.Path] = f
	}
}

// checkRejects compares the rejects table with the model: what the main table's commits have passed is there once, or waits in
// the outbox, and is exactly the bad records below the positions; nothing else is there but what commits off the line passed.
// whole says that nothing may wait any more.
func (w *World) checkRejects(whole bool) error {
	head := w.Catalog.Head(table.MainBranch)
	passed, waiting, all := w.past.line(head)
	live, err := w.liveRejects()
	if err != nil {
		return err
	}
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf("rejects: "+format, args...)) }
	for path, n := range live {
		if _, known := all[path]; n != 1 || !known {
			fail("%s is in the table %d times, and passed by a commit: %v", path, n, known)
		}
	}
	got := map[key]string{}
	for path, f := range passed {
		if _, waits := waiting[path]; live[path] == 0 && (whole || !waits) {
			fail("%s is not in the table; it waits in the outbox: %v", path, waits)
		}
		n, err := proof.ReadRejects(context.Background(), w.Files, path, func(part int32, off int64, value []byte) {
			k := key{part, source.Position(off)}
			if _, twice := got[k]; twice {
				fail("%d/%d is there twice", k.part, k.off)
			}
			got[k] = string(value)
		})
		if err != nil || n != f.Rows {
			fail("%s has %d of %d rows: %v", path, n, f.Rows, err)
		}
	}
	return errors.Join(append(wrong, w.compareRejects(got))...)
}

// compareRejects compares what is in the files with the bad records below the positions.
func (w *World) compareRejects(got map[key]string) error {
	at, err := w.Positions("orders")
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var wrong []error
	for p, next := range at {
		for k, value := range w.mu.bad {
			if k.part != p.ID || k.off >= next {
				continue
			}
			if got[k] != value {
				wrong = append(wrong, fmt.Errorf("rejects: %d/%d is lost, or altered: %q", k.part, k.off, got[k]))
			}
			delete(got, k)
		}
	}
	for k := range got {
		wrong = append(wrong, fmt.Errorf("rejects: %d/%d should not be there", k.part, k.off))
	}
	return errors.Join(wrong...)
}

// liveRejects counts how often each file is live in the rejects table.
func (w *World) liveRejects() (map[string]int, error) {
	out := map[string]int{}
	s := w.Rejects.Metadata().CurrentSnapshot()
	if s == nil {
		return out, nil
	}
	manifests, err := s.Manifests(w.Files)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		for e, err := range m.Entries(w.Files, true) {
			if err != nil {
				return nil, err
			}
			out[e.DataFile().FilePath()]++
		}
	}
	return out, nil
}
