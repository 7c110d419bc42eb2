package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// EvolveError is a *mapper.EvolveError with its place: the record asks for a change of the table's schema. The open batch holds
// what precedes it. Ask for Own changes. If there are some, Seal, change the schema, Use the table that has it and Append the
// same batch again; or Refuse. If there are none, or after Refuse, Append the same batch again: the record is settled without.
// Its methods may be called until then, from the task's goroutine.
type EvolveError struct {
	Partition source.Partition
	Position  source.Position
	Err       *mapper.EvolveError

	task *Task
	recs []source.Record // the record and those behind it
}

func (e *EvolveError) Error() string {
	return fmt.Sprintf("topic %s, partition %d, offset %d: %s", e.Partition.Topic, e.Partition.ID, e.Position, e.Err)
}
func (e *EvolveError) Unwrap() error { return e.Err }

// Same says that both are about one record.
func (e *EvolveError) Same(o *EvolveError) bool { return &e.recs[0] == &o.recs[0] }

// Fits says that the open batch is written as one for tbl would be: the record is not waiting for a change that tbl has.
func (e *EvolveError) Fits(tbl *table.Table) bool { return e.task.plan.fits(tbl) }

// Refuse makes the record a bad one.
func (e *EvolveError) Refuse(why string) {
	bad := *e.Err.Bad
	if why != "" {
		bad.Reason += "; " + why
	}
	e.settle(&bad)
}

func (e *EvolveError) settle(err error) { e.task.verdict = verdict{&e.recs[0], err} }

// Grant says what the schema of the open batch's table becomes with changes: nil where that can't be, and why; or where it
// has them all, and why is empty.
type Grant func([]mapper.Change) (sc *iceberg.Schema, why string)

const (
	// mostAskers is how many other records of a batch are asked for what they need: what they make up is no reason to stand still.
	mostAskers = 256
	// mostWishes is how often a record may come with another wish when all before were granted.
	mostWishes = 64
)

// Own are the changes with which the record becomes a row. None: it becomes none with what is granted, and Append takes
// it for what it is, bad or left out by rule.
func (e *EvolveError) Own(grant Grant) []mapper.Change {
	t := e.task
	all := mapper.MergeChanges(nil, e.Err.Changes...)
	for range mostWishes {
		sc, why := grant(all)
		if sc == nil {
			e.Refuse(cmp.Or(why, "the table has what it asks for, and it still does not fit"))
			return nil
		}
		if err := t.tryUnder(sc); err != nil {
			e.Refuse("the table would not take records any more: " + err.Error())
			return nil
		}
		err := t.trial.try(e.Partition, &e.recs[0])
		var more *mapper.EvolveError
		switch {
		case errors.As(err, &more):
			all = mapper.MergeChanges(all, more.Changes...)
		case settled(err):
			t.trial.asked = e.Err.Changes
			e.settle(err)
			return nil
		default:
			return all // a row; or what only the record's turn can show
		}
	}
	e.Refuse("it asks for more whenever it gets something")
	return nil
}

// With adds to the record's own changes what others of its batch ask for, as far as all go together and the record stays a
// row: what one asks for must not be refused because of another. Those that are left out ask again.
func (e *EvolveError) With(own []mapper.Change, grant Grant) []mapper.Change {
	t := e.task
	all := own
	cols, err := mapper.NewColumns(t.plan.rows)
	if err != nil {
		return all
	}
	for i, askers := 1, 0; i < len(e.recs) && askers < mostAskers; i++ {
		var more *mapper.EvolveError
		err := t.mapper.Map(&e.recs[i], cols)
		cols.Reset()
		if !errors.As(err, &more) {
			continue
		}
		askers++
		merged := mapper.MergeChanges(slices.Clone(all), more.Changes...)
		if reflect.DeepEqual(merged, all) {
			continue
		}
		if sc, _ := grant(merged); sc == nil || t.tryUnder(sc) != nil {
			continue
		}
		if t.trial.try(e.Partition, &e.recs[i]) == nil && t.trial.try(e.Partition, &e.recs[0]) == nil {
			all = merged
		}
	}
	return all
}

// verdict is what a record is for which the schema is not changed.
type verdict struct {
	rec *source.Record
	err error
}

// wish gives what a record that the mapper refused asks for; or, where it asks for nothing that it gets, the error that it
// comes to.
func (t *Task) wish(err error, rec *source.Record) (ask *mapper.EvolveError, _ error) {
	if !t.cfg.Evolve || !errors.As(err, &ask) {
		return nil, err
	}
	if t.verdict.rec == rec {
		return nil, t.verdict.err
	}
	if err := t.again(ask, rec); err != nil {
		return nil, err
	}
	return ask, nil
}

// renew drops an open batch in which no position has moved, where the newest metadata is another one than its plan's.
func (t *Task) renew(ctx context.Context) {
	if t.batch.since.IsZero() && !t.plan.fits(t.next) {
		t.enc.drop(ctx)
		t.stage.reset()
		t.batch = batch{}
	}
}
