package parquetfile

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	deltaBlock = 128 // values a block
	deltaMinis = 4   // miniblocks a block
	deltaMini  = deltaBlock / deltaMinis
)

// appendDelta encodes values as DELTA_BINARY_PACKED. Differences wrap in the width of the type, as every reader has it:
// those of 32-bit values never take more than 32 bits.
func appendDelta[T int32 | int64](dst []byte, vs []T) []byte {
	dst = append(dst, deltaBlock&0x7f|0x80, deltaBlock>>7, deltaMinis)
	dst = binary.AppendUvarint(dst, uint64(len(vs)))
	if len(vs) == 0 {
		return append(dst, 0)
	}
	dst = binary.AppendVarint(dst, int64(vs[0]))
	var deltas [deltaBlock]T
	prev := vs[0]
	for vs = vs[1:]; len(vs) > 0; {
		n := min(len(vs), deltaBlock)
		least := vs[0] - prev
		for i, v := range vs[:n] {
			d := v - prev
			prev = v
			deltas[i] = d
			least = min(least, d)
		}
		vs = vs[n:]
		dst = appendDeltaBlock(dst, deltas[:n], least)
	}
	return dst
}

func appendDeltaBlock[T int32 | int64](dst []byte, deltas []T, least T) []byte {
	mask := ^uint64(0)
	if T(1<<31-1)+1 < 0 { // 32 bits
		mask = 1<<32 - 1
	}
	dst = binary.AppendVarint(dst, int64(least))
	widths := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for m := 0; m*deltaMini < len(deltas); m++ {
		mini := deltas[m*deltaMini : min(len(deltas), (m+1)*deltaMini)]
		var packed [deltaMini]uint64
		var all uint64
		for i, d := range mini {
			v := uint64(d-least) & mask
			packed[i] = v
			all |= v
		}
		width := bits.Len64(all)
		dst[widths+m] = byte(width)
		dst = appendBits(dst, &packed, width)
	}
	return dst
}

// appendBits packs 32 values to width bits each.
func appendBits(dst []byte, vs *[deltaMini]uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	dst = slices.Grow(dst, 4*width+8)
	var acc uint64
	n := 0
	for _, v := range vs {
		acc |= v << n
		if n += width; n >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			n -= 64
			acc = v >> (width - n) // nothing where n is 0: a shift by 64 gives 0
		}
	}
	if n > 0 { // 32 values of any width end at a multiple of 32 bits
		dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
	}
	return dst
}
