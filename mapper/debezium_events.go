package mapper

import (
	"errors"
	"slices"

	"github.com/stormfloe/floe/source"
)

// debeziumNone is an event that can't be skipped.
const debeziumNone DebeziumEvent = 255

// envelopeEvents tells the records of Debezium's own, which have no op, from others that have none: a row that somebody took out of
// its envelope must not pass for a heartbeat. It reads such a record once more, and takes nothing that they do not have.
type envelopeEvents struct {
	mapper Mapper
	cols   *Columns
	// members are those of a record, in the order of eventMembers.
	members []*Column
}

// eventMembers are what heartbeats and the records of transactions are made of.
var eventMembers = []Field{
	{Name: "ts_ms", Type: Type{Kind: Long}}, {Name: "status", Type: Type{Kind: String}}, {Name: "id", Type: Type{Kind: String}},
	{Name: "event_count", Type: Type{Kind: Long}},
	{Name: "data_collections", Type: Type{Kind: List, Fields: []Field{{Name: "element", Type: Type{Kind: Struct, Fields: []Field{
		{Name: "data_collection", Type: Type{Kind: String}}, {Name: "event_count", Type: Type{Kind: Long}}}}}}}},
}

// newEvents is nil where no such event is skipped, or none can come: the one schema that all records have may be of rows. What
// else is wrong with value has been told by the plans for these.
func newEvents(opts *DebeziumOptions, value Factory) (*envelopeEvents, error) {
	if !slices.Contains(opts.Skip, DebeziumHeartbeat) && !slices.Contains(opts.Skip, DebeziumTransaction) {
		return nil, nil
	}
	rule := &fieldRule{closed: true}
	s := &Schema{Fields: eventMembers, rule: rule, fixed: true}
	if opts.Wrapped {
		s = &Schema{Fields: []Field{{Name: "payload", Type: Type{Kind: Struct, Fields: eventMembers}, rule: rule}}, rule: &fieldRule{open: true}, fixed: true}
	}
	e := &envelopeEvents{}
	var err error
	if e.mapper, err = value(s); err != nil {
		return nil, nil //nolint:nilerr // no record is an event then
	}
	if e.cols, err = NewColumns(s); err != nil {
		return nil, err
	}
	if e.members = e.cols.Cols; opts.Wrapped {
		e.members = e.cols.Cols[0].Kids
	}
	return e, nil
}

// event tells which one a record without an op is.
func (e *envelopeEvents) event(rec *source.Record) (DebeziumEvent, error) {
	if e == nil {
		return debeziumNone, nil
	}
	defer e.cols.Reset()
	if err := e.mapper.Map(rec, e.cols); err != nil {
		if _, ok := errors.AsType[*BadRecordError](err); ok {
			err = nil // it is something else
		}
		return debeziumNone, err
	}
	there := func(i int) bool { return !e.members[i].IsNull(0) }
	switch {
	case there(1) && there(2):
		if status := string(e.members[1].Slot(0)); status == "BEGIN" || status == "END" {
			return DebeziumTransaction, nil
		}
	case there(0) && !there(1) && !there(2) && !there(3) && !there(4):
		return DebeziumHeartbeat, nil
	}
	return debeziumNone, nil
}
