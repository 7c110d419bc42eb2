package config

import (
	"net/url"
	"strings"
	"time"
)

// Record says how a record becomes a row.
type Record struct {
	// Format is json or avro.
	Format string `yaml:"format"`
	// Registry has the schemas that records of format avro name by id. Nil: they name none.
	Registry *Registry `yaml:"registry"`
	// Avro belongs to format avro.
	Avro Avro `yaml:"avro"`
	// Envelope is none.
	Envelope string `yaml:"envelope"`
	// OnBadRecord is stop.
	OnBadRecord string `yaml:"on_bad_record"`
}

// Registry is record.registry.
type Registry struct {
	// URL is http or https. A password in it never prints.
	URL string `yaml:"url"`
	// Username and Password, or Token, are told to the registry.
	Username string `yaml:"username"`
	Password Secret `yaml:"password"`
	Token    Secret `yaml:"token"`
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
	c.absolute(&r.Avro.SchemaFile, &r.Avro.ReaderSchemaFile)
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
	v.oneOf("record.format", r.Format, "json", "avro")
	v.oneOf("record.envelope", r.Envelope, "none")
	v.oneOf("record.on_bad_record", r.OnBadRecord, "stop")
	switch {
	case r.Format == "json":
		v.check(r.Registry == nil, "record.registry", "belongs to format: avro; JSON needs no schema registry, remove the key")
		v.check(r.Avro == Avro{}, "record.avro", "belongs to format: avro; remove the key")
		return
	case r.Format != "avro":
		return
	case r.Registry == nil && r.Avro.SchemaFile == "":
		v.fail("record", "format: avro needs a schema: write registry: {url: \"http://localhost:8081\"} where records name theirs by id, or avro: {schema_file: orders.avsc} where they have no header")
	case r.Registry != nil && r.Avro.SchemaFile != "":
		v.fail("record.avro.schema_file", "stands beside registry; records name their schema by id, or have no header: write one of the two")
	}
	v.file("record.avro.schema_file", r.Avro.SchemaFile)
	v.file("record.avro.reader_schema_file", r.Avro.ReaderSchemaFile)
	if r.Registry != nil {
		v.registry(r.Registry)
	}
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
