package protocol

import "github.com/stormfloe/floe/source"

// Fate is what becomes of a sealed batch.
type Fate int

const (
	// Commit says: the table's positions are exactly where its ranges start.
	Commit Fate = iota + 1
	// AlreadyThere says: the table has passed all its ranges.
	AlreadyThere
	// Reread says: forget it and read its partitions again from the table's positions.
	Reread
)

func (f Fate) String() string {
	return [...]string{"none", "commit", "already there", "reread"}[f]
}

// Positions are the table's, of one topology.
type Positions map[source.Partition]source.Position

// Judge gives the fate of a batch that covers ranges. A partition that the table has no position for equals nothing: also
// position 0 is not there until it has been written down, or what came between a crash and the next start could be
// skipped. A mixture of ranges that are there and ranges that are not is read again: committing it would double the
// former, dropping it would lose the latter. Cluster and incarnation are part of a partition, so another life of the
// topic equals nothing too. A batch without ranges comes from a source without positions and is committed.
func Judge(at Positions, ranges []source.Range) Fate {
	there, starts := 0, 0
	for _, r := range ranges {
		pos, ok := at[r.Partition]
		switch {
		case !ok || r.From >= r.To:
			return Reread
		case r.To <= pos:
			there++
		case r.From == pos:
			starts++
		}
	}
	switch len(ranges) {
	case starts:
		return Commit
	case there:
		return AlreadyThere
	}
	return Reread
}

// Held says whether the positions cover a batch of a group whose commit id is on the branch. One that they do not cover was
// not in the attempt that landed (an earlier life's entry that was adopted in part, say). A batch without ranges was, as
// far as anybody can tell.
func Held(at Positions, ranges []source.Range) bool {
	return len(ranges) == 0 || Judge(at, ranges) == AlreadyThere
}

// Owner is whose a batch is: a writer, in one of its lives. The zero Owner is nobody, and each batch of it stands for
// itself.
type Owner struct {
	Name  string
	Epoch uint64
}

// Batch is a sealed batch in a group.
type Batch struct {
	// Ranges are what it covers, none for a source without positions.
	Ranges []source.Range
	Owner  Owner
}

// JudgeGroup gives the fates of batches in order, each on the positions that those before it leave, and the positions
// that committing them leaves. A batch that only those before it would make AlreadyThere is read again: it may be
// acknowledged when they have landed, and they may never. After one that is read again, all later ones of its owner are too: the writer starts over
// from the table's positions, so that they will come once more. usable is asked of batches that may be committed by their
// ranges; where it says no, the batch is read again; nil means that all are. at is not changed.
func JudgeGroup(at Positions, batches []Batch, usable func(i int) bool) ([]Fate, Positions) {
	after := make(Positions, len(at))
	for p, pos := range at {
		after[p] = pos
	}
	fates := make([]Fate, len(batches))
	forgotten := map[Owner]bool{}
	for i, b := range batches {
		fates[i] = Judge(after, b.Ranges)
		if fates[i] == AlreadyThere && Judge(at, b.Ranges) != AlreadyThere {
			fates[i] = Reread
		}
		if forgotten[b.Owner] || fates[i] == Commit && usable != nil && !usable(i) {
			fates[i] = Reread
		}
		switch {
		case fates[i] == Commit:
			for _, r := range b.Ranges {
				after[r.Partition] = r.To
			}
		case fates[i] == Reread && b.Owner != Owner{}:
			forgotten[b.Owner] = true
		}
	}
	return fates, after
}

// Answer is what the reply to a commit request says, by itself.
type Answer int

const (
	// Landed says: the catalog said yes.
	Landed Answer = iota + 1
	// Moved says: refused, because the branch is no longer where the request expected it. Nothing was applied.
	Moved
	// Refused says: refused for another reason. Nothing was applied.
	Refused
	// NotSent says: it failed before the catalog was asked.
	NotSent
	// Unknown says: anything else. It may have been applied, or may yet be.
	Unknown
)

func (a Answer) String() string {
	return [...]string{"none", "landed", "moved", "refused", "not sent", "unknown"}[a]
}

// Next is what to do with a group after an attempt that the catalog did not confirm, and a look at the table.
type Next int

const (
	// Settled says: the commit id is on the branch. It landed.
	Settled Next = iota + 1
	// Never says: the commit id is on a retained snapshot off the branch: it landed and was rolled back. The expiry of that
	// snapshot may delete its files, so they are never used again: everything is read again. The same where it may have
	// been, and that snapshot has expired already:
	//
	//	the commit lands, its answer is lost; the branch is set back to before it
	//	all but the head expire; the metadata no longer tells of the commit, and its files are about to be deleted
	//	the same files, which are still there, are committed once more
	//	they are deleted
	Never
	// Again says: judge each batch afresh and try those that may be committed, with the same files and commit id, pinned to
	// the head just seen: a late first attempt and this one can then never both land. Those that the positions have
	// passed are superseded.
	Again
	// GiveBack says: it was refused for a reason that waiting won't mend.
	GiveBack
)

// AfterLook says what an answer means, given where the commit id was seen afterwards. What was seen decides before what
// was said: after "refused" an earlier attempt under the same commit id may be what landed.
func AfterLook(a Answer, seen Sight) Next {
	switch {
	case a == Landed || seen.On:
		return Settled
	case seen.Off || seen.Hidden:
		return Never
	case a == Refused:
		return GiveBack
	}
	return Again
}
