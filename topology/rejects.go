package topology

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// rejectsRefresh is how often the rejects table is looked at where there are no rejects: storage credentials that catalogs hand
// out live for a quarter of an hour and more.
const rejectsRefresh = 5 * time.Minute

// rejectsTable is the rejects table as the tasks see it, nil where there is none.
type rejectsTable struct {
	loader committer.Loader
	check  func(*table.Table) error
	limit  *rejectLimiter
	newest atomic.Pointer[table.Table]
	// used says that there were rejects since it was loaded.
	used   atomic.Bool
	loaded time.Time
}

func newRejectsTable(c *Config) *rejectsTable {
	if c.Rejects == nil {
		return nil
	}
	return &rejectsTable{loader: c.Rejects, check: checkRejects, limit: newRejectLimiter(c.RejectLimit)}
}

// checkRejects refuses a table that rejects can't be written to.
func checkRejects(tbl *table.Table) error {
	return errors.Join(rejects.Check(tbl), writer.Check(tbl))
}

// load gives the tasks the newest metadata. What waiting can't mend is a *source.FatalError. One goroutine at a time calls it.
func (s *rejectsTable) load(ctx context.Context, main *table.Table) error {
	tbl, err := s.loader.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the rejects table: %w", err)
	}
	if err := s.check(tbl); err != nil {
		return &source.FatalError{Err: err}
	}
	if main != nil && tbl != nil && tbl.Metadata().TableUUID() == main.Metadata().TableUUID() {
		return &source.FatalError{Err: fmt.Errorf("the table %s can't take its own rejects: name another table for them", tableName(main))}
	}
	s.loaded = time.Now()
	s.newest.Store(tbl)
	return nil
}

// due says that the table should be looked at again.
func (s *rejectsTable) due() bool {
	return s != nil && (s.used.Swap(false) || time.Since(s.loaded) >= rejectsRefresh)
}

// give gives the task the table where it is newer than the one it has.
func (s *rejectsTable) give(t interface{ UseRejects(*table.Table) }, had *table.Table) *table.Table {
	if s == nil {
		return nil
	}
	tbl := s.newest.Load()
	if tbl != had {
		t.UseRejects(tbl)
	}
	return tbl
}

// configure makes a task write rejects.
func (s *rejectsTable) configure(c *writer.Config) {
	if s != nil {
		c.Rejects, c.Judge = true, s.limit.judge
	}
}

// refresh keeps the metadata of the rejects table fresh, and with it the credentials of its storage.
func (r *run) refreshRejects(reading context.Context) {
	for retry.Sleep(reading, r.cfg.Committer.CheckInterval) == nil {
		if !r.rejects.due() {
			continue
		}
		err := r.rejects.load(reading, r.sinks[0].Table())
		switch {
		case reading.Err() != nil:
		case isFinal(err):
			r.fail(fmt.Errorf("the rejects table has changed: %w", err))
		default:
			r.trouble("rejects table", err)
		}
	}
}

// tooManyRejects stops the topology. Where it is the first records that are bad, nothing of what is open is sealed: the
// configuration is wrong, and what it made rejects of is to be read again. Otherwise what lies before the last is in the table.
func (w *worker) tooManyRejects(life context.Context, err *writer.JudgedError) {
	hint := "Mend what is wrong, or raise the limit of rejects, and start again"
	var over *TooManyRejects
	if !errors.As(err, &over) || over.Within == 0 {
		w.stopped = true
		w.drop()
		w.r.die(fmt.Errorf("%w. Nothing of the open batches is committed: it is read again at the next start. %s", err, hint))
		return
	}
	if tr := w.at[err.Record.Partition]; tr != nil {
		tr.read = max(tr.read, err.Record.Position)
		tr.stopped = true
	}
	w.drop()
	w.seal(life, true)
	w.r.fail(fmt.Errorf("%w. Everything before it is in the tables. %s", err, hint))
}

// rejectsName is the table's name, empty where there is none.
func (s *rejectsTable) name() string {
	if s == nil {
		return ""
	}
	return tableName(s.newest.Load())
}
