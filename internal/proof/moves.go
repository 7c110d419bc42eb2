package proof

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go/table"
)

// span is a half-open range of positions.
type span struct{ from, to int64 }

// moves is what a snapshot's positions say that it adds.
type moves struct {
	// next is where the topologies stand after it; nil where they stand as before.
	next standing
	// rows are the ranges, by partition: one for each topology.
	rows map[int32][]span
	// limits are the highest positions after the snapshot, of its topology where it names one.
	limits map[int32]int64
	// starts are the lowest positions that are judged, by partition.
	starts map[int32]int64
	// counted is how many rows there are more by the counts; nil where they can't be compared.
	counted map[int32]int64
}

func (m moves) asked(part int32, off int64) bool {
	return slices.ContainsFunc(m.rows[part], func(s span) bool { return s.from <= off && off < s.to })
}

func (m moves) limit(part int32) int64 { return m.limits[part] }

func (m moves) unjudged(part int32, off int64) bool { return off < m.starts[part] }

// moves compares where topologies stand with where they stood; a nil next is no change. empty says that the snapshot adds
// no file.
func (c *checker) moves(s *table.Snapshot, next standing, oldest, empty bool) moves {
	m := moves{next: next, rows: map[int32][]span{}, limits: map[int32]int64{}, starts: map[int32]int64{}}
	if next != nil && !oldest {
		m.counted = map[int32]int64{}
	}
	after := next
	if after == nil {
		after = c.at
	}
	named := ""
	if s.Summary != nil {
		named = s.Summary.Properties[keyTopology]
	}
	ours := slices.Contains(c.o.Topologies, named)
	for _, name := range slices.Sorted(slices.Values(c.o.Topologies)) {
		for id, p := range after[name] {
			if !ours || name == named {
				m.limits[id] = max(m.limits[id], p.next)
			}
		}
		if next == nil {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(c.at[name])) {
			if _, still := next[name][id]; !still {
				c.find(Finding{Kind: Backward, Partition: id, Snapshot: s.SnapshotID,
					Detail: fmt.Sprintf("%s: the position %d is gone", name, c.at[name][id].next)})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(next[name])) {
			c.move(&m, s, name, id, next[name][id], oldest, empty)
		}
	}
	return m
}

// move is one partition's part of moves.
func (c *checker) move(m *moves, s *table.Snapshot, name string, id int32, to place, oldest, empty bool) {
	from, known := c.at[name][id]
	if oldest {
		low := int64(0)
		if c.o.SetByHand {
			low = to.start
			m.starts[id] = max(m.starts[id], low)
		}
		m.rows[id] = append(m.rows[id], span{low, to.next})
		return
	}
	anew := known && to.life != from.life && from.life != anyLife
	if c.o.SetByHand && empty && to.next == to.start && (to.next != from.next || anew) {
		c.report.SetByHand++
		return
	}
	back := Finding{Kind: Backward, Partition: id, Position: to.next, Snapshot: s.SnapshotID}
	switch {
	case anew:
		back.Detail = fmt.Sprintf("%s: from the life %q of the topic to %q", name, from.life, to.life)
		c.find(back)
	case to.next < from.next:
		back.Detail = fmt.Sprintf("%s: from %d to %d", name, from.next, to.next)
		c.find(back)
	}
	// What was passed once is there: rows that a step back brings again are Doubled, too.
	m.rows[id] = append(m.rows[id], span{from.top, to.next})
	if from.life == anyLife {
		m.counted = nil // nobody knows what was counted before
	} else if m.counted != nil {
		m.counted[id] += to.rows - from.rows
	}
	to.top = max(from.top, to.next)
	m.next[name][id] = to
}
