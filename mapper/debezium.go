package mapper

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stormfloe/floe/source"
)

// DebeziumEvent is a kind of record of Debezium's that is no change of a row.
type DebeziumEvent uint8

const (
	// DebeziumTruncate is that the table in the database was emptied (op t).
	DebeziumTruncate DebeziumEvent = iota
	// DebeziumMessage is a message that was written into the database's log (op m).
	DebeziumMessage
	// DebeziumHeartbeat is a record that has ts_ms and nothing else.
	DebeziumHeartbeat
	// DebeziumTransaction is the begin or end of a transaction: a record with a status, BEGIN or END, an id, and nothing else but
	// event_count, data_collections and ts_ms.
	DebeziumTransaction
)

// DebeziumOptions of a mapper for change events in Debezium's envelope.
type DebeziumOptions struct {
	// Op is the column for the operation: c (created), u (updated), d (deleted), r (read by a snapshot). It is of type string,
	// and must be named: a row that was deleted looks like any other.
	Op string
	// TSMs is the column for the envelope's ts_ms, Source and Transaction are those for the fields of source and transaction
	// by the names of the fields. They take what the format gives to a column of their type; ts_ms, ts_us and ts_ns also come into
	// columns of timestamps. Those of Transaction must be optional.
	TSMs        string
	Source      map[string]string
	Transaction map[string]string
	// Wrapped says that a record is a schema and a payload, as the JSON converter of Kafka Connect writes it with schemas.enable.
	// The schema tells the units of the row's numbers, and the scale of its decimals; a cast that says otherwise makes the record
	// bad (CodeSchema), as does a type that the column can't take.
	Wrapped bool
	// Skip are the events that yield no row (ErrFiltered). Others are bad (CodeEnvelope).
	Skip []DebeziumEvent
	// Unavailable is what Debezium has in place of a large value that an update did not change, as its own option has it: text, or
	// octets as hexadecimal digits behind hex:. Default __debezium_unavailable_value. It never becomes a value: the record is bad (CodeUnavailable), or the column null where
	// NullUnavailable is set; of a list, map or struct that tells more only the part that is not known, and where that can't be null the record is bad.
	Unavailable     string
	NullUnavailable bool
}

// NewDebezium makes a factory of mappers that read change events in Debezium's envelope, which value reads: one row for each
// event, with after, or before where the row was deleted, in the columns that are not named in the options. No row is
// updated or removed.
//
// The columns are shared with the mapper that reads the envelope, so that a row is read to where it stays. A deletion is read
// twice: before is looked at only where it is needed. Numbers come into columns of timestamps only by a cast or a unit in the
// records' schema.
//
// Where value has an Evolution, the fields of the row may ask for changes of the schema. The columns that are named in the options
// stay as they are, and the placeholder asks for nothing.
//
// The factory refuses a table without the columns that are named, and with a type that they can't have.
func NewDebezium(opts DebeziumOptions, value Factory) Factory {
	if opts.Unavailable == "" {
		opts.Unavailable = "__debezium_unavailable_value"
	}
	return func(s *Schema) (Mapper, error) {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		if holdsVariant(s.Fields) {
			return nil, errors.New("mapper: debezium: a column of type variant could hold the placeholder of a value that is not known: make it a string")
		}
		m := &debezium{schema: s, opts: &opts, absent: newPlaceholder(opts.Unavailable)}
		e, err := newEnvelope(s, &opts)
		if err != nil {
			return nil, err
		}
		m.rows = e.rows
		m.make = func(units *connectSchema) (*envelopePlans, error) { return e.sides(units, value) }
		if m.plans, err = m.make(nil); err != nil {
			return nil, err
		}
		if m.events, err = newEvents(&opts, value); err != nil {
			return nil, err
		}
		if m.ops, err = newOps(&opts, value); err != nil {
			return nil, err
		}
		return m, nil
	}
}

// debezium has a plan for after and one for before, and such two for each schema that stands beside payloads.
type debezium struct {
	schema *Schema
	opts   *DebeziumOptions
	absent *placeholder
	plans  *envelopePlans
	events *envelopeEvents
	ops    *envelopeOps
	// make makes plans for another schema, which are kept.
	make    func(units *connectSchema) (*envelopePlans, error)
	schemas envelopeSchemas
	// rows are the numbers of the columns that after and before fill.
	rows []int
}

// SetPartition passes the partition on. Plans for other schemas are those of JSON, which has no use for it.
func (m *debezium) SetPartition(p source.Partition) {
	for _, plan := range m.plans.sides {
		SetPartition(plan.mapper, p)
	}
	if m.events != nil {
		SetPartition(m.events.mapper, p)
	}
	if m.ops != nil {
		SetPartition(m.ops.mapper, p)
	}
}

var (
	faultNoOp = &fault{CodeEnvelope, "not a change event: it has no op. Records in {\"schema\": …, \"payload\": …} are read where that is said, " +
		"heartbeats and transactions are left out where they are skipped"}
	faultOp       = &fault{CodeEnvelope, "an op that is none of c, u, d, r, t and m"}
	faultNoAfter  = &fault{CodeEnvelope, "the row is missing: after is null, and the op is c, u or r"}
	faultNoBefore = &fault{CodeEnvelope, "the row is missing: before is null, and the op is d (give the table a replica identity)"}
	faultNoSource = &fault{CodeEnvelope, "source is missing, and there are columns for it"}
	faultTruncate = &fault{CodeEnvelope, "the table in the database was emptied (op t), which no row tells: skip such events to leave them out"}
	faultMessage  = &fault{CodeEnvelope, "a message of the database's log (op m), which is no row: skip such events to leave them out"}
)

// Map has the errors of Mapper and of the format, ErrFull and ErrSchema.
func (m *debezium) Map(rec *source.Record, dst *Columns) error {
	plans := m.plans
	if m.opts.Wrapped && rec.Value != nil {
		var err error
		if plans, err = m.schemas.of(rec.Value, m.make); err != nil {
			return err
		}
		if plans.bad != nil {
			bad := *plans.bad
			return &bad
		}
	}
	if plans.dst != dst {
		if !m.schema.Equal(dst.Schema) {
			return ErrSchema
		}
		for _, p := range plans.sides {
			p.bind(dst)
		}
		plans.dst = dst
	}
	p := plans.sides[0]
	op, err := m.ops.after(p, rec, dst)
	if err != nil {
		return err
	}
	switch op {
	case "c", "u", "r":
		return m.end(p, dst, faultNoAfter)
	case "d":
		p.undo(dst)
		p = plans.sides[1]
		if err := p.run(rec, dst); err != nil {
			return err
		}
		return m.end(p, dst, faultNoBefore)
	case "t":
		return m.event(p, dst, DebeziumTruncate, faultTruncate)
	case "m":
		return m.event(p, dst, DebeziumMessage, faultMessage)
	case "":
		event, err := m.events.event(rec)
		if err != nil {
			p.undo(dst)
			return err
		}
		return m.event(p, dst, event, faultNoOp)
	}
	p.undo(dst)
	return asError(faultOp)
}

// event takes back what there is of a row.
func (m *debezium) event(p *envelopePlan, dst *Columns, e DebeziumEvent, f *fault) error {
	p.undo(dst)
	if slices.Contains(m.opts.Skip, e) {
		return ErrFiltered
	}
	return asError(f)
}

// end judges the row that p has read, and keeps it or takes it back.
func (m *debezium) end(p *envelopePlan, dst *Columns, missing *fault) error {
	var err error
	switch {
	case p.null(p.side, dst.Rows):
		err = asError(missing)
	case p.source != nil && p.null(p.source, dst.Rows):
		err = asError(faultNoSource)
	default:
		err = m.available(dst)
	}
	if err != nil {
		p.undo(dst)
		return err
	}
	dst.Rows++
	return nil
}

// available looks for the placeholder among the values of the row behind the last.
func (m *debezium) available(dst *Columns) error {
	for _, i := range m.rows {
		c := dst.Cols[i]
		if !m.absent.in(c, dst.Rows) {
			continue
		}
		if !m.opts.NullUnavailable {
			return under(c.Field.Name, asError(faultUnavailable))
		}
		if err := m.absent.remove(c, dst.Rows); err != nil {
			return under(c.Field.Name, err)
		}
	}
	return nil
}

// envelope makes the plans for a table.
type envelope struct {
	schema *Schema
	opts   *DebeziumOptions
	// taken says which columns are named in the options; rows are the others.
	taken map[string]int
	rows  []int
	row   *envelopeRow
}

func newEnvelope(s *Schema, opts *DebeziumOptions) (*envelope, error) {
	e := &envelope{schema: s, opts: opts, taken: map[string]int{}, row: newEnvelopeRow(s, opts)}
	if opts.Op == "" {
		return nil, errors.New("mapper: debezium: no column is named for op: a row that was deleted looks like any other without it")
	}
	at, err := e.claim("op", opts.Op)
	if err != nil {
		return nil, err
	}
	if t := &s.Fields[at].Type; t.Kind != String {
		return nil, fmt.Errorf("mapper: debezium: the column %q is to take op, and is of type %s: make it a string", opts.Op, t)
	}
	if s.Fields[at].Default != nil {
		return nil, fmt.Errorf("mapper: debezium: the column %q is to take op, and has a default, which no operation is: make it one without", opts.Op)
	}
	if opts.TSMs != "" {
		if _, err := e.claim("ts_ms", opts.TSMs); err != nil {
			return nil, err
		}
	}
	for what, names := range map[string]map[string]string{"source": opts.Source, "transaction": opts.Transaction} {
		for _, field := range slices.Sorted(maps.Keys(names)) {
			at, err := e.claim(what+"."+field, names[field])
			if err != nil {
				return nil, err
			}
			if what == "transaction" && s.Fields[at].Required {
				return nil, fmt.Errorf("mapper: debezium: the column %q is required, and is to take %s.%s, which not every record has: make it optional", names[field], what, field)
			}
		}
	}
	for i := range s.Fields {
		if _, taken := e.taken[s.Fields[i].Name]; !taken {
			e.rows = append(e.rows, i)
		}
	}
	return e, nil
}

// claim finds a column, which nothing else may take.
func (e *envelope) claim(what, column string) (int, error) {
	if _, twice := e.taken[column]; twice {
		return 0, fmt.Errorf("mapper: debezium: the column %q is to take two things, %s and another: name a column for each", column, what)
	}
	for i := range e.schema.Fields {
		if e.schema.Fields[i].Name == column {
			e.taken[column] = i
			return i, nil
		}
	}
	return 0, fmt.Errorf("mapper: debezium: the table has no column %q, which is to take %s: add it, or name another", column, what)
}

// named removes the names of the envelope's own parts from a column's path.
func (p *envelopePlan) named(path string) string {
	path = strings.TrimPrefix(path, "payload.")
	switch path {
	case "op":
		return p.opts.Op
	case "ts_ms":
		return p.opts.TSMs
	case p.name, "payload", "schema", "source", "transaction":
		return ""
	}
	for _, part := range [3]string{p.name + ".", "source.", "transaction."} {
		if rest, ok := strings.CutPrefix(path, part); ok {
			return rest
		}
	}
	return path
}
