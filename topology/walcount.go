package topology

import (
	"context"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
)

// walLog counts what goes through a WAL. What other replicas write there it sees at an assignment, when the WAL is listed.
type walLog struct {
	committer.Log
	mu struct {
		sync.Mutex
		entries            map[string]time.Time // since when each lies there, by its path
		failures, setAside int64
	}
}

// WALStatus is the write-ahead log as this process knows it: what was found there at the last assignment, and what it has
// written and deleted since.
type WALStatus struct {
	// Entries lie there, the oldest since Oldest.
	Entries int        `json:"entries"`
	Oldest  *time.Time `json:"oldest,omitempty"`
	// Failures counts what could not be written, listed or deleted; SetAside the entries that could not be read.
	Failures int64 `json:"failures"`
	SetAside int64 `json:"set_aside"`
}

func newWALLog(l committer.Log) *walLog {
	w := &walLog{Log: l}
	w.mu.entries = map[string]time.Time{}
	return w
}

// done notes what became of one call; change is for one that went well.
func (w *walLog) done(err error, change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.mu.failures++
		return
	}
	change()
}

func (w *walLog) Put(ctx context.Context, tbl *table.Table, g *descriptor.Group) (string, error) {
	path, err := w.Log.Put(ctx, tbl, g)
	w.done(err, func() {
		if _, again := w.mu.entries[path]; !again {
			w.mu.entries[path] = time.Now()
		}
	})
	return path, err
}

func (w *walLog) List(ctx context.Context, tbl *table.Table) ([]descriptor.Entry, error) {
	entries, err := w.Log.List(ctx, tbl)
	w.done(err, func() {
		clear(w.mu.entries)
		for _, e := range entries {
			w.mu.entries[e.Path] = e.ModifiedAt
		}
	})
	return entries, err
}

func (w *walLog) Delete(ctx context.Context, tbl *table.Table, path string) error {
	err := w.Log.Delete(ctx, tbl, path)
	w.done(err, func() { delete(w.mu.entries, path) })
	return err
}

func (w *walLog) SetAside(ctx context.Context, tbl *table.Table, path string) error {
	err := w.Log.SetAside(ctx, tbl, path)
	w.done(err, func() {
		delete(w.mu.entries, path)
		w.mu.setAside++
	})
	return err
}

func (w *walLog) status() *WALStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &WALStatus{Entries: len(w.mu.entries), Failures: w.mu.failures, SetAside: w.mu.setAside}
	for _, at := range w.mu.entries {
		if st.Oldest == nil || at.Before(*st.Oldest) {
			st.Oldest = &at
		}
	}
	return st
}
