package mapper

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/stormfloe/floe/source"
)

// ProtoOptions of a Protobuf mapper. Exactly one of Resolver and Schema is set.
type ProtoOptions struct {
	// Resolver gives the schemas that records were written with. Each record's value is then in the wire format of Confluent's
	// schema registry for Protobuf: a zero byte, the schema's id in four bytes (big endian), which message of the schema it is,
	// and the message. Or a byte of one and the schema's GUID in 16 bytes stand for the zero byte and the id.
	Resolver ProtoResolver
	// Header is the header of a record that may say all that before the message instead: ValueSchemaHeader, or KeySchemaHeader
	// where the mapper reads keys. It belongs to Resolver. Empty: none is looked at.
	Header string
	// Schema is the schema that all records were written with, and its Message what they are. Their values are then messages
	// alone, without a header.
	Schema *ProtoSchema
	// MaxDepth is how deep messages may be nested in a record, the record itself included. Deeper records are bad (CodeDepth).
	// Default 100, at most 10,000.
	MaxDepth int
	// Unknown is what becomes of fields that are no column, also of those that the schema does not have. UnknownKeep is
	// refused.
	Unknown UnknownOptions
	// Evolve says which changes of the schema a record may ask for, with an *EvolveError. A record asks for a column for every field
	// of its message that the schema declares and the table lacks, of the type that the schema says; for a wider type or an optional
	// column where its own value needs it. Fields that can't become columns, and those that the schema does not have, make a record bad
	// that has them. Default: none.
	Evolve Evolution
}

// ProtoSchema is a schema of Protobuf: a .proto file with what it imports, or a set of descriptors.
type ProtoSchema struct {
	// Text is a .proto file.
	Text string
	// Imports are the texts of the files that Text imports, directly or not, by the paths that they are imported by. Files
	// below google/protobuf/ need not be among them, nor confluent/meta.proto and confluent/type/decimal.proto. Together with Text
	// they have up to 2 MiB.
	Imports map[string]string
	// DescriptorSet is a google.protobuf.FileDescriptorSet that has what it imports, as protoc --include_imports
	// --descriptor_set_out writes it. It stands instead of Text.
	DescriptorSet []byte
	// Message is the full name of the message that records are, such as "shop.Order"; empty for the only one that Text declares. Records
	// with a header tell it themselves.
	Message string
}

// ProtoResolver gives the Protobuf schemas that records name by id. It is called by several goroutines, for each id once, unless
// it failed. Its errors are those of SchemaResolver.
type ProtoResolver interface {
	ResolveProto(ctx context.Context, ref SchemaRef) (ProtoSchema, error)
}

// Validate names what is wrong with the options.
func (o *ProtoOptions) Validate() error {
	switch {
	case o.Resolver == nil && o.Schema == nil:
		return fmt.Errorf("mapper: protobuf: neither Resolver nor Schema is set: give where schemas come from, or the one schema")
	case o.Resolver != nil && o.Schema != nil:
		return fmt.Errorf("mapper: protobuf: both Resolver and Schema are set: records have a header with a schema's id, or they have not")
	case o.MaxDepth < 0 || o.MaxDepth > largestDepth:
		return fmt.Errorf("mapper: protobuf: MaxDepth is %d, but must be 1 to %d, or 0 for %d", o.MaxDepth, largestDepth, defaultDepth)
	case o.Unknown.Policy == UnknownKeep:
		return fmt.Errorf("mapper: protobuf: unknown fields can't be kept: ignore or reject them")
	}
	if err := o.Unknown.Validate(); err != nil {
		return err
	}
	return o.Evolve.validate(&o.Unknown)
}

// NewProto makes a factory of mappers that read a record's value as a message of Protobuf. The package documentation says what
// each type gives. All mappers of one factory share the schemas, each of which is asked for once.
//
// The factory refuses a Schema that is none or does not fit the table. With a Resolver what does not fit is known only when a
// record comes, which is bad then (CodeSchema).
func NewProto(opts ProtoOptions) Factory {
	if opts.MaxDepth == 0 {
		opts.MaxDepth = defaultDepth
	}
	store := &schemaStore[*protoSchema]{load: opts.load}
	return inHeader(opts.Header, true, func(s *Schema) (Mapper, error) {
		if err := opts.Validate(); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m := &protoMapper{schema: s, schemas: schemaReader[*protoSchema]{store: store}, plans: map[string]*protoPlan{}, depth: opts.MaxDepth,
			reject: opts.Unknown.Policy == UnknownReject, evolution: opts.Evolve.of(s)}
		if opts.Schema == nil {
			return m, nil
		}
		parsed, err := parseProto(opts.Schema)
		if err != nil {
			return nil, fmt.Errorf("mapper: protobuf: the schema: %w", err)
		}
		md, err := parsed.named(opts.Schema.Message)
		if err != nil {
			return nil, fmt.Errorf("mapper: protobuf: the schema: %w", err)
		}
		m.fixed = m.compile(md)
		if bad := m.fixed.bad; bad != nil {
			return nil, fmt.Errorf("mapper: protobuf: the message %s does not fit the table: %s", md.FullName(), strings.TrimPrefix(bad.Error(), fmt.Sprintf("bad record (%s): ", bad.Code)))
		}
		return m, nil
	})
}

// load asks the resolver.
func (o *ProtoOptions) load(ctx context.Context, id SchemaRef) (got readSchema[*protoSchema], err error) {
	text, err := o.Resolver.ResolveProto(ctx, id)
	if err == nil {
		got.schema, got.err = parseProto(&text)
	}
	return got, err
}

// protoMapper has a plan for each message that records are.
type protoMapper struct {
	schema  *Schema
	schemas schemaReader[*protoSchema]
	// fixed is the only plan, where records have no header.
	fixed *protoPlan
	// plans are found by the header that records of theirs have.
	plans map[string]*protoPlan
	// last is the plan of the record before, lastHeader what that began with.
	last       *protoPlan
	lastHeader []byte
	depth      int
	reject     bool
	evolution  Evolution

	dst *Columns
	// bad is why the decoder gave up: a function that gives an index below zero has set it, or full.
	bad  BadRecordError
	full bool
	// failed is the field at which a record was refused.
	failed *protoField
	// spread is what the record may fill still.
	spread spread
	order  []int32
}

// protoPlan is how messages of one type become rows, or why none does.
type protoPlan struct {
	root *protoMessage
	dst  *Columns
	bad  *BadRecordError
	// evolve is what the message needs first; nil where it needs nothing.
	evolve *EvolveError
}

// Map appends the record's row to dst. Besides the errors of Mapper: *NotReadyError where the record's schema has yet to
// be fetched; ErrFull where dst must be written out first; ErrSchema where dst was made for another schema.
func (m *protoMapper) Map(rec *source.Record, dst *Columns) error {
	if rec.Value == nil {
		return ErrFiltered
	}
	b, p, i := rec.Value, m.fixed, 0
	if p != nil && p.evolve != nil {
		return p.evolve
	}
	if p == nil {
		var err error
		if p, i, err = m.planOf(b); err != nil {
			return err
		}
	}
	if p.dst != dst {
		if !m.schema.Equal(dst.Schema) {
			return ErrSchema
		}
		p.root.bind(dst.Cols)
		p.dst = dst
	}
	m.dst, m.full, m.spread = dst, false, spreadOf(len(b))
	if len(b) >= math.MaxInt32 || !dst.room(len(b)+1) {
		return m.tooLarge(dst)
	}
	if i = m.message(p.root, b, i, dst.Rows, 1, 0); i >= 0 && m.complete(p.root, dst.Rows) {
		dst.Rows++
		return nil
	}
	p.root.forget()
	dst.Truncate(dst.Rows)
	if m.full {
		return m.tooLarge(dst)
	}
	return m.lacks()
}

// tooLarge tells columns that must be written out from a record that never fits.
func (m *protoMapper) tooLarge(dst *Columns) error {
	if dst.Rows > 0 {
		return ErrFull
	}
	return &BadRecordError{Code: CodeSize, Reason: "the record is too large for 32-bit offsets"}
}

// planOf reads the header, and gives where the message begins.
func (m *protoMapper) planOf(b []byte) (*protoPlan, int, error) {
	if n := len(m.lastHeader); n == 0 || len(b) < n || string(b[:n]) != string(m.lastHeader) {
		id, end, err := schemaRef(b)
		if err != nil {
			return nil, 0, err
		}
		path, end := messagePath(b, end)
		if end < 0 {
			return nil, 0, &BadRecordError{Code: CodeSyntax, Reason: "the header does not say which message of the schema the record is"}
		}
		p := m.plans[string(b[:end])]
		if p == nil {
			if p, err = m.newPlan(id, path); err != nil {
				return nil, 0, err
			}
			m.plans[string(b[:end])] = p
		}
		m.last, m.lastHeader = p, append(m.lastHeader[:0], b[:end]...)
	}
	if m.last.bad != nil {
		bad := *m.last.bad
		return nil, 0, &bad
	}
	if m.last.evolve != nil {
		return nil, 0, m.last.evolve
	}
	return m.last, len(m.lastHeader), nil
}

// mostIndexes is how deep the message of a record may be declared in others.
const mostIndexes = 32

// messagePath reads which message a record is: how many indexes there are, and these, from the outermost message on, each
// zigzag. A single zero is the first message. Only the shortest way to write a number is taken, so that there are no more headers
// than messages.
func messagePath(b []byte, from int) (path []int, end int) {
	next := func(i int) (int, int) {
		v, n := binary.Varint(b[i:])
		if n <= 0 || n > 1 && b[i+n-1] == 0 || v < 0 || v > math.MaxInt32 {
			return 0, -1
		}
		return int(v), i + n
	}
	n, i := next(from)
	if i < 0 || n > mostIndexes {
		return nil, -1
	}
	if n == 0 {
		return []int{0}, i
	}
	for range n {
		var v int
		if v, i = next(i); i < 0 {
			return nil, -1
		}
		path = append(path, v)
	}
	return path, i
}

// newPlan makes the plan for a message of a schema that has been fetched; else it says that it must be. Its error is not kept:
// there may be any number of messages that there are not.
func (m *protoMapper) newPlan(id SchemaRef, path []int) (*protoPlan, error) {
	got, err := m.schemas.get(id)
	if err != nil {
		return nil, err
	}
	refuse := func(err error) *BadRecordError {
		return &BadRecordError{Code: CodeSchema, Reason: fmt.Sprintf("schema %s: %v", id, err)}
	}
	if got.err != nil {
		return nil, refuse(got.err)
	}
	md, err := got.schema.at(path)
	if err != nil {
		return nil, refuse(err)
	}
	p := m.compile(md)
	if p.bad != nil && p.bad.Code == CodeSchema {
		p.bad.Reason = fmt.Sprintf("schema %s: %s", id, p.bad.Reason)
	}
	return p, nil
}

// fail sets why the record is bad.
func (m *protoMapper) fail(f *protoField, why *fault) int {
	m.bad = BadRecordError{Code: why.code, Column: f.path, Reason: why.reason}
	m.failed = f
	return -1
}

// syntax tells where the value is not Protobuf of its schema.
func (m *protoMapper) syntax(i int, what string) int {
	m.bad = BadRecordError{Code: CodeSyntax, Reason: fmt.Sprintf("not valid Protobuf at byte %d: %s", i, what)}
	return -1
}

func (m *protoMapper) short(b []byte) int {
	return m.syntax(len(b), "the value, or a message in it, ends early")
}

// grow counts n more bytes or elements than the record itself has, and says whether they fit.
func (m *protoMapper) grow(n int) bool {
	if m.dst.room(n) {
		return true
	}
	m.full = true
	return false
}
