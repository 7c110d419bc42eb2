package main

import (
	"fmt"
	"os"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/registry"
	"github.com/stormfloe/floe/mapper"
)

// format is what record.format stands for.
type format struct {
	mapper mapper.Factory
	// registry is nil where records name no schema.
	registry *registry.Client
}

func newFormat(cfg *config.Config) (*format, error) {
	r := cfg.Record
	if r.Format != "avro" {
		return &format{mapper: mapper.NewJSON(mapper.JSONOptions{})}, nil
	}
	var opts mapper.AvroOptions
	var err error
	if opts.Schema, err = schemaFile("schema_file", r.Avro.SchemaFile); err != nil {
		return nil, err
	}
	if opts.Reader, err = schemaFile("reader_schema_file", r.Avro.ReaderSchemaFile); err != nil {
		return nil, err
	}
	f := &format{}
	if r.Registry != nil {
		if f.registry, err = newRegistry(r.Registry); err != nil {
			return nil, fmt.Errorf("record.registry: %w", err)
		}
		opts.Resolver = f.registry
	}
	f.mapper = mapper.NewAvro(opts)
	// What is wrong with the files themselves is known without the table.
	for key, s := range map[string]*mapper.AvroSchema{"schema_file": opts.Schema, "reader_schema_file": opts.Reader} {
		if s == nil {
			continue
		}
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("record.avro.%s: %w", key, err)
		}
	}
	return f, nil
}

// schemaFile reads a schema, nil where none is named.
func schemaFile(key, path string) (*mapper.AvroSchema, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("record.avro.%s: %w", key, err)
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
