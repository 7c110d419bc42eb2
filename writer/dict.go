package writer

import (
	"hash/maphash"
	"math"

	"github.com/stormfloe/floe/internal/parquetfile"
	"github.com/stormfloe/floe/mapper"
)

const (
	// dictSample is how many values of a column are looked at.
	dictSample = 1024
	// dictMinSample is the least number that means anything.
	dictMinSample = 32
	// dictShare: a dictionary pays where at most one value in so many is a new one.
	dictShare = 8
)

var dictSeed = maphash.MakeSeed()

// chooseDict says which leaves get a dictionary: those whose first rows have few distinct values, unless the table's
// properties decide. A dictionary on a column of distinct values costs twice: it is built, and then given up. seen is
// scratch.
func chooseDict(p *plan, cs *mapper.Columns, seen map[uint64]struct{}) []parquetfile.Dict {
	out := make([]parquetfile.Dict, len(p.leaves))
	for i := range p.leaves {
		l := &p.leaves[i]
		on, ok := p.set.dictCols[l.name]
		if !ok {
			on, ok = p.set.dictCols[l.parquetPath]
		}
		if ok {
			if on && l.typ.Kind != mapper.Boolean {
				out[i] = parquetfile.KeepDict
			}
			continue
		}
		if p.set.dict != nil && !*p.set.dict || l.typ.Kind == mapper.Boolean || p.set.delta && parquetfile.DeltaKind(l.typ.Kind) {
			continue
		}
		c, _ := l.column(cs, nil)
		clear(seen)
		if fewDistinct(c, seen) {
			out[i] = parquetfile.TryDict
		}
	}
	return out
}

// fewDistinct looks at values spread over the column.
func fewDistinct(c *mapper.Column, seen map[uint64]struct{}) bool {
	step := max(1, c.Len/dictSample)
	n := 0
	for i := 0; i < c.Len; i += step {
		if c.IsNull(i) {
			continue
		}
		n++
		seen[valueHash(c, i)] = struct{}{}
		if len(seen) > dictSample/dictShare {
			return false
		}
	}
	return n >= dictMinSample && len(seen)*dictShare <= n
}

func valueHash(c *mapper.Column, i int) uint64 {
	switch c.Field.Type.Kind {
	case mapper.Int, mapper.Date:
		return uint64(c.I32[i])
	case mapper.Float:
		return uint64(math.Float32bits(c.F32[i]))
	case mapper.Double:
		return math.Float64bits(c.F64[i])
	case mapper.Decimal, mapper.UUID, mapper.Fixed, mapper.String, mapper.Binary:
		return maphash.Bytes(dictSeed, c.Slot(i))
	}
	return uint64(c.I64[i])
}
