package mapper

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// Each function here reads at b[i:] and gives the index behind what it read, or one below zero after it has set m.bad or
// m.full. The columns then hold a part of a row, which Map takes back.

// value does what op says.
func (m *avroMapper) value(op *avroOp, b []byte, i int) int {
	if op.nulls != 0 {
		null, next := m.isNull(op, b, i)
		if next < 0 {
			return next
		}
		if i = next; null {
			return m.null(op, i)
		}
	}
	c := op.col
	if c != nil && c.full() {
		c.growBits(1)
	}
	switch op.code {
	case opLong:
		v, next := m.long(b, i)
		if next < 0 {
			return next
		}
		c.I64 = append(c.I64, v)
		c.Len++
		return next
	case opString:
		return m.text(op, b, i)
	case opDouble:
		return m.double(op, b, i)
	case opScaled:
		return m.scaled(op, b, i)
	case opStruct:
		return m.record(op, b, i)
	case opSkip:
		return m.skip(op.typ, b, i)
	case opAbsent:
		c.appendAbsent()
		return i
	case opNull:
		return m.null(op, i)
	case opBoolean:
		return m.boolean(op, b, i)
	case opFloat:
		return m.float(op, b, i)
	case opEnum:
		return m.enum(op, b, i)
	case opList:
		return m.list(op, b, i)
	case opMap:
		return m.mapValue(op, b, i)
	case opUnion:
		return m.union(op, b, i)
	}
	return m.rare(op, b, i)
}

// rare does what is seldom met.
func (m *avroMapper) rare(op *avroOp, b []byte, i int) int {
	switch op.code {
	case opMissing:
		return m.fail(op, op.fault)
	case opDefault:
		if !m.grow(len(op.def)) || m.value(&op.kids[0], op.def, 0) < 0 {
			return -1
		}
		return i
	case opInteger, opDate:
		return m.integer(op, b, i)
	case opBytes, opBytesFixed, opText, opDecimal:
		return m.bytes(op, b, i)
	case opCast:
		return m.cast(op, b, i)
	}
	return m.fixedBytes(op, b, i)
}

func (m *avroMapper) record(op *avroOp, b []byte, i int) int {
	for k := range op.kids {
		if i = m.value(&op.kids[k], b, i); i < 0 {
			return i
		}
	}
	if op.col != nil {
		op.col.Len++
	}
	return i
}

// isNull reads the branch of a union with null.
func (m *avroMapper) isNull(op *avroOp, b []byte, i int) (bool, int) {
	if i < len(b) && b[i]&^2 == 0 {
		return b[i]>>1 == op.nulls-1, i + 1
	}
	v, next := m.long(b, i)
	if next >= 0 && uint64(v) > 1 {
		return false, m.syntax(i, "a branch that the union does not have")
	}
	return v == int64(op.nulls)-1, next
}

func (m *avroMapper) null(op *avroOp, i int) int {
	if op.required {
		return m.fail(op, faultNull)
	}
	op.col.appendNull()
	return i
}

// shortText is up to how many bytes a text may have to be copied while it is looked at.
const shortText = 64

func (m *avroMapper) text(op *avroOp, b []byte, i int) int {
	n, i := m.length(b, i)
	if i < 0 {
		return i
	}
	c, t := op.col, b[i:i+n]
	if n < 8 || n > shortText {
		if !utf8.Valid(t) {
			return m.fail(op, faultUTF8)
		}
		c.appendBytes(t)
		return i + n
	}
	at := len(c.Data)
	if cap(c.Data)-at < shortText {
		c.growData(plainString)
	}
	if copyShort(c.Data[at:at+n], t)&highs != 0 && !utf8.Valid(t) {
		return m.fail(op, faultUTF8)
	}
	c.Data = c.Data[:at+n]
	c.Off = append(c.Off, int32(at+n))
	c.Len++
	return i + n
}

// copyShort copies eight bytes or more, the last eight together, and gives all words or-ed.
func copyShort(to, from []byte) (all uint64) {
	for ; len(from) > 8 && len(to) > 8; to, from = to[8:], from[8:] {
		w := load(from, 0)
		store(to, 0, w)
		all |= w
		if len(from) < 16 {
			skip := len(from) - 8
			w := load(from[skip:], 0)
			store(to[skip:], 0, w)
			return all | w
		}
	}
	w := load(from, 0)
	store(to, 0, w)
	return all | w
}

// appendBytes appends a value of bytes; room must have been made.
func (c *Column) appendBytes(t []byte) {
	c.Data = append(c.Data, t...)
	c.Off = append(c.Off, int32(len(c.Data)))
	c.Len++
}

func (m *avroMapper) boolean(op *avroOp, b []byte, i int) int {
	if i >= len(b) {
		return m.short(b)
	}
	if b[i] > 1 {
		return m.syntax(i, "a boolean that is neither 0 nor 1")
	}
	op.col.appendBool(b[i] == 1)
	return i + 1
}

func (m *avroMapper) double(op *avroOp, b []byte, i int) int {
	if len(b)-i < 8 {
		return m.short(b)
	}
	v, c := math.Float64frombits(binary.LittleEndian.Uint64(b[i:])), op.col
	if op.col.kind == Double {
		c.F64 = append(c.F64, v)
		c.Len++
	} else if f := c.putFloat(v); f != nil {
		return m.fail(op, f)
	}
	return i + 8
}

func (m *avroMapper) float(op *avroOp, b []byte, i int) int {
	if len(b)-i < 4 {
		return m.short(b)
	}
	v, c := math.Float32frombits(binary.LittleEndian.Uint32(b[i:])), op.col
	if c.kind == Float {
		c.F32 = append(c.F32, v)
	} else {
		c.F64 = append(c.F64, float64(v))
	}
	c.Len++
	return i + 4
}

// scaled reads a time or a timestamp.
func (m *avroMapper) scaled(op *avroOp, b []byte, i int) int {
	v, next := m.number(op.wide, b, i)
	switch {
	case next < 0:
		return next
	case v < op.lo || v > op.hi:
		return m.fail(op, op.fault)
	case op.div == 1:
		v *= op.mul
	case v%op.div != 0:
		return m.fail(op, faultMicros)
	default:
		v /= op.div
	}
	op.col.I64 = append(op.col.I64, v)
	op.col.Len++
	return next
}

func (m *avroMapper) integer(op *avroOp, b []byte, i int) int {
	v, next := m.number(op.wide, b, i)
	if next < 0 {
		return next
	}
	c := op.col
	var f *fault
	switch {
	case c.kind == Decimal:
		f = c.rescaled(v < 0, 0, magnitude(v), c.Field.Type.Scale)
	case op.bits != 0 && v != 0 && bits.Len64(magnitude(v))-bits.TrailingZeros64(magnitude(v)) > op.bits:
		f = faultIntForFloat
	default:
		f = c.putInt(v)
	}
	if f != nil {
		return m.fail(op, f)
	}
	return next
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// enum reads a symbol's number. The symbol may be longer than the number, so that it is counted.
func (m *avroMapper) enum(op *avroOp, b []byte, i int) int {
	v, next := m.number(false, b, i)
	if next < 0 {
		return next
	}
	if v < 0 || v >= int64(len(op.symbols)) {
		return m.syntax(i, "a symbol that the enum does not have")
	}
	s := op.symbols[v]
	if !m.grow(len(s)) {
		return -1
	}
	c := op.col
	c.Data = append(c.Data, s...)
	c.Off = append(c.Off, int32(len(c.Data)))
	c.Len++
	return next
}

// bytes reads bytes or a string, to other columns than text.
func (m *avroMapper) bytes(op *avroOp, b []byte, i int) int {
	n, next := op.size, i
	if n >= 0 {
		if n > len(b)-i {
			return m.short(b)
		}
	} else if n, next = m.length(b, i); next < 0 {
		return next
	}
	t, c := b[next:next+n], op.col
	var f *fault
	if op.utf8 && !utf8.Valid(t) {
		return m.fail(op, faultUTF8)
	}
	switch {
	case op.code == opDecimal:
		f = c.unscaled(t, op.shift)
	case op.code == opText:
		f = c.appendText(t)
	case op.code == opBytes:
		c.appendBytes(t)
	case n != c.width:
		f = faultFixedLength
	default:
		c.Data = append(c.Data, t...)
		c.Len++
	}
	if f != nil {
		return m.fail(op, f)
	}
	return next + n
}

func (m *avroMapper) fixedBytes(op *avroOp, b []byte, i int) int {
	if op.size > len(b)-i {
		return m.short(b)
	}
	t, c := b[i:i+op.size], op.col
	if op.code == opFixedBinary {
		c.appendBytes(t)
		return i + op.size
	}
	c.Data = append(c.Data, t...)
	c.Len++
	return i + op.size
}
