package committer

import "github.com/stormfloe/floe/source"

// Positions are what the table holds for one topology: the next position of each partition, with its identity.
type Positions struct {
	// Known is false where the table has never held positions of this topology (a fresh start).
	Known bool
	// SnapshotID is the snapshot they were found at, 0 where they come from the property alone.
	SnapshotID int64
	At         map[source.Partition]Progress
}

// Progress is how far one partition has come.
type Progress struct {
	Next source.Position
	// Rows, Rejects, Filtered and Skipped are cumulative counts since the partition's first start.
	Rows, Rejects, Filtered, Skipped int64
}
