package writer

import (
	"math"

	"github.com/stormfloe/floe/mapper"
)

// groups assigns rows to encoders by a hash of their key columns: rows of equal keys go to the same one.
type groups struct {
	keys []*leaf
	n    int
	hash []uint64
}

// assign writes the encoders of rows [from, to) to lane[from:to].
func (g *groups) assign(cs *mapper.Columns, from, to int, lane []uint8) {
	if len(g.hash) < to {
		g.hash = make([]uint64, max(to, stageRows))
	}
	h := g.hash[from:to]
	clear(h)
	for _, l := range g.keys {
		var buf [8]*mapper.Column
		c, parents := l.column(cs, buf[:0])
		m := maskOf(c, parents)
		for i := range h {
			v := uint64(0)
			if row := from + i; m.has(row) {
				v = keyHash(c, row)
			}
			h[i] = (h[i]*31 + v) * 0x9e3779b97f4a7c15
		}
	}
	for i, v := range h {
		lane[from+i] = uint8((v >> 32) % uint64(g.n))
	}
}

// keyHash hashes a value; equal values have equal hashes, and so have all NaNs and both zeros.
func keyHash(c *mapper.Column, i int) uint64 {
	switch c.Field.Type.Kind {
	case mapper.Float:
		return floatHash(float64(c.F32[i]))
	case mapper.Double:
		return floatHash(c.F64[i])
	case mapper.Decimal, mapper.UUID, mapper.Fixed, mapper.String, mapper.Binary:
		return uint64(murmur3(c.Slot(i))) + 1
	}
	return uint64(number(c, i)) + 1
}

func floatHash(f float64) uint64 {
	switch {
	case f == 0:
		return 1
	case f != f:
		return 2
	}
	return math.Float64bits(f)
}
