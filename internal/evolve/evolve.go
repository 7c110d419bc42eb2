package evolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
)

// Table is a table whose schema can be changed. Its methods may be called from any goroutine.
type Table interface {
	// Load gives the table with the newest metadata.
	Load(ctx context.Context) (*table.Table, error)
	// Change sends a commit of its own with these requirements and updates. What its error says is not relied on.
	Change(ctx context.Context, reqs []table.Requirement, updates []table.Update) error
}

// Evolver changes the schema of one table. Its methods may be called from any goroutine; one change is made at a time.
type Evolver struct {
	table      Table
	maxColumns int
	timeout    time.Duration
	turn       chan struct{}
	refusals   refusals
}

// New makes an Evolver whose schemas have at most maxColumns fields after one is added. timeout bounds each request; zero
// is 30 s.
func New(t Table, maxColumns int, timeout time.Duration) *Evolver {
	return &Evolver{table: t, maxColumns: maxColumns, timeout: cmp.Or(timeout, 30*time.Second), turn: make(chan struct{}, 1)}
}

// MaxColumns is how many fields a schema may have after one is added.
func (e *Evolver) MaxColumns() int { return e.maxColumns }

// mostAttempts is how often a change is tried that others come before, until the caller is told.
const mostAttempts = 10

// Evolve makes those of the changes that the table lacks and that can be made, and gives the table that has them: the one
// loaded last. changed says that this call has made any. A *RefusedError says that the catalog does not make them; any other
// error, that it is not known. The same call may be made again at any time.
func (e *Evolver) Evolve(ctx context.Context, changes []mapper.Change) (tbl *table.Table, changed bool, err error) {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	defer func() { <-e.turn }()
	var last error
	for range mostAttempts {
		if tbl, err = e.load(ctx); err != nil {
			return nil, changed, err
		}
		sc, _ := Plan(tbl.Metadata(), changes, e.maxColumns)
		if sc == nil {
			return tbl, changed, nil
		}
		// Whatever came back, what counts is what a look shows: an answer that was lost, and a conflict with somebody who
		// made the same change, both find it there.
		switch {
		case tableio.RefusalOf(last) != tableio.NoRefusal:
			return nil, changed, e.refusals.note(changes, last)
		case tableio.AnswerOf(last) == protocol.Unknown:
			return nil, changed, fmt.Errorf("change the table's schema: %w", tableio.Told(last))
		}
		if last, err = e.send(ctx, tbl.Metadata(), sc); err != nil {
			return nil, changed, e.refusals.note(changes, err)
		}
		changed = changed || last == nil
		if ctx.Err() != nil {
			return nil, changed, context.Cause(ctx)
		}
	}
	if last == nil {
		last = errors.New("the catalog says that it was changed, and shows it unchanged")
	}
	return nil, changed, fmt.Errorf("change the table's schema: %w", last)
}

func (e *Evolver) load(ctx context.Context) (*table.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return e.table.Load(ctx)
}

// send asks the catalog for the schema sc, and gives its answer. err says that metadata can't have that schema: nothing was sent.
func (e *Evolver) send(ctx context.Context, m table.Metadata, sc *iceberg.Schema) (answer, err error) {
	updates := []table.Update{table.NewAddSchemaUpdate(sc), table.NewSetCurrentSchemaUpdate(-1)}
	if err := possible(m, updates); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return e.table.Change(ctx, []table.Requirement{
		table.AssertTableUUID(m.TableUUID()),
		table.AssertCurrentSchemaID(m.CurrentSchema().ID),
		table.AssertLastAssignedFieldID(m.LastColumnID()),
	}, updates), nil
}

// possible makes the change to a copy.
func possible(m table.Metadata, updates []table.Update) (err error) {
	// iceberg-go panics on some schemas while it builds its indexes.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the table's metadata can't have it: %v", r)
		}
	}()
	_, err = table.UpdateTableMetadata(m, updates, "")
	return err
}
