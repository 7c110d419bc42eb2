package protocol

import (
	"time"

	"github.com/stormfloe/floe/source"
)

// Entry is what is known of a WAL entry that is being settled.
type Entry struct {
	// Readable is false where it can't be decoded.
	Readable bool
	// SameTable says that it names this table's UUID.
	SameTable bool
	// Seen is where its commit id is, Hidden by the base that it names.
	Seen Sight
	// Age since it was written, and Grace, the least age at which files are deleted.
	Age, Grace time.Duration
	// Batches are its descriptors, in order.
	Batches []EntryBatch
}

// EntryBatch is one descriptor of an entry.
type EntryBatch struct {
	// Ranges are none for a source without positions.
	Ranges []source.Range
	// Whole reports whether every file is there with its size and the table still has its schema and spec. It is asked
	// only where the answer matters.
	Whole func() bool
}

// EntryFate is what becomes of a WAL entry.
type EntryFate int

const (
	// SetAside says: it can't be read. Move it out of the way; it never stops a start.
	SetAside EntryFate = iota + 1
	// Delete says: it landed, nothing of it is needed.
	Delete
	// Adopt says: commit those batches of it that are marked, under the entry's own commit id, then ask again.
	Adopt
	// Leave says: it may still land, or be adopted, or its files be proved useless later.
	Leave
	// Abandon says: nothing more can be learned; remove the entry. Files of batches that are marked may be deleted, all others
	// stay for orphan clean-up.
	Abandon
)

func (f EntryFate) String() string {
	return [...]string{"none", "set aside", "delete", "adopt", "leave", "abandon"}[f]
}

// BatchFate is what becomes of a batch of an entry.
type BatchFate int

const (
	// BatchAdopt says: commit it.
	BatchAdopt BatchFate = iota + 1
	// BatchDelete says: its files may be deleted, by proof.
	BatchDelete
	// BatchKeep says: its files stay; no proof will ever be found.
	BatchKeep
	// BatchWait says: not yet.
	BatchWait
)

// JudgeEntry gives the fate of an entry and of each of its batches (none for SetAside, Delete). at are the table's
// positions; low says, of positions the table is known to have held on an unbroken walk from the head, whether one of
// them is at or below the start of all ranges.
func JudgeEntry(e Entry, at Positions, low func(ranges []source.Range) bool) (EntryFate, []BatchFate) {
	old := e.Age >= e.Grace
	switch {
	case !e.Readable:
		return SetAside, nil
	case e.SameTable && e.Seen.On:
		return Delete, nil
	case !e.SameTable, e.Seen.Off:
		// Another table's files, or files of a retained snapshot off the branch, which its expiry looks after.
		return forget(old, len(e.Batches))
	}
	batches := make([]Batch, len(e.Batches))
	for i, b := range e.Batches {
		batches[i] = Batch{Ranges: b.Ranges}
	}
	// Without positions a batch can't be told from one that was redelivered and committed meanwhile: never adopted.
	// One that may have landed, been rolled back and expired is not adopted either: its files may be about to be deleted.
	fates, _ := JudgeGroup(at, batches, func(i int) bool {
		return !e.Seen.Hidden && len(batches[i].Ranges) > 0 && e.Batches[i].Whole()
	})
	out, result := make([]BatchFate, len(fates)), Abandon
	for i := range fates {
		// Where it may have landed out of sight, what still stands on it may name its files: no proof.
		out[i] = batchFate(fates[i], batches[i].Ranges, at, old, func(rs []source.Range) bool { return !e.Seen.Hidden && low(rs) })
		switch {
		case out[i] == BatchAdopt:
			result = Adopt
		case out[i] == BatchWait && result != Adopt:
			result = Leave
		}
	}
	return result, out
}

func forget(old bool, n int) (EntryFate, []BatchFate) {
	f, b := Leave, BatchWait
	if old {
		f, b = Abandon, BatchKeep
	}
	out := make([]BatchFate, n)
	for i := range out {
		out[i] = b
	}
	return f, out
}

// batchFate: files are deleted only if the table has passed one of the batch's own ranges, so that no attempt by anyone,
// late or new, is contiguous any more; an unbroken walk down to a position at or below its start has shown every commit
// since, and none of them was this one (its rows would then be live); and nobody's request can still be on its way. That
// the head has left the base that an entry names proves nothing: a later attempt had another.
func batchFate(f Fate, ranges []source.Range, at Positions, old bool, low func([]source.Range) bool) BatchFate {
	switch {
	case f == Commit:
		return BatchAdopt
	case !old:
		return BatchWait
	case len(ranges) == 0 || !known(at, ranges):
		return BatchKeep
	case !passed(at, ranges):
		return BatchWait
	case low(ranges):
		return BatchDelete
	}
	return BatchKeep
}

func passed(at Positions, ranges []source.Range) bool {
	for _, r := range ranges {
		if pos, ok := at[r.Partition]; ok && pos > r.From {
			return true
		}
	}
	return false
}

func known(at Positions, ranges []source.Range) bool {
	for _, r := range ranges {
		if _, ok := at[r.Partition]; ok {
			return true
		}
	}
	return false
}

// Low walks a branch over retained snapshots only and reports whether a position at or below the start of all ranges is
// met: at a snapshot whose value has them there or does not have them yet, or at the root. at gives the topology's
// positions in a value. since is the sequence number of what the first attempt was made on: a younger snapshot does not
// count, for a person may have set positions lower above the commit that is looked for:
//
//	the commit lands, its answer is lost; a person sets the position back to its start; its records are committed again
//	its snapshot expires; its rows are live, and the one above it has the position at its start
func Low(h *History, since int64, ranges []source.Range, at func(value string) (Positions, bool)) bool {
	if h.headless() {
		return false // what looks like a root is where the catalog's memory ends
	}
	found := false
	root := h.line(func(s Snapshot) bool {
		if !s.Retained {
			return false
		}
		if s.Value == "" {
			return true
		}
		pos, ok := at(s.Value)
		if !ok {
			return false
		}
		found = s.Sequence <= since && below(pos, ranges)
		return !found
	})
	return found || root
}

func below(at Positions, ranges []source.Range) bool {
	for _, r := range ranges {
		if pos, ok := at[r.Partition]; ok && pos > r.From {
			return false
		}
	}
	return true
}
