package mapper

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/stormfloe/floe/source"
)

// RawOptions of a raw mapper. The zero value is useful where the schema has one column.
type RawOptions struct {
	// Column takes the value. Empty: the schema's only column.
	Column string
}

// NewRaw makes a factory of mappers that put a record's whole value into one column, as it stands: of type binary; string,
// where the value must be valid UTF-8; or fixed, where it must be exactly of its length. A value of no bytes is an empty
// one; a tombstone is ErrFiltered. All other columns are null.
//
// The factory refuses a schema without the column, with another type for it, or with another column that is required.
func NewRaw(opts RawOptions) Factory {
	return func(s *Schema) (Mapper, error) {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m := &rawMapper{schema: s, at: -1}
		if opts.Column == "" && len(s.Fields) == 1 {
			m.at = 0
		}
		for i := range s.Fields {
			if s.Fields[i].Name == opts.Column {
				m.at = i
			}
		}
		switch {
		case m.at < 0 && opts.Column == "":
			return nil, fmt.Errorf("mapper: raw: there are %d columns for the value: name the one that takes it", len(s.Fields))
		case m.at < 0:
			return nil, fmt.Errorf("mapper: raw: there is no column %q for the value", opts.Column)
		}
		f := &s.Fields[m.at]
		if !takesRaw(f.Type.Kind) {
			return nil, fmt.Errorf("mapper: raw: column %q is of type %s: bytes go to binary, string or fixed", f.Name, &f.Type)
		}
		for i := range s.Fields {
			if o := &s.Fields[i]; i != m.at && o.mustHave() {
				return nil, fmt.Errorf("mapper: raw: column %q is required, but nothing fills it: make it optional", o.Name)
			}
		}
		return m, nil
	}
}

type rawMapper struct {
	schema *Schema
	at     int
	dst    *Columns
}

// Map has the errors of Mapper, ErrFull and ErrSchema.
func (m *rawMapper) Map(rec *source.Record, dst *Columns) error {
	if rec.Value == nil {
		return ErrFiltered
	}
	if dst != m.dst {
		if !m.schema.Equal(dst.Schema) {
			return ErrSchema
		}
		m.dst = dst
	}
	if err := dst.fits(len(rec.Value)); err != nil {
		return err
	}
	c := dst.Cols[m.at]
	if f := c.appendRaw(rec.Value); f != nil {
		return &BadRecordError{Code: f.code, Column: c.Field.Name, Reason: f.reason}
	}
	for i, c := range dst.Cols {
		if i != m.at {
			c.appendMissing()
		}
	}
	dst.Rows++
	return nil
}

// takesRaw says whether a column of the kind takes bytes as they stand.
func takesRaw(k Kind) bool { return k == Binary || k == String || k == Fixed }

// appendRaw appends b as it stands to a column that takes it. A fault leaves the column as it was.
func (c *Column) appendRaw(b []byte) *fault {
	switch {
	case c.kind == String && !utf8.Valid(b):
		return faultUTF8
	case c.kind == Fixed && len(b) != c.width:
		return faultFixedLength
	}
	c.ensure(1)
	if c.kind != Fixed {
		c.appendBytes(b)
		return nil
	}
	c.Data = append(c.Data, b...)
	c.Len++
	return nil
}

// fits is room for a record of n bytes, as an error. One that is too large even for empty columns is bad.
func (cs *Columns) fits(n int) error {
	switch {
	case n < math.MaxInt32 && cs.room(n+1):
		return nil
	case n < math.MaxInt32 && cs.Rows > 0:
		return ErrFull
	}
	return &BadRecordError{Code: CodeSize, Reason: "the record is too large for 32-bit offsets"}
}
