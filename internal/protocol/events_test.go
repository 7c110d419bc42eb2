package protocol

import (
	"github.com/stormfloe/floe/source"
)

// This file is what the network, other engines and operators do.

// push makes a snapshot on the head; false where there is no room.
func (m *model) push(c *state, x snap) bool {
	if c.ns == maxSnaps {
		m.cut++
		return false
	}
	x.parent, x.prop = c.head, c.prop
	if x.val != (value{}) && !m.b.noProperty {
		x.prop = c.ns + 1
	}
	c.snaps[c.ns] = x
	c.ns++
	c.head, c.prop = c.ns, x.prop
	return true
}

// valueAfter is the value of a commit on the head: the newest one carried on, doubts, and the topology's positions.
func (m *model) valueAfter(t *table, topo int8, at [2]int8) value {
	f := m.look(t).v[topo-1].f
	v := valueOf(f.Value)
	for _, d := range f.Doubts {
		for i, name := range topoNames {
			if name == d && int8(i)+1 != topo {
				v[i] = entryOf{mark: isUnclear}
			}
		}
	}
	v[topo-1] = entryOf{isKnown, at}
	return v
}

// arrives: a request reaches the catalog, however late.
func (m *model) arrives(s *state, k int8) {
	q := s.net[k]
	leaves := func(c *state) {
		copy(c.net[k:], c.net[k+1:])
		c.nn--
		c.net[c.nn] = req{}
	}
	waits := q.who != 0 && s.in[q.who-1].sent && s.in[q.who-1].id == q.id && s.in[q.who-1].mask() == q.files
	if q.base != s.head && m.r.pinned {
		m.add(s, "", leaves, "commit %d on snapshot %d is refused", q.id, q.base)
		return
	}
	if waits && s.left.refuse > 0 {
		m.add(s, "", func(c *state) {
			leaves(c)
			c.left.refuse--
			c.in[q.who-1].refused = true
		}, "commit %d is refused as a bad request", q.id)
	}
	if s.ns == maxSnaps {
		m.cut++
		return
	}
	land := func(c *state) {
		leaves(c)
		m.push(c, snap{topo: q.topo, id: q.id, files: q.files, val: m.valueAfter(&c.table, q.topo, q.at)})
	}
	m.add(s, "", land, "commit %d lands as snapshot %d, its answer is lost", q.id, s.ns+1)
	if !waits {
		return
	}
	if s.left.refuse > 0 {
		m.add(s, "", func(c *state) {
			land(c)
			c.left.refuse--
			c.in[q.who-1].refused = true
		}, "commit %d lands as snapshot %d, a copy of it is refused as a bad request", q.id, s.ns+1)
	}
	m.add(s, "", func(c *state) {
		land(c)
		in := &c.in[q.who-1]
		if in.phase == 'b' {
			*in = inst{phase: 'd'}
			return
		}
		c.wal[q.id] = note{}
		m.ack(c, in.items[:in.n])
		m.finish(c, q.who-1, in.stale, q.at)
	}, "commit %d lands as snapshot %d, %c gets its answer", q.id, s.ns+1, 'A'+q.who-1)
}

func (in *inst) mask() (bits uint8) {
	for _, f := range in.items[:in.n] {
		bits |= 1 << f
	}
	return bits
}

func (m *model) judge(s *state, v *view, id int8) (EntryFate, []BatchFate) {
	w := &s.wal[id]
	fate, fates := m.r.entry(m.entryFacts(s, v, id), v.at, func(rs []source.Range) bool {
		return m.low(v.h, v.h.Since(base(w.base)), w.topo, rs)
	})
	some := false
	for i, f := range fates {
		if !m.r.ownProof && f != BatchKeep && w.base != s.head {
			fates[i] = BatchDelete
		}
		some = some || fates[i] == BatchDelete
	}
	for i := range fates {
		if some && !m.r.ownRange {
			fates[i] = BatchDelete
		}
	}
	return fate, fates
}

// settles: somebody settles an entry; adoption is for those who start.
func (m *model) settles(s *state, x *sight, id int8) {
	v := &x.v[s.wal[id].topo-1]
	if v.stop {
		return
	}
	fate, fates := m.judge(s, v, id)
	if fate == Delete || fate == SetAside {
		m.add(s, "", func(c *state) { c.wal[id] = note{} }, "entry of commit %d is removed, it landed", id)
		return
	}
	var files uint8
	k := 0
	for _, f := range s.wal[id].files {
		if f == 0 {
			continue
		}
		if fates[k] == BatchDelete {
			files |= 1 << f
		}
		k++
	}
	if fate == Abandon || files&^s.deleted != 0 {
		m.add(s, "", func(c *state) {
			if m.b.slow {
				c.doomed |= files
			} else {
				c.deleted |= files
			}
			if fate == Abandon {
				c.wal[id] = note{}
			}
		}, "entry of commit %d: files %07b are deleted by proof", id, files>>1)
	}
}

// others: another engine, an operator, expiry.
func (m *model) others(s *state, x *sight) {
	if s.ns < maxSnaps {
		if s.left.foreign > 0 {
			m.add(s, "", func(c *state) { c.left.foreign--; m.push(c, snap{}) }, "another engine commits snapshot %d", s.ns+1)
		}
		if s.left.rewrite > 0 {
			m.add(s, "", func(c *state) { c.left.rewrite--; m.push(c, snap{flags: rewritten}) }, "another engine rewrites everything in snapshot %d", s.ns+1)
		}
	} else if s.left.foreign+s.left.rewrite+s.left.pick > 0 {
		m.cut++
	}
	for id := int8(1); id <= s.ns; id++ {
		m.operator(s, id)
	}
	if s.left.expire > 0 && s.ns > 1 {
		m.expires(s)
	}
	if s.left.forget > 0 {
		m.add(s, "", func(c *state) {
			c.left.forget--
			for i := range c.ns {
				if c.snaps[i].is(expired) {
					c.snaps[i].flags |= forgotten
				}
			}
		}, "the metadata log forgets what has expired")
	}
	m.persons(s, x)
	for p := range m.b.parts {
		if s.left.grow > 0 && s.end[p] < m.b.offs {
			m.add(s, "", func(c *state) { c.left.grow--; c.end[p]++ }, "a record comes to partition %d", p)
		}
	}
}

// operator sets the branch to a snapshot, picks it onto the branch, or lets it expire.
func (m *model) operator(s *state, id int8) {
	y := &s.snaps[id-1]
	if id == s.head || y.is(expired) {
		return
	}
	if s.left.roll > 0 {
		m.add(s, "", func(c *state) {
			c.left.roll--
			c.head = id
			if m.b.headless {
				c.prop = c.snaps[id-1].prop
			}
		}, "the branch is set to snapshot %d", id)
	}
	if s.left.single > 0 {
		m.add(s, "", func(c *state) { c.left.single--; c.expire(func(i int8) bool { return i == id }) }, "snapshot %d alone expires", id)
	}
	// As the Java library has it: not from the branch, not twice, and the next one is a roll forward.
	if s.left.pick == 0 || y.parent == s.head || s.ns == maxSnaps || s.onLine(id) {
		return
	}
	twice := false
	s.line(func(_ int8, x *snap) bool { twice = twice || x.picked == id; return true })
	if !twice {
		m.add(s, "", func(c *state) {
			c.left.pick--
			m.push(c, snap{picked: id, files: y.files})
		}, "snapshot %d is cherry-picked as %d", id, s.ns+1)
	}
}

// expires: all snapshots older than a time expire, except the head. What only snapshots off the branch added is deleted:
// after the snapshots are gone from the metadata, so that somebody may see the files a while longer.
func (m *model) expires(s *state) {
	last := uint16(0)
	for t := int8(2); t <= s.ns+1; t++ {
		set := uint16(0)
		for id := int8(1); id < t; id++ {
			if id != s.head && !s.snaps[id-1].is(expired) {
				set |= 1 << id
			}
		}
		if set == last {
			continue
		}
		last = set
		m.add(s, "", func(c *state) { c.left.expire--; c.expire(func(id int8) bool { return set&(1<<id) != 0 }) },
			"all before snapshot %d expire, with files that only snapshots off the branch added", t)
	}
}

// expire takes snapshots out of the metadata. Files go that only one of them added, which nothing retained stands on or was
// picked from; that another snapshot has added the same file once more does not save it.
func (s *state) expire(which func(int8) bool) {
	var gone, stands [maxSnaps + 1]bool
	for id := int8(1); id <= s.ns; id++ {
		if y := &s.snaps[id-1]; id != s.head && which(id) && !y.is(expired) {
			gone[id] = true
			y.flags |= expired
		}
	}
	for id := int8(1); id <= s.ns; id++ {
		if s.snaps[id-1].is(expired) {
			continue
		}
		for up := id; up != 0; up = s.snaps[up-1].parent {
			stands[s.origin(up)] = true
		}
	}
	for id := int8(1); id <= s.ns; id++ {
		if gone[id] && !stands[s.origin(id)] {
			s.doomed |= s.snaps[id-1].files
		}
	}
}

// origin is the snapshot whose files one has added, also where it was picked, and where that one was.
func (s *state) origin(id int8) int8 {
	for s.snaps[id-1].picked != 0 {
		id = s.snaps[id-1].picked
	}
	return id
}

// persons answer where floe asks: with what the table holds, where positions can say it. And they set positions lower.
func (m *model) persons(s *state, x *sight) {
	for i := range m.b.topologies() {
		v, topo := &x.v[i], int8(i)+1
		if v.stop && s.left.set > 0 && s.ns < maxSnaps {
			if at, ok := m.truth(s, topo); ok {
				m.add(s, "", func(c *state) {
					c.left.set--
					m.push(c, snap{topo: topo, id: person, flags: setBack, val: m.valueAfter(&c.table, topo, at)})
					for k := range c.in {
						if c.in[k].phase == 's' && m.b.topo[k] == topo {
							c.in[k] = inst{phase: 'd'}
						}
					}
				}, "a person says that %s stands at %v", topoNames[i], at[:m.b.parts])
			}
		}
		if v.known && v.pos[0] > 0 && s.left.lower > 0 && s.ns < maxSnaps {
			at := v.pos
			at[0] = 0
			m.add(s, "", func(c *state) {
				c.left.lower--
				m.push(c, snap{topo: topo, id: person, flags: setBack, val: m.valueAfter(&c.table, topo, at)})
			}, "a person wants the rows of %s, partition 0, once more", topoNames[i])
		}
	}
}

// truth is where the table stands by its rows; false where no position says it.
func (m *model) truth(s *state, topo int8) (at [2]int8, ok bool) {
	c := s.rows(topo)
	at = [2]int8{none, none}
	for p := range m.b.parts {
		at[p] = 0
		for o := range c[p] {
			a, b := c[p][o][0], c[p][o][1]
			if a != b || a > 1 || a == 1 && at[p] != int8(o) {
				return at, false
			}
			at[p] += a
		}
	}
	return at, true
}
