package config

import (
	"net/url"
	"strings"
	"time"
)

// Record says how a record becomes a row.
type Record struct {
	// Format is json, avro, protobuf, csv or raw.
	Format string `yaml:"format" oneof:"json avro protobuf csv raw"`
	// Registry has the schemas that records name by id, of any format but csv and raw. Nil: they name none.
	Registry *Registry `yaml:"registry"`
	// Avro belongs to format avro.
	Avro Avro `yaml:"avro"`
	// Protobuf belongs to format protobuf.
	Protobuf Protobuf `yaml:"protobuf"`
	// CSV belongs to format csv, Raw to format raw.
	CSV CSV `yaml:"csv"`
	Raw Raw `yaml:"raw"`
	// Key fills columns from the record's key. Nil: it is not read.
	Key *Key `yaml:"key"`
	// Metadata fills columns with what Kafka knows of the record.
	Metadata Metadata `yaml:"metadata"`
	// Headers fill columns: the column's name by that of the header.
	Headers map[string]string `yaml:"headers"`
	// Constants fill columns with the same text each time: the text by the column's name.
	Constants map[string]string `yaml:"constants"`
	// Tombstones is filter (default): a record without a value yields no row; or row.
	Tombstones string `yaml:"tombstones" oneof:"filter row"`
	// Case is exact (default), or insensitive: fields of records are found whatever their case.
	Case string `yaml:"case" oneof:"exact insensitive"`
	// Rename are fields that go to a column of another name.
	Rename Renames `yaml:"rename"`
	// Drop are fields that go to no column.
	Drop []Path `yaml:"drop"`
	// Cast are rules for the values of columns.
	Cast Casts `yaml:"cast"`
	// Timezone is where timestamps without an offset were written. Empty: they are bad for columns with a time zone.
	Timezone string `yaml:"timezone"`
	// Envelope is none (default) or debezium.
	Envelope string `yaml:"envelope" oneof:"none debezium"`
	// Debezium belongs to envelope debezium.
	Debezium Debezium `yaml:"debezium"`
	// OnBadRecord is reject (default) or stop.
	OnBadRecord string `yaml:"on_bad_record" oneof:"reject stop"`
	// Filter are rules by which records yield no row.
	Filter []FilterRule `yaml:"filter"`
	// Unknown says what becomes of fields that are no column: ignore (default), reject, keep, or evolve (default where
	// table.evolve has add).
	Unknown string `yaml:"unknown" oneof:"ignore reject keep evolve"`
	// UnknownColumn takes what unknown: keep collects: a column of type string or map<string, string>.
	UnknownColumn string `yaml:"unknown_column"`
}

// Registry is record.registry.
type Registry struct {
	// URL is http or https. A password in it never prints.
	URL string `yaml:"url" required:"true"`
	// Username and Password, or Token, are told to the registry.
	Username string `yaml:"username"`
	Password Secret `yaml:"password"`
	Token    Secret `yaml:"token"`
	// Subject is where table.create.from: registry finds the newest schema. Empty: the topic's name and -value.
	Subject string `yaml:"subject"`
	// TLS is for https. Nil: the system's certificates.
	TLS *TLS `yaml:"tls"`
	// Timeout bounds each request. Default 10s.
	Timeout time.Duration `yaml:"timeout"`
}

// Avro is record.avro. Relative paths start at the configuration's folder.
type Avro struct {
	// SchemaFile holds the schema that all records were written with; they have no header then.
	SchemaFile string `yaml:"schema_file"`
	// ReaderSchemaFile holds the schema that records are read as.
	ReaderSchemaFile string `yaml:"reader_schema_file"`
}

func defaultRegistry() *Registry { return &Registry{Timeout: 10 * time.Second} }

// finish makes paths absolute, and keeps the password of the registry's URL from printing.
func (r *Record) finish(c *Config) {
	c.absolute(&r.Avro.SchemaFile, &r.Avro.ReaderSchemaFile, &r.Protobuf.DescriptorFile)
	if r.Key != nil {
		c.absolute(&r.Key.Avro.SchemaFile, &r.Key.Avro.ReaderSchemaFile, &r.Key.Protobuf.DescriptorFile)
	}
	if r.Registry == nil {
		return
	}
	c.absoluteTLS(r.Registry.TLS)
	if u, err := url.Parse(r.Registry.URL); err == nil && u.User != nil {
		pw, _ := u.User.Password()
		c.secrets = remember(c.secrets, pw)
		_, rest, _ := strings.Cut(r.Registry.URL, "//")
		if i := strings.LastIndexByte(rest, '@'); i > 0 {
			c.secrets = remember(c.secrets, rest[:i]) // as it is written
		}
	}
}

func (v *validator) record() {
	r := v.c.Record
	v.oneOf("record.format", r.Format)
	v.envelope(&r)
	v.oneOf("record.on_bad_record", r.OnBadRecord)
	v.mapping(&r)
	v.filter(r.Filter)
	v.unknown()
	v.parts()
	v.plain(&r)
	v.avro()
	v.proto()
	if r.Registry != nil {
		v.registry(r.Registry)
	}
}

// avro checks record.avro and what stands beside format: avro.
func (v *validator) avro() {
	r := v.c.Record
	switch {
	case r.Format != "avro":
		v.check(r.Avro == Avro{}, "record.avro", "belongs to format: avro; remove the key")
		return
	case r.Registry == nil && r.Avro.SchemaFile == "":
		v.fail("record", "format: avro needs a schema: write registry: {url: \"http://localhost:8081\"} where records name theirs by id, or avro: {schema_file: orders.avsc} where they have no header")
	case r.Registry != nil && r.Avro.SchemaFile != "":
		v.fail("record.avro.schema_file", "stands beside registry; records name their schema by id, or have no header: write one of the two")
	}
	v.file("record.avro.schema_file", r.Avro.SchemaFile)
	v.file("record.avro.reader_schema_file", r.Avro.ReaderSchemaFile)
}

// registry quotes nothing of the URL: a password may be in it, also where it can't be read.
func (v *validator) registry(r *Registry) {
	const key = "record.registry"
	u, err := url.Parse(r.URL)
	switch {
	case r.URL == "":
		v.fail(key+".url", "is missing; write where the registry is, such as \"http://localhost:8081\"")
		return
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.fail(key+".url", "is no URL of a registry; write it such as \"http://localhost:8081\"")
		return
	}
	v.check(u.RawQuery == "" && u.Fragment == "", key+".url", "has a query or a fragment; write it without them")
	user := r.Username != "" || r.Password != ""
	v.check(u.User == nil || !user && r.Token == "", key+".url", "has a user in it, and another stands beside it; write one of the two")
	v.check(r.Token == "" || !user, key+".token", "stands beside username and password; write one of the two ways")
	v.check(r.Password == "" || r.Username != "", key+".username", "is missing; write the user's name")
	v.check(r.Username == "" || r.Password != "", key+".password", `is missing or empty; write "${REGISTRY_PASSWORD}" and set the variable`)
	v.check(r.Timeout >= time.Millisecond && r.Timeout <= 10*time.Minute, key+".timeout", "%s must be between 1ms and 10m", r.Timeout)
	if r.TLS != nil {
		v.check(u.Scheme == "https", key+".tls", "stands beside a URL that begins with http://; write https:// or remove the key")
		v.tls(key+".tls", r.TLS)
	}
}
