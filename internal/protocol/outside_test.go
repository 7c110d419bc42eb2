package protocol

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
)

// This file is what happens around the instances: the network, who settles the WAL, other engines, operators.

var tableSeed = maphash.MakeSeed()

func tableHash(t *table) uint64 { return maphash.Comparable(tableSeed, *t) }

func cmpOr(a, b string) string { return cmp.Or(a, b) }

var _ space[state] = (*model)(nil)

func newModel(r rules, b bounds) *model { return &model{r: r, b: b, seen: make([]*sight, 1<<14)} }

func (m *model) full() []int8 {
	out := make([]int8, m.b.parts)
	for p := range out {
		out[p] = m.b.offs
	}
	return out
}

// start: snapshot 1 is another engine's; 2 records where the partitions of the first topology start, unless fresh.
func (m *model) start() state {
	s := state{left: m.b.left}
	s.snaps[0], s.ns, s.head = snap{}, 1, 1
	if !m.b.fresh {
		e := entryOf{isKnown, [2]int8{none, none}}
		for p := range m.b.parts {
			e.at[p] = 0
		}
		s.snaps[1] = snap{parent: 1, topo: 1, id: person, prop: 2, val: value{e}}
		s.ns, s.head = 2, 2
		if !m.b.noProperty {
			s.prop = 2
		}
	}
	for p := range m.b.parts {
		s.end[p] = m.b.offs
		if m.b.latest {
			s.end[p], s.opened[p] = m.b.offs-m.b.left.grow, none
		}
	}
	for i := range m.b.topo {
		s.in[i] = inst{phase: 'd'}
	}
	return s
}

// key puts instances of one topology in order: which is which makes no difference.
func (m *model) key(s *state) state {
	c := *s
	for i := 1; i < len(m.b.topo); i++ {
		for j := i; j > 0 && m.b.topo[j] == m.b.topo[j-1] && c.in[j].less(&c.in[j-1]); j-- {
			c.in[j], c.in[j-1] = c.in[j-1], c.in[j]
			for k := range c.nn {
				switch q := &c.net[k]; q.who {
				case int8(j) + 1:
					q.who = int8(j)
				case int8(j):
					q.who = int8(j) + 1
				}
			}
		}
	}
	slices.SortFunc(c.net[:c.nn], compareReq)
	return c
}

func (in *inst) less(o *inst) bool {
	return cmp.Or(cmp.Compare(in.phase, o.phase), cmp.Compare(in.id, o.id), cmp.Compare(in.n, o.n),
		slices.Compare(in.pos[:], o.pos[:]), slices.Compare(in.items[:], o.items[:]), cmp.Compare(in.stale, o.stale),
		cmp.Compare(in.since, o.since), b2i(in.sent)-b2i(o.sent), b2i(in.refused)-b2i(o.refused), b2i(in.adopted)-b2i(o.adopted)) < 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func compareReq(a, b req) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.base, b.base), cmp.Compare(a.who, b.who), cmp.Compare(a.files, b.files),
		slices.Compare(a.at[:], b.at[:]), cmp.Compare(a.topo, b.topo))
}

// add makes a move. What can't matter any more is taken out, so that states that differ in nothing else are one.
func (m *model) add(s *state, bad string, change func(*state), format string, args ...any) {
	c := *s
	change(&c)
	m.tidy(&c)
	m.out(&c, bad, func() string { return fmt.Sprintf(format, args...) })
}

func (m *model) tidy(c *state) {
	n := int8(0)
	for k := range c.nn {
		// A request whose base is not the head any more is refused, and the branch is not set back to it while it is on its
		// way: it may as well be refused now.
		if q := c.net[k]; q.base == c.head || !m.r.pinned || m.b.late {
			if q.who != 0 && c.in[q.who-1].id != q.id {
				q.who = 0 // nobody waits for its answer
			}
			c.net[n] = q
			n++
		}
	}
	clear(c.net[n:])
	slices.SortFunc(c.net[:n], compareReq)
	c.nn = int8(len(slices.Compact(c.net[:n])))
	clear(c.net[c.nn:])
	used := c.filesUsed()
	for f := range c.files {
		if used&(1<<f) == 0 {
			c.files[f] = file{}
		}
	}
	c.deleted &= used
	c.doomed &= used
}

func (s *state) filesUsed() (used uint8) {
	for i := range s.ns {
		used |= s.snaps[i].files
	}
	for i := range s.wal {
		for _, f := range s.wal[i].files {
			used |= 1 << f
		}
	}
	for i := range s.in {
		for _, f := range s.in[i].items {
			used |= 1 << f
		}
	}
	for k := range s.nn {
		used |= s.net[k].files
	}
	return used &^ 1
}

// freeFile is a file that nothing names, other than not; 0 where there is none.
func (m *model) freeFile(s *state, not int8) int8 {
	used := s.filesUsed()
	for f := int8(1); f <= maxFiles; f++ {
		if used&(1<<f) == 0 && f != not {
			return f
		}
	}
	return 0
}

// freeID is a commit id that nothing names; 0 where there is none.
func (m *model) freeID(s *state) int8 {
	var used [128]bool
	for i := range s.ns {
		used[s.snaps[i].id] = true
	}
	for i := range s.in {
		used[s.in[i].id] = true
	}
	for k := range s.nn {
		used[s.net[k].id] = true
	}
	for id := int8(1); id <= maxIDs; id++ {
		if !used[id] && s.wal[id].topo == 0 {
			return id
		}
	}
	m.cut++
	return 0
}

// owned are the partitions that are read again when a file is: all of its writer's.
func (m *model) owned(s *state, f int8) (bits uint8) {
	if !m.b.byPartition {
		return 3
	}
	for p, r := range s.files[f].r {
		if r[0] < r[1] {
			bits |= 1 << p
		}
	}
	return bits
}

// finish: the group is through, and what is stale is read again from pos.
func (m *model) finish(c *state, i int8, stale uint8, pos [2]int8) {
	in := &c.in[i]
	if in.adopted {
		*in = inst{phase: 'd'}
		return
	}
	now := in.pos
	for p := range m.b.parts {
		if stale&(1<<p) == 0 {
			continue
		}
		if now[p] = pos[p]; pos[p] == none && !m.r.begin {
			now[p] = 0
		} else if pos[p] == none {
			*in = inst{phase: 'd'}
			return
		}
	}
	*in = inst{phase: 'r', pos: now}
}

// ack moves the consumer group's offset.
func (m *model) ack(c *state, files []int8) {
	if !m.b.acks {
		return
	}
	for _, f := range files {
		for p, r := range c.files[f].r {
			c.acked[p] = max(c.acked[p], r[1])
		}
	}
}

// ackable says what is wrong with acking a file's records: none may be acked that was never visible.
func (s *state) ackable(topo, f int8) string {
	var want, have [2][4][2]int8
	s.files[f].count(&want)
	for i := range s.ns {
		x := &s.snaps[i]
		for g := int8(1); g <= maxFiles; g++ {
			if x.files&(1<<g) != 0 && s.ownerOf(x) == topo {
				s.files[g].count(&have)
			}
		}
	}
	for p := range want {
		for o := range want[p] {
			for h := range want[p][o] {
				if want[p][o][h] > 0 && have[p][o][h] == 0 {
					return fmt.Sprintf("partition %d, offset %d is acked and was never visible", p, o)
				}
			}
		}
	}
	return ""
}

func (m *model) send(c *state, q req) {
	for k := range c.nn {
		if c.net[k] == q {
			return // the same request once more: only one of them can land, and it does not matter which
		}
	}
	if c.nn == maxNet {
		m.cut++
		return
	}
	c.net[c.nn] = q
	c.nn++
}

func (m *model) moves(s *state, out func(*state, string, func() string)) {
	m.out = out
	x := m.look(&s.table)
	for i := range int8(len(m.b.topo)) {
		switch s.in[i].phase {
		case 'd':
			m.starts(s, x, i)
		case 'b':
			m.beginning(s, x, i)
		case 'r':
			m.runs(s, x, i)
		}
		if ph := s.in[i].phase; (ph == 'r' || ph == 'b') && s.left.crash > 0 {
			m.add(s, "", func(c *state) {
				c.in[i] = inst{phase: 'd'}
				for k := range c.nn {
					switch {
					case m.b.alone: // what it sent has landed or is lost
						c.net[k] = req{base: -1}
					case c.net[k].who == i+1:
						c.net[k].who = 0
					}
				}
				c.left.crash--
			}, "%c crashes", 'A'+i)
		}
	}
	for k := range s.nn {
		m.arrives(s, k)
	}
	for id := int8(1); id <= maxIDs; id++ {
		if s.wal[id].topo != 0 {
			m.settles(s, x, id)
		}
	}
	m.others(s, x)
}
