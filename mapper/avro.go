package mapper

import (
	"context"
	"fmt"
	"math"

	"github.com/stormfloe/floe/source"
)

// AvroOptions of an Avro mapper. Exactly one of Resolver and Schema is set.
type AvroOptions struct {
	// Resolver gives the schemas that records were written with. Each record's value is then a zero byte, the schema's id
	// in four bytes (big endian), and the body: the wire format of Confluent's schema registry. Or it is a byte of one, the schema's
	// GUID in 16 bytes, and the body.
	Resolver SchemaResolver
	// Header is the header of a record that may name its schema, in the same form, where the value is the body alone:
	// ValueSchemaHeader, or KeySchemaHeader where the mapper reads keys. It belongs to Resolver. Empty: none is looked at.
	Header string
	// Schema is the schema that all records were written with. Their values are then bodies alone, without a header.
	Schema *AvroSchema
	// Reader is what records are read as: the rules of Avro's schema resolution hold, with aliases and defaults, and its
	// fields go to the columns. Nil: each record is read as it was written.
	Reader *AvroSchema
	// MaxDepth is how deep types may be nested in a schema, the record included. Default 100, at most 1,000.
	MaxDepth int
	// Unknown says what becomes of fields that are no column: they are ignored (the default), or make every record of that
	// schema bad. They can't be kept.
	Unknown UnknownOptions
	// Evolve says which changes of the schema a record may ask for, with an *EvolveError. A new column gets the type that the
	// record's schema says, read as Reader where that is set; a record asks for all that its schema needs. Default: none.
	Evolve Evolution
}

const largestAvroDepth = 1000

// AvroSchema is the text of a schema, in JSON.
type AvroSchema struct {
	Text string
	// References are the texts of the schemas whose types Text names, each behind those that it names itself.
	References []string
}

// SchemaResolver gives the Avro schemas that records name. It is called by several goroutines, for each reference once, unless
// it failed. Its errors: ErrNoSchema, ErrNoReference and ErrWrongSchema make the record bad; any other one holds the stream until a
// later call succeeds. ErrRefused marks those that mending the configuration ends and waiting hardly does.
type SchemaResolver interface {
	ResolveSchema(ctx context.Context, ref SchemaRef) (AvroSchema, error)
}

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
	if o.Unknown.Policy == UnknownKeep {
		return fmt.Errorf("mapper: avro: unknown fields can't be kept: ignore or reject them")
	}
	if err := o.Unknown.Validate(); err != nil {
		return err
	}
	return o.Evolve.validate(&o.Unknown)
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
	store := &schemaStore[*avroSchema]{load: opts.load}
	return inHeader(opts.Header, false, func(s *Schema) (Mapper, error) {
		if err := opts.Validate(); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m := &avroMapper{schema: s, schemas: schemaReader[*avroSchema]{store: store}, plans: map[SchemaRef]*avroPlan{}, unknowns: opts.Unknown.Policy, evolution: opts.Evolve.of(s)}
		if opts.Reader != nil {
			r, err := parseAvro(*opts.Reader, opts.MaxDepth, true)
			if err != nil {
				return nil, fmt.Errorf("mapper: avro: the reader schema: %w", err)
			}
			m.reader = r
			if bad := m.compile(r).bad; bad != nil {
				return nil, misfit("the reader schema", bad)
			}
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
	})
}

// load asks the resolver.
func (o *AvroOptions) load(ctx context.Context, id SchemaRef) (got readSchema[*avroSchema], err error) {
	text, err := o.Resolver.ResolveSchema(ctx, id)
	if err == nil {
		got.schema, got.err = parseAvro(text, o.MaxDepth, false)
	}
	return got, err
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
	schema  *Schema
	schemas schemaReader[*avroSchema]
	reader  *avroSchema
	// fixed is the only plan, where records have no header.
	fixed *avroPlan
	plans map[SchemaRef]*avroPlan
	// last is the plan of the record before.
	last   *avroPlan
	lastID SchemaRef

	dst *Columns
	// bad is why the decoder gave up: a function that gives an index below zero has set it, or full.
	bad  BadRecordError
	full bool
	// free is how many more elements without a byte the record may have.
	free int
	// spread is what the record may fill still.
	spread spread
	order  []int32

	unknowns  UnknownPolicy
	evolution Evolution
	// failed is the column at which a record was refused.
	failed *Field
}

// avroPlan is how records of one schema become rows, or why none does.
type avroPlan struct {
	root *avroOp
	dst  *Columns
	bad  *BadRecordError
	// evolve is what the schema needs first; nil where it needs nothing.
	evolve *EvolveError
}

// freeElements is how many elements that take no byte (nulls in an array of nulls) a record may have: nothing else bounds them.
const freeElements = 4096

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
	if p != nil && p.evolve != nil {
		return p.evolve
	}
	if p == nil {
		var err error
		if p, at, err = m.planOf(b); err != nil {
			return err
		}
	}
	if p.dst != dst {
		if err := m.bind(p, dst); err != nil {
			return err
		}
	}
	m.dst, m.full, m.free, m.spread = dst, false, freeElements, spreadOf(len(b))
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
	return m.lacks(&bad)
}

// tooLarge tells columns that must be written out from a record that never fits.
func (m *avroMapper) tooLarge(dst *Columns) error {
	if dst.Rows > 0 {
		return ErrFull
	}
	return &BadRecordError{Code: CodeSize, Reason: "the record is too large for 32-bit offsets"}
}

// planOf reads the header, and gives where the body begins.
func (m *avroMapper) planOf(b []byte) (*avroPlan, int, error) {
	id, end, err := schemaRef(b)
	if err != nil {
		return nil, 0, err
	}
	if m.last == nil || id != m.lastID {
		p := m.plans[id]
		if p == nil {
			if p, err = m.newPlan(id); err != nil {
				return nil, 0, err
			}
			m.plans[id] = p
		}
		m.last, m.lastID = p, id
	}
	if m.last.bad != nil {
		bad := *m.last.bad
		return nil, 0, &bad
	}
	if m.last.evolve != nil {
		return nil, 0, m.last.evolve
	}
	return m.last, end, nil
}

// newPlan makes the plan for a schema that has been fetched; else it says that it must be.
func (m *avroMapper) newPlan(id SchemaRef) (*avroPlan, error) {
	got, err := m.schemas.get(id)
	switch {
	case err != nil:
		return nil, err
	case got.err != nil:
		return &avroPlan{bad: &BadRecordError{Code: CodeSchema, Reason: fmt.Sprintf("schema %s: %v", id, got.err)}}, nil
	}
	p := m.compile(got.schema)
	if p.bad != nil && p.bad.Code == CodeSchema {
		p.bad.Reason = fmt.Sprintf("schema %s: %s", id, p.bad.Reason)
	}
	return p, nil
}

func (m *avroMapper) compile(w *avroSchema) *avroPlan {
	r := w
	if m.reader != nil {
		r = m.reader
	}
	c := &avroCompiler{unknowns: m.unknowns, wishes: newWishes(m.evolution, m.schema)}
	return c.plan(m.schema, w, r)
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
	m.failed = nil
	if op.col != nil && !op.fixed {
		m.failed = op.col.Field
	}
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
