package parquetfile

import (
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// bloom is a split block Bloom filter, as the format has it.
type bloom struct{ bits []byte }

const bloomBlock = 32

var bloomSalt = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// bloomSize is the next power of two, and a block at least.
func bloomSize(n int) int { return 1 << bits.Len(uint(max(bloomBlock, n)-1)) }

func (f *bloom) init(p *pool, n int) { f.bits = p.zeroed(bloomSize(n)) }

func (f *bloom) release(p *pool) {
	p.put(f.bits)
	f.bits = nil
}

func (f *bloom) on() bool { return f.bits != nil }

// insert takes a value in its plain encoding, byte arrays without their length.
func (f *bloom) insert(v []byte) {
	h := xxhash.Sum64(v)
	at := (h >> 32) * uint64(len(f.bits)/bloomBlock) >> 32
	block := f.bits[at*bloomBlock : (at+1)*bloomBlock]
	for i, salt := range bloomSalt {
		word := block[4*i : 4*i+4]
		mask := uint32(1) << (uint32(h) * salt >> 27)
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|mask)
	}
}

// appendHeader writes what stands before the bits in the file.
func (f *bloom) appendHeader(t *thrift) {
	t.begin()
	t.i32(1, int32(len(f.bits)))
	for id := 2; id <= 4; id++ { // split blocks, xxHash, no compression: unions of empty structs
		t.structField(id)
		t.structField(1)
		t.end()
		t.end()
	}
	t.end()
}
