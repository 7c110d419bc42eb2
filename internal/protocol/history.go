package protocol

// Snapshot is what the protocol knows of one snapshot.
type Snapshot struct {
	ID int64
	// Parent is nil at the root, and where the catalog keeps no history.
	Parent *int64
	// Sequence is the snapshot's sequence number.
	Sequence int64
	// CommitID, Topology and Instance are floe's marks, empty on another engine's snapshot.
	CommitID, Topology, Instance string
	// Value is the positions value it carries, empty for none.
	Value string
	// PickedFrom is the snapshot this one was cherry-picked from.
	PickedFrom *int64
	// Retained is false where it is known from an earlier metadata file alone: it has expired.
	Retained bool
}

// Property is a positions property of the table.
type Property struct {
	// Snapshot is the id of the snapshot that the commit made which wrote it.
	Snapshot int64
	Value    string
}

// History is a table's past as far as it is known.
type History struct {
	// Head is the branch's snapshot (or the one it would fork from), nil on an empty table.
	Head *int64
	// Snapshots by id: the retained ones, and what earlier metadata files told when they were asked for.
	Snapshots map[int64]Snapshot
	// Own is the property of the branch, nil for none. Others are those of other branches; each proves what was held at
	// the snapshot it names, and no more.
	Own    *Property
	Others []Property
	// NoProperty says that floe writes none on this table: that there is none proves nothing.
	NoProperty bool
	// Last is the sequence number of the newest snapshot that was ever made, on whatever branch.
	Last int64
	// LogLength is the number of entries in the table's metadata log.
	LogLength int
	// LogRead says that all of the log has been read: nothing older can be asked for.
	LogRead bool
	// Topologies lists the topologies in a value: those whose positions it holds, and those of which it says that nobody
	// knows where they stand.
	Topologies func(value string) (known, doubted []string)
}

// Sight is where a commit id was seen.
type Sight struct {
	// On: on the branch. Off: on a retained snapshot that is not on it.
	On, Off bool
	// Hidden: a snapshot that was made since the first attempt is out of sight. It may have been this commit's: landed, rolled
	// back, and expired. Whoever let it expire may be about to delete its files.
	Hidden bool
	// Snapshot is where On was seen.
	Snapshot int64
}

// line calls f from the head down to the last snapshot that is known; it reports whether the root was reached.
func (h *History) line(f func(s Snapshot) bool) (root bool) {
	for id := h.Head; id != nil; {
		s, ok := h.Snapshots[*id]
		if !ok || !f(s) {
			return false
		}
		id = s.Parent
	}
	return true
}

// See looks for a commit id. On the branch an expired snapshot counts (it was there); off it only a retained one does. since
// is Last as it was before the first attempt, or less; negative where nobody knows.
func (h *History) See(commitID string, since int64) (seen Sight) {
	if commitID == "" {
		return seen
	}
	onLine := make(map[int64]bool)
	h.line(func(s Snapshot) bool {
		onLine[s.ID] = true
		if s.CommitID == commitID && !seen.On {
			seen.On, seen.Snapshot = true, s.ID
		}
		return true
	})
	for _, s := range h.Snapshots {
		if s.CommitID == commitID && s.Retained && !onLine[s.ID] {
			seen.Off = true
		}
	}
	seen.Hidden = h.hides(since)
	return seen
}

// hides reports whether a snapshot that was made later is not retained any more. Each takes the next sequence number of the
// table, on whatever branch. A catalog without a past sets the table back as a whole, so that no expiry ever finds what
// was left behind.
func (h *History) hides(since int64) bool {
	if h.headless() {
		return false
	}
	left := h.Last - since
	for _, s := range h.Snapshots {
		if s.Retained && s.Sequence > since {
			left--
		}
	}
	return since < 0 || left > 0
}

// Since gives the sequence number of a snapshot that an attempt was made on, 0 for an empty table: whatever came of the
// attempt has a higher one. Negative where it is not known any more.
func (h *History) Since(base *int64) int64 {
	if base == nil {
		return 0
	}
	if s, ok := h.Snapshots[*base]; ok {
		return s.Sequence
	}
	return -1
}

// headless says that the catalog shows the head alone, without a past: no parent, no metadata log, although it is not the
// first snapshot. The property is then part of the same state as the head.
func (h *History) headless() bool {
	if h.Head == nil || len(h.Snapshots) != 1 || h.LogLength != 0 {
		return false
	}
	s, ok := h.Snapshots[*h.Head]
	return ok && s.Parent == nil && s.Sequence > 1
}
