package writer

import (
	"bytes"
	"encoding/binary"

	"github.com/stormfloe/floe/mapper"
)

// leafStats gathers what the manifest says about one leaf of one file. It is counted from the columns that are written,
// not from the Parquet footer: that one has no NaN counts, and omits the bounds of long values.
type leafStats struct {
	values, nulls, nans int64
	// seen says that there is a value that is neither null nor NaN, so that the bounds mean something.
	seen               bool
	minInt, maxInt     int64
	minFloat, maxFloat float64
	min, max           []byte
	minKey, maxKey     uint64 // the first bytes of min and max, to compare most values without following a pointer
}

// update counts the rows of cs. Leaves below lists and maps are counted from the footer.
func (st *leafStats) update(l *leaf, cs *mapper.Columns) {
	if l.repeated || !l.mode.counts {
		return
	}
	var buf [8]*mapper.Column
	c, parents := l.column(cs, buf[:0])
	m := mask{c: c}
	for _, p := range parents {
		if p.Nulls > 0 {
			m.parents = append(m.parents, p)
		}
	}
	m.dense = c.Nulls == 0 && len(m.parents) == 0
	st.values += int64(c.Len)
	st.nulls += m.nulls()
	kind := l.typ.Kind
	if !l.mode.bounds && kind != mapper.Float && kind != mapper.Double {
		return
	}
	switch kind {
	case mapper.Boolean:
		st.bools(m)
	case mapper.Int, mapper.Date:
		lo, hi, ok := extremes(c.I32, m)
		st.ints(int64(lo), int64(hi), ok)
	case mapper.Float:
		lo, hi, nans, ok := floatExtremes(c.F32, m)
		st.floats(float64(lo), float64(hi), nans, ok)
	case mapper.Double:
		lo, hi, nans, ok := floatExtremes(c.F64, m)
		st.floats(lo, hi, nans, ok)
	case mapper.Decimal:
		st.decimals(m)
	case mapper.String, mapper.Binary, mapper.UUID, mapper.Fixed:
		st.bytes(m)
	default:
		lo, hi, ok := extremes(c.I64, m)
		st.ints(lo, hi, ok)
	}
}

// mask says which values of a column are there: neither null themselves nor below a null struct.
type mask struct {
	c       *mapper.Column
	parents []*mapper.Column // only those with nulls
	dense   bool
}

func (m *mask) has(i int) bool {
	if m.dense {
		return true
	}
	if m.c.IsNull(i) {
		return false
	}
	for _, p := range m.parents {
		if p.IsNull(i) {
			return false
		}
	}
	return true
}

func (m *mask) nulls() int64 {
	if len(m.parents) == 0 {
		return int64(m.c.Nulls)
	}
	var n int64
	for i := range m.c.Len {
		if !m.has(i) {
			n++
		}
	}
	return n
}

func extremes[T int32 | int64](vs []T, m mask) (lo, hi T, ok bool) {
	if m.dense {
		if len(vs) == 0 {
			return 0, 0, false
		}
		lo, hi = vs[0], vs[0]
		for _, v := range vs {
			lo, hi = min(lo, v), max(hi, v)
		}
		return lo, hi, true
	}
	for i, v := range vs {
		if !m.has(i) {
			continue
		}
		if !ok {
			lo, hi, ok = v, v, true
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi, ok
}

func floatExtremes[T float32 | float64](vs []T, m mask) (lo, hi T, nans int64, ok bool) {
	for i, v := range vs {
		switch {
		case !m.has(i):
		case v != v:
			nans++
		case !ok:
			lo, hi, ok = v, v, true
		case v < lo:
			lo = v
		case v > hi:
			hi = v
		}
	}
	return lo, hi, nans, ok
}

func (st *leafStats) ints(lo, hi int64, ok bool) {
	if !ok {
		return
	}
	if !st.seen {
		st.minInt, st.maxInt, st.seen = lo, hi, true
		return
	}
	st.minInt, st.maxInt = min(st.minInt, lo), max(st.maxInt, hi)
}

func (st *leafStats) floats(lo, hi float64, nans int64, ok bool) {
	st.nans += nans
	if !ok {
		return
	}
	if !st.seen {
		st.minFloat, st.maxFloat, st.seen = lo, hi, true
		return
	}
	st.minFloat, st.maxFloat = min(st.minFloat, lo), max(st.maxFloat, hi)
}

func (st *leafStats) bools(m mask) {
	for i := range m.c.Len {
		if !m.has(i) {
			continue
		}
		var v int64
		if m.c.Bool(i) {
			v = 1
		}
		st.ints(v, v, true)
	}
}

func (st *leafStats) decimals(m mask) {
	for i := range m.c.Len {
		if !m.has(i) {
			continue
		}
		v := m.c.Slot(i)
		if !st.seen {
			st.first(v)
			continue
		}
		if compareDecimal(v, st.min) < 0 {
			st.min = append(st.min[:0], v...)
		}
		if compareDecimal(v, st.max) > 0 {
			st.max = append(st.max[:0], v...)
		}
	}
}

func (st *leafStats) first(v []byte) {
	st.min, st.max, st.seen = append(st.min[:0], v...), append(st.max[:0], v...), true
	st.minKey = prefixKey(v)
	st.maxKey = st.minKey
}

// bytes orders values by their bytes, unsigned: UTF-8 text has the order of its code points that way.
func (st *leafStats) bytes(m mask) {
	for i := range m.c.Len {
		if !m.has(i) {
			continue
		}
		v := m.c.Slot(i)
		if !st.seen {
			st.first(v)
			continue
		}
		key := prefixKey(v)
		if key <= st.minKey && (key < st.minKey || bytes.Compare(v, st.min) < 0) {
			st.min, st.minKey = append(st.min[:0], v...), key
		}
		if key >= st.maxKey && (key > st.maxKey || bytes.Compare(v, st.max) > 0) {
			st.max, st.maxKey = append(st.max[:0], v...), key
		}
	}
}

// prefixKey has the order of the first eight bytes; shorter values are padded with zeros, so equal keys prove nothing.
func prefixKey(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	var k uint64
	for i, b := range v {
		k |= uint64(b) << (56 - 8*i)
	}
	return k
}
