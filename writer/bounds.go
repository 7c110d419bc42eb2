package writer

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/stormfloe/floe/internal/parquetfile"
	"github.com/stormfloe/floe/mapper"
)

// maxFixedBound is the longest fixed value that is written as a bound. Shorter than the type it would not be a value of
// it, so a long one gets no bounds at all.
const maxFixedBound = 64

// lowerText cuts s to n code points: what is cut is never above s.
func lowerText(s []byte, n int) []byte {
	end := textPrefix(s, n)
	return s[:end]
}

// textPrefix is the length in bytes of the first n code points.
func textPrefix(s []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRune(s[i:])
		i += size
	}
	return i
}

// upperText gives the least text of at most n code points that is not below s in the order of its bytes: the prefix
// with its last code point raised by one. A code point that has no successor is dropped, and the one before it raised;
// nil where none is left, for then no bound of that length exists.
func upperText(s []byte, n int) []byte {
	end := textPrefix(s, n)
	if end == len(s) {
		return s
	}
	out := slices.Clone(s[:end])
	for len(out) > 0 {
		r, size := utf8.DecodeLastRune(out)
		out = out[:len(out)-size]
		if next := r + 1; next <= utf8.MaxRune {
			if next == 0xD800 {
				next = 0xE000 // surrogates are no code points of text
			}
			return utf8.AppendRune(out, next)
		}
	}
	return nil
}

func lowerBytes(s []byte, n int) []byte { return s[:min(n, len(s))] }

// upperBytes is upperText for bytes.
func upperBytes(s []byte, n int) []byte {
	if len(s) <= n {
		return s
	}
	out := slices.Clone(s[:n])
	for len(out) > 0 {
		if last := len(out) - 1; out[last] < 0xff {
			out[last]++
			return out
		}
		out = out[:len(out)-1]
	}
	return nil
}

// encodeBounds serialises the bounds of a leaf as Iceberg's specification wants single values (its Appendix D). nil: none.
func encodeBounds(l *leaf, st *parquetfile.Stats) (lower, upper []byte) {
	if !st.Seen {
		return nil, nil
	}
	switch l.typ.Kind {
	case mapper.Boolean:
		return []byte{byte(st.MinInt)}, []byte{byte(st.MaxInt)}
	case mapper.Int, mapper.Date:
		return le32(uint32(st.MinInt)), le32(uint32(st.MaxInt))
	case mapper.Float, mapper.Double:
		return st.FloatBounds(l.typ.Kind)
	case mapper.Decimal:
		return decimalBytes(st.Min), decimalBytes(st.Max)
	case mapper.String:
		if n := l.mode.truncate; n > 0 {
			return slices.Clone(lowerText(st.Min, n)), slices.Clone(upperText(st.Max, n))
		}
	case mapper.Binary:
		if n := l.mode.truncate; n > 0 {
			return slices.Clone(lowerBytes(st.Min, n)), slices.Clone(upperBytes(st.Max, n))
		}
	case mapper.UUID:
	case mapper.Fixed:
		if l.typ.Length > maxFixedBound {
			return nil, nil
		}
	default:
		return le64(uint64(st.MinInt)), le64(uint64(st.MaxInt))
	}
	return slices.Clone(st.Min), slices.Clone(st.Max)
}

// decimalBytes turns Arrow's decimal (two's complement, little endian, 16 bytes) into Iceberg's: big endian, in as few
// bytes as hold it.
func decimalBytes(v []byte) []byte {
	out := make([]byte, len(v))
	for i, b := range v {
		out[len(v)-1-i] = b
	}
	start := 0
	for start < len(out)-1 {
		sign := out[start+1]&0x80 != 0
		if !(out[start] == 0 && !sign || out[start] == 0xff && sign) {
			break
		}
		start++
	}
	return out[start:]
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
