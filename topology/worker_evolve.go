package topology

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/evolve"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/writer"
)

// asking is the record in hand that asks for a change of the table's schema.
type asking struct {
	e *writer.EvolveError
	// times is how often it has asked.
	times int
	// alone says that what it asks for with others was refused.
	alone bool
	// table has the changes that were made for it, once they are; refused says why the catalog does not make them.
	table   atomic.Pointer[table.Table]
	refused atomic.Pointer[evolve.RefusedError]
}

// mostAsks is how often the schema is changed for one record. One change brings all that it asks for; but somebody may undo
// it, and a column that two writers add at once has the type that the first gave it.
const mostAsks = 3

// evolve seals the open batch and has the table's schema changed, as the record in hand and what lies behind it in its batch
// ask for. What can't be had is refused, and the record bad: at the latest when it asks again although it was given all.
func (w *worker) evolve(life context.Context, e *writer.EvolveError) {
	if w.asking == nil || !w.asking.e.Same(e) {
		w.asking = &asking{}
	}
	a := w.asking
	a.e = e
	refused := a.refused.Swap(nil)
	a.times++
	switch {
	case refused != nil && a.alone:
		e.Refuse(refused.Error())
		return
	case a.times > mostAsks:
		e.Refuse("the table's schema was changed for it, and it still does not fit")
		return
	case !e.Fits(w.table):
		w.seal(life, false) // the next batch has a newer table, which may take the record as it is
		return
	}
	changes := w.wanted(e, refused != nil)
	if changes == nil {
		return
	}
	w.seal(life, false)
	if w.batch != nil {
		w.holdFor(life, &mapper.NotReadyError{What: "a change of the table's schema",
			Fetch: func(ctx context.Context) error { return w.change(ctx, a, changes) }}, nil)
	}
}

// wanted are the changes that the record in hand asks for; with what others of its batch do, unless that was refused. None: it
// is settled without.
func (w *worker) wanted(e *writer.EvolveError, alone bool) []mapper.Change {
	ev := w.r.evolver
	grant := func(all []mapper.Change) (*iceberg.Schema, string) {
		sc, refused := evolve.Plan(w.table.Metadata(), all, ev.MaxColumns())
		if len(refused) > 0 {
			return nil, refused[0].Why
		}
		return sc, ""
	}
	own := e.Own(grant)
	if own == nil {
		return nil
	}
	if refused := ev.Refused(own); refused != nil {
		e.Refuse(refused.Error())
		return nil
	}
	all := own
	if !alone {
		all = e.With(own, grant)
	}
	w.asking.alone = reflect.DeepEqual(all, own)
	return all
}

// change has the schema changed, in a goroutine of its own, and leaves what came of it in a.
func (w *worker) change(ctx context.Context, a *asking, changes []mapper.Change) error {
	tbl, changed, err := w.r.evolver.Evolve(ctx, changes)
	var refused *evolve.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Forbidden:
		return fmt.Errorf("%w. Allow floe to change the table, or switch evolution off (table.evolve)", err)
	case refused != nil:
		w.r.log.Warn("the catalog refuses to change the table's schema; records that need it are bad", "task", w.name,
			"changes", len(changes), "error", err)
		a.refused.Store(refused)
		return nil
	case err != nil:
		return err
	}
	if changed {
		w.r.log.Info("the table's schema was changed as records ask for it", "task", w.name,
			"schema", tbl.Schema().ID, "changes", len(changes))
	}
	a.table.Store(tbl)
	return nil
}

// newest is the metadata that the committer has seen last, or newer one that a change of the schema has made.
func (w *worker) newest() *table.Table {
	if a := w.asking; a != nil {
		if tbl := a.table.Swap(nil); tbl != nil {
			w.evolved = tbl
		}
	}
	tbl := w.sink.Table()
	if w.evolved == nil || tbl != nil && knows(tbl, w.evolved) {
		w.evolved = nil
		return tbl
	}
	return w.evolved
}

// knows says that tbl is another table than the one that was changed, or that table after the change.
func knows(tbl, changed *table.Table) bool {
	if tbl.Metadata().TableUUID() != changed.Metadata().TableUUID() {
		return true
	}
	for _, s := range tbl.Metadata().Schemas() {
		if s.ID == changed.Schema().ID {
			return s.Equals(changed.Schema())
		}
	}
	return false
}
