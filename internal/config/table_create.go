package config

import "fmt"

// Create is table.create.
type Create struct {
	// From says where the columns come from: schema (default), sample (the newest records) or registry (the newest schema).
	From string `yaml:"from" oneof:"schema sample registry"`
	// Schema are the columns, in order. It belongs to from: schema.
	Schema []Column `yaml:"schema"`
	// PartitionBy are column names and transforms of them: region, day(event_time), bucket(16, id).
	PartitionBy []string `yaml:"partition_by"`
	// Properties are the table's, verbatim.
	Properties map[string]string `yaml:"properties"`
}

// Column is one column of table.create.schema.
type Column struct {
	// Name is the column's.
	Name string `yaml:"name" required:"true"`
	// Type in Iceberg's words: long, string, timestamptz, decimal(10,2), list<string>, struct<a: int, b: string>.
	Type string `yaml:"type" required:"true"`
	// Required columns have a value in every row; a record without one is bad.
	Required bool `yaml:"required"`
	// Doc is the column's text in the table.
	Doc string `yaml:"doc"`
}

// finishCreate fills in where columns come from.
func (c *Config) finishCreate() {
	if t := c.Table.Create; t != nil && t.From == "" {
		t.From = "schema"
	}
}

func (v *validator) create(c *Create) {
	if reg := v.c.Record.Registry; reg != nil && c.From != "registry" {
		v.check(reg.Subject == "", "record.registry.subject", "belongs to table.create.from: registry; write that, or remove the key")
	}
	if c.From == "sample" || c.From == "registry" {
		v.createFrom(c)
		return
	}
	if c.From != "schema" {
		v.oneOf("table.create.from", c.From)
		return
	}
	v.check(len(c.Schema) > 0, "table.create.schema",
		"is missing; write the columns, such as [{name: id, type: long, required: true}], or from: sample, which takes them from records")
	seen := map[string]bool{}
	for i, col := range c.Schema {
		key := fmt.Sprintf("table.create.schema[%d]", i)
		v.check(col.Name != "", key, "the column has no name; write {name: id, type: long}")
		v.check(col.Type != "", key, "the column %q has no type; write {name: %s, type: string}", col.Name, col.Name)
		v.check(!seen[col.Name], key, "the column %q is there twice; remove one", col.Name)
		seen[col.Name] = true
	}
}

// createFrom checks what stands beside columns that are not written down.
func (v *validator) createFrom(c *Create) {
	const key, instead = "table.create.from", "write from: schema and the columns, or remove "
	r := &v.c.Record
	v.check(len(c.Schema) == 0, "table.create.schema", "stands beside from: %s; write from: schema, or remove the columns", c.From)
	switch {
	case c.From == "sample":
		v.check(r.Format == "json" || r.Format == "avro" || r.Format == "protobuf", key, "is sample, which works with record.format json, avro and protobuf; write from: schema and the columns")
	case r.Format != "avro" && r.Format != "protobuf" || r.Registry == nil:
		v.fail(key, "is registry, which works with record.format avro or protobuf and record.registry; write those, or from: schema and the columns")
	case len(v.c.Source.topics()) == 0:
		v.check(r.Registry.Subject != "", "record.registry.subject", "is missing; topics that are named by a pattern have no one schema: write the subject, such as orders-value")
	}
	for _, o := range []struct {
		key   string
		there bool
	}{
		{"record.key", r.Key != nil}, {"record.headers", len(r.Headers) > 0}, {"record.constants", len(r.Constants) > 0},
		{"record.rename", len(r.Rename) > 0}, {"record.cast", len(r.Cast) > 0}, {"record.unknown: keep", r.Unknown == "keep"},
		{"record.case: insensitive", r.Case == "insensitive"}, {"record.envelope", r.Envelope != "none"},
	} {
		v.check(!o.there, key, "is %s, and does not work with %s; "+instead+"%s", c.From, o.key, o.key)
	}
	for _, p := range r.Drop {
		v.check(len(p) == 1, key, "is %s, and does not work with a nested field in record.drop; "+instead+"it", c.From)
	}
}

func (s *Source) topics() []string {
	if s.Kafka == nil {
		return nil
	}
	return s.Kafka.Topics
}
