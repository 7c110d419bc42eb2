package protocol

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
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

// others: another engine, an operator, expiry.
func (e *explorer) others(x sighted) {
	s := x.mState
	if s.foreign > 0 && s.ns < maxSnaps {
		e.add(s, func(c *mState) {
			c.snaps[c.ns] = mSnap{parent: c.head}
			c.ns++
			c.head = c.ns
			c.foreign--
		}, "another engine commits snapshot %d", s.ns+1)
	}
	for id := int8(1); id <= s.ns && s.roll > 0; id++ {
		if id == s.head || s.snaps[id-1].expired {
			continue
		}
		// Assumed, and documented: nobody sets the branch back to the base of a request that is still on its way.
		late := false
		for k := range s.nn {
			late = late || s.net[k].base == id
		}
		if !late {
			e.add(s, func(c *mState) { c.head = id; c.roll-- }, "branch set back to snapshot %d", id)
		}
	}
	if s.expire > 0 && s.ns > 1 {
		e.add(s, func(c *mState) {
			line := [maxSnaps + 1]bool{}
			for id := c.head; id != 0; id = c.snaps[id-1].parent {
				line[id] = true
			}
			for i := range c.ns {
				if i+1 == c.head {
					continue
				}
				if y := &c.snaps[i]; !y.expired {
					if !line[i+1] && y.fid != 0 {
						c.deleted |= 1 << y.fid
					}
					y.expired = true
				}
			}
			c.expire--
		}, "all but the head expired, with files that only snapshots off the branch added")
	}
}

// budget is how often each outsider acts, and how many states are looked at.
type budget struct {
	offsets, attempts, foreign, roll, expire, crashes int8
	states                                            int
}

// explore gives the shortest sequence of events that breaks a promise, or "" where there is none among the states
// looked at.
func explore(r rules, b budget) (trace string, states int) {
	e := &explorer{r: r, offsets: b.offsets, attempts: b.attempts}
	// Snapshot 1 is another engine's, 2 records where the partitions start.
	start := mState{
		snaps: [maxSnaps]mSnap{{}, {parent: 1, has: true}}, ns: 2, head: 2, propSnap: 2,
		in: [2]mInst{{phase: 'd'}, {phase: 'd'}}, foreign: b.foreign, roll: b.roll, expire: b.expire, crashes: b.crashes,
	}
	type step struct {
		prev int32
		name string
	}
	seen, queue, how := map[mState]bool{start: true}, []mState{start}, []step{{-1, ""}}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if bad := look(&s, &e.r).check(); bad != "" {
			var path []string
			for j := int32(i); j > 0; j = how[j].prev {
				path = append(path, how[j].name)
			}
			slices.Reverse(path)
			return bad + "\n\t" + strings.Join(path, "\n\t"), i
		}
		for _, m := range e.moves(&s) {
			if !seen[m.s] && len(queue) < b.states {
				seen[m.s] = true
				how = append(how, step{int32(i), m.name})
				queue = append(queue, m.s)
			}
		}
	}
	return "", len(queue)
}

func TestEveryStateKeepsThePromise(t *testing.T) {
	for _, c := range []struct {
		name string
		b    budget
	}{
		{"two instances race, answers are lost, another engine commits", budget{offsets: 1, attempts: 2, foreign: 1, crashes: 1, states: 20_000 / slower}},
		{"and the branch is set back", budget{offsets: 1, attempts: 2, roll: 1, crashes: 1, states: 20_000 / slower}},
		{"and snapshots expire", budget{offsets: 1, attempts: 1, roll: 1, expire: 1, foreign: 1, states: 20_000 / slower}},
		{"deeper", budget{offsets: 2, attempts: 1, roll: 1, expire: 1, crashes: 1, states: 20_000 / slower}},
		{"everything", budget{offsets: 2, attempts: 2, foreign: 1, roll: 2, expire: 1, crashes: 1, states: 20_000 / slower}},
	} {
		if n, err := strconv.Atoi(os.Getenv("FLOE_MODEL_STATES")); err == nil {
			c.b.states = n // a longer search, by hand
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trace, n := explore(theRules(), c.b)
			if trace != "" {
				t.Fatal(trace)
			}
			t.Log(n, "states")
		})
	}
}

func TestEachRuleIsNeeded(t *testing.T) {
	all := budget{offsets: 2, attempts: 2, foreign: 1, roll: 1, expire: 1, crashes: 1, states: 100_000}
	judge := func(f func(Positions, []source.Range) Fate) func(*rules) { return func(r *rules) { r.judge = f } }
	for _, c := range []struct {
		name  string
		spoil func(*rules)
		b     budget
	}{
		{"a batch is committed wherever the table stands", judge(func(at Positions, rs []source.Range) Fate {
			if f := Judge(at, rs); f == AlreadyThere {
				return f
			}
			return Commit
		}), all},
		{"a batch of which a part is there is committed", judge(func(at Positions, rs []source.Range) Fate {
			if f := Judge(at, rs); f != Reread {
				return f
			}
			for _, r := range rs {
				if at[r.Partition] >= r.To {
					return Commit
				}
			}
			return Reread
		}), all},
		{"an attempt is not pinned", func(r *rules) { r.pinned = false }, all},
		{"files of a commit that was rolled back are used again", func(r *rules) {
			r.stat = false
			r.afterLook = func(a Answer, s Sight) Next { s.Off = false; return AfterLook(a, s) }
			r.entry = func(e Entry, at Positions, low func([]source.Range) bool) (EntryFate, []BatchFate) {
				e.Seen.Off = false
				return JudgeEntry(e, at, low)
			}
		}, budget{offsets: 1, attempts: 1, roll: 2, expire: 1, states: 100_000}},
		{"the property counts where the line ends, whatever it names", func(r *rules) {
			r.find = func(h *History, topology string) Found {
				f := Find(h, topology)
				if f.Place == Stop && f.Why == Expired && h.Own != nil {
					f.Place, f.Value = AtProperty, h.Own.Value
				}
				return f
			}
		}, budget{offsets: 1, attempts: 1, foreign: 1, roll: 1, expire: 1, states: 100_000}},
		{"files are deleted while a request that names them is on its way", func(r *rules) {
			r.entry = func(e Entry, at Positions, low func([]source.Range) bool) (EntryFate, []BatchFate) {
				if f, b := JudgeEntry(e, at, low); f == Delete || f == Adopt && e.Age >= e.Grace {
					return f, b
				}
				return Abandon, []BatchFate{BatchDelete}
			}
		}, all},
		{"files are deleted without a walk that shows that they never landed", func(r *rules) {
			r.low = func(*History, []source.Range) bool { return true }
		}, budget{offsets: 1, attempts: 1, foreign: 1, expire: 1, crashes: 1, states: 100_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := theRules()
			c.spoil(&r)
			trace, n := explore(r, c.b)
			if trace == "" {
				t.Fatalf("no counterexample among %d states", n)
			}
			t.Log(trace)
		})
	}
}
