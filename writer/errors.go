package writer

import (
	"fmt"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// CodeTooLarge is the code of records that do not fit the columns even alone.
const CodeTooLarge mapper.Code = "too_large"

// BadRecord is a *mapper.BadRecordError with its place.
type BadRecord struct {
	Partition source.Partition
	Position  source.Position
	Err       *mapper.BadRecordError
}

func (e *BadRecord) Error() string {
	return fmt.Sprintf("topic %s, partition %d, offset %d: %s", e.Partition.Topic, e.Partition.ID, e.Position, e.Err)
}
func (e *BadRecord) Unwrap() error { return e.Err }

// JudgedError says that Config.Judge has not let a reject pass. It holds what Judge gave, and the reject.
type JudgedError struct {
	Err    error
	Record *BadRecord
}

func (e *JudgedError) Error() string { return fmt.Sprintf("%v; the last: %v", e.Err, e.Record) }
func (e *JudgedError) Unwrap() error { return e.Err }

// GapError says that a batch does not join up: the partition must be opened again at Want.
type GapError struct {
	Partition source.Partition
	Want, Got source.Position
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%s: batch starts at %d, expected %d", e.Partition, e.Got, e.Want)
}
