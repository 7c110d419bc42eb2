package main

import (
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/mapper"
)

// otherParts adds to the value's mapper what fills columns from the rest of the record.
func (f *format) otherParts(r *config.Record) (err error) {
	p := mapper.Parts{Metadata: mapper.Metadata(r.Metadata), Headers: r.Headers, Constants: r.Constants, TombstoneRows: r.Tombstones == "row"}
	if r.Key != nil {
		if p.Key, err = f.key(r.Key); err != nil {
			return err
		}
		p.KeyColumns = map[string]string{}
		for _, c := range r.Key.Columns {
			if c.Column != "" {
				p.KeyColumns[c.Field] = c.Column
			}
		}
	}
	f.mapper = mapper.Compose(f.mapper, p)
	return nil
}

// key is what reads the record's key. Its fields that go to no column are left out.
func (f *format) key(k *config.Key) (mapper.Factory, error) {
	switch k.Format {
	case "avro":
		reg := f.registry
		if k.Avro.SchemaFile != "" {
			reg = nil // keys have no header
		}
		return newAvro("record.key.avro", k.Avro, mapper.AvroOptions{Header: mapper.KeySchemaHeader}, reg)
	case "protobuf":
		return newProto("record.key.protobuf", k.Protobuf, mapper.ProtoOptions{Header: mapper.KeySchemaHeader}, f.registry)
	case "csv":
		opts := mapper.CSVOptions{Delimiter: k.CSV.Delimiter, Quote: k.CSV.Quote, Null: k.CSV.NullText}
		for _, c := range k.Columns {
			opts.Columns = append(opts.Columns, c.Field)
		}
		return mapper.NewCSV(opts), nil
	case "raw":
		return mapper.NewRaw(mapper.RawOptions{}), nil
	}
	json := mapper.NewJSON(mapper.JSONOptions{})
	if f.registry != nil {
		json = mapper.NewJSONSchema(mapper.JSONSchemaOptions{Resolver: f.registry, Header: mapper.KeySchemaHeader, Bare: true}, json)
	}
	return json, nil
}
