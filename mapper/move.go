package mapper

import (
	"errors"
	"slices"
)

// ErrSchema says that rows were to be moved between columns of different schemas.
var ErrSchema = errors.New("mapper: the columns are of different schemas")

// AppendRows appends deep copies of the given rows of src, in the given order; a row may appear several times. Each row
// number must be at least 0 and below src.Rows; src must not be cs. ErrFull and ErrSchema leave cs as it was.
func (cs *Columns) AppendRows(src *Columns, rows []int32) error {
	if !cs.Schema.Equal(src.Schema) {
		return ErrSchema
	}
	if len(rows) > cs.limit-cs.Rows {
		return ErrFull
	}
	for i, c := range cs.Cols {
		if !c.appendRows(src.Cols[i], rows, cs.limit) {
			cs.Truncate(cs.Rows)
			return ErrFull
		}
	}
	cs.Rows += len(rows)
	cs.bound = cs.extent()
	return nil
}

// appendRows reports false where an offset would pass limit, before Len or Nulls have moved; the caller then truncates.
func (c *Column) appendRows(src *Column, rows []int32, limit int) bool {
	c.ensure(len(rows))
	switch c.kind {
	case Boolean:
		for i, r := range rows {
			setBit(c.Bits, c.Len+i, src.Bool(int(r)))
		}
	case Int, Date:
		c.I32 = scatter(c.I32, src.I32, rows)
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		c.I64 = scatter(c.I64, src.I64, rows)
	case Float:
		c.F32 = scatter(c.F32, src.F32, rows)
	case Double:
		c.F64 = scatter(c.F64, src.F64, rows)
	case Decimal, UUID:
		c.Data = scatter16(c.Data, src.Data, rows)
	case Fixed:
		c.Data = slices.Grow(c.Data, len(rows)*c.width)
		for _, r := range rows {
			c.Data = append(c.Data, src.Data[int(r)*c.width:(int(r)+1)*c.width]...)
		}
	case String, Binary:
		if !c.scatterBytes(src, rows, limit) {
			return false
		}
	case Struct, Variant:
		for i, k := range c.Kids {
			if !k.appendRows(src.Kids[i], rows, limit) {
				return false
			}
		}
	case List, Map:
		if !c.scatterLists(src, rows, limit) {
			return false
		}
	}
	c.scatterNulls(src, rows)
	c.Len += len(rows)
	return true
}

func scatter[T any](dst, src []T, rows []int32) []T {
	n := len(dst)
	dst = slices.Grow(dst, len(rows))[:n+len(rows)]
	out := dst[n:]
	for i, r := range rows {
		out[i] = src[r]
	}
	return dst
}

func scatter16(dst, src []byte, rows []int32) []byte {
	n := len(dst)
	dst = slices.Grow(dst, 16*len(rows))[:n+16*len(rows)]
	out := dst[n:]
	for i, r := range rows {
		*(*[16]byte)(out[16*i:]) = *(*[16]byte)(src[16*int(r):])
	}
	return dst
}

// scatterNulls copies the validity of rows; room must have been made.
func (c *Column) scatterNulls(src *Column, rows []int32) {
	if src.Nulls == 0 {
		return
	}
	nulls := 0
	for i, r := range rows {
		if src.Valid[r>>3]&(1<<(r&7)) == 0 {
			n := c.Len + i
			c.Valid[n>>3] &^= 1 << (n & 7)
			nulls++
		}
	}
	c.Nulls += nulls
}

// lengths sums the lengths of the given values of a column with offsets.
func (c *Column) lengths(rows []int32) int {
	n := 0
	for _, r := range rows {
		n += int(c.Off[r+1] - c.Off[r])
	}
	return n
}

func (c *Column) scatterBytes(src *Column, rows []int32, limit int) bool {
	n := len(c.Data)
	total := src.lengths(rows)
	if total > limit-n {
		return false
	}
	c.Data = slices.Grow(c.Data, total)[:n+total]
	k := len(c.Off)
	c.Off = slices.Grow(c.Off, len(rows))[:k+len(rows)]
	off := c.Off[k:]
	for i, r := range rows {
		n += copy(c.Data[n:], src.Data[src.Off[r]:src.Off[r+1]])
		off[i] = int32(n)
	}
	return true
}

func (c *Column) scatterLists(src *Column, rows []int32, limit int) bool {
	n := c.Kids[0].Len
	total := src.lengths(rows)
	if total > limit-n {
		return false
	}
	inner := slices.Grow(c.rows[:0], total)
	k := len(c.Off)
	c.Off = slices.Grow(c.Off, len(rows))[:k+len(rows)]
	off := c.Off[k:]
	for i, r := range rows {
		for e := src.Off[r]; e < src.Off[r+1]; e++ {
			inner = append(inner, e)
		}
		off[i] = int32(n + len(inner))
	}
	c.rows = inner
	for i, kid := range c.Kids {
		if !kid.appendRows(src.Kids[i], inner, limit) {
			c.Off = c.Off[:k]
			return false
		}
	}
	return true
}

func setBit(bits []byte, i int, v bool) {
	if m := byte(1) << (i & 7); v {
		bits[i>>3] |= m
	} else {
		bits[i>>3] &^= m
	}
}
