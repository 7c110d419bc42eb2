package writer

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/stormfloe/floe/mapper"
)

// truncateDecimal truncates the unscaled value to a multiple of w, downwards.
func (pf *partField) truncateDecimal(w uint64, precision int) {
	pf.bytes = true
	limit := decimal128.GetScaleMultiplier(precision) // ten to the power of it
	pf.apply = func(c *mapper.Column, m *mask, from, to int, v *vector) *rowError {
		if cap(v.scratch) < 16*to {
			v.scratch = make([]byte, 16*to)
		}
		v.scratch = v.scratch[:16*to]
		for i := from; i < to; i++ {
			if v.null[i] = !m.has(i); v.null[i] {
				continue
			}
			out := v.scratch[16*i : 16*i+16]
			if !truncate128(out, c.Slot(i), w) || !limit.Greater(decimal(out).Negate()) {
				return &rowError{row: i, reason: belowRange}
			}
			v.str[i] = out
		}
		return nil
	}
}

// truncate128 writes v - (v mod w) to out, for two's complement numbers of 16 bytes, little endian.
func truncate128(out, v []byte, w uint64) bool {
	lo, hi := binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])
	negative := hi>>63 == 1
	alo, ahi := lo, hi
	if negative { // of the absolute value
		var borrow uint64
		alo, borrow = bits.Sub64(0, lo, 0)
		ahi, _ = bits.Sub64(0, hi, borrow)
	}
	_, rem := bits.Div64(ahi%w, alo, w)
	if negative && rem > 0 {
		rem = w - rem
	}
	lo, borrow := bits.Sub64(lo, rem, 0)
	hi, _ = bits.Sub64(hi, 0, borrow)
	binary.LittleEndian.PutUint64(out, lo)
	binary.LittleEndian.PutUint64(out[8:], hi)
	return !negative || hi>>63 == 1
}
