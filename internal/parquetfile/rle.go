package parquetfile

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendHybrid encodes values in Parquet's hybrid of run lengths and bit packing: runs of eight or more equal values as
// a count and the value, all others in groups of eight, packed to width bits each. Every value must be below 1<<width.
func appendHybrid[T uint8 | uint32](dst []byte, vs []T, width int) []byte {
	packed := 0 // the values from here to i go into a packed run
	for i := 0; i < len(vs); {
		n := run(vs[i:])
		if n < 8 {
			i = min(i+8, len(vs))
			continue
		}
		dst = appendPacked(dst, vs[packed:i], width)
		dst = appendRun(dst, n, uint32(vs[i]), width)
		i += n
		packed = i
	}
	return appendPacked(dst, vs[packed:], width)
}

// run counts the equal values at the front.
func run[T uint8 | uint32](vs []T) int {
	n := 1
	for n < len(vs) && vs[n] == vs[0] {
		n++
	}
	return n
}

func appendRun(dst []byte, n int, v uint32, width int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for ; width > 0; width -= 8 {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// appendPacked writes one bit-packed run; only the last one of a page may have a number of values that is no multiple of
// eight, and is filled up with zeros.
func appendPacked[T uint8 | uint32](dst []byte, vs []T, width int) []byte {
	if len(vs) == 0 {
		return dst
	}
	groups := (len(vs) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	dst = slices.Grow(dst, groups*width+8)
	end := len(dst) + groups*width
	var acc uint64
	n := 0
	for _, v := range vs {
		acc |= uint64(v) << n
		if n += width; n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	dst = binary.LittleEndian.AppendUint64(dst, acc)
	for len(dst) < end {
		dst = append(dst, 0)
	}
	return dst[:end]
}

// bitWidth is what values of 0 to most take. A single value takes a bit as well: not every reader takes a width of zero
// in a dictionary page.
func bitWidth(most int) int { return bits.Len(uint(max(1, most))) }
