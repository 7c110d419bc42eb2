package parquetfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/parquet"

	"github.com/stormfloe/floe/mapper"
)

// chunk is one leaf of an open row group: finished pages, and the page that is being filled.
type chunk struct {
	lf   *leaf
	opt  *Options
	kind parquet.Encoding // of the values, as long as there is no dictionary

	// The page that is being filled: its values in their plain encoding (bool: a byte each; with a dictionary: indices as
	// uint32), and its levels; where all of them are the highest there are none.
	values     []byte
	def, rep   []byte
	dense      bool
	rows, n    int // rows and levels
	valuesSeen int

	// dict is in use where useDict is set, and its size alone decides where keepDict is.
	dict              dict
	useDict, keepDict bool

	blocks                [][]byte // finished pages
	size                  int64    // in blocks
	uncompressed          int64    // what the pages are without compression, headers included
	dictPages, plainPages int32

	stats Stats
	bloom bloom
}

func (c *chunk) init(lf *leaf, opt *Options, p *pool, dict Dict, bloomBytes int) {
	c.lf, c.opt, c.useDict, c.keepDict = lf, opt, dict != NoDict, dict == KeepDict
	c.kind = parquet.Encodings.Plain
	if opt.Delta && DeltaKind(lf.typ.Kind) {
		c.kind = parquet.Encodings.DeltaBinaryPacked
	}
	c.stats.reset()
	if c.useDict {
		c.dict.init(p, lf.width)
	}
	if bloomBytes > 0 {
		c.bloom.init(p, bloomBytes)
	}
	c.dense = true
}

// DeltaKind says that Options.Delta is for columns of kind k.
func DeltaKind(k mapper.Kind) bool {
	switch k {
	case mapper.Int, mapper.Long, mapper.Date, mapper.Time, mapper.Timestamp, mapper.TimestampTz, mapper.TimestampNs, mapper.TimestampTzNs:
		return true
	}
	return false
}

// release gives all buffers back; the chunk can be used again.
func (c *chunk) release(p *pool) {
	c.dict.release(p)
	c.bloom.release(p)
	for _, b := range c.blocks {
		p.put(b)
	}
	for _, b := range [][]byte{c.values, c.def, c.rep} {
		p.put(b)
	}
	*c = chunk{blocks: c.blocks[:0], stats: c.stats}
}

// memory is what the chunk holds.
func (c *chunk) memory() int64 {
	n := int64(cap(c.values)+cap(c.def)+cap(c.rep)+cap(c.bloom.bits)) + c.dict.memory()
	for _, b := range c.blocks {
		n += int64(cap(b))
	}
	return n
}

// write appends rows [from, to), and ends pages as their limits are reached.
func (c *chunk) write(e *Encoder, cs *mapper.Columns, from, to int) error {
	for from < to {
		n := c.fit(cs, from, to)
		if n > 0 {
			c.append(e, cs, from, from+n)
			from += n
		}
		full := c.useDict && int64(len(c.dict.data)) > c.opt.DictBytes
		if n == 0 || full {
			if err := c.endPage(e); err != nil {
				return err
			}
		}
		if full && c.useDict {
			c.useDict = false
		}
	}
	return nil
}

// fit says how many of the rows [from, to) still go into the page; an empty page takes at least one.
func (c *chunk) fit(cs *mapper.Columns, from, to int) int {
	n := to - from
	if c.opt.PageRows > 0 {
		n = min(n, int(c.opt.PageRows)-c.rows)
	}
	col := c.lf.column(cs)
	// bytes is where the values of rows from number row on begin.
	bytes := func(row int) int64 {
		at := c.lf.slot(cs, row)
		if !c.useDict && c.lf.isText() {
			return 4*int64(at) + int64(col.Off[at])
		}
		return int64(at) * int64(c.valueWidth())
	}
	limit := bytes(from) + c.opt.PageBytes - int64(len(c.values))
	if bytes(from+n) <= limit {
		return n
	}
	fits := sort.Search(n, func(i int) bool { return bytes(from+i) > limit }) - 1
	if c.n == 0 {
		fits = max(1, fits)
	}
	return max(0, fits)
}

// valueWidth is what a value of fixed width takes in the page that is being filled.
func (c *chunk) valueWidth() int {
	switch {
	case c.useDict:
		return 4
	case c.lf.physical == parquet.Types.Boolean:
		return 1
	}
	return c.lf.width
}

// append takes rows [from, to) into the page.
func (c *chunk) append(e *Encoder, cs *mapper.Columns, from, to int) {
	lv := &e.levels
	lv.of(c.lf, cs, from, to)
	v := e.scratch.gather(c.lf, c.lf.column(cs), lv)
	c.addLevels(e, lv)
	c.rows += to - from
	c.valuesSeen += v.n
	c.stats.Values += int64(lv.n)
	c.stats.Nulls += int64(lv.n - v.n)
	if c.useDict {
		c.addIndices(e, &v)
		return
	}
	c.stats.add(&c.lf.typ, &v)
	c.addPlain(e, &v)
}

func (c *chunk) addLevels(e *Encoder, lv *levels) {
	if c.dense && !lv.dense && c.lf.maxDef > 0 {
		c.dense = false
		c.def = fill(e.pool.grow(c.def, c.n), c.n, c.lf.maxDef)
	}
	c.n += lv.n
	if c.dense {
		return
	}
	if c.def = e.pool.grow(c.def, lv.n); lv.dense {
		c.def = fill(c.def, lv.n, c.lf.maxDef)
	} else {
		c.def = append(c.def, lv.def...)
	}
	c.rep = append(e.pool.grow(c.rep, len(lv.rep)), lv.rep...)
}

func fill(b []byte, n int, v byte) []byte {
	for range n {
		b = append(b, v)
	}
	return b
}

// addPlain appends values to the page and to the Bloom filter.
func (c *chunk) addPlain(e *Encoder, v *values) {
	if v.n == 0 {
		return
	}
	if c.lf.isText() {
		c.values = v.appendPlainText(e.pool.grow(c.values, v.textBytes()))
		if c.bloom.on() {
			for i := range v.n {
				c.bloom.insert(v.at(i, 0))
			}
		}
		return
	}
	raw := e.scratch.raw(c.lf, v)
	if w := max(1, c.lf.width); c.bloom.on() {
		for i := range v.n {
			c.bloom.insert(raw[i*w : (i+1)*w])
		}
	}
	c.values = append(e.pool.grow(c.values, len(raw)), raw...)
}

// addIndices appends values to the page as indices of the dictionary.
func (c *chunk) addIndices(e *Encoder, v *values) {
	if v.n == 0 {
		return
	}
	w := c.lf.width
	look := *v // the values as they lie in the file
	// Bytes are bounded by the dictionary's entries. Other values are as quickly looked at as new ones are told apart.
	byEntry := c.lf.isText() || c.lf.typ.Kind == mapper.UUID || c.lf.typ.Kind == mapper.Fixed
	if !byEntry {
		c.stats.add(&c.lf.typ, v)
	}
	if !c.lf.isText() {
		look.off, look.data = nil, e.scratch.raw(c.lf, v)
	}
	at := len(c.values)
	c.values = e.pool.grow(c.values, 4*v.n)[:at+4*v.n]
	out := numbers[uint32](c.values[at:])
	for i := range out {
		s := look.at(i, w)
		n, fresh := c.dict.index(e.pool, s)
		out[i] = n
		if fresh {
			if byEntry {
				c.stats.bytes(&c.lf.typ, s)
			}
			if c.bloom.on() {
				c.bloom.insert(s)
			}
		}
	}
}

// fallBack gives up the dictionary of a chunk that has no page yet: this one, and all that follow, hold plain values.
func (c *chunk) fallBack(e *Encoder) {
	plain := e.pool.get(c.plainSize())
	for _, i := range numbers[uint32](c.values) {
		s := c.dict.entry(i)
		if c.lf.isText() {
			plain = binary.LittleEndian.AppendUint32(plain, uint32(len(s)))
		}
		plain = append(plain, s...)
	}
	e.pool.put(c.values)
	c.values, c.useDict = plain, false
	c.dict.release(e.pool)
}

// endPage finishes the page that is being filled, where it holds anything.
func (c *chunk) endPage(e *Encoder) error {
	if c.n == 0 {
		return nil
	}
	if c.useDict && c.dictPages == 0 && !c.keepDict && c.dictIsDear() {
		c.fallBack(e)
	}
	enc := c.kind
	if c.useDict {
		enc = parquet.Encodings.RLEDict
		c.dictPages++
	} else {
		c.plainPages++
	}
	e.body = e.appendLevels(e.body[:0], c)
	levels := len(e.body)
	e.body = c.appendValues(e.body)
	if len(e.body) > math.MaxInt32 {
		return fmt.Errorf("parquet: a page of column %v has %d bytes, 2 GiB are allowed", c.lf.path, len(e.body))
	}
	e.dataPage(c, enc, levels)
	c.values, c.def, c.rep = c.values[:0], c.def[:0], c.rep[:0]
	c.rows, c.n, c.valuesSeen, c.dense = 0, 0, 0, true
	return nil
}

// dictIsDear says, of the first page, that the dictionary does not make it much smaller: the sample has misled. So a page
// without it is not much larger than the dictionary, however long the values are that it has once.
func (c *chunk) dictIsDear() bool {
	return c.dict.n > dictMinTable && len(c.dict.data)+c.valuesSeen*bitWidth(c.dict.n-1)/8 > c.plainSize()/2
}

// plainSize is what the values of the page take without their dictionary.
func (c *chunk) plainSize() int {
	if !c.lf.isText() {
		return c.valuesSeen * c.lf.width
	}
	size := 0
	for _, i := range numbers[uint32](c.values) {
		size += 4 + len(c.dict.entry(i))
	}
	return size
}

func (c *chunk) appendValues(dst []byte) []byte {
	switch {
	case c.useDict:
		width := bitWidth(c.dict.n - 1)
		return appendHybrid(append(dst, byte(width)), numbers[uint32](c.values), width)
	case c.kind == parquet.Encodings.DeltaBinaryPacked && c.lf.width == 4:
		return appendDelta(dst, numbers[int32](c.values))
	case c.kind == parquet.Encodings.DeltaBinaryPacked:
		return appendDelta(dst, numbers[int64](c.values))
	case c.lf.physical == parquet.Types.Boolean:
		return appendBools(dst, c.values)
	}
	return append(dst, c.values...)
}

func appendBools(dst, vs []byte) []byte {
	for len(vs) > 0 {
		var b byte
		for i, v := range vs[:min(8, len(vs))] {
			b |= v << i
		}
		dst = append(dst, b)
		vs = vs[min(8, len(vs)):]
	}
	return dst
}
