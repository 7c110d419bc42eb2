package mapper

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stormfloe/floe/source"
)

// RowMapper maps a record to a row itself, where no format does.
//
// MapRow sets the columns of row that the record has values for; optional columns it leaves alone become null, a
// required one makes the record bad. It returns nil, and the row is appended; or ErrFiltered, where the record yields no
// row; or the error of a setter or a *BadRecordError of its own, where the record cannot become a row; any other error
// stops the writer. After an error nothing of the row stays. A tombstone (a nil value) is handed to it like any other record.
//
// row and the record's slices must not be kept. Several writer tasks call MapRow at once.
type RowMapper interface {
	MapRow(rec *source.Record, row *Row) error
}

// RowMapperFunc is a function as a RowMapper.
type RowMapperFunc func(rec *source.Record, row *Row) error

// MapRow calls f.
func (f RowMapperFunc) MapRow(rec *source.Record, row *Row) error { return f(rec, row) }

// FromRowMapper makes a factory of mappers that let rm fill the rows.
func FromRowMapper(rm RowMapper) Factory {
	return func(s *Schema) (Mapper, error) {
		if rm == nil {
			return nil, errors.New("mapper: FromRowMapper: no RowMapper given")
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		names := make(map[string]int, len(s.Fields))
		for i := range s.Fields {
			names[s.Fields[i].Name] = i
		}
		return &rowMapper{rm: rm, row: Row{schema: s, names: names}}, nil
	}
}

type rowMapper struct {
	rm  RowMapper
	row Row
}

// Map has the errors of Mapper, ErrFull, ErrSchema and those of the RowMapper.
func (m *rowMapper) Map(rec *source.Record, dst *Columns) error {
	r := &m.row
	if r.cs != dst {
		if !r.schema.Equal(dst.Schema) {
			return ErrSchema
		}
		r.cs = dst
	}
	if !dst.room(1) {
		return ErrFull
	}
	r.err = nil
	err := m.rm.MapRow(rec, r)
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		dst.Truncate(dst.Rows)
		return err
	}
	dst.Rows++
	return nil
}

// Row is the row that a RowMapper fills. Columns are named by their name, or by their number in the schema, which is
// faster. Setting a column again replaces its value.
//
// A setter's error is kept: the record does not become a row, also where the RowMapper looks away. The error is a
// *BadRecordError where the value does not fit the column; ErrFull; or another error where the schema has no such column.
type Row struct {
	cs     *Columns
	schema *Schema
	names  map[string]int
	err    error
	order  []int32
}

// Schema is what the row is made for. It may differ from one call of MapRow to the next, when the table has changed.
func (r *Row) Schema() *Schema { return r.schema }

// Index is the number of the column of that name in the schema.
func (r *Row) Index(name string) (i int, ok bool) {
	i, ok = r.names[name]
	return i, ok
}

// Set sets the column of that name to a Go value, exactly or not at all:
//
//	boolean     bool
//	int, long   the integer types, *big.Int, json.Number; each checked against the range
//	float       float32, NaN and the infinities too; float64 and integers where no digit is lost; json.Number, rounded
//	double      float64, float32, NaN and the infinities too; integers where no digit is lost; json.Number, rounded
//	decimal     string or json.Number in JSON's grammar, the integer types, *big.Int
//	date        time.Time at midnight (the day it shows in its own location), string, the integer types as days since 1970
//	time        time.Duration since midnight, string
//	timestamp   time.Time in UTC, string without an offset, the integer types as milliseconds since 1970
//	timestamptz time.Time, string with an offset, the integer types as milliseconds since 1970
//	string      string in valid UTF-8
//	uuid        [16]byte, []byte of 16 bytes, string
//	fixed       []byte or an array of bytes, of the column's length
//	binary      []byte or an array of bytes
//	struct      map[string]any, or another map with text as its keys; a key that is no member makes the record bad
//	list        []any, or another slice or array
//	map         map[string]any, or another map; the order of the entries is not defined
//
// nil, also a nil pointer, is null, and so are nil slices and maps for nested columns and bytes. Pointers and types that
// are built on the ones above are taken like these. Strings have the forms that the JSON mapper takes.
func (r *Row) Set(name string, value any) error {
	i, ok := r.names[name]
	if !ok {
		return r.keep(fmt.Errorf("mapper: the schema has no column %q", name))
	}
	return r.SetAt(i, value)
}

// SetAt is Set for column number i.
func (r *Row) SetAt(i int, value any) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, r.put(c, value))
}

// SetInt64 is SetAt without an allocation.
func (r *Row) SetInt64(i int, v int64) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, asError(c.putInt(v)))
}

// SetFloat64 is SetAt without an allocation.
func (r *Row) SetFloat64(i int, v float64) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, asError(c.putFloat(v)))
}

// SetBool is SetAt without an allocation.
func (r *Row) SetBool(i int, v bool) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, asError(c.putBool(v)))
}

// SetString is SetAt without an allocation.
func (r *Row) SetString(i int, v string) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, r.putString(c, v))
}

// SetBytes is SetAt without an allocation. A nil slice is null.
func (r *Row) SetBytes(i int, v []byte) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, r.putBytes(c, v))
}

// SetTime is SetAt without an allocation.
func (r *Row) SetTime(i int, v time.Time) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, asError(c.putTime(v)))
}

// SetNull sets column number i to null.
func (r *Row) SetNull(i int) error {
	c, err := r.begin(i)
	if err != nil {
		return err
	}
	return r.end(c, putNull(c))
}

// begin gives the column, without a value for this row.
func (r *Row) begin(i int) (*Column, error) {
	if r.err != nil {
		return nil, r.err
	}
	if i < 0 || i >= len(r.cs.Cols) {
		return nil, r.keep(fmt.Errorf("mapper: the schema has no column number %d", i))
	}
	c := r.cs.Cols[i]
	if c.Len > r.cs.Rows {
		c.truncate(r.cs.Rows)
	}
	c.ensure(1)
	return c, nil
}

func (r *Row) end(c *Column, err error) error {
	if err == nil {
		return nil
	}
	return r.keep(under(c.Field.Name, err))
}

func (r *Row) keep(err error) error {
	if r.err == nil {
		r.err = err
	}
	return r.err
}

// finish fills the columns that were not set.
func (r *Row) finish() error {
	if r.err != nil {
		return r.err
	}
	for _, c := range r.cs.Cols {
		if c.Len > r.cs.Rows {
			continue
		}
		if !c.appendMissing() {
			return under(c.Field.Name, asError(faultMissing))
		}
	}
	return nil
}

// room is Columns.room as an error. A row that is too large even for empty columns is bad.
func (r *Row) room(n int) error {
	if r.cs.room(n) {
		return nil
	}
	if r.cs.Rows > 0 && n < math.MaxInt32 {
		return ErrFull
	}
	return &BadRecordError{Code: CodeSize, Reason: "the row is too large for 32-bit offsets"}
}

// asError makes a bad record of a fault; the column's path is put before it on the way out.
func asError(f *fault) error {
	if f == nil {
		return nil
	}
	return &BadRecordError{Code: f.code, Reason: f.reason}
}

// under puts a name before the path of a bad record.
func under(name string, err error) error {
	if bad, ok := errors.AsType[*BadRecordError](err); ok {
		if bad.Column == "" {
			bad.Column = name
		} else {
			bad.Column = name + "." + bad.Column
		}
	}
	return err
}
