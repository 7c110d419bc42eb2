package protocol

import (
	"fmt"
	"time"

	"github.com/stormfloe/floe/source"
)

// rules are the decisions under test: the package's own functions, and what surrounds them does besides. A test breaks one
// and must find the sequence of events that shows why it is there.
type rules struct {
	search     func(*History, string, func() ([]Snapshot, bool, error)) (Found, error)
	see        func(h *History, id string, since int64) Sight
	judgeGroup func(Positions, []Batch, func(int) bool) ([]Fate, Positions)
	held       func(Positions, []source.Range) bool
	afterLook  func(Answer, Sight) Next
	entry      func(Entry, Positions, func([]source.Range) bool) (EntryFate, []BatchFate)
	low        func(h *History, since int64, rs []source.Range, at func(string) (Positions, bool)) bool

	// What the committer and the topology do.

	// pinned: an attempt requires the head that was checked.
	pinned bool
	// everyTime: the check is made before every attempt, not only before the first.
	everyTime bool
	// begin: positions of partitions that have none are recorded before anything is read.
	begin bool
	// atTable: partitions are opened where the table stands, not at the consumer group's offset.
	atTable bool
	// joined: the parts that several writers made of one range are one descriptor.
	joined bool
	// looking: adoption judges an entry.
	looking bool
	// ackLate: after the snapshot, not when the request is sent.
	ackLate bool
	// keepOnUnknown: nothing is deleted where an outcome is unknown.
	keepOnUnknown bool
	// ownRange: files are deleted by their own batch's range; ownProof: by the proof, not because the head has left the base
	// that the entry names.
	ownRange, ownProof bool
}

func theRules() rules {
	return rules{
		search: Search, judgeGroup: JudgeGroup, afterLook: AfterLook, entry: JudgeEntry,
		see: (*History).See, held: Held, low: Low,
		pinned: true, everyTime: true, begin: true, atTable: true, joined: true, looking: true, ackLate: true,
		keepOnUnknown: true, ownRange: true, ownProof: true,
	}
}

// bounds are those of one exploration.
type bounds struct {
	// topo is the topology of each instance, from 1.
	topo []int8
	// parts is the number of partitions of each topology, offs that of records in each, kinds what one batch may cover.
	parts, offs int8
	kinds       [][2]int8
	// group is the most batches in a group; byPartition gives each partition a writer of its own.
	group       int8
	byPartition bool
	// fresh: the table has no positions at first. latest: the stream starts at its end at that time.
	fresh, latest bool
	// acks: the consumer group's offset is part of the state.
	acks bool
	// headless: the catalog keeps no history. noProperty: no table property is written.
	headless, noProperty bool
	// late: requests whose base is not the head any more stay on their way, and somebody may set the branch back to it.
	late bool
	// slow: who deletes files may be stopped between the look and the deletion.
	slow bool
	// alone: nothing but one instance: no batch is ever sealed in vain.
	alone bool
	left  budget
}

func (b *bounds) topologies() int {
	n := int8(0)
	for _, t := range b.topo {
		n = max(n, t)
	}
	return int(n)
}

// entryFacts is what is known of an entry. It is old, always: the model deletes files whenever the rules allow it at all.
func (m *model) entryFacts(s *state, v *view, id int8) Entry {
	w := &s.wal[id]
	e := Entry{
		Readable: true, SameTable: true, Seen: m.r.see(v.h, commitName(id), v.h.Since(base(w.base))), Age: time.Hour, Grace: time.Hour,
	}
	for _, f := range w.files {
		if f != 0 {
			e.Batches = append(e.Batches, EntryBatch{Ranges: s.ranges(f), Whole: func() bool { return !s.gone(f) }})
		}
	}
	return e
}

func (s *state) gone(f int8) bool { return s.deleted&(1<<f) != 0 }

func base(id int8) *int64 {
	if id == 0 {
		return nil
	}
	x := int64(id)
	return &x
}

// String is what is not zero, for the table of what was explored.
func (b bounds) String() string {
	out := fmt.Sprintf("%d instances, %d topologies, %d partitions of %d, batches %v, groups of %d", len(b.topo), b.topologies(), b.parts, b.offs, b.kinds, b.group)
	l := b.left
	for _, x := range []struct {
		name string
		n    int8
	}{
		{"foreign commits", l.foreign}, {"rewrites", l.rewrite}, {"branch set", l.roll}, {"cherry-picks", l.pick},
		{"expiries", l.expire}, {"single expiries", l.single}, {"log forgets", l.forget}, {"crashes", l.crash},
		{"answers by a person", l.set}, {"positions set lower", l.lower}, {"refusals", l.refuse}, {"records come", l.grow},
	} {
		if x.n > 0 {
			out += fmt.Sprintf(", %s %d", x.name, x.n)
		}
	}
	for _, x := range []struct {
		name string
		on   bool
	}{{"a writer per partition", b.byPartition}, {"fresh table", b.fresh}, {"start at the end", b.latest}, {"acks", b.acks},
		{"no history", b.headless}, {"no property", b.noProperty}, {"slow deletion", b.slow}} {
		if x.on {
			out += ", " + x.name
		}
	}
	return out
}
