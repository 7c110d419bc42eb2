package mapper

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stormfloe/floe/source"
)

// Parts says which columns are filled from other parts of a record than its value. The value's mapper sees the columns that
// are left: a column has one part. The zero value has no part.
type Parts struct {
	// Key reads the record's key as other mappers read a value; its schema is KeyColumns. Nil: the key is not read.
	Key Factory
	// KeyColumns are the columns that Key fills, by the names that they have for it. Where the record has no key they are
	// null, and it is bad if one is required.
	KeyColumns map[string]string
	// Metadata goes into columns as it stands.
	Metadata Metadata
	// Headers are columns by the name of the header that fills them: binary, string and fixed take its bytes as they stand,
	// the other primitive types its text, by the rules that JSON has for text and numbers. Null where the record has no such
	// header, or the header has no value. Two headers of the name make the record bad.
	Headers map[string]string
	// Constants are texts by column, which must be of a primitive type that takes the text by the same rules; binary and fixed
	// take base64.
	Constants map[string]string
	// TombstoneRows makes a row of a record without a value: the columns that the value fills are null, and must be
	// optional. Otherwise the value's mapper decides, and formats leave such records out.
	TombstoneRows bool
}

// Metadata names the columns for what the source knows of a record. An empty name: not wanted.
type Metadata struct {
	// Topic is a string.
	Topic string
	// Partition is an int or long.
	Partition string
	// Offset is a long: the record's position.
	Offset string
	// Timestamp is the record's time: timestamptz, timestamptz_ns, or a long of milliseconds since 1970. Null where it has
	// none.
	Timestamp string
	// Key is the key as it stands: binary, string (it must be UTF-8) or fixed. Null where the record has none.
	Key string
	// Headers are all headers: map<string, V> or list<struct<key: string, value: V>> where V is binary, or string, which must
	// be UTF-8. None are an empty map or list. A header without a value is null. A map can't hold two headers of one name:
	// the record is bad. A list has them in their order.
	Headers string
	// Tombstone is a boolean: whether the record has no value.
	Tombstone string
}

func (p *Parts) none() bool {
	return p.Key == nil && len(p.KeyColumns) == 0 && p.Metadata == Metadata{} && len(p.Headers) == 0 && len(p.Constants) == 0 && !p.TombstoneRows
}

// Compose makes a factory of mappers that fill a row from several parts of a record: the value, by the mapper that value
// makes for the columns that no other part fills, and p. Without parts it is value itself.
//
// A record for which any part has an error leaves the columns as they were. The factory refuses a schema that lacks a column,
// or has it with a type that its part can't fill.
func Compose(value Factory, p Parts) Factory {
	if p.none() {
		return value
	}
	return func(s *Schema) (Mapper, error) {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		c := &composer{parts: &p, schema: s, taken: make([]string, len(s.Fields)), m: &composed{schema: s, tombstones: p.TombstoneRows}}
		if err := c.compile(value); err != nil {
			return nil, err
		}
		return c.m, nil
	}
}

// composer makes a composed mapper.
type composer struct {
	parts  *Parts
	schema *Schema
	// taken says, by the column's place, which part fills it.
	taken []string
	m     *composed
}

func (c *composer) compile(value Factory) error {
	if err := c.metadata(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.parts.Headers)) {
		if err := c.fill(fillHeader, fmt.Sprintf("the header %q", name), c.parts.Headers[name], name); err != nil {
			return err
		}
	}
	for _, column := range slices.Sorted(maps.Keys(c.parts.Constants)) {
		if err := c.fill(fillConstant, "the constant", column, c.parts.Constants[column]); err != nil {
			return err
		}
	}
	if err := c.key(); err != nil {
		return err
	}
	v := &part{}
	for i := range c.schema.Fields {
		if c.taken[i] != "" {
			v.schema.elsewhere = append(v.schema.elsewhere, c.schema.Fields[i])
		} else {
			v.take(c.schema, i, c.schema.Fields[i].Name)
			if f := &c.schema.Fields[i]; f.Required && c.parts.TombstoneRows {
				return fmt.Errorf("mapper: column %q is required, but a record without a value has none for it: make it optional, or leave such records out", f.Name)
			}
		}
	}
	c.m.value = v
	return v.make(value)
}

func (c *composer) key() error {
	p := c.parts
	switch {
	case p.Key == nil && len(p.KeyColumns) == 0:
		if p.TombstoneRows && p.Metadata.Key == "" {
			return errors.New("mapper: rows of records without a value need the key: name columns for it")
		}
		return nil
	case p.Key == nil:
		return errors.New("mapper: columns are named for the key, but nothing that reads it")
	case len(p.KeyColumns) == 0:
		return errors.New("mapper: no columns are named for the key")
	}
	k := &part{}
	for _, name := range slices.Sorted(maps.Keys(p.KeyColumns)) {
		i, err := c.claim("the key", p.KeyColumns[name])
		if err != nil {
			return err
		}
		k.take(c.schema, i, name)
	}
	c.m.key = k
	if err := k.make(p.Key); err != nil {
		return fmt.Errorf("the record's key: %w", err)
	}
	return nil
}

// claim finds a column, which no other part may have.
func (c *composer) claim(what, column string) (int, error) {
	for i := range c.schema.Fields {
		if c.schema.Fields[i].Name != column {
			continue
		}
		if by := c.taken[i]; by != "" {
			return 0, fmt.Errorf("mapper: the column %q is to be filled from %s and from %s: name another column for one of them", column, by, what)
		}
		c.taken[i] = what
		return i, nil
	}
	return 0, fmt.Errorf("mapper: the table has no column %q for %s: add it to the table, or name another", column, what)
}

// part is one of the mappers, with the columns that it sees.
type part struct {
	mapper Mapper
	schema Schema
	// at are the places of its columns in the whole schema.
	at   []int
	view *Columns
}

func (p *part) take(s *Schema, i int, name string) {
	f := s.Fields[i]
	f.Name = name
	p.schema.ID = s.ID
	p.schema.Fields, p.at = append(p.schema.Fields, f), append(p.at, i)
}

func (p *part) make(f Factory) (err error) {
	p.mapper, err = f(&p.schema)
	return err
}

// bind makes a view of dst's columns. It is a new one, since mappers know the columns they are bound to by their address.
func (p *part) bind(dst *Columns) {
	p.view = &Columns{Schema: &p.schema, Cols: make([]*Column, len(p.at)), limit: dst.limit}
	for k, i := range p.at {
		p.view.Cols[k] = dst.Cols[i]
	}
	p.view.countDefaults()
}

// apply lets the part append its values of the row that is begun in dst, to which others will add up to more.
func (p *part) apply(rec *source.Record, dst *Columns, more int) error {
	v := p.view
	v.Rows, v.bound = dst.Rows, dst.bound
	err := p.mapper.Map(rec, v)
	// The bound only falls where the part's columns were counted anew; the others were not.
	if v.bound >= dst.bound {
		dst.bound = v.bound
	} else {
		dst.bound = dst.extent() + more
	}
	if err == nil && v.Rows != dst.Rows+1 {
		return fmt.Errorf("mapper: a part of the row gave %d rows for one record", v.Rows-dst.Rows)
	}
	return err
}

// nulls appends nulls instead; where a column is required it gives its place in the part, otherwise -1.
func (p *part) nulls() int {
	for i, c := range p.view.Cols {
		if c.Field.Required {
			return i
		}
		c.appendNull()
	}
	return -1
}
