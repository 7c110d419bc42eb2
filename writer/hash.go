package writer

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 is the 32-bit x86 variant with seed 0, which Iceberg's bucket transform is defined by.
func murmur3(p []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	var h uint32
	n := len(p)
	for ; len(p) >= 4; p = p[4:] {
		k := bits.RotateLeft32(binary.LittleEndian.Uint32(p)*c1, 15) * c2
		h = bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
	}
	var k uint32
	switch len(p) {
	case 3:
		k ^= uint32(p[2]) << 16
		fallthrough
	case 2:
		k ^= uint32(p[1]) << 8
		fallthrough
	case 1:
		k ^= uint32(p[0])
		h ^= bits.RotateLeft32(k*c1, 15) * c2
	}
	h ^= uint32(n)
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// murmur3Int hashes a number as Iceberg does: the eight bytes of a long, little endian.
func murmur3Int(v int64) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	return murmur3(b[:])
}

// bucket puts a hash into one of n buckets.
func bucket(h uint32, n int) int64 { return int64(h&0x7fffffff) % int64(n) }
