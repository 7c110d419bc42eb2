package writer

import (
	"errors"
	"reflect"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// trial maps records as the table would take them if its schema were changed, into columns that nobody keeps. So a record
// that would become no row then either is told before the schema is changed for it.
type trial struct {
	plan *plan
	// asked are the changes of a record that became no row, nil where there was none: others that ask for the same are tried
	// at once.
	asked  []mapper.Change
	mapper mapper.Mapper
	cols   *mapper.Columns
	vec    vector
}

// tryUnder makes sc the schema that records are tried under.
func (t *Task) tryUnder(sc *iceberg.Schema) error {
	rows, err := MapperSchema(sc)
	if err != nil {
		return err
	}
	if tr := t.trial; tr != nil && tr.plan == t.plan && tr.cols.Schema.Equal(rows) {
		tr.asked = nil
		return nil
	}
	t.trial = nil
	tr := &trial{plan: t.plan}
	if tr.mapper, err = t.cfg.Mapper(rows); err != nil {
		return err
	}
	if tr.cols, err = mapper.NewColumns(rows); err != nil {
		return err
	}
	t.trial = tr
	return nil
}

// try gives what a record would be: nil for a row, or the mapper's error.
func (tr *trial) try(p source.Partition, rec *source.Record) error {
	mapper.SetPartition(tr.mapper, p)
	tr.cols.Reset()
	if err := tr.mapper.Map(rec, tr.cols); err != nil {
		return err
	}
	// Columns come behind those that are there, and a column that partitions are made of keeps its type.
	for _, pf := range tr.plan.parts {
		if err := pf.compute(tr.cols, 0, 1, &tr.vec); err != nil {
			return &mapper.BadRecordError{Code: CodePartitionValue, Column: err.column, Reason: err.reason}
		}
	}
	return nil
}

// settled says that an error of try stays, whatever is done for the record: it is bad, or left out by rule.
func settled(err error) bool {
	var ask *mapper.EvolveError
	var bad *mapper.BadRecordError
	return errors.Is(err, mapper.ErrFiltered) || errors.As(err, &bad) && !errors.As(err, &ask)
}

// again tries a record that asks for what another one did which became no row: nil where it does not, or may become one.
func (t *Task) again(ask *mapper.EvolveError, rec *source.Record) error {
	tr := t.trial
	if tr == nil || tr.asked == nil || tr.plan != t.plan || !reflect.DeepEqual(tr.asked, ask.Changes) {
		return nil
	}
	if err := tr.try(t.taking, rec); settled(err) {
		return err
	}
	return nil
}
