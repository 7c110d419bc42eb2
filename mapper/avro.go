package mapper

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stormfloe/floe/source"
)

// AvroOptions of an Avro mapper. Exactly one of Resolver and Schema is set.
type AvroOptions struct {
	// Resolver gives the schemas that records were written with. Each record's value is then a zero byte, the schema's id
	// in four bytes (big endian), and the body: the wire format of Confluent's schema registry.
	Resolver SchemaResolver
	// Schema is the schema that all records were written with. Their values are then bodies alone, without a header.
	Schema *AvroSchema
	// Reader is what records are read as: the rules of Avro's schema resolution hold, with aliases and defaults, and its
	// fields go to the columns. Nil: each record is read as it was written.
	Reader *AvroSchema
	// MaxDepth is how deep types may be nested in a schema, the record included. Default 100, at most 1,000.
	MaxDepth int
}

const largestAvroDepth = 1000

// Validate names what is wrong with the options.
func (o *AvroOptions) Validate() error {
	switch {
	case o.Resolver == nil && o.Schema == nil:
		return fmt.Errorf("mapper: avro: neither Resolver nor Schema is set: give where schemas come from, or the one schema")
	case o.Resolver != nil && o.Schema != nil:
		return fmt.Errorf("mapper: avro: both Resolver and Schema are set: records have a header with a schema's id, or they have not")
	case o.MaxDepth < 0 || o.MaxDepth > largestAvroDepth:
		return fmt.Errorf("mapper: avro: MaxDepth is %d, but must be 1 to %d, or 0 for %d", o.MaxDepth, largestAvroDepth, defaultDepth)
	}
	return nil
}

// NewAvro makes a factory of mappers that read a record's value as Avro. The package documentation says what each type
// gives. All mappers of one factory share the schemas, each of which is asked for once.
//
// The factory refuses a Schema or Reader that is not Avro or does not fit the table. With a Resolver what does not fit is
// known only when a record comes, which is bad then (CodeSchema).
func NewAvro(opts AvroOptions) Factory {
	if opts.MaxDepth == 0 {
		opts.MaxDepth = defaultDepth
	}
	store := &avroStore{resolver: opts.Resolver, depth: opts.MaxDepth}
	return func(s *Schema) (Mapper, error) {
		if err := opts.Validate(); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m := &avroMapper{schema: s, store: store, plans: map[uint32]*avroPlan{}}
		if opts.Reader != nil {
			r, err := parseAvro(*opts.Reader, opts.MaxDepth, true)
			if err != nil {
				return nil, fmt.Errorf("mapper: avro: the reader schema: %w", err)
			}
			if bad := compileAvro(s, r, r).bad; bad != nil {
				return nil, misfit("the reader schema", bad)
			}
			m.reader = r
		}
		if opts.Schema != nil {
			w, err := parseAvro(*opts.Schema, opts.MaxDepth, false)
			if err != nil {
				return nil, fmt.Errorf("mapper: avro: the schema: %w", err)
			}
			m.fixed = m.compile(w)
			if bad := m.fixed.bad; bad != nil {
				return nil, misfit("the schema", bad)
			}
		}
		return m, nil
	}
}

// misfit says that no record of a schema can become a row.
func misfit(what string, bad *BadRecordError) error {
	if bad.Column == "" {
		return fmt.Errorf("mapper: avro: %s does not fit the table: %s", what, bad.Reason)
	}
	return fmt.Errorf("mapper: avro: %s does not fit the table: column %q: %s", what, bad.Column, bad.Reason)
}

// avroMapper has a plan for each schema that records were written with.
type avroMapper struct {
	schema *Schema
	store  *avroStore
	reader *avroSchema
	// fixed is the only plan, where records have no header.
	fixed *avroPlan
	plans map[uint32]*avroPlan
	// last is the plan of the record before.
	last   *avroPlan
	lastID uint32
	wanted *avroWanted

	dst *Columns
	// bad is why the decoder gave up: a function that gives an index below zero has set it, or full.
	bad  BadRecordError
	full bool
	// free is how many more elements without a byte the record may have.
	free  int
	order []int32
}

// avroPlan is how records of one schema become rows, or why none does.
type avroPlan struct {
	root *avroOp
	dst  *Columns
	bad  *BadRecordError
}

const (
	avroHeader = 5
	// freeElements is how many elements that take no byte (nulls in an array of nulls) a record may have: nothing else
	// bounds them.
	freeElements = 4096
)

var faultMagic = &fault{CodeSyntax, "not in the wire format of a schema registry: the first byte is not 0"}

// noSchema says that nobody knows the schema of a record.
func noSchema(id uint32) error {
	return &BadRecordError{Code: CodeSchema, Reason: fmt.Sprintf("the schema registry has no schema %d", id)}
}

// Map appends the record's row to dst. Besides the errors of Mapper: *NotReadyError where the record's schema has yet to
// be fetched; ErrFull where dst must be written out first; ErrSchema where dst was made for another schema.
func (m *avroMapper) Map(rec *source.Record, dst *Columns) error {
	if rec.Value == nil {
		return ErrFiltered
	}
	b := rec.Value
	if len(b) == 0 {
		return &BadRecordError{Code: CodeEmpty, Reason: "a value of no bytes"}
	}
	p, at := m.fixed, 0
	if p == nil {
		var err error
		if p, err = m.planOf(b); err != nil {
			return err
		}
		at = avroHeader
	}
	if p.dst != dst {
		if err := m.bind(p, dst); err != nil {
			return err
		}
	}
	m.dst, m.full, m.free = dst, false, freeElements
	if len(b) >= math.MaxInt32 || !dst.room(len(b)+1) {
		return m.tooLarge(dst)
	}
	i := m.value(p.root, b, at)
	if i == len(b) {
		dst.Rows++
		return nil
	}
	if i >= 0 {
		m.syntax(i, "more behind the record")
	}
	dst.Truncate(dst.Rows)
	if m.full {
		return m.tooLarge(dst)
	}
	bad := m.bad
	return &bad
}

// tooLarge tells columns that must be written out from a record that never fits.
func (m *avroMapper) tooLarge(dst *Columns) error {
	if dst.Rows > 0 {
		return ErrFull
	}
	return &BadRecordError{Code: CodeSize, Reason: "the record is too large for 32-bit offsets"}
}

// planOf reads the header.
func (m *avroMapper) planOf(b []byte) (*avroPlan, error) {
	if b[0] != 0 {
		return nil, asError(faultMagic)
	}
	if len(b) < avroHeader {
		m.syntax(len(b), "the value ends inside its header")
		bad := m.bad
		return nil, &bad
	}
	id := binary.BigEndian.Uint32(b[1:])
	if m.last == nil || id != m.lastID {
		p := m.plans[id]
		if p == nil {
			var err error
			if p, err = m.newPlan(id); err != nil {
				return nil, err
			}
			m.plans[id] = p
		}
		m.last, m.lastID = p, id
	}
	if m.last.bad != nil {
		bad := *m.last.bad
		return nil, &bad
	}
	return m.last, nil
}

// newPlan makes the plan for a schema that has been fetched; else it says that it must be.
func (m *avroMapper) newPlan(id uint32) (*avroPlan, error) {
	if w := m.wanted; w != nil && w.id == id && w.unknown.Load() {
		m.wanted = nil // asked again the next time: it may be registered then
		return nil, noSchema(id)
	}
	if id > math.MaxInt32 {
		return nil, noSchema(id)
	}
	got := m.store.get(id)
	switch {
	case got == nil:
		m.wanted = &avroWanted{store: m.store, id: id}
		return nil, &NotReadyError{What: fmt.Sprintf("schema %d", id), Fetch: m.wanted.fetch}
	case got.err != nil:
		return &avroPlan{bad: &BadRecordError{Code: CodeSchema, Reason: fmt.Sprintf("schema %d: %v", id, got.err)}}, nil
	}
	p := m.compile(got.schema)
	if p.bad != nil && p.bad.Code == CodeSchema {
		p.bad.Reason = fmt.Sprintf("schema %d: %s", id, p.bad.Reason)
	}
	return p, nil
}

func (m *avroMapper) compile(w *avroSchema) *avroPlan {
	r := w
	if m.reader != nil {
		r = m.reader
	}
	return compileAvro(m.schema, w, r)
}

// bind points a plan at the columns of dst.
func (m *avroMapper) bind(p *avroPlan, dst *Columns) error {
	if !m.schema.Equal(dst.Schema) {
		return ErrSchema
	}
	p.root.bind(dst.Cols)
	p.dst = dst
	return nil
}

// fail sets why the record is bad.
func (m *avroMapper) fail(op *avroOp, f *fault) int {
	m.bad = BadRecordError{Code: f.code, Column: op.path, Reason: f.reason}
	return -1
}

// syntax tells where the value is not Avro of its schema.
func (m *avroMapper) syntax(i int, what string) int {
	m.bad = BadRecordError{Code: CodeSyntax, Reason: fmt.Sprintf("not valid Avro at byte %d: %s", i, what)}
	return -1
}

func (m *avroMapper) short(b []byte) int { return m.syntax(len(b), "the value ends early") }

// grow counts n more bytes or elements than the record itself has, and says whether they fit.
func (m *avroMapper) grow(n int) bool {
	if m.dst.room(n) {
		return true
	}
	m.full = true
	return false
}
