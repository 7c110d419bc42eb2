package protocol

import (
	"strconv"

	"github.com/stormfloe/floe/source"
)

// This file is the world of the model: a table, and what the protocol sees of it. Everything is a value that can be
// compared. Snapshots, files and commit ids are indexes from 1; 0 is none.

const maxSnaps, maxFiles, maxIDs, maxInst, maxNet = 10, 7, 12, 3, 8

// person is the commit id of what a person sets.
const person = int8(99)

// none is a partition without a position.
const none = int8(-1)

// What became of a snapshot.
const (
	expired uint8 = 1 << iota
	// forgotten: the metadata log does not tell of it any more.
	forgotten
	// rewritten: it has what is below it in files of its own.
	rewritten
	// setBack: a person set positions lower.
	setBack
)

// Marks of a topology in a value.
const (
	notIn = int8(iota)
	isKnown
	isUnclear
)

// entryOf is one topology's part of a positions value.
type entryOf struct {
	mark int8
	at   [2]int8
}

type value [2]entryOf

type snap struct {
	parent, topo, id, picked int8
	// prop is the snapshot whose commit wrote the property, as of this one.
	prop int8
	// files are those added, a bit each.
	files, flags uint8
	val          value
}

func (s *snap) is(flag uint8) bool { return s.flags&flag != 0 }

type table struct {
	snaps          [maxSnaps]snap
	ns, head, prop int8
}

// file is a sealed batch: what it covers, and which halves of each record's rows (parts that are joined have both).
type file struct {
	r    [2][2]int8
	half uint8
}

// note is a WAL entry.
type note struct {
	files      [2]int8
	base, topo int8
}

// inst is an instance of a topology.
type inst struct {
	// phase: d own or starting, b egin (records first positions), r un, s topped.
	phase byte
	// id is the commit id of what is sent, since the last sequence number before its first attempt; refused says that the
	// last answer was a refusal for another reason than a moved head.
	id, since              int8
	sent, refused, adopted bool
	// stale are the partitions that are read again when the group is through.
	stale uint8
	// pos is where it reads, items the group's files.
	pos   [2]int8
	items [2]int8
	n     int8
}

// req is a commit request on its way. at are the positions that it sets, computed on its base.
type req struct {
	id, who, topo, base int8
	files               uint8
	at                  [2]int8
}

// budget is how often each thing may happen.
type budget struct {
	foreign, rewrite, roll, pick, expire, single, forget, crash, set, lower, refuse, grow int8
}

type state struct {
	table
	files           [maxFiles + 1]file
	wal             [maxIDs + 1]note
	in              [maxInst]inst
	net             [maxNet]req
	nn              int8
	deleted, doomed uint8
	// acked is the consumer group's offset, opened the first position that a partition was read from, end where its log
	// ends.
	acked, opened, end [2]int8
	left               budget
}

func mPart(i int) source.Partition { return source.Partition{Topic: "t", ID: int32(i)} }

var topoNames = [...]string{"a", "b"}

func (v value) String() string {
	if v == (value{}) {
		return ""
	}
	b := make([]byte, 0, 6)
	for _, e := range v {
		b = append(b, byte(e.mark), byte(e.at[0]+1), byte(e.at[1]+1))
	}
	return string(b)
}

func valueOf(s string) (v value) {
	if s == "" {
		return v
	}
	for i := range v {
		v[i] = entryOf{int8(s[3*i]), [2]int8{int8(s[3*i+1]) - 1, int8(s[3*i+2]) - 1}}
	}
	return v
}

func (e entryOf) positions() Positions {
	at := Positions{}
	for p, o := range e.at {
		if e.mark == isKnown && o != none {
			at[mPart(p)] = source.Position(o)
		}
	}
	return at
}

// valueTopologies is what History.Topologies is in the model.
func valueTopologies(s string) (known, doubted []string) {
	for i, e := range valueOf(s) {
		switch e.mark {
		case isKnown:
			known = append(known, topoNames[i])
		case isUnclear:
			doubted = append(doubted, topoNames[i])
		}
	}
	return known, doubted
}

func commitName(id int8) string {
	if id == 0 {
		return ""
	}
	return strconv.Itoa(int(id))
}

func (t *table) snapshot(id int8) Snapshot {
	x := &t.snaps[id-1]
	s := Snapshot{
		ID: int64(id), Sequence: int64(id), Retained: !x.is(expired), CommitID: commitName(x.id), Value: x.val.String(),
	}
	if x.topo != 0 {
		s.Topology = topoNames[x.topo-1]
	}
	if x.parent != 0 {
		p := int64(x.parent)
		s.Parent = &p
	}
	if x.picked != 0 {
		p := int64(x.picked)
		s.PickedFrom = &p
	}
	return s
}

// history is what one load of the table shows.
func (t *table) history(b *bounds) *History {
	h := &History{
		Snapshots: make(map[int64]Snapshot, t.ns), LogLength: int(t.ns) - 1, Topologies: valueTopologies,
		NoProperty: b.noProperty, Last: int64(t.ns),
	}
	if t.head != 0 {
		id := int64(t.head)
		h.Head = &id
	}
	if t.prop != 0 {
		h.Own = &Property{Snapshot: int64(t.prop), Value: t.snaps[t.prop-1].val.String()}
	}
	if b.headless {
		h.LogLength = 0
		if t.head != 0 {
			s := t.snapshot(t.head)
			s.Parent = nil
			h.Snapshots[s.ID] = s
		}
		return h
	}
	for id := int8(1); id <= t.ns; id++ {
		if !t.snaps[id-1].is(expired) {
			h.Snapshots[int64(id)] = t.snapshot(id)
		}
	}
	return h
}

// older is the metadata log: one file that tells of every snapshot not forgotten.
func (t *table) older(b *bounds) func() ([]Snapshot, bool, error) {
	read := b.headless
	return func() (out []Snapshot, ok bool, err error) {
		if read {
			return nil, false, nil
		}
		read = true
		for id := int8(1); id <= t.ns; id++ {
			if x := &t.snaps[id-1]; x.is(expired) && !x.is(forgotten) {
				out = append(out, t.snapshot(id))
			}
		}
		return out, true, nil
	}
}

// view is what an instance of one topology finds in the table.
type view struct {
	h           *History
	f           Found
	known, stop bool
	at          Positions
	pos         [2]int8
}

// sight is a table with what is found in it. It is made once for each table.
type sight struct {
	t table
	v [2]view
}

func (m *model) look(t *table) *sight {
	slot := &m.seen[tableHash(t)%uint64(len(m.seen))]
	if *slot != nil && (*slot).t == *t {
		return *slot
	}
	x := &sight{t: *t}
	for i := range m.b.topologies() {
		v := &x.v[i]
		v.h = t.history(&m.b)
		v.f, _ = m.r.search(v.h, topoNames[i], t.older(&m.b))
		v.known, v.stop = v.f.Place == AtSnapshot || v.f.Place == AtProperty, v.f.Place == Stop
		e := valueOf(v.f.Value)[i]
		if !v.known {
			e = entryOf{}
		}
		v.at, v.pos = e.positions(), e.at
		if !v.known {
			v.pos = [2]int8{none, none}
		}
	}
	*slot = x
	return x
}

func (m *model) low(h *History, since int64, topo int8, rs []source.Range) bool {
	return m.r.low(h, since, rs, func(s string) (Positions, bool) {
		e := valueOf(s)[topo-1]
		return e.positions(), e.mark != isUnclear
	})
}
