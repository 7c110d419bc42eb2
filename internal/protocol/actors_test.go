package protocol

// This file is what the instances of a topology do.

type model struct {
	r    rules
	b    bounds
	seen []*sight
	out  func(*state, string, func() string)
	// cut counts moves that were left out because an array is full: the bounds are then not what they say.
	cut int
}

// group is an instance's group, as the committer sees it.
type group struct {
	i    int8
	in   *inst
	v    *view
	topo int8
}

func (m *model) batches(s *state, g group) []Batch {
	out := make([]Batch, g.in.n)
	for k := range out {
		out[k] = Batch{Ranges: s.ranges(g.in.items[k])}
		switch {
		case g.in.adopted:
		case m.b.byPartition:
			out[k].Owner = Owner{Name: out[k].Ranges[0].Partition.String(), Epoch: 1}
		default:
			out[k].Owner = Owner{Name: "writer", Epoch: 1}
		}
	}
	return out
}

// starts: an instance loads the table, adopts or not what is in the WAL, and opens its partitions where the table stands.
func (m *model) starts(s *state, x *sight, i int8) {
	topo := m.b.topo[i]
	v := &x.v[topo-1]
	if v.stop {
		m.add(s, "", func(c *state) { c.in[i] = inst{phase: 's'} }, "%c stops and asks", 'A'+i)
		return
	}
	for id := int8(1); id <= maxIDs; id++ {
		if w := &s.wal[id]; w.topo == topo {
			m.adopts(s, v, i, id)
		}
	}
	if v.missing(m.b.parts) && m.r.begin {
		m.begins(s, v, i, 0)
		return
	}
	m.add(s, "", func(c *state) {
		c.in[i] = inst{phase: 'r', pos: m.open(c, v)}
		for p := range m.b.parts {
			if c.opened[p] == none {
				c.opened[p] = c.in[i].pos[p]
			}
		}
	}, "%c starts, the table holds %v", 'A'+i, v.pos)
}

func (v *view) missing(parts int8) bool {
	for p := range parts {
		if v.pos[p] == none {
			return true
		}
	}
	return false
}

// open is where an instance starts to read.
func (m *model) open(s *state, v *view) [2]int8 {
	pos := v.pos
	for p := range m.b.parts {
		if pos[p] == none {
			pos[p] = m.first(s, p)
		}
		if !m.r.atTable {
			pos[p] = s.acked[p]
		}
	}
	for p := m.b.parts; p < 2; p++ {
		pos[p] = 0
	}
	return pos
}

// first is where a partition starts that the table has no position for.
func (m *model) first(s *state, p int8) int8 {
	switch {
	case !m.r.atTable:
		return s.acked[p]
	case m.b.latest:
		return s.end[p]
	}
	return 0
}

func (m *model) adopts(s *state, v *view, i, id int8) {
	w := s.wal[id]
	take := func(c *state, mask uint8) {
		c.in[i] = inst{phase: 'r', id: id, since: int8(v.h.Since(base(w.base))), adopted: true}
		for k, f := range w.files {
			if f != 0 && mask&(1<<k) != 0 {
				c.in[i].items[c.in[i].n] = f
				c.in[i].n++
			}
		}
	}
	if !m.r.looking {
		m.add(s, "", func(c *state) { take(c, 3) }, "%c adopts commit %d without a look", 'A'+i, id)
		return
	}
	fate, fates := m.judge(s, v, id)
	if fate != Adopt {
		return
	}
	mask := uint8(0)
	for k, f := range fates {
		if f == BatchAdopt {
			mask |= 1 << k
		}
	}
	m.add(s, "", func(c *state) { take(c, mask) }, "%c adopts commit %d", 'A'+i, id)
}

// begins: positions of partitions that have none are recorded in a pinned empty append. id is that of the attempts before.
func (m *model) begins(s *state, v *view, i, id int8) {
	if id == 0 {
		if id = m.freeID(s); id == 0 {
			return
		}
	}
	at := v.pos
	for p := range m.b.parts {
		if at[p] == none {
			at[p] = m.first(s, p)
		}
	}
	m.add(s, "", func(c *state) {
		in := &c.in[i]
		if in.phase == 'd' {
			*in = inst{phase: 'b', id: id, since: c.ns}
		}
		in.sent, in.refused = true, false
		m.send(c, req{id: id, who: i + 1, topo: m.b.topo[i], base: c.head, at: at})
	}, "%c asks to record first positions %v as commit %d on snapshot %d", 'A'+i, at[:m.b.parts], id, s.head)
}

// beginning: an instance whose answer has not come looks again.
func (m *model) beginning(s *state, x *sight, i int8) {
	in, v := &s.in[i], &x.v[m.b.topo[i]-1]
	done := v.stop
	switch m.r.afterLook(in.last(), m.r.see(v.h, commitName(in.id), int64(in.since))) {
	case Settled, GiveBack:
		done = true
	}
	if done || !v.missing(m.b.parts) {
		m.add(s, "", func(c *state) { c.in[i] = inst{phase: 'd'} }, "%c looks again and is done with first positions", 'A'+i)
		return
	}
	m.begins(s, v, i, in.id)
}

func (in *inst) last() Answer {
	switch {
	case !in.sent:
		return 0
	case in.refused:
		return Refused
	}
	return Unknown
}

// runs: an instance seals batches, or does as the committer does with its group.
func (m *model) runs(s *state, x *sight, i int8) {
	in, topo := &s.in[i], m.b.topo[i]
	g := group{i, in, &x.v[topo-1], topo}
	if in.id == 0 {
		if in.n < m.b.group {
			m.seals(s, g)
		}
		if in.n == 0 {
			return
		}
	}
	if g.v.stop {
		m.add(s, "", func(c *state) { c.in[i] = inst{phase: 's'} }, "%c stops and asks", 'A'+i)
		return
	}
	next := Again
	if in.sent || in.adopted {
		next = m.r.afterLook(in.last(), m.r.see(g.v.h, commitName(in.id), int64(in.since)))
	}
	switch next {
	case Settled:
		m.settled(s, g)
	case Never, GiveBack:
		m.add(s, "", func(c *state) { m.finish(c, i, 3, g.v.pos) }, "%c gives commit %d up and reads again from %v", 'A'+i, in.id, g.v.pos)
	default:
		m.attempts(s, g)
	}
}

// settled: the commit id is on the branch. What its positions cover is acked.
func (m *model) settled(s *state, g group) {
	var stale uint8
	bad := ""
	for _, f := range g.in.items[:g.in.n] {
		if !m.r.held(g.v.at, s.ranges(f)) {
			stale |= m.owned(s, f)
			continue
		}
		bad = cmpOr(bad, s.ackable(g.topo, f))
	}
	m.add(s, bad, func(c *state) {
		c.wal[g.in.id] = note{}
		m.ack(c, g.in.items[:g.in.n])
		m.finish(c, g.i, stale, g.v.pos)
	}, "%c finds commit %d on the branch", 'A'+g.i, g.in.id)
}

// attempts: each batch is judged on what the table holds now, and what may be committed is sent.
func (m *model) attempts(s *state, g group) {
	i, in := g.i, g.in
	if !m.r.keepOnUnknown && in.sent {
		m.add(s, "", func(c *state) {
			for _, f := range in.items[:in.n] {
				c.deleted |= 1 << f
			}
			m.finish(c, i, 3, g.v.pos)
		}, "%c gets no answer for commit %d and deletes its files", 'A'+i, in.id)
		return
	}
	bs := m.batches(s, g)
	fates, _ := m.r.judgeGroup(g.v.at, bs, func(k int) bool { return !s.gone(in.items[k]) })
	if !m.r.everyTime && in.sent || !m.r.looking && in.adopted {
		for k := range fates {
			fates[k] = Commit
		}
	}
	var keep, there []int8
	stale, bad := in.stale, ""
	for k, f := range in.items[:in.n] {
		switch fates[k] {
		case Commit:
			keep = append(keep, f)
		case AlreadyThere:
			there = append(there, f)
			bad = cmpOr(bad, s.ackable(g.topo, f))
		default:
			stale |= m.owned(s, f)
		}
	}
	if m.b.alone && !in.sent && !in.adopted && len(keep) < int(in.n) {
		bad = cmpOr(bad, "a batch was sealed in vain, although nobody else is there")
	}
	if len(keep) == 0 {
		m.add(s, bad, func(c *state) {
			m.ack(c, there)
			m.finish(c, i, stale, g.v.pos)
		}, "%c: of commit %d nothing is left to do, reads on from %v", 'A'+i, in.id, g.v.pos)
		return
	}
	id := in.id
	if id == 0 {
		if id = m.freeID(s); id == 0 {
			return
		}
	}
	q := req{id: id, who: i + 1, topo: g.topo, base: s.head, at: g.v.pos}
	for _, f := range keep {
		q.files |= 1 << f
		for p, r := range s.files[f].r {
			if r[0] < r[1] {
				q.at[p] = r[1]
			}
		}
	}
	if !m.r.ackLate {
		for _, f := range keep {
			bad = cmpOr(bad, s.ackable(g.topo, f))
		}
	}
	m.add(s, bad, func(c *state) {
		m.ack(c, there)
		n := &c.in[i]
		if !n.sent && !n.adopted {
			n.since = c.ns
		}
		n.id, n.sent, n.refused, n.stale, n.items, n.n = id, true, false, stale, [2]int8{}, int8(copy(n.items[:], keep))
		copy(n.items[:], keep)
		if !n.adopted && c.wal[id].files != n.items {
			c.wal[id] = note{n.items, c.head, g.topo}
		}
		m.send(c, q)
	}, "%c sends commit %d of files %v on snapshot %d", 'A'+i, id, keep, s.head)
}

// seals: a batch is written from where the instance reads.
func (m *model) seals(s *state, g group) {
	in := g.in
	for _, d := range m.b.kinds {
		to := [2]int8{in.pos[0] + d[0], in.pos[1] + d[1]}
		if to[0] > s.end[0] || to[1] > s.end[1] || m.b.parts == 1 && d[1] != 0 {
			continue
		}
		f := m.freeFile(s, 0)
		more := m.freeFile(s, f)
		if f == 0 || !m.r.joined && more == 0 {
			m.cut++
			continue
		}
		x := file{half: 3}
		for p := range 2 {
			if d[p] > 0 {
				x.r[p] = [2]int8{in.pos[p], to[p]}
			}
		}
		m.add(s, "", func(c *state) {
			n := &c.in[g.i]
			n.pos = to
			halves := []uint8{3}
			if !m.r.joined {
				halves = []uint8{1, 2}
			}
			for k, h := range halves {
				x.half = h
				id := []int8{f, more}[k]
				c.files[id] = x
				n.items[n.n] = id
				n.n++
			}
		}, "%c seals %v as file %d", 'A'+g.i, x.r[:m.b.parts], f)
	}
}
