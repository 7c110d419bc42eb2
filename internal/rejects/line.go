package rejects

import (
	"encoding/json"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

// Standing says what became of the commit that passed a reject.
type Standing int

const (
	// Unknown says: the snapshots that would tell have expired, or another engine has rewritten the reject's file.
	Unknown Standing = iota
	// Current says: the commit is on the main table's branch.
	Current
	// History says: the branch was set back to before the commit, and the record was or will be read again.
	History
)

func (s Standing) String() string { return [...]string{"unknown", "current", "history"}[s] }

// Line knows which commits are on a branch of the main table, as one load of it showed.
type Line struct {
	// on and off are the commits of retained snapshots.
	on, off map[string]bool
	// whole says that the walk along the branch reached its root: what is not on it is off.
	whole bool
	// boxed are the commits that passed the rejects of a file, by the outboxes of retained snapshots.
	boxed map[string]string
}

// NewLine reads the snapshots of the main table; branch is "main" or another one's name.
func NewLine(main *table.Table, branch string) *Line {
	l := &Line{on: map[string]bool{}, off: map[string]bool{}, boxed: map[string]string{}}
	m := main.Metadata()
	all := tableio.Snapshots(m)
	byID := make(map[int64]*table.Snapshot, len(all))
	for i := range all {
		byID[all[i].SnapshotID] = &all[i]
	}
	s := m.SnapshotByName(branch)
	l.whole = s == nil && m.CurrentSnapshot() == nil
	seen := map[int64]bool{}
	for s != nil && !seen[s.SnapshotID] {
		seen[s.SnapshotID] = true
		for _, id := range commitsOf(s) {
			l.on[id] = true
		}
		if s.ParentSnapshotID == nil {
			l.whole = first(all, s)
			break
		}
		s = byID[*s.ParentSnapshotID]
	}
	for i := range all {
		s := &all[i]
		l.readOutbox(s)
		if seen[s.SnapshotID] {
			continue
		}
		for _, id := range commitsOf(s) {
			l.off[id] = !l.on[id]
		}
	}
	return l
}

// first says that a snapshot without a parent never had one: whatever was made before it is still known. A catalog that keeps no
// history shows its head without a parent, and PyIceberg takes the parent off a snapshot whose parent it expires.
func first(all []table.Snapshot, s *table.Snapshot) bool {
	unknown := s.SequenceNumber - 1
	for _, x := range all {
		if x.SequenceNumber > 0 && x.SequenceNumber < s.SequenceNumber {
			unknown--
		}
	}
	return unknown <= 0
}

// keyPositions is where a main snapshot has its positions, and in them the outbox of each topology.
const keyPositions = "storm.iceberg.positions"

func (l *Line) readOutbox(s *table.Snapshot) {
	if s.Summary == nil {
		return
	}
	var v struct {
		Topologies map[string]struct {
			Outbox []struct {
				Commit string `json:"commit"`
				Files  []struct {
					Path string `json:"path"`
				} `json:"files"`
			} `json:"outbox"`
		} `json:"topologies"`
	}
	if json.Unmarshal([]byte(s.Summary.Properties[keyPositions]), &v) != nil {
		return // nothing is learnt from it
	}
	for _, t := range v.Topologies {
		for _, b := range t.Outbox {
			for _, f := range b.Files {
				l.boxed[f.Path] = b.Commit
			}
		}
	}
}

// Of says how a reject stands. Behind a replay that is off the branch, that is not known: its commit may still be on it.
func (l *Line) Of(st *Stored) Standing {
	standing := l.of(st)
	if standing == History && st.Moved {
		return Unknown
	}
	return standing
}

func (l *Line) of(st *Stored) Standing {
	if id, ok := l.boxed[st.File]; ok {
		return l.Commit(id)
	}
	standing := Unknown
	for i, id := range st.Commits {
		switch is := l.Commit(id); {
		case i == 0:
			standing = is
		case is != standing:
			return Unknown // they were appended together, and which of them it was is not known
		}
	}
	return standing
}

// Commit says how a commit stands.
func (l *Line) Commit(id string) Standing {
	switch {
	case l.on[id]:
		return Current
	case l.off[id] || l.whole:
		return History
	}
	return Unknown
}

// Open says that a reject waits for a replay: it is current, and no replay that is still on the branch has taken it in. Where
// that can't be told, it is not open.
func (l *Line) Open(st *Stored) bool {
	return l.Of(st) == Current && (st.Replayed == "" || l.Commit(st.Replayed) == History)
}

// Tally counts rejects.
type Tally struct {
	// Rejects are all rows, of which Current, History and Unknown are the parts by Standing, and Open those that wait.
	Rejects, Current, History, Unknown, Open int64
}

// Add counts one.
func (t *Tally) Add(l *Line, st *Stored) {
	t.Rejects++
	switch l.Of(st) {
	case Current:
		t.Current++
	case History:
		t.History++
	default:
		t.Unknown++
	}
	if l.Open(st) {
		t.Open++
	}
}
