package mapper

import (
	"encoding/binary"
	"math/bits"
)

// long reads a number of up to 64 bits, zigzag and seven bits a byte.
func (m *avroMapper) long(b []byte, i int) (int64, int) {
	left := len(b) - i
	var w uint64
	switch {
	case left >= 8:
		w = load(b, i)
	case len(b) >= 8:
		// The last eight bytes, without those before i: zeros are what is missing, and the first of them would be a last byte.
		w = load(b, len(b)-8) >> (8 * uint(8-left))
	default:
		return m.slowLong(b, i)
	}
	if stop := ^w & highs; stop != 0 {
		if u, n := packed(w, stop); n <= left {
			return int64(u>>1) ^ -int64(u&1), i + n
		}
	}
	return m.slowLong(b, i)
}

// packed is the number that a word begins with, and how many bytes it has: stop marks the bytes that may be its last. Its
// sevens of bits are brought together two by two.
func packed(w, stop uint64) (u uint64, n int) {
	w &= stop ^ (stop - 1) // up to the first mark
	w &^= highs
	w = w&0x007f007f007f007f | w>>1&0x3f803f803f803f80
	w = w&0x00003fff00003fff | w>>2&0x0fffc0000fffc000
	w = w&0x000000000fffffff | w>>4&0x00fffffff0000000
	return w, bits.TrailingZeros64(stop)>>3 + 1
}

// slowLong reads a number of more than 56 bits, or in a very short value, or none.
func (m *avroMapper) slowLong(b []byte, i int) (int64, int) {
	u, n := binary.Uvarint(b[i:])
	if n <= 0 {
		if n == 0 && len(b)-i < binary.MaxVarintLen64 {
			return 0, m.short(b)
		}
		return 0, m.syntax(i, "a number of more than 64 bits")
	}
	return int64(u>>1) ^ -int64(u&1), i + n
}

// number reads a long, or an int, which has no more than 32 bits.
func (m *avroMapper) number(wide bool, b []byte, i int) (int64, int) {
	v, next := m.long(b, i)
	if next >= 0 && !wide && (v != int64(int32(v)) || next-i > binary.MaxVarintLen32) {
		return 0, m.syntax(i, "an int of more than 32 bits")
	}
	return v, next
}

// length reads how many bytes follow, and makes sure that they do.
func (m *avroMapper) length(b []byte, i int) (n, next int) {
	if i < len(b) && b[i]&0x81 == 0 {
		if n = int(b[i] >> 1); n < len(b)-i {
			return n, i + 1
		}
	}
	return m.longLength(b, i)
}

func (m *avroMapper) longLength(b []byte, i int) (n, next int) {
	v, next := m.long(b, i)
	switch {
	case next < 0:
		return 0, next
	case v < 0:
		return 0, m.syntax(i, "a length below zero")
	case v > int64(len(b)-next):
		return 0, m.short(b)
	}
	return int(v), next
}
