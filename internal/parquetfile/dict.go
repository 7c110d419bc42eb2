package parquetfile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

var dictSeed = maphash.MakeSeed()

// dict is the dictionary of one column chunk: values in the order they were first seen.
type dict struct {
	// width of all values, 0 for byte arrays.
	width int
	n     int
	// data is the dictionary page: the values in their plain encoding.
	data []byte
	// at is where each value of variable length begins in data.
	at []byte // uint32
	// table is an open hash table of value numbers plus one.
	table []byte // uint32
}

const dictMinTable = 64

func (d *dict) init(p *pool, width int) {
	*d = dict{width: width, table: p.zeroed(4 * dictMinTable)}
}

func (d *dict) release(p *pool) {
	p.put(d.data)
	p.put(d.at)
	p.put(d.table)
	*d = dict{}
}

func (d *dict) memory() int64 { return int64(cap(d.data) + cap(d.at) + cap(d.table)) }

// entry gives value i.
func (d *dict) entry(i uint32) []byte {
	if d.width > 0 {
		return d.data[int(i)*d.width : (int(i)+1)*d.width]
	}
	at := numbers[uint32](d.at)[i]
	n := binary.LittleEndian.Uint32(d.data[at:])
	return d.data[at+4 : at+4+n]
}

// index gives the number of a value, and whether it is a new one.
func (d *dict) index(p *pool, v []byte) (uint32, bool) {
	table := numbers[uint32](d.table)
	mask := uint32(len(table) - 1)
	at := uint32(maphash.Bytes(dictSeed, v)) & mask
	for ; table[at] != 0; at = (at + 1) & mask {
		if i := table[at] - 1; bytes.Equal(d.entry(i), v) {
			return i, false
		}
	}
	i := uint32(d.n)
	table[at] = i + 1
	d.add(p, v)
	if 2*d.n > len(table) {
		d.rehash(p)
	}
	return i, true
}

func (d *dict) add(p *pool, v []byte) {
	d.data = p.grow(d.data, len(v)+4)
	if d.width == 0 {
		d.at = binary.NativeEndian.AppendUint32(p.grow(d.at, 4), uint32(len(d.data)))
		d.data = binary.LittleEndian.AppendUint32(d.data, uint32(len(v)))
	}
	d.data = append(d.data, v...)
	d.n++
}

func (d *dict) rehash(p *pool) {
	n := 2 * len(d.table)
	p.put(d.table)
	d.table = p.zeroed(n)
	table := numbers[uint32](d.table)
	mask := uint32(len(table) - 1)
	for i := range uint32(d.n) {
		at := uint32(maphash.Bytes(dictSeed, d.entry(i))) & mask
		for table[at] != 0 {
			at = (at + 1) & mask
		}
		table[at] = i + 1
	}
}
