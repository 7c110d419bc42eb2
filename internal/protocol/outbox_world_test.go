package protocol

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// This file is the world of rejects: the main table's line, whose snapshots pass rejects and name them in an outbox, and the
// rejects table with what it says that it holds. Snapshots are indexes from 0; a main snapshot is its own commit.

const (
	mainRoom, shelfRoom = 5, 7
	nowhere             = int8(-1)
)

// mainSnap adds a row, or passes a reject, or neither; box are the snapshots whose rejects may not be there yet.
type mainSnap struct {
	parent, pos, row, reject int8
	box                      uint8
}

// listed is what a value of the rejects table lists: of all snapshots from since on, those in ids.
type listed struct {
	since int8
	ids   uint8
}

func (l listed) String() string {
	var ids []string
	for i := range int8(mainRoom) {
		if l.ids&(1<<i) != 0 {
			ids = append(ids, strconv.Itoa(int(i)))
		}
	}
	return fmt.Sprintf("%d:%s", l.since, strings.Join(ids, ","))
}

// shelfSnap adds rejects, which it names and says: none is another engine's. Of one that is gone the metadata log may tell.
type shelfSnap struct {
	parent          int8
	adds, names     uint8
	own             bool
	gone, forgotten bool
	says            listed
}

// appending is a request to the rejects table, with what its snapshot and the property will say.
type appending struct {
	used           bool
	base           int8
	adds, names    uint8
	says, property listed
}

type outboxState struct {
	main       [mainRoom]mainSnap
	nm, head   int8
	shelf      [shelfRoom]shelfSnap
	nr, top    int8
	prop       int8
	propSays   listed
	net        [2]appending
	sent, seen uint8
	roll, back int8
	foreign    int8
	expire     int8
}

// outboxSpace is the system, with as many snapshots of either table; what is broken takes a rule away.
type outboxSpace struct {
	mains, shelves            int8
	records, room             int8
	roll, back, foreign, gone int8
	broken                    string
}

var _ space[outboxState] = (*outboxSpace)(nil)

func (sp *outboxSpace) start() outboxState {
	s := outboxState{nm: 1, nr: 1, roll: sp.roll, back: sp.back, foreign: sp.foreign, expire: sp.gone, prop: nowhere}
	s.main[0] = mainSnap{parent: nowhere, row: nowhere, reject: nowhere}
	s.shelf[0] = shelfSnap{parent: nowhere}
	return s
}

func (sp *outboxSpace) key(s *outboxState) outboxState { return *s }

// history is what can be seen of the rejects table: what has expired and is in no metadata file is not.
func (s *outboxState) history() *History {
	h := &History{Snapshots: map[int64]Snapshot{}, LogLength: 1, LogRead: true, Last: int64(s.nr)}
	top := int64(s.top) + 1
	h.Head = &top
	for i := range s.nr {
		x := &s.shelf[i]
		if x.forgotten {
			continue
		}
		out := Snapshot{ID: int64(i) + 1, Sequence: int64(i) + 1, Retained: !x.gone}
		if x.parent != nowhere {
			p := int64(x.parent) + 1
			out.Parent = &p
		}
		if x.own {
			out.Value = x.says.String()
			out.CommitID = strings.TrimPrefix(listed{ids: x.names}.String(), "0:")
		}
		h.Snapshots[out.ID] = out
	}
	if s.prop != nowhere {
		h.Own = &Property{Snapshot: int64(s.prop) + 1, Value: s.propSays.String()}
	}
	return h
}

// holds asks the protocol.
func (sp *outboxSpace) holds(s *outboxState, c int8) Holding {
	if sp.broken == "nobody looks" {
		return NotThere
	}
	held, _ := s.history().Holds(Reject{strconv.Itoa(int(c)), int64(c)}, parseListing)
	if sp.broken == "what has expired was not there" && held == Unclear {
		return NotThere
	}
	return held
}

// copies counts a commit's reject on the rejects table's line; this is the truth.
func (s *outboxState) copies(c int8) (n int) {
	for i := s.top; i != nowhere; i = s.shelf[i].parent {
		n += int(s.shelf[i].adds >> c & 1)
	}
	return n
}

// onMain are the snapshots of the main line.
func (s *outboxState) onMain() (line uint8) {
	for i := s.head; i != nowhere; i = s.main[i].parent {
		line |= 1 << i
	}
	return line
}

// check is the promise.
func (sp *outboxSpace) check(s *outboxState) string {
	line := s.onMain()
	var once [mainRoom]int
	for i := range s.nm {
		x := &s.main[i]
		n := s.copies(i)
		switch {
		case n > 1:
			return fmt.Sprintf("the reject of %d is there %d times", i, n)
		case n == 1 && x.reject == nowhere:
			return fmt.Sprintf("there is a reject of %d, which passed none", i)
		case line&(1<<i) == 0:
			continue
		case x.reject != nowhere && n == 0 && s.main[s.head].box&(1<<i) == 0 && s.back == sp.back:
			return fmt.Sprintf("the reject of %d is lost: it is off the outbox, and not there", i)
		}
		if x.row != nowhere {
			once[x.row]++
		}
		if x.reject != nowhere {
			once[x.reject]++
		}
	}
	for o := range s.main[s.head].pos {
		if once[o] != 1 {
			return fmt.Sprintf("offset %d is there %d times", o, once[o])
		}
	}
	for i := s.nm; i < mainRoom; i++ {
		if s.copies(i) > 0 {
			return fmt.Sprintf("there is a reject of %d, which never landed", i)
		}
	}
	return ""
}

// goal: all that waits is there, or the rejects table has no room in this world for more snapshots.
func (sp *outboxSpace) goal(s *outboxState) bool {
	for i := range s.nm {
		if s.main[s.head].box&(1<<i) != 0 && s.copies(i) != 1 {
			return s.nr == sp.shelves
		}
	}
	return true
}

// carried is the outbox of the next main snapshot.
func (sp *outboxSpace) carried(s *outboxState) uint8 {
	switch sp.broken {
	case "an outbox is not carried forward":
		return 0
	case "a request that was sent is enough":
		return s.main[s.head].box &^ s.sent
	}
	return s.main[s.head].box &^ s.seen
}

func (l listed) upTo(most int) listed {
	var all []Reject
	for i := range int8(mainRoom) {
		if l.ids&(1<<i) != 0 {
			all = append(all, Reject{strconv.Itoa(int(i)), int64(i)})
		}
	}
	since, kept := Forget(int64(l.since), all, most)
	out := listed{since: int8(since)}
	for _, r := range kept {
		out.ids |= 1 << r.Sequence
	}
	return out
}

// ask is a request of one who has looked: to add rejects, and to say that those that it names are there. since, if not 0, is from
// where on the new value lists all.
func (s *outboxState) ask(adds, names uint8, since int8) appending {
	held := listed{since: since}
	if v := s.history().Newest(); v != "" {
		l := parseListing(v)
		held.since = max(since, int8(l.Since))
		for _, id := range l.IDs {
			if n, err := strconv.Atoi(id); err == nil {
				held.ids |= 1 << n
			}
		}
	}
	held.ids |= names
	// A summary lists one beside those that it adds, the property two.
	n := bits.OnesCount8(names)
	return appending{used: true, base: s.top, adds: adds, names: names, says: held.upTo(max(1, n)), property: held.upTo(max(2, n))}
}

// land makes the snapshot that a request asks for.
func (s *outboxState) land(r int) {
	a := s.net[r]
	s.shelf[s.nr] = shelfSnap{parent: s.top, adds: a.adds, names: a.names, own: true, says: a.says}
	s.prop, s.propSays = s.nr, a.property
	s.top = s.nr
	s.nr++
	s.net[r] = appending{}
}
