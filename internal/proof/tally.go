package proof

import (
	"maps"
	"slices"
)

// chunk is how many positions lie side by side in a tally.
const chunk = 1024

// tally counts rows by partition and position: those added less those dropped less those expected.
type tally struct {
	parts map[int32]map[int64]*[chunk]int16
	// part, at and last are the chunk of the last count: rows come in order, mostly.
	part int32
	at   int64
	last *[chunk]int16
	// rows are those added less those dropped, by partition.
	rows map[int32]int64
}

func newTally() *tally {
	return &tally{parts: map[int32]map[int64]*[chunk]int16{}, rows: map[int32]int64{}}
}

func (t *tally) empty() bool { return len(t.parts) == 0 }

// row counts a row that is added, or dropped with -1.
func (t *tally) row(r row, n int16) {
	t.add(r.part, r.off, n)
	t.rows[r.part] += int64(n)
}

// add counts n at a position, which is 0 or more.
func (t *tally) add(part int32, off int64, n int16) { t.chunk(part, off/chunk)[off%chunk] += n }

func (t *tally) chunk(part int32, at int64) *[chunk]int16 {
	if t.last != nil && t.part == part && t.at == at {
		return t.last
	}
	p := t.parts[part]
	if p == nil {
		p = map[int64]*[chunk]int16{}
		t.parts[part] = p
	}
	c := p[at]
	if c == nil {
		c = new([chunk]int16)
		p[at] = c
	}
	t.part, t.at, t.last = part, at, c
	return c
}

// expect counts one off at each position of a range.
func (t *tally) expect(part int32, s span) {
	for off := max(0, s.from); off < s.to; off++ {
		t.add(part, off, -1)
	}
}

// each calls f, in order, for every position whose count is not 0.
func (t *tally) each(f func(part int32, off int64, n int)) {
	for _, part := range slices.Sorted(maps.Keys(t.parts)) {
		p := t.parts[part]
		for _, at := range slices.Sorted(maps.Keys(p)) {
			for i, n := range p[at] {
				if n != 0 {
					f(part, at*chunk+int64(i), int(n))
				}
			}
		}
	}
}
