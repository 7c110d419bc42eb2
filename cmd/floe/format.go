package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/registry"
	"github.com/stormfloe/floe/mapper"
)

// format is what record.format stands for.
type format struct {
	mapper mapper.Factory
	// registry is nil where records name no schema.
	registry *registry.Client
	// filter has the rules of record.filter, which mapper asks; nil where there are none.
	filter *mapper.Filter
}

func newFormat(cfg *config.Config, evolve mapper.Evolution) (*format, error) {
	r := cfg.Record
	f := &format{}
	if r.Registry != nil {
		var err error
		if f.registry, err = newRegistry(r.Registry); err != nil {
			return nil, fmt.Errorf("record.registry: %w", err)
		}
	}
	if err := f.value(&r, evolve); err != nil {
		return nil, err
	}
	rules, err := newRules(&r)
	if err != nil {
		return nil, err
	}
	f.mapper = mapper.WithRules(rules, inEnvelope(&r, f.mapper))
	return f, f.otherParts(&r)
}

// value is what reads the record's value.
func (f *format) value(r *config.Record, evolve mapper.Evolution) (err error) {
	switch r.Format {
	case "avro":
		f.mapper, err = newAvro("record.avro", r.Avro, mapper.AvroOptions{Unknown: unknownOf(*r), Evolve: evolve, Header: mapper.ValueSchemaHeader}, f.registry)
		return err
	case "protobuf":
		f.mapper, err = newProto("record.protobuf", r.Protobuf, mapper.ProtoOptions{Unknown: unknownOf(*r), Evolve: evolve, Header: mapper.ValueSchemaHeader}, f.registry)
		return err
	case "csv":
		f.mapper = mapper.NewCSV(mapper.CSVOptions{Columns: r.CSV.Columns, Header: r.CSV.Header, Delimiter: r.CSV.Delimiter, Quote: r.CSV.Quote, Null: r.CSV.NullText})
		return nil
	case "raw":
		f.mapper = mapper.NewRaw(mapper.RawOptions{Column: r.Raw.Column})
		return nil
	}
	f.mapper = mapper.NewJSON(mapper.JSONOptions{Unknown: unknownOf(*r), Evolve: evolve})
	if f.registry != nil {
		f.mapper = mapper.NewJSONSchema(mapper.JSONSchemaOptions{Resolver: f.registry, Header: mapper.ValueSchemaHeader}, f.mapper)
	}
	return nil
}

// newAvro is format: avro of the value or the key; at is where its keys are. The rest of opts stays as it is.
func newAvro(at string, a config.Avro, opts mapper.AvroOptions, reg *registry.Client) (_ mapper.Factory, err error) {
	if opts.Schema, err = schemaFile(at+".schema_file", a.SchemaFile); err != nil {
		return nil, err
	}
	if opts.Reader, err = schemaFile(at+".reader_schema_file", a.ReaderSchemaFile); err != nil {
		return nil, err
	}
	if reg != nil {
		opts.Resolver = reg
	} else {
		opts.Header = "" // it is no registry's
	}
	// What is wrong with the files themselves is known without the table.
	for key, s := range map[string]*mapper.AvroSchema{"schema_file": opts.Schema, "reader_schema_file": opts.Reader} {
		if s == nil {
			continue
		}
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", at, key, err)
		}
	}
	return mapper.NewAvro(opts), nil
}

// newProto is format: protobuf of the value or the key; at is where its keys are. The rest of opts stays as it is.
func newProto(at string, p config.Protobuf, opts mapper.ProtoOptions, reg *registry.Client) (mapper.Factory, error) {
	if p.DescriptorFile == "" {
		opts.Resolver = reg
		return mapper.NewProto(opts), nil
	}
	opts.Header = "" // it is no registry's
	set, err := os.ReadFile(p.DescriptorFile)
	if err != nil {
		return nil, fmt.Errorf("%s.descriptor_file: %w", at, err)
	}
	opts.Schema = &mapper.ProtoSchema{DescriptorSet: set, Message: p.Message}
	if err := opts.Schema.Validate(); err != nil {
		return nil, fmt.Errorf("%s: the schema in %s %w", at, p.DescriptorFile, err)
	}
	return mapper.NewProto(opts), nil
}

// unknownOf is what becomes of fields that are no column.
func unknownOf(r config.Record) mapper.UnknownOptions {
	policies := map[string]mapper.UnknownPolicy{"reject": mapper.UnknownReject, "keep": mapper.UnknownKeep}
	return mapper.UnknownOptions{Policy: policies[r.Unknown], Column: r.UnknownColumn}
}

// evolutionOf are the changes of the table's schema that records may ask for.
func evolutionOf(t config.Table) mapper.Evolution {
	has := func(word string) bool { return slices.Contains(t.Evolve, word) }
	return mapper.Evolution{Add: has("add"), Widen: has("widen"), Optional: has("optional"), MaxColumns: t.EvolveMaxColumns}
}

// schemaFile reads a schema, nil where none is named.
func schemaFile(key, path string) (*mapper.AvroSchema, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return &mapper.AvroSchema{Text: string(text)}, nil
}

func newRegistry(r *config.Registry) (*registry.Client, error) {
	t, err := tlsConfig(r.TLS)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return registry.New(registry.Config{URL: r.URL, Username: r.Username, Password: r.Password.Reveal(), Token: r.Token.Reveal(),
		TLS: t, Timeout: r.Timeout})
}
