package protocol

import (
	"fmt"
	"slices"

	"github.com/stormfloe/floe/source"
)

// This file is the promise: what must hold in every state.

// line calls f from the head down, also where snapshots have expired: this is the truth, not what can be seen.
func (t *table) line(f func(id int8, s *snap) bool) {
	for id := t.head; id != 0; {
		s := &t.snaps[id-1]
		if !f(id, s) {
			return
		}
		id = s.parent
	}
}

func (t *table) onLine(id int8) (on bool) {
	t.line(func(i int8, _ *snap) bool { on = i == id; return !on })
	return on
}

// rows counts the halves of each row that the head has of a topology.
func (s *state) rows(topo int8) (c [2][4][2]int8) {
	s.line(func(_ int8, x *snap) bool {
		if owner := s.ownerOf(x); owner == topo {
			for f := 1; f <= maxFiles; f++ {
				if x.files&(1<<f) != 0 {
					s.files[f].count(&c)
				}
			}
		}
		return true
	})
	return c
}

func (f *file) count(c *[2][4][2]int8) {
	for p, r := range f.r {
		for o := r[0]; o < r[1]; o++ {
			for h := range 2 {
				if f.half&(1<<h) != 0 {
					c[p][o][h]++
				}
			}
		}
	}
}

// ownerOf is the topology whose rows a snapshot adds, also where they were picked.
func (s *state) ownerOf(x *snap) int8 {
	for x.picked != 0 {
		x = &s.snaps[x.picked-1]
	}
	return x.topo
}

func (s *state) ranges(f int8) []source.Range { return s.files[f].ranges() }

func (f *file) ranges() (out []source.Range) {
	for p, r := range f.r {
		if r[0] < r[1] {
			out = append(out, source.Range{Partition: mPart(p), From: source.Position(r[0]), To: source.Position(r[1])})
		}
	}
	return out
}

// check compares the table with what its positions promise.
func (m *model) check(s *state) string {
	live := true
	bad := ""
	s.line(func(id int8, x *snap) bool {
		if lost := x.files & (s.deleted | s.doomed); live && lost != 0 {
			bad = fmt.Sprintf("snapshot %d names a deleted file", id)
		}
		live = live && !x.is(rewritten)
		return bad == ""
	})
	if bad != "" {
		return bad
	}
	x := m.look(&s.table)
	for i := range m.b.topologies() {
		if bad := m.checkTopology(s, &x.v[i], int8(i)+1); bad != "" {
			return bad
		}
	}
	return m.checkHead(s)
}

func (m *model) checkTopology(s *state, v *view, topo int8) string {
	if v.stop {
		if !m.asks(s) {
			return fmt.Sprintf("%s is asked about without a reason", topoNames[topo-1])
		}
		return ""
	}
	if s.left.lower != m.b.left.lower {
		return "" // a person wanted rows again
	}
	c := s.rows(topo)
	for p := range c {
		for o := range c[p] {
			for _, n := range c[p][o] {
				what := ""
				switch below := int8(o) < v.pos[p]; {
				case n > 1:
					what = fmt.Sprintf("there %d times", n)
				case n == 0 && below && s.opened[p] != none && int8(o) >= s.opened[p]:
					what = fmt.Sprintf("lost below position %d", v.pos[p])
				case n == 1 && !below:
					what = fmt.Sprintf("there beyond position %d", v.pos[p])
				case n == 1 && int8(o) < s.opened[p]:
					what = "there although the stream was to start behind it"
				}
				if what != "" {
					return fmt.Sprintf("%s, partition %d, offset %d: %s", topoNames[topo-1], p, o, what)
				}
			}
		}
	}
	return ""
}

// asks says that something has happened after which a person may be asked.
func (m *model) asks(s *state) bool {
	a, b := s.left, m.b.left
	return a.roll != b.roll || a.pick != b.pick || a.forget != b.forget || m.b.noProperty && (a.expire != b.expire || a.single != b.single)
}

// checkHead: along a line positions never go back, unless a person set them, and no topology is left out.
func (m *model) checkHead(s *state) string {
	if s.head == 0 {
		return ""
	}
	head := &s.snaps[s.head-1]
	if head.val == (value{}) || head.is(setBack) {
		return ""
	}
	for id := head.parent; id != 0; id = s.snaps[id-1].parent {
		old := s.snaps[id-1].val
		if old == (value{}) {
			continue
		}
		for i, e := range old {
			now := head.val[i]
			for p := range e.at {
				if e.mark == isKnown && now.mark == isKnown && now.at[p] < e.at[p] {
					return fmt.Sprintf("%s, partition %d: position goes back from %d to %d", topoNames[i], p, e.at[p], now.at[p])
				}
			}
			if e.mark != notIn && now.mark == notIn || e.mark == isKnown && now.mark == isUnclear && !m.asks(s) {
				return fmt.Sprintf("the positions of %s were not carried on", topoNames[i])
			}
		}
		break
	}
	return ""
}

func (m *model) goal(s *state) bool {
	x := m.look(&s.table)
	for i := range m.b.topologies() {
		if !x.v[i].known || !slices.Equal(x.v[i].pos[:m.b.parts], m.full()) {
			return false
		}
	}
	return true
}
