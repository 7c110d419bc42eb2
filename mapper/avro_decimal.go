package mapper

import (
	"encoding/binary"
	"math/bits"
)

var faultDecimalEmpty = &fault{CodeType, "a decimal of no bytes"}

// unscaled appends a decimal that is an integer in two's complement, big endian, times ten to the power of shift to the
// column's scale.
func (c *Column) unscaled(t []byte, shift int) *fault {
	if len(t) == 0 {
		return faultDecimalEmpty
	}
	neg := t[0] >= 0x80
	fill := byte(0)
	if neg {
		fill = 0xff
	}
	for len(t) > 16 && t[0] == fill { // the sign, written longer than need be
		t = t[1:]
	}
	if len(t) > 16 || len(t) == 16 && t[0] >= 0x80 != neg {
		return faultDecimalDigits // 38 digits are less than 2^127
	}
	var wide [16]byte
	for i := range wide {
		wide[i] = fill
	}
	copy(wide[16-len(t):], t)
	hi, lo := binary.BigEndian.Uint64(wide[:]), binary.BigEndian.Uint64(wide[8:])
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return c.rescaled(neg, hi, lo, shift)
}

// rescaled appends hi:lo, below zero where neg says so, times ten to the power of shift, exactly or not at all.
func (c *Column) rescaled(neg bool, hi, lo uint64, shift int) *fault {
	for ; shift < 0 && hi|lo != 0; shift++ {
		qh, r := hi/10, hi%10
		ql, r := bits.Div64(r, lo, 10)
		if r != 0 {
			return faultDecimalScale
		}
		hi, lo = qh, ql
	}
	precision := c.Field.Type.Precision
	for ; shift > 0 && hi|lo != 0; shift-- {
		if !below(hi, lo, pow10u128[precision-1]) { // times ten it might not even fit 128 bits
			return faultDecimalDigits
		}
		hi, lo = mulAdd(hi, lo, 10, 0)
	}
	if !below(hi, lo, pow10u128[precision]) {
		return faultDecimalDigits
	}
	c.Data = appendInt128(c.Data, neg, hi, lo)
	c.Len++
	return nil
}

func below(hi, lo uint64, bound [2]uint64) bool {
	return hi < bound[0] || hi == bound[0] && lo < bound[1]
}

// pow10u128 are the powers of ten up to the 38th, high word first.
var pow10u128 = func() (t [39][2]uint64) {
	t[0][1] = 1
	for i := 1; i < len(t); i++ {
		t[i][0], t[i][1] = mulAdd(t[i-1][0], t[i-1][1], 10, 0)
	}
	return t
}()
