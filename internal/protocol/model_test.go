package protocol

import (
	"fmt"
	"slices"
	"time"

	"github.com/stormfloe/floe/source"
)

// This file explores, breadth first, every state that two instances of one topology can bring a table into: they seal
// batches over two partitions, send commits whose answers get lost or come late, crash, adopt and delete what the other
// left, while another engine commits, somebody sets the branch back, and snapshots expire. The decisions are the
// package's own functions, called through rules, so that a test can break one and must find the sequence that shows why
// it is there.

// rules are the decisions under test.
type rules struct {
	find      func(*History, string) Found
	judge     func(Positions, []source.Range) Fate
	afterLook func(Answer, Sight) Next
	entry     func(Entry, Positions, func([]source.Range) bool) (EntryFate, []BatchFate)
	// low is the walk that proves that a commit never happened.
	low func(*History, []source.Range) bool
	// pinned says that an attempt requires the head that was checked.
	pinned bool
	// stat says that files are looked at before an attempt.
	stat bool
}

func theRules() rules {
	return rules{
		find: Find, judge: Judge, afterLook: AfterLook, entry: JudgeEntry, pinned: true, stat: true,
		low: func(h *History, r []source.Range) bool {
			return Low(h, r, func(v string) (Positions, bool) { return modelPositions(v), true })
		},
	}
}

const maxSnaps, maxFiles, maxNet = 8, 5, 3

type mSnap struct {
	parent  int8 // 0: none
	pos     [2]int8
	has     bool
	fid     int8 // file added, 0: none
	expired bool
}

type mInst struct {
	phase byte // d own, r un, w ait, s top
	pos   [2]int8
	fid   int8
	tries int8
}

// mReq carries the positions that its snapshot will have: they were computed on its base.
type mReq struct {
	base, fid, who, try int8
	pos                 [2]int8
}

// mState is comparable: it is its own key. Snapshot and file ids are indexes from 1.
type mState struct {
	snaps                          [maxSnaps]mSnap
	ns, head                       int8
	prop                           [2]int8
	propSnap                       int8
	in                             [2]mInst
	net                            [maxNet]mReq
	nn                             int8
	wal, deleted                   uint8
	files                          [maxFiles][2][2]int8
	nf                             int8
	foreign, roll, expire, crashes int8
}

func modelValue(p [2]int8) string { return fmt.Sprintf("%d,%d", p[0], p[1]) }

func modelPositions(v string) Positions {
	return Positions{mPart(0): source.Position(v[0] - '0'), mPart(1): source.Position(v[2] - '0')}
}

func mPart(i int) source.Partition { return source.Partition{Topic: "t", ID: int32(i)} }

// sight is what the protocol sees of a state.
func (s *mState) history() *History {
	h := &History{
		Snapshots: make(map[int64]Snapshot, s.ns), LogLength: 1, LogRead: true,
		Topologies: func(string) ([]string, []string) { return []string{"a"}, nil },
	}
	for i := range s.ns {
		x := s.snaps[i]
		if x.expired {
			continue
		}
		id := int64(i) + 1
		n := Snapshot{ID: id, Sequence: id, Retained: true}
		if x.parent != 0 {
			p := int64(x.parent)
			n.Parent = &p
		}
		if x.has {
			n.Value, n.Topology, n.CommitID = modelValue(x.pos), "a", fmt.Sprint(x.fid)
		}
		h.Snapshots[id] = n
	}
	head := int64(s.head)
	h.Head = &head
	if s.propSnap != 0 {
		h.Own = &Property{Snapshot: int64(s.propSnap), Value: modelValue(s.prop)}
	}
	return h
}

func (s *mState) ranges(fid int8) (out []source.Range) {
	for p, r := range s.files[fid-1] {
		if r[0] < r[1] {
			out = append(out, source.Range{Partition: mPart(p), From: source.Position(r[0]), To: source.Position(r[1])})
		}
	}
	return out
}

// sighted is a state with what a look at it shows.
type sighted struct {
	*mState
	r     *rules
	h     *History
	pos   [2]int8
	at    Positions
	known bool
}

func look(s *mState, r *rules) sighted {
	x := sighted{mState: s, r: r, h: s.history()}
	f := r.find(x.h, "a")
	if x.known = f.Place == AtSnapshot || f.Place == AtProperty; x.known {
		x.at = modelPositions(f.Value)
		x.pos = [2]int8{int8(x.at[mPart(0)]), int8(x.at[mPart(1)])}
	}
	return x
}

func (x sighted) gone(fid int8) bool { return x.deleted&(1<<fid) != 0 }

// check compares the table with what its positions promise.
func (x sighted) check() string {
	var c [2][4]int8
	for id := x.head; id != 0; id = x.snaps[id-1].parent {
		f := x.snaps[id-1].fid
		if f == 0 {
			continue
		}
		if x.gone(f) {
			return fmt.Sprintf("dangling file %d", f)
		}
		for p, r := range x.files[f-1] {
			for o := r[0]; o < r[1]; o++ {
				c[p][o]++
			}
		}
	}
	for p := range 2 {
		for o := range c[p] {
			switch {
			case c[p][o] > 1:
				return fmt.Sprintf("partition %d offset %d is there %d times", p, o, c[p][o])
			case x.known && int8(o) < x.pos[p] && c[p][o] == 0:
				return fmt.Sprintf("partition %d offset %d is lost (position %d)", p, o, x.pos[p])
			}
		}
	}
	return ""
}

type mMove struct {
	name string
	s    mState
}

type explorer struct {
	r        rules
	offsets  int8
	attempts int8
	out      []mMove
}

func (e *explorer) add(s *mState, f func(*mState), format string, args ...any) {
	c := *s
	f(&c)
	e.out = append(e.out, mMove{fmt.Sprintf(format, args...), c})
}

func (e *explorer) moves(s *mState) []mMove {
	e.out = e.out[:0]
	x := look(s, &e.r)
	for i := range int8(2) {
		switch s.in[i].phase {
		case 'd':
			e.starts(x, i)
		case 'r':
			e.runs(x, i)
		case 'w':
			e.add(s, func(c *mState) { c.in[i].phase = 'r' }, "%c gets no answer, looks again", 'A'+i)
		}
		if ph := s.in[i].phase; (ph == 'r' || ph == 'w') && s.crashes > 0 {
			e.add(s, func(c *mState) { c.in[i] = mInst{phase: 'd'}; c.crashes-- }, "%c crashes", 'A'+i)
		}
	}
	for k := range s.nn {
		e.arrives(x, k)
	}
	for f := int8(1); f <= s.nf; f++ {
		if s.wal&(1<<f) != 0 {
			e.settles(x, f)
		}
	}
	e.others(x)
	return e.out
}

// starts: an instance reads the table's positions and adopts, or not, what is in the WAL.
func (e *explorer) starts(x sighted, i int8) {
	if !x.known {
		e.add(x.mState, func(c *mState) { c.in[i].phase = 's' }, "%c stops and asks", 'A'+i)
		return
	}
	e.add(x.mState, func(c *mState) { c.in[i] = mInst{phase: 'r', pos: x.pos} }, "%c starts at %v", 'A'+i, x.pos)
	for f := int8(1); f <= x.nf; f++ {
		if x.wal&(1<<f) == 0 || x.entryFate(f) != Adopt {
			continue
		}
		e.add(x.mState, func(c *mState) {
			c.in[i] = mInst{phase: 'r', pos: x.after(f), fid: f}
		}, "%c adopts file %d", 'A'+i, f)
	}
}

// after are the positions that committing file f leaves.
func (x sighted) after(f int8) [2]int8 {
	pos := x.pos
	for p, r := range x.files[f-1] {
		if r[0] < r[1] {
			pos[p] = r[1]
		}
	}
	return pos
}

func (x sighted) entry(f int8) Entry {
	age := time.Hour
	for k := range x.nn {
		if x.net[k].fid == f {
			age = 0 // a request that names it is on its way: seconds, which is less than the grace time
		}
	}
	return Entry{
		Readable: true, SameTable: true, Seen: x.h.See(fmt.Sprint(f)), Age: age, Grace: time.Hour,
		Batches: []EntryBatch{{Ranges: x.ranges(f), Whole: func() bool { return !x.gone(f) }}},
	}
}

func (x sighted) entryFate(f int8) EntryFate {
	fate, _ := x.r.entry(x.entry(f), x.at, func(r []source.Range) bool { return x.r.low(x.h, r) })
	return fate
}

// runs: an instance seals a batch, or decides about the one in hand as the committer does.
func (e *explorer) runs(x sighted, i int8) {
	me, in := 'A'+i, x.in[i]
	if in.fid == 0 {
		for _, d := range [][2]int8{{1, 0}, {0, 1}, {1, 1}} {
			if in.pos[0]+d[0] > e.offsets || in.pos[1]+d[1] > e.offsets || x.nf == maxFiles {
				continue
			}
			e.add(x.mState, func(c *mState) {
				for p := range 2 {
					c.files[c.nf][p] = [2]int8{in.pos[p], in.pos[p] + d[p]}
					c.in[i].pos[p] += d[p]
				}
				c.nf++
				c.in[i].fid, c.in[i].tries = c.nf, 0
			}, "%c seals %v at %v as file %d", me, d, in.pos, x.nf+1)
		}
		return
	}
	if !x.known {
		e.add(x.mState, func(c *mState) { c.in[i] = mInst{phase: 's'} }, "%c stops and asks", me)
		return
	}
	fate := Reread
	switch e.r.afterLook(Unknown, x.h.See(fmt.Sprint(in.fid))) {
	case Settled:
		fate = AlreadyThere
	case Again:
		fate = e.r.judge(x.at, x.ranges(in.fid))
	}
	if fate == Commit && e.r.stat && x.gone(in.fid) {
		fate = Reread
	}
	switch {
	case fate == AlreadyThere:
		e.add(x.mState, func(c *mState) {
			c.in[i] = mInst{phase: 'r', pos: x.pos}
			if x.h.See(fmt.Sprint(in.fid)).On {
				c.wal &^= 1 << in.fid
			}
		}, "%c drops file %d, already there", me, in.fid)
	case fate == Reread:
		e.add(x.mState, func(c *mState) { c.in[i] = mInst{phase: 'r', pos: x.pos} }, "%c forgets file %d, re-reads at %v", me, in.fid, x.pos)
	case in.tries < e.attempts && x.nn < maxNet:
		e.add(x.mState, func(c *mState) {
			c.wal |= 1 << in.fid
			c.net[c.nn] = mReq{x.head, in.fid, i, in.tries, x.after(in.fid)}
			c.nn++
			slices.SortFunc(c.net[:c.nn], func(a, b mReq) int {
				return 1000*(int(a.fid)-int(b.fid)) + 100*(int(a.base)-int(b.base)) + 10*int(a.who-b.who) + int(a.try-b.try)
			})
			c.in[i].tries++
			c.in[i].phase = 'w'
		}, "%c sends file %d on base %d", me, in.fid, x.head)
	}
}

// arrives: a request reaches the catalog, however late.
func (e *explorer) arrives(x sighted, k int8) {
	q := x.net[k]
	w := x.in[q.who]
	waits := w.phase == 'w' && w.fid == q.fid && w.tries == q.try+1
	gone := func(c *mState) {
		copy(c.net[k:], c.net[k+1:])
		c.nn--
		c.net[c.nn] = mReq{}
	}
	if q.base != x.head && e.r.pinned {
		e.add(x.mState, func(c *mState) {
			gone(c)
			if waits {
				c.in[q.who].phase = 'r'
			}
		}, "file %d on base %d refused", q.fid, q.base)
		return
	}
	if x.ns == maxSnaps {
		return
	}
	land := func(c *mState) {
		gone(c)
		c.snaps[c.ns] = mSnap{parent: c.head, pos: q.pos, has: true, fid: q.fid}
		c.ns++
		c.head, c.prop, c.propSnap = c.ns, q.pos, c.ns
	}
	e.add(x.mState, land, "file %d lands as snapshot %d, answer lost", q.fid, x.ns+1)
	if waits {
		e.add(x.mState, func(c *mState) {
			land(c)
			c.in[q.who].phase, c.in[q.who].fid = 'r', 0
			c.wal &^= 1 << q.fid
		}, "file %d lands as snapshot %d, answered", q.fid, x.ns+1)
	}
}

// settles: somebody to whom the partitions are assigned settles an entry.
func (e *explorer) settles(x sighted, f int8) {
	if !x.known {
		return
	}
	fate, fates := x.r.entry(x.entry(f), x.at, func(r []source.Range) bool { return x.r.low(x.h, r) })
	if fate == Delete {
		e.add(x.mState, func(c *mState) { c.wal &^= 1 << f }, "entry %d landed, removed", f)
		return
	}
	if fate == Abandon && fates[0] == BatchDelete && !x.gone(f) {
		e.add(x.mState, func(c *mState) { c.deleted |= 1 << f; c.wal &^= 1 << f }, "files of entry %d deleted by proof", f)
	}
}
