package mapper

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormfloe/floe/source"
)

// JSONSchemaResolver knows the JSON Schemas that records name by id. It is called by several goroutines, for each id once,
// unless it failed. Its errors: nil where the id is that of a JSON Schema; ErrNoSchema, ErrNoReference and ErrWrongSchema make the record bad; any
// other one holds the stream until a later call succeeds.
type JSONSchemaResolver interface {
	ResolveJSONSchema(ctx context.Context, ref SchemaRef) error
}

// JSONSchemaOptions of a mapper for JSON whose schema is named.
type JSONSchemaOptions struct {
	// Resolver knows the schemas. It must be set.
	Resolver JSONSchemaResolver
	// Header is the header of a record that may name its schema, where the value is the JSON alone: ValueSchemaHeader, or
	// KeySchemaHeader where the mapper reads keys. Empty: none is looked at.
	Header string
	// Bare also takes JSON of which nothing names a schema: it begins with neither 0 nor 1.
	Bare bool
}

// NewJSONSchema makes a factory of mappers for records in the wire format of Confluent's schema registry for JSON Schema: a zero
// byte and the schema's id in four bytes (big endian), or a byte of one and its GUID in 16, and the JSON, which body's mappers read.
// The schema must be one that Resolver knows; each is asked for once, by all mappers of the factory together. Whether the JSON is
// valid by that schema is not looked at: the table's columns say what fits.
func NewJSONSchema(opts JSONSchemaOptions, body Factory) Factory {
	store := &schemaStore[struct{}]{load: func(ctx context.Context, id SchemaRef) (readSchema[struct{}], error) {
		return readSchema[struct{}]{}, opts.Resolver.ResolveJSONSchema(ctx, id)
	}}
	return inHeader(opts.Header, false, func(s *Schema) (Mapper, error) {
		if opts.Resolver == nil {
			return nil, errors.New("mapper: json schema: no resolver is given")
		}
		inner, err := body(s)
		if err != nil {
			return nil, err
		}
		return &headedMapper{body: inner, bare: opts.Bare, schemas: schemaReader[struct{}]{store: store}}, nil
	})
}

// headedMapper takes the header off.
type headedMapper struct {
	body    Mapper
	bare    bool
	schemas schemaReader[struct{}]
	// known says that the schema of lastID is one.
	known  bool
	lastID SchemaRef
	rec    source.Record
}

// Map has the errors of the mapper of the body, and *NotReadyError where the record's schema has yet to be asked for.
func (m *headedMapper) Map(rec *source.Record, dst *Columns) error {
	if rec.Value == nil || m.bare && (len(rec.Value) == 0 || rec.Value[0] > 1) {
		return m.body.Map(rec, dst)
	}
	id, end, err := schemaRef(rec.Value)
	if err != nil {
		return err
	}
	if !m.known || id != m.lastID {
		got, err := m.schemas.get(id)
		if err != nil {
			return err
		}
		if got.err != nil {
			return &BadRecordError{Code: CodeSchema, Reason: fmt.Sprintf("schema %s: %v", id, got.err)}
		}
		m.known, m.lastID = true, id
	}
	m.rec = *rec
	m.rec.Value = rec.Value[end:]
	return m.body.Map(&m.rec, dst)
}
