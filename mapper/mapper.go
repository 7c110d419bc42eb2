package mapper

import (
	"fmt"

	"github.com/stormfloe/floe/source"
)

// Mapper maps records to rows of the schema it was made for. It belongs to one goroutine.
type Mapper interface {
	// Map appends one row to dst, which was made for the mapper's schema. On any error dst is as before. A
	// *BadRecordError says that the record cannot become a row; ErrFiltered that it yields none by rule (a tombstone);
	// *NotReadyError that something has to be fetched first, which only mappers with a schema registry need.
	Map(rec *source.Record, dst *Columns) error
}

// Factory makes a mapper for a schema. It is called again whenever the table's schema has changed, from any goroutine.
type Factory func(s *Schema) (Mapper, error)

// ErrFiltered says that a record yields no row, by rule. It is counted.
var ErrFiltered = fmt.Errorf("mapper: record yields no row")

// Code says why a record is bad, in one stable word for metrics and tables.
type Code string

// BadRecordError says why a record cannot become a row. It never holds the record's contents.
type BadRecordError struct {
	Code Code
	// Column is the dotted path of the column, empty where the whole record is meant.
	Column string
	// Reason is a sentence without record contents.
	Reason string
}

func (e *BadRecordError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("bad record (%s): %s", e.Code, e.Reason)
	}
	return fmt.Sprintf("bad record (%s): column %q: %s", e.Code, e.Column, e.Reason)
}
