package mapper

import (
	"math/bits"
	"slices"
)

// AppendRange appends deep copies of the rows [from, to) of src: 0 <= from <= to <= src.Rows, and src must not be cs.
// It copies whole slices, so it is the faster way where the rows lie together. ErrFull and ErrSchema leave cs as it was.
func (cs *Columns) AppendRange(src *Columns, from, to int) error {
	if !cs.Schema.Equal(src.Schema) {
		return ErrSchema
	}
	if to-from > cs.limit-cs.Rows {
		return ErrFull
	}
	for i, c := range cs.Cols {
		if !c.appendRange(src.Cols[i], from, to, cs.limit) {
			cs.Truncate(cs.Rows)
			return ErrFull
		}
	}
	cs.Rows += to - from
	cs.bound = cs.extent()
	return nil
}

// appendRange reports false where an offset would pass limit, before Len or Nulls have moved; the caller then truncates.
func (c *Column) appendRange(src *Column, from, to, limit int) bool {
	c.ensure(to - from)
	switch c.kind {
	case Boolean:
		for i := from; i < to; i++ {
			setBit(c.Bits, c.Len+i-from, src.Bool(i))
		}
	case Int, Date:
		c.I32 = append(c.I32, src.I32[from:to]...)
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		c.I64 = append(c.I64, src.I64[from:to]...)
	case Float:
		c.F32 = append(c.F32, src.F32[from:to]...)
	case Double:
		c.F64 = append(c.F64, src.F64[from:to]...)
	case Decimal, UUID, Fixed:
		c.Data = append(c.Data, src.Data[from*c.width:to*c.width]...)
	case String, Binary:
		a, b := int(src.Off[from]), int(src.Off[to])
		if b-a > limit-len(c.Data) {
			return false
		}
		c.rangeOffsets(src, from, to, len(c.Data)-a)
		c.Data = append(c.Data, src.Data[a:b]...)
	case Struct, Variant:
		for i, k := range c.Kids {
			if !k.appendRange(src.Kids[i], from, to, limit) {
				return false
			}
		}
	case List, Map:
		if !c.rangeLists(src, from, to, limit) {
			return false
		}
	}
	c.rangeNulls(src, from, to)
	c.Len += to - from
	return true
}

// rangeOffsets appends the ends of the values [from, to) of src, moved by shift.
func (c *Column) rangeOffsets(src *Column, from, to, shift int) {
	k := len(c.Off)
	c.Off = slices.Grow(c.Off, to-from)[:k+to-from]
	out := c.Off[k:]
	for i, o := range src.Off[from+1 : to+1] {
		out[i] = int32(int(o) + shift)
	}
}

func (c *Column) rangeLists(src *Column, from, to, limit int) bool {
	a, b := int(src.Off[from]), int(src.Off[to])
	n := c.Kids[0].Len
	if b-a > limit-n {
		return false
	}
	for i, k := range c.Kids {
		if !k.appendRange(src.Kids[i], a, b, limit) {
			return false
		}
	}
	c.rangeOffsets(src, from, to, n-a)
	return true
}

// rangeNulls copies the validity of [from, to), looking only at bytes that have a null; room must have been made.
func (c *Column) rangeNulls(src *Column, from, to int) {
	if src.Nulls == 0 {
		return
	}
	for i := from; i < to; {
		n := min(8-i&7, to-i)
		zero := ^src.Valid[i>>3] >> (i & 7) & byte(1<<n-1)
		c.Nulls += bits.OnesCount8(zero)
		for ; zero != 0; zero &= zero - 1 {
			d := c.Len + i - from + bits.TrailingZeros8(zero)
			c.Valid[d>>3] &^= 1 << (d & 7)
		}
		i += n
	}
}
