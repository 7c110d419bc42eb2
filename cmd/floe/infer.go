package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/evolve"
	"github.com/stormfloe/floe/internal/registry"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/writer"
)

// inference gives the columns of a table that is made from a sample of records, or from the registry's schema.
type inference struct {
	cfg *config.Config
	log *slog.Logger
	// from says in a few words what the columns were taken from, and notes what else there is to say; set by schema.
	from  string
	notes []string
}

// inferSamples is how many of the newest records of each partition are looked at.
const inferSamples = 1000

// instead is what to do where columns can't be told.
const instead = "write from: schema and the columns"

// newInference is nil where the columns are written down.
func newInference(cfg *config.Config, log *slog.Logger) *inference {
	if c := cfg.Table.Create; c == nil || c.From == "schema" {
		return nil
	}
	return &inference{cfg: cfg, log: log}
}

// schema reads the sample, or asks the registry. Errors that asking again can't mend are *source.FatalError.
func (n *inference) schema(ctx context.Context) (*iceberg.Schema, error) {
	n.notes = nil
	sc, err := n.infer(ctx)
	if err != nil {
		var final *inferenceError
		err = fmt.Errorf("table.create.from: %s: %w", n.cfg.Table.Create.From, err)
		if errors.As(err, &final) || errors.Is(err, mapper.ErrNoSchema) || errors.Is(err, mapper.ErrNoReference) || errors.Is(err, mapper.ErrWrongSchema) || errors.Is(err, mapper.ErrRefused) {
			err = &source.FatalError{Err: err}
		}
		return nil, err
	}
	n.log.Info("columns of the table that is to be made", "from", n.from, "columns", sc.NumFields())
	for _, note := range n.notes {
		n.log.Info("columns of the table that is to be made", "note", note)
	}
	return sc, nil
}

// inferenceError is what asking again can't mend.
type inferenceError struct{ text string }

func (e *inferenceError) Error() string { return e.text }

func (n *inference) infer(ctx context.Context) (*iceberg.Schema, error) {
	base, err := n.others()
	if err != nil {
		return nil, err
	}
	var found *mapper.Inference
	if n.cfg.Table.Create.From == "registry" {
		found, err = n.fromRegistry(ctx, base)
	} else {
		found, err = n.fromSample(ctx, base)
	}
	if err != nil {
		return nil, err
	}
	return n.whole(base, found)
}

// others are the columns that other parts of the record fill than its value.
func (n *inference) others() (*iceberg.Schema, error) {
	m := n.cfg.Record.Metadata
	var columns []tableio.Column
	for _, c := range []tableio.Column{
		{Name: m.Topic, Type: "string"}, {Name: m.Partition, Type: "int"}, {Name: m.Offset, Type: "long"}, {Name: m.Timestamp, Type: "timestamptz"},
		{Name: m.Key, Type: "binary"}, {Name: m.Headers, Type: "list<struct<key: string, value: binary>>"}, {Name: m.Tombstone, Type: "boolean"},
	} {
		if c.Name != "" {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return iceberg.NewSchema(0), nil
	}
	return tableio.ParseSchema(columns)
}

// whole is base with the columns that were found.
func (n *inference) whole(base *iceberg.Schema, found *mapper.Inference) (*iceberg.Schema, error) {
	if untyped := found.Untyped(); len(untyped) > 0 {
		n.notes = append(n.notes, fmt.Sprintf("fields that are null or empty wherever they are become no columns: %s", strings.Join(untyped, ", ")))
	}
	if mixed := found.Mixed(); len(mixed) > 0 {
		n.notes = append(n.notes, fmt.Sprintf("fields with integers and with fractions in the sample become doubles, which refuse an integer from 2^53 on that they don't hold exactly: %s; "+
			"for another type %s", strings.Join(mixed, ", "), instead))
	}
	if len(found.Columns()) == 0 {
		return nil, &inferenceError{fmt.Sprintf("there is no field in %s that could become a column (%s); %s, or start when there are records that have some",
			n.from, cmp.Or(strings.Join(n.notes, "; "), "none was there"), instead)}
	}
	def := tableio.Definition{Schema: base, Properties: n.cfg.Table.Create.Properties}
	before, err := def.Preview(strings.Split(n.cfg.Table.Name, "."))
	if err != nil {
		return nil, &inferenceError{err.Error()}
	}
	sc, refused := evolve.Plan(before.Metadata(), found.Columns(), n.cfg.Table.EvolveMaxColumns)
	if len(refused) > 0 {
		return nil, &inferenceError{fmt.Sprintf("the field %q can't become a column: %s; %s, or name the field in record.drop", refused[0].Change.Path, refused[0].Why, instead)}
	}
	return sc, nil
}

// fromRegistry takes what the newest schema of each topic's subject asks for, which must be the same.
func (n *inference) fromRegistry(ctx context.Context, base *iceberg.Schema) (*mapper.Inference, error) {
	r := &n.cfg.Record
	reg, err := newRegistry(r.Registry)
	if err != nil {
		return nil, err
	}
	subjects := []string{r.Registry.Subject}
	if subjects[0] == "" {
		subjects = nil
		for _, topic := range n.cfg.Source.Kafka.Topics {
			subjects = append(subjects, topic+"-value")
		}
	}
	n.from = "the newest schema of " + strings.Join(subjects, ", ")
	var first *mapper.Inference
	for _, subject := range subjects {
		found := &mapper.Inference{}
		records, err := n.newest(ctx, reg, subject, found.Evolution(n.cfg.Table.EvolveMaxColumns))
		if err != nil {
			return nil, fmt.Errorf("the newest schema of the subject %s: %w; see record.registry, or %s", subject, err, instead)
		}
		err = n.ask(records, base, found)
		switch {
		case err != nil:
			return nil, &inferenceError{fmt.Sprintf("the newest schema of the subject %s: %s; %s, or name the field in record.drop", subject, err, instead)}
		case first == nil:
			first = found
		case !reflect.DeepEqual(first.Columns(), found.Columns()):
			return nil, &inferenceError{fmt.Sprintf("the newest schemas of the subjects %s and %s give different columns; name one as record.registry.subject, or %s",
				subjects[0], subject, instead)}
		}
	}
	return first, nil
}

// newest is a mapper of records of the newest schema of a subject alone.
func (n *inference) newest(ctx context.Context, reg *registry.Client, subject string, e mapper.Evolution) (mapper.Factory, error) {
	r := &n.cfg.Record
	if r.Format == "protobuf" {
		text, err := reg.NewestProto(ctx, subject)
		if err != nil {
			return nil, err
		}
		text.Message = r.Protobuf.Message
		if err := text.Validate(); err != nil {
			return nil, fmt.Errorf("%w: it %w; the message that records are can be named as record.protobuf.message", mapper.ErrWrongSchema, err)
		}
		return mapper.NewProto(mapper.ProtoOptions{Schema: &text, Evolve: e}), nil
	}
	text, err := reg.NewestAvro(ctx, subject)
	if err != nil {
		return nil, err
	}
	reader, err := schemaFile("record.avro.reader_schema_file", r.Avro.ReaderSchemaFile)
	if err != nil {
		return nil, &inferenceError{err.Error()}
	}
	return mapper.NewAvro(mapper.AvroOptions{Schema: &text, Reader: reader, Evolve: e}), nil
}

// ask fills found with the columns that records of one schema ask for.
func (n *inference) ask(records mapper.Factory, base *iceberg.Schema, found *mapper.Inference) error {
	r := &n.cfg.Record
	rules, err := newRules(r)
	if err != nil {
		return err
	}
	f := &format{mapper: mapper.WithRules(rules, records)}
	if err := f.otherParts(r); err != nil {
		return err
	}
	m, schema, err := mapperFor(f, base)
	if err != nil {
		return err
	}
	columns, err := mapper.NewColumns(schema)
	if err != nil {
		return err
	}
	// A mapper of one schema says of any record what that schema asks for, before it reads the record.
	var ask *mapper.EvolveError
	if errors.As(m.Map(&source.Record{Value: []byte{0}}, columns), &ask) {
		err = found.Add(ask.Changes...)
	}
	return err
}

func mapperFor(f *format, sc *iceberg.Schema) (mapper.Mapper, *mapper.Schema, error) {
	schema := &mapper.Schema{}
	if sc.NumFields() > 0 {
		var err error
		if schema, err = writer.MapperSchema(sc); err != nil {
			return nil, nil, err
		}
	}
	m, err := f.mapper(schema)
	return m, schema, err
}

// fromSample takes what the newest records of each partition ask for.
func (n *inference) fromSample(ctx context.Context, base *iceberg.Schema) (*mapper.Inference, error) {
	whole := &mapper.Inference{}
	f, err := n.sampleFormat(whole)
	var m mapper.Mapper
	var schema *mapper.Schema
	if err == nil {
		m, schema, err = mapperFor(f, base)
	}
	if err != nil {
		return nil, &inferenceError{err.Error()}
	}
	s, err := n.sampler(ctx, m, schema)
	if err != nil {
		return nil, err
	}
	parts := map[source.Partition]*mapper.Inference{}
	var final error
	s.each = func(p source.Partition, pos source.Position, err error) {
		var ask *mapper.EvolveError
		var bad *mapper.BadRecordError
		switch {
		case errors.As(err, &ask):
			if parts[p] == nil {
				parts[p] = &mapper.Inference{}
			}
			err = parts[p].Add(ask.Changes...)
		case errors.As(err, &bad) && bad.Code != mapper.CodeUnknown:
			return // it would be a bad record whatever the columns
		}
		if err != nil && !errors.Is(err, mapper.ErrFiltered) && final == nil {
			final = fmt.Errorf("%s, offset %d: %w", p, pos, err)
		}
	}
	if len(s.open) > 0 {
		if err := s.run(ctx, n.cfg, n.log); err != nil {
			return nil, fmt.Errorf("the records could not be read: %w", err)
		}
	}
	n.from = fmt.Sprintf("%d records", s.seen)
	if len(s.bad) > 0 {
		n.notes = append(n.notes, fmt.Sprintf("%d of %d records can't become rows; the first: %s", len(s.bad), s.seen, slices.Min(s.bad)))
	}
	// In the order of the partitions, and not in that of their answers: the same records give the same table.
	for _, p := range slices.SortedFunc(maps.Keys(parts), func(a, b source.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	}) {
		if final == nil {
			final = whole.Add(parts[p].Columns()...)
		}
	}
	if final != nil {
		return nil, &inferenceError{fmt.Sprintf("%s; %s, or name the field in record.drop", final, instead)}
	}
	return whole, nil
}

// sampleFormat reads records as the configuration says, except that it asks for each field that is no column. Filter rules that
// look at columns are left out: there are none yet.
func (n *inference) sampleFormat(found *mapper.Inference) (*format, error) {
	c := *n.cfg
	c.Record.Unknown = "evolve"
	c.Record.Filter = slices.DeleteFunc(slices.Clone(c.Record.Filter), func(r config.FilterRule) bool { return r.Column != nil })
	return formatOf(&c, found.Evolution(c.Table.EvolveMaxColumns))
}

func (n *inference) sampler(ctx context.Context, m mapper.Mapper, schema *mapper.Schema) (*sampler, error) {
	kc, err := kafkaConfig(n.cfg, n.log)
	if err != nil {
		return nil, err
	}
	src, err := kafka.New(kc)
	if err != nil {
		return nil, err
	}
	bounds, err := src.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	return newSampler(m, schema, bounds, inferSamples)
}
