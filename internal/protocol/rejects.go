package protocol

import (
	"slices"
	"strings"
)

// Reject is what an outbox says of the rejects that one commit passed: its commit id, and the sequence number of its snapshot in
// the main table. Sequence numbers of a table never go back, also over rollbacks, and no two snapshots share one.
type Reject struct {
	ID       string
	Sequence int64
}

// Listing is what a value in the rejects table says of one topology: of all commits with a sequence number of Since or more,
// those whose rejects it held are the ones in IDs. Those below may be in it too.
type Listing struct {
	Since int64
	IDs   []string
}

// Holding says whether the rejects table holds what one commit passed.
type Holding int

const (
	// There says: it is on the line.
	There Holding = iota + 1
	// NotThere says: it is not, and may be appended to the very head that was looked at.
	NotThere
	// Unclear says: what would tell has expired, and may have held it. It is neither appended nor taken off the outbox.
	Unclear
	// SetBack says: it was there, and somebody set the table back to before it. The expiry of the snapshot that is off the line
	// may delete its file, which is therefore not appended again by itself.
	SetBack
	// Earlier says: Need must be looked for in earlier metadata files; add what they tell and ask again, or set LogRead.
	Earlier
)

func (h Holding) String() string {
	return [...]string{"none", "there", "not there", "unclear", "set back", "earlier"}[h]
}

// Holds looks for r on the line of the rejects table; on Earlier need is the snapshot that is looked for, or whose parent is. A snapshot's
// CommitID names, separated by commas, the commits whose rejects it appended; every value is complete, since an append is
// pinned to the snapshot whose value it carries forward. list reads the topology's part of a value.
//
// A snapshot that names r on the line: there. A value on the line that names it: there. A value that lists every commit from
// r's sequence number on, or from an earlier one, and does not name it: it was not there then, and no snapshot above
// names it, so it is not there. The root is reached: not there. That the walk ends at a snapshot which has expired is no answer:
//
//	a commit is appended, another engine compacts the rejects table, and all but its last snapshot expire
//	the main branch is set back to where the outbox still names that commit
//	nothing on the line tells of it: taken for a no, it would be there twice
func (h *History) Holds(r Reject, list func(value string) Listing) (held Holding, need int64) {
	says := func(value string) Holding {
		if value == "" {
			return Unclear
		}
		l := list(value)
		switch {
		case slices.Contains(l.IDs, r.ID):
			return There
		case l.Since <= r.Sequence:
			return NotThere
		}
		return Unclear
	}
	if h.headless() && h.Snapshots[*h.Head].Value == "" && h.Own != nil {
		return says(h.Own.Value), 0 // it is part of the same state as the head
	}
	onLine := map[int64]bool{}
	held = NotThere
	for id := h.Head; id != nil && !onLine[*id]; {
		onLine[*id] = true
		if h.Own != nil && h.Own.Snapshot == *id {
			if held = says(h.Own.Value); held != Unclear {
				break
			}
		}
		s, ok := h.Snapshots[*id]
		if !ok {
			if h.LogRead {
				return Unclear, 0
			}
			return Earlier, *id
		}
		if s.names(r.ID) {
			return There, 0
		}
		if held = says(s.Value); held != Unclear {
			break
		}
		if id, held = s.Parent, NotThere; id == nil && h.cut(s) && (s.Value != "" || h.NoProperty || h.Own != nil) {
			if !h.LogRead && h.LogLength > 0 {
				return Earlier, s.ID
			}
			return Unclear, 0 // what looks like a root is where the catalog's memory ends
		}
	}
	if held == NotThere && h.hadOff(r.ID, onLine, list) {
		return SetBack, 0
	}
	return held, 0
}

// cut says that a snapshot without a parent may have had one: others were made before it that nothing is known of. An engine
// that takes expired snapshots off may take their children's parents off too (PyIceberg does, where it writes the metadata
// itself), and a catalog may show no parents at all.
func (h *History) cut(s Snapshot) bool {
	unknown := s.Sequence - 1
	for _, x := range h.Snapshots {
		if x.Sequence > 0 && x.Sequence < s.Sequence {
			unknown--
		}
	}
	return s.Parent == nil && unknown > 0
}

// Tells says that a snapshot is known, and what it was made on.
func (h *History) Tells(id int64) bool {
	s, ok := h.Snapshots[id]
	return ok && !h.cut(s)
}

// Learn adds a snapshot that an earlier metadata file shows; of one that is known its parent alone can be news.
func (h *History) Learn(x Snapshot) {
	s, ok := h.Snapshots[x.ID]
	switch {
	case !ok:
		x.Retained = false
		h.Snapshots[x.ID] = x
	case s.Parent == nil:
		s.Parent = x.Parent
		h.Snapshots[x.ID] = s
	}
}

// names says that a snapshot of the rejects table appended what a commit passed.
func (s Snapshot) names(id string) bool {
	return s.CommitID != "" && slices.Contains(strings.Split(s.CommitID, ","), id)
}

// hadOff says that something off the line tells that r was there once.
func (h *History) hadOff(id string, onLine map[int64]bool, list func(string) Listing) bool {
	for _, s := range h.Snapshots {
		if s.names(id) && !onLine[s.ID] {
			return true
		}
	}
	return h.Own != nil && !onLine[h.Own.Snapshot] && slices.Contains(list(h.Own.Value).IDs, id)
}

// Forget gives a listing of at most most commits, those with the highest sequence numbers; since then says from where on it
// is complete. commits are in any order.
func Forget(since int64, commits []Reject, most int) (int64, []Reject) {
	out := slices.Clone(commits)
	slices.SortFunc(out, func(a, b Reject) int {
		if a.Sequence != b.Sequence {
			return int(min(max(b.Sequence-a.Sequence, -1), 1))
		}
		return strings.Compare(a.ID, b.ID)
	})
	if len(out) <= most {
		return since, out
	}
	return max(since, out[most].Sequence+1), out[:most]
}

// Fits says how many batches of a group, in order, a commit may take: an outbox of used files takes no more than room of them.
// files are those of each batch's rejects. A batch that alone has more than the outbox can ever hold goes alone into an
// empty one; nothing overtakes one that has to wait.
func Fits(used, room int, files []int) int {
	for i, n := range files {
		if n > 0 && used > 0 && used+n > room {
			return i
		}
		used += n
	}
	return len(files)
}

// Replaceable says whether a replay of rejects may be committed on a base whose outbox is boxed, where live says what the
// rejects table held when it was read after that base: none of the files whose place it takes is about to be
// replaced, and all are live. Then no other replay of them has landed on this line, nor can it, as the attempt is pinned:
//
//	another replay of a file that landed on the line is in the base's outbox, or was taken off after it was seen as done
//	as done, the file was no longer live before the base was made, and so not when the table was read
//	if it lands after the base, the head has moved and this attempt is refused
//
// While any replay is not done, no other is committed: should another engine have rewritten the file before it could be
// replaced, its rows lie in a file of a name that no outbox has.
func Replaceable(boxed []string, live func(path string) bool, paths []string) bool {
	if len(boxed) > 0 {
		return false
	}
	for _, p := range paths {
		if !live(p) {
			return false
		}
	}
	return true
}

// Newest is the newest value on the line of the rejects table, as far as it is known, for the next one to be made from: the
// property's, which lists more, where it names the snapshot that has it.
func (h *History) Newest() string {
	seen := map[int64]bool{}
	for id := h.Head; id != nil && !seen[*id]; {
		seen[*id] = true
		if h.Own != nil && h.Own.Snapshot == *id {
			return h.Own.Value
		}
		s, ok := h.Snapshots[*id]
		if !ok || s.Value != "" {
			return s.Value
		}
		id = s.Parent
	}
	if h.headless() && h.Own != nil {
		return h.Own.Value
	}
	return ""
}
