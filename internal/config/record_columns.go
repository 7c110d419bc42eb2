package config

import (
	"fmt"
	"maps"
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// Key is record.key.
type Key struct {
	// Format is json, avro, protobuf, csv or raw.
	Format string `yaml:"format" required:"true" oneof:"json avro protobuf csv raw"`
	// Columns are those that the key's fields go to.
	Columns KeyColumns `yaml:"columns" required:"true"`
	// Avro belongs to format avro; without a schema_file the key names its schema by id, and record.registry has it.
	Avro Avro `yaml:"avro"`
	// Protobuf belongs to format protobuf, and without a descriptor_file is the same.
	Protobuf Protobuf `yaml:"protobuf"`
	// CSV belongs to format csv; the fields are those of Columns.
	CSV KeyCSV `yaml:"csv"`
}

// KeyCSV is record.key.csv: CSV without what Columns says.
type KeyCSV struct {
	// Delimiter is one character. Empty: a comma.
	Delimiter string `yaml:"delimiter"`
	// Quote is one character, or none. Empty: a double quote.
	Quote string `yaml:"quote"`
	// NullText is how a field without a value is written. Default: nothing.
	NullText string `yaml:"null_text"`
}

// KeyColumn is a field of the key and the column that it goes to. Both are empty for a field of CSV that is left out.
type KeyColumn struct{ Field, Column string }

// KeyColumns are record.key.columns: {field: column}, or [column] where the field has its name.
type KeyColumns []KeyColumn

const keyColumnsHint = "columns, such as [id], or fields of the key with their columns, such as {id: order_id}"

// decodeNode reads either form.
func (k *KeyColumns) decodeNode(d *decoder, n *yaml.Node, path string) {
	*k = KeyColumns{}
	switch n.Kind {
	case yaml.MappingNode:
		d.pairs(n, path, func(field string, _, cn *yaml.Node) {
			k.add(d, cn, join(path, field), &field)
		})
	case yaml.SequenceNode:
		for i, c := range n.Content {
			k.add(d, c, fmt.Sprintf("%s[%d]", path, i), nil)
		}
	default:
		d.wrong(n, path, keyColumnsHint)
	}
}

// add reads a column's name; the field's is the same where it is not given.
func (k *KeyColumns) add(d *decoder, n *yaml.Node, at string, field *string) {
	n, ok := d.enter(n, at, 0)
	if !ok {
		return
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.wrong(n, at, "a column's name as text")
		return
	}
	column, _, ok := d.text(n, at)
	if !ok {
		return
	}
	if field == nil {
		field = &column
	}
	*k = append(*k, KeyColumn{*field, column})
}

// keyNeedsRegistry says whether the key names its schema by id.
func (r *Record) keyNeedsRegistry() bool {
	k := r.Key
	return k != nil && (k.Format == "avro" && k.Avro.SchemaFile == "" || k.Format == "protobuf" && k.Protobuf.DescriptorFile == "")
}

// Metadata is record.metadata: the columns for what Kafka knows of a record. Empty: not wanted.
type Metadata struct {
	// Topic is of type string.
	Topic string `yaml:"topic"`
	// Partition is of type int or long.
	Partition string `yaml:"partition"`
	// Offset is of type long.
	Offset string `yaml:"offset"`
	// Timestamp is of type timestamptz, timestamptz_ns, or long (milliseconds since 1970).
	Timestamp string `yaml:"timestamp"`
	// Key is of type binary, string or fixed.
	Key string `yaml:"key"`
	// Headers is a map<string, V>, or a list<struct<key: string, value: V>>, with binary or string as V.
	Headers string `yaml:"headers"`
	// Tombstone is of type boolean.
	Tombstone string `yaml:"tombstone"`
}

// parts checks what is filled from elsewhere than the value.
func (v *validator) parts() {
	r := &v.c.Record
	v.oneOf("record.tombstones", r.Tombstones)
	row := r.Tombstones == "row"
	v.check(!row || r.Key != nil || r.Metadata.Key != "", "record.tombstones", "row needs columns that are filled from the key; write key or metadata: {key: _key}, or filter")
	v.check(row || r.Metadata.Tombstone == "", "record.metadata.tombstone", "belongs to tombstones: row; records without a value yield no row: write tombstones: row, or remove the key")
	c := claims{v: v, by: map[string]string{}}
	m := r.Metadata
	for _, f := range []struct{ key, column string }{
		{"topic", m.Topic}, {"partition", m.Partition}, {"offset", m.Offset}, {"timestamp", m.Timestamp}, {"key", m.Key}, {"headers", m.Headers}, {"tombstone", m.Tombstone},
	} {
		if f.column != "" {
			c.claim("record.metadata."+f.key, f.column)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		c.claim("record.headers."+name, r.Headers[name])
	}
	for _, column := range slices.Sorted(maps.Keys(r.Constants)) {
		c.claim("record.constants."+column, column)
	}
	if r.Key != nil {
		v.key(r.Key, &c)
	}
	if r.Raw.Column != "" {
		c.claim("record.raw.column", r.Raw.Column)
	}
	for i, column := range r.CSV.Columns {
		if column != "" {
			c.claim(fmt.Sprintf("record.csv.columns[%d]", i), column)
		}
	}
	if r.UnknownColumn != "" {
		c.claim("record.unknown_column", r.UnknownColumn)
	}
}

// claims finds columns that two keys fill.
type claims struct {
	v  *validator
	by map[string]string
}

func (c *claims) claim(key, column string) {
	switch by := c.by[column]; {
	case column == "":
		c.v.fail(key, "has no column; write a column's name")
	case by != "" && by != key:
		c.v.fail(key, "the column %q is filled by %s too; name another column for one of them", column, by)
	default:
		c.by[column] = key
	}
}

func (v *validator) key(k *Key, c *claims) {
	const key = "record.key"
	v.oneOf(key+".format", k.Format)
	v.check(len(k.Columns) > 0, key+".columns", "is missing; write %s", keyColumnsHint)
	for i, col := range k.Columns {
		at := fmt.Sprintf("%s.columns[%d]", key, i)
		if col.Field == "" && col.Column == "" {
			v.check(k.Format == "csv", at, "is empty; write a column's name")
			continue
		}
		c.claim(at, col.Column)
	}
	v.check(k.Format != "raw" || len(k.Columns) <= 1, key+".columns", "has %d columns; a raw key goes into one", len(k.Columns))
	v.check(k.Format == "csv" || k.CSV == KeyCSV{}, key+".csv", "belongs to format: csv; remove the key")
	v.csvCharacters(key+".csv", &CSV{Delimiter: k.CSV.Delimiter, Quote: k.CSV.Quote, NullText: k.CSV.NullText})
	v.check(k.Format == "avro" || k.Avro == Avro{}, key+".avro", "belongs to format: avro; remove the key")
	v.check(k.Format == "protobuf" || k.Protobuf == Protobuf{}, key+".protobuf", "belongs to format: protobuf; remove the key")
	v.file(key+".avro.schema_file", k.Avro.SchemaFile)
	v.file(key+".avro.reader_schema_file", k.Avro.ReaderSchemaFile)
	v.file(key+".protobuf.descriptor_file", k.Protobuf.DescriptorFile)
	v.check((k.Protobuf.DescriptorFile == "") == (k.Protobuf.Message == ""), key+".protobuf", "descriptor_file and message belong together; write both, or neither where record.registry has the schemas")
	if v.c.Record.keyNeedsRegistry() && v.c.Record.Registry == nil {
		v.fail(key, "format: %s needs a schema; write record.registry where keys name theirs by id, or where they have no header avro: {schema_file: key.avsc} or protobuf: {descriptor_file: key.binpb, message: shop.Key}", k.Format)
	}
}
