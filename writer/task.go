package writer

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// Config of a writer task. The zero value of every field but Topology and Mapper is useful.
type Config struct {
	// Topology is the name whose positions the descriptors move.
	Topology string
	// Name is the task's name in logs, metrics and descriptors. Default "writer/0".
	Name string
	// Mapper makes the mapper for a schema.
	Mapper mapper.Factory
	// SealRecords, SealBytes and SealInterval close the batch, whichever is crossed first; zero is "not set". Where none
	// is set: 128 MiB or 30 s. Bytes are the bytes of the files as written so far plus what is still buffered.
	SealRecords  int64
	SealBytes    int64
	SealInterval time.Duration
	// MaxOpenFiles caps the Iceberg partitions open at once (per task); beyond it the largest is closed early. Default 256.
	MaxOpenFiles int
	// MaxBufferedBytes caps what the task holds in memory; beyond it the largest partition is written out. Default 64 MiB.
	MaxBufferedBytes int64
	// GroupBy are column names: rows go by a hash of them to one of Parallel encoders inside the task, so that each value
	// is written by one (Storm's fields grouping). Empty: one encoder.
	GroupBy []string
	// Parallel is the number of encoders where GroupBy is set. Default 1.
	Parallel int
	// Unpositioned is set for sources without positions: descriptors then have no inputs.
	Unpositioned bool
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Task maps records to rows, writes Parquet files and seals batches. It belongs to one goroutine. With GroupBy it runs
// encoders of its own, which live until Close; it is still one task to its caller, and its seal is the barrier between
// them: one descriptor, one schema and spec.
type Task struct{}

// Validate refuses what New would refuse.
func (c *Config) Validate() error { panic("skeleton") }

// New makes a task. It starts nothing that Close does not end.
func New(cfg Config) (*Task, error) { panic("skeleton") }

// Check refuses, before anything is read, a table whose properties, schema or spec the writer cannot honour; the error
// names the property and what to do.
func Check(tbl *table.Table) error { panic("skeleton") }

// Use gives the newest metadata. It takes effect for the next batch; all files of a batch are written against one
// schema and spec. Must be called before the first Append.
func (t *Task) Use(tbl *table.Table) { panic("skeleton") }

// Open drops the open batch, if any, and sets the partitions of the task to exactly these, each expected at its
// position.
func (t *Task) Open(ctx context.Context, at map[source.Partition]source.Position) { panic("skeleton") }

// Append takes the records of b from the expected position of its partition on; what lies below it is skipped (it is
// there already), and a batch of a partition that is not open is ignored. done is false where a threshold was crossed
// inside the batch: Seal, then call again with the same batch. Append does not release b.
//
// Errors: *BadRecord; *GapError where b starts behind the expected position; anything else is I/O, after which the open
// batch is of no use and must be dropped with Discard or Open.
func (t *Task) Append(ctx context.Context, b *source.Batch) (done bool, err error) { panic("skeleton") }

// Due says that the open batch should be sealed: a threshold has been crossed, or its age at now.
func (t *Task) Due(now time.Time) bool { panic("skeleton") }

// Deadline is when the open batch becomes due by age, zero where nothing is open.
func (t *Task) Deadline() time.Time { panic("skeleton") }

// Seal closes the batch's files, so that they are durable, and gives its descriptor; nil where no position moved since
// the last seal. The next batch starts where this one ended. After an error the open batch is of no use: Discard.
func (t *Task) Seal(ctx context.Context) (*descriptor.Descriptor, error) { panic("skeleton") }

// Discard drops the open batch, and sets each partition back to where the batch began. Files it has written, which no
// descriptor names, are removed as far as that works.
func (t *Task) Discard(ctx context.Context) { panic("skeleton") }

// Stats of the open batch.
type Stats struct {
	Rows, Filtered, Bytes, BufferedBytes int64
	OpenFiles                            int
	Since                                time.Time
}

// Stats says what is open. Only from the task's goroutine.
func (t *Task) Stats() Stats { panic("skeleton") }

// Close drops the open batch and ends the encoders.
func (t *Task) Close() error { panic("skeleton") }

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

// GapError says that a batch does not join up: the partition must be opened again at Want.
type GapError struct {
	Partition source.Partition
	Want, Got source.Position
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%s: batch starts at %d, expected %d", e.Partition, e.Got, e.Want)
}
