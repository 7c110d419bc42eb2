package parquetfile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/stormfloe/floe/mapper"
)

// Stats are the least and the greatest of some values of a leaf, and how many there are. Which fields hold them depends
// on the kind.
type Stats struct {
	// Values counts the values, nulls (and empty lists) included; Nulls those. NaNs counts floating-point values that
	// are no number, which are never a bound.
	Values, Nulls, NaNs int64
	// Seen says that there is a value that is neither null nor NaN, so that the bounds mean something.
	Seen bool
	// MinInt and MaxInt: booleans, integers, dates and times.
	MinInt, MaxInt int64
	// MinFloat and MaxFloat: Float and Double.
	MinFloat, MaxFloat float64
	// Min and Max: String, Binary, UUID, Fixed (in the order of their unsigned bytes) and Decimal (as it lies in the
	// columns, in the order of its values).
	Min, Max []byte

	minKey, maxKey uint64 // the first bytes of Min and Max, to compare most values without following a pointer
}

// reset keeps the buffers.
func (st *Stats) reset() { *st = Stats{Min: st.Min[:0], Max: st.Max[:0]} }

// add takes values of one kind into account.
func (st *Stats) add(t *mapper.Type, v *values) {
	if v.n == 0 {
		return
	}
	switch t.Kind {
	case mapper.Boolean:
		for _, b := range v.bools {
			st.ints(int64(b), int64(b))
		}
	case mapper.Int, mapper.Date:
		lo, hi := extremes(v.i32)
		st.ints(int64(lo), int64(hi))
	case mapper.Float:
		lo, hi, nans, ok := floatExtremes(v.f32)
		st.floats(float64(lo), float64(hi), nans, ok)
	case mapper.Double:
		lo, hi, nans, ok := floatExtremes(v.f64)
		st.floats(lo, hi, nans, ok)
	case mapper.Decimal, mapper.String, mapper.Binary, mapper.UUID, mapper.Fixed:
		w := slotWidth(t)
		for i := range v.n {
			st.bytes(t, v.at(i, w))
		}
	default:
		st.ints(extremes(v.i64))
	}
}

// merge takes over what other has seen of the same leaf.
func (st *Stats) merge(t *mapper.Type, other *Stats) {
	st.Values, st.Nulls = st.Values+other.Values, st.Nulls+other.Nulls
	st.floats(other.MinFloat, other.MaxFloat, other.NaNs, false)
	if !other.Seen {
		return
	}
	switch t.Kind {
	case mapper.Float, mapper.Double:
		st.floats(other.MinFloat, other.MaxFloat, 0, true)
	case mapper.Decimal, mapper.String, mapper.Binary, mapper.UUID, mapper.Fixed:
		st.bytes(t, other.Min)
		st.bytes(t, other.Max)
	default:
		st.ints(other.MinInt, other.MaxInt)
	}
}

func extremes[T int32 | int64](vs []T) (lo, hi T) {
	lo, hi = vs[0], vs[0]
	for _, v := range vs {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

func floatExtremes[T float32 | float64](vs []T) (lo, hi T, nans int64, ok bool) {
	for _, v := range vs {
		switch {
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

func (st *Stats) ints(lo, hi int64) {
	if !st.Seen {
		st.MinInt, st.MaxInt, st.Seen = lo, hi, true
		return
	}
	st.MinInt, st.MaxInt = min(st.MinInt, lo), max(st.MaxInt, hi)
}

func (st *Stats) floats(lo, hi float64, nans int64, ok bool) {
	st.NaNs += nans
	if !ok {
		return
	}
	if !st.Seen {
		st.MinFloat, st.MaxFloat, st.Seen = lo, hi, true
		return
	}
	st.MinFloat, st.MaxFloat = min(st.MinFloat, lo), max(st.MaxFloat, hi)
}

// bytes orders values by their bytes, unsigned: UTF-8 text has the order of its code points that way. Decimals have an
// order of their own.
func (st *Stats) bytes(t *mapper.Type, v []byte) {
	decimal := t.Kind == mapper.Decimal
	var key uint64
	if !decimal {
		key = prefixKey(v)
	}
	if !st.Seen {
		if st.Min == nil { // an empty value is a bound too, and nil would be none
			st.Min, st.Max = make([]byte, 0, 16), make([]byte, 0, 16)
		}
		st.Min, st.Max, st.Seen = append(st.Min[:0], v...), append(st.Max[:0], v...), true
		st.minKey, st.maxKey = key, key
		return
	}
	if decimal {
		if compareDecimal(v, st.Min) < 0 {
			st.Min = append(st.Min[:0], v...)
		}
		if compareDecimal(v, st.Max) > 0 {
			st.Max = append(st.Max[:0], v...)
		}
		return
	}
	if key <= st.minKey && (key < st.minKey || bytes.Compare(v, st.Min) < 0) {
		st.Min, st.minKey = append(st.Min[:0], v...), key
	}
	if key >= st.maxKey && (key > st.maxKey || bytes.Compare(v, st.Max) > 0) {
		st.Max, st.maxKey = append(st.Max[:0], v...), key
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

// compareDecimal compares two of the columns' decimals.
func compareDecimal(a, b []byte) int {
	ha, hb := int64(binary.LittleEndian.Uint64(a[8:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if ha != hb {
		if ha < hb {
			return -1
		}
		return 1
	}
	la, lb := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
	switch {
	case la < lb:
		return -1
	case la > lb:
		return 1
	}
	return 0
}

// maxStat is the longest value that a footer gives as a bound: a longer one may not be cut there, so that there are none.
const maxStat = 4096

// encode gives the bounds as the footer has them: plainly encoded values, byte arrays without their length. nil: none.
func (st *Stats) encode(lf *leaf) (lo, hi []byte) {
	if !st.Seen {
		return nil, nil
	}
	switch lf.typ.Kind {
	case mapper.Boolean:
		return []byte{byte(st.MinInt)}, []byte{byte(st.MaxInt)}
	case mapper.Float, mapper.Double:
		return st.FloatBounds(lf.typ.Kind)
	case mapper.Decimal:
		return lf.appendDecimal(nil, st.Min), lf.appendDecimal(nil, st.Max)
	case mapper.String, mapper.Binary, mapper.UUID, mapper.Fixed:
		lo, hi = st.Min, st.Max
		if len(hi) == 0 {
			return nil, nil // nothing but empty values: readers differ in whether such bounds are some
		}
		if len(lo) > maxStat || len(hi) > maxStat {
			return nil, nil // one alone makes some readers (PyArrow 17) take the other for empty text, and leave rows out
		}
		return lo, hi
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(st.MinInt))[:lf.width], binary.LittleEndian.AppendUint64(nil, uint64(st.MaxInt))[:lf.width]
}

// FloatBounds gives the bounds of a Float or a Double as its bytes, little endian: the footer and Iceberg's manifests have
// them alike. A bound of zero is widened to the zero that lies below (above) the other: engines differ in whether -0.0 is below
// 0.0, and a wider bound is right for all. The Stats must have Seen a value.
func (st *Stats) FloatBounds(k mapper.Kind) (lo, hi []byte) {
	least, most := st.MinFloat, st.MaxFloat
	if least == 0 {
		least = math.Copysign(0, -1)
	}
	if most == 0 {
		most = 0
	}
	if k == mapper.Float {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(least))), binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(most)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(least)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(most))
}
