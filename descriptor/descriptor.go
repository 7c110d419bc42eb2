package descriptor

import (
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/source"
)

// Descriptor is a sealed batch: what a writer gives to a committer. It is immutable once made.
type Descriptor struct {
	// ID is fresh for each batch.
	ID uuid.UUID
	// Topology is the name whose positions the ranges move.
	Topology string
	// Task is the writer that sealed it, for logs and metrics: "writer/0".
	Task string

	// TableUUID, SchemaID, SpecID and FormatVersion are what the files were written against.
	TableUUID     uuid.UUID
	SchemaID      int
	SpecID        int
	FormatVersion int

	// Inputs are the ranges the batch covers, one a partition, none for a source without positions. Together with the
	// counts they say what became of every position in them.
	Inputs []Input
	// Files are durable. They may be none: the ranges then hold no row.
	Files []iceberg.DataFile

	// Rows and Bytes are the sums over Files.
	Rows, Bytes int64
	// SealedAt is when the batch was closed.
	SealedAt time.Time
	// Rejects are the records that can't become rows, nil where there is none.
	Rejects *Rejects
}

// Input is one range of a batch and what became of it: Rows + Rejects + Filtered + Skipped is its length.
type Input struct {
	Range source.Range
	// Rows is the number of records that became rows.
	Rows int64
	// Rejects is the number of records that went to the rejects table.
	Rejects int64
	// Filtered is the number of records that yield no row by rule (tombstones).
	Filtered int64
	// Skipped is the number of positions without a record: markers, aborted and compacted records.
	Skipped int64
	// MaxTimestampMs is the highest record time seen in the range, negative where there is none.
	MaxTimestampMs int64
}

// Group is the note of one group commit, made before the commit: a WAL entry. Its descriptors are committed under
// CommitID, in order.
type Group struct {
	CommitID uuid.UUID
	Topology string
	// Instance is the process that made it.
	Instance string
	// Component and Task are the committer's place in the topology: "committer", 0.
	Component string
	Task      int
	TableUUID uuid.UUID
	Branch    string
	// BaseSnapshot is the branch head that the first attempt was made on, nil on an empty table. That the head has left it
	// proves nothing, a later attempt has another; but whatever came of the commit is younger.
	BaseSnapshot *int64
	// Moves are the positions before (From) and after (To) the group, one a partition.
	Moves       []source.Range
	CreatedAt   time.Time
	Descriptors []*Descriptor
}

// Entry is a Group found in the WAL.
type Entry struct {
	// Path is where it lies.
	Path string
	// Group is nil where the entry cannot be read; Err then says why.
	Group *Group
	Err   error
	// ModifiedAt is the file's time where the FileIO tells it, else Group.CreatedAt.
	ModifiedAt time.Time
}
