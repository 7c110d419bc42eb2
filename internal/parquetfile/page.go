package parquetfile

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// Page types of the format.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// dataPage compresses the page in e.body, of which the first levels bytes are levels, and puts it into c's blocks.
func (e *Encoder) dataPage(c *chunk, enc parquet.Encoding, levels int) {
	raw := len(e.body)
	t := &e.thrift
	t.reset()
	t.begin()
	if !c.opt.PageV2 {
		data := e.comp.compress(e.body)
		t.i32(1, pageData)
		t.i32(2, int32(raw))
		t.i32(3, int32(len(data)))
		t.structField(5)
		t.i32(1, int32(c.n))
		t.i32(2, int32(enc))
		t.i32(3, int32(parquet.Encodings.RLE))
		t.i32(4, int32(parquet.Encodings.RLE))
		t.end()
		t.end()
		c.put(e.pool, raw, t.b, data)
		return
	}
	// Levels are not compressed in version 2, and values need not be.
	data, packed := e.body[levels:], false
	if c.opt.Codec != compress.Codecs.Uncompressed && len(data) > 0 {
		if out := e.comp.compress(data); len(out) < len(data) {
			data, packed = out, true
		}
	}
	t.i32(1, pageDataV2)
	t.i32(2, int32(raw))
	t.i32(3, int32(levels+len(data)))
	t.structField(8)
	t.i32(1, int32(c.n))
	t.i32(2, int32(c.n-c.valuesSeen))
	t.i32(3, int32(c.rows))
	t.i32(4, int32(enc))
	t.i32(5, int32(levels-e.repBytes))
	t.i32(6, int32(e.repBytes))
	t.bool(7, packed)
	t.end()
	t.end()
	c.put(e.pool, raw, t.b, e.body[:levels], data)
}

// dictPage gives the dictionary page of c: its header and its data, which are good until the next page, and what both are
// without compression.
func (e *Encoder) dictPage(c *chunk) (header, data []byte, raw int) {
	t := &e.thrift
	data = e.comp.compress(c.dict.data)
	t.reset()
	t.begin()
	t.i32(1, pageDictionary)
	t.i32(2, int32(len(c.dict.data)))
	t.i32(3, int32(len(data)))
	t.structField(7)
	t.i32(1, int32(c.dict.n))
	t.i32(2, int32(parquet.Encodings.Plain))
	t.end()
	t.end()
	return t.b, data, len(t.b) + len(c.dict.data)
}

const (
	minBlock = 4 << 10
	maxBlock = 64 << 10
)

// put appends a finished page to the chunk: blocks grow with the chunk, so that little is reserved for a small one, and
// nothing is copied twice.
func (c *chunk) put(p *pool, raw int, header []byte, parts ...[]byte) {
	c.uncompressed += int64(len(header) + raw)
	c.putBytes(p, header)
	for _, b := range parts {
		c.putBytes(p, b)
	}
}

func (c *chunk) putBytes(p *pool, b []byte) {
	c.size += int64(len(b))
	for len(b) > 0 {
		last := len(c.blocks) - 1
		if last < 0 || len(c.blocks[last]) == cap(c.blocks[last]) {
			c.blocks = append(c.blocks, p.get(int(min(maxBlock, max(minBlock, c.size)))))
			last++
		}
		room := c.blocks[last]
		n := min(len(b), cap(room)-len(room))
		c.blocks[last] = append(room, b[:n]...)
		b = b[n:]
	}
}

// appendLevels writes the levels as the page version wants them.
func (e *Encoder) appendLevels(dst []byte, c *chunk) []byte {
	if c.lf.maxRep > 0 {
		dst = c.appendLevel(dst, c.rep, c.lf.maxRep)
	}
	e.repBytes = len(dst)
	if c.lf.maxDef > 0 {
		dst = c.appendLevel(dst, c.def, c.lf.maxDef)
	}
	return dst
}

func (c *chunk) appendLevel(dst []byte, vs []byte, most uint8) []byte {
	at := len(dst)
	if !c.opt.PageV2 {
		dst = append(dst, 0, 0, 0, 0)
	}
	if width := bitWidth(int(most)); c.dense {
		dst = appendRun(dst, c.n, uint32(most), width)
	} else {
		dst = appendHybrid(dst, vs, width)
	}
	if !c.opt.PageV2 {
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}
