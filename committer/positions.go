package committer

import (
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// Positions are what the table holds for one topology: the next position of each partition, with its identity.
type Positions struct {
	// Known is false where the table has never held positions of this topology (a fresh start).
	Known bool
	// SnapshotID is the snapshot they were found at, 0 where they come from the property alone.
	SnapshotID int64
	At         map[source.Partition]Progress
}

// Progress is how far one partition has come. Start + Rows + Rejects + Filtered + Skipped is Next, always.
type Progress struct {
	Next source.Position
	// Rows, Rejects, Filtered and Skipped are cumulative counts since the partition's first start, or since a person last
	// set its position.
	Rows, Rejects, Filtered, Skipped int64
	// Start is the position it was first read from.
	Start source.Position
	// MaxTimestampMs is the highest record time among what was consumed, negative where no record had one.
	MaxTimestampMs int64
}

// advance moves the progress over one input of a batch.
func (p Progress) advance(in descriptor.Input) Progress {
	p.Next = in.Range.To
	p.Rows += in.Rows
	p.Rejects += in.Rejects
	p.Filtered += in.Filtered
	p.Skipped += in.Skipped
	p.MaxTimestampMs = max(p.MaxTimestampMs, in.MaxTimestampMs)
	return p
}

// begin is the progress of a partition that nothing has been read from.
func begin(at source.Position) Progress {
	return Progress{Next: at, Start: at, MaxTimestampMs: -1}
}
