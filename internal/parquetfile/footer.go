package parquetfile

import (
	"github.com/apache/arrow-go/v18/parquet"
)

const createdBy = "floe"

// tail appends what comes behind the schema in a footer: the row groups, which are groups of them in Thrift's words.
func (l *Layout) tail(dst []byte, rows int64, groups int, encoded []byte) []byte {
	t := thrift{b: dst, last: 2}
	t.open = append(t.open, 0)
	t.i64(3, rows)
	t.list(4, groups, thriftStruct)
	t.b = append(t.b, encoded...)
	t.binary(6, []byte(createdBy))
	t.list(7, len(l.leaves), thriftStruct)
	for range l.leaves { // the order that the type defines
		t.begin()
		t.structField(1)
		t.end()
		t.end()
	}
	t.end()
	return t.b
}

// groupFooter writes what the footer says of one row group.
type groupFooter struct {
	t                   *thrift
	rows                int64
	ordinal, leaves     int
	at                  int64
	uncompressed, total int64
}

func (g *groupFooter) begin() {
	g.t.begin()
	g.t.list(1, g.leaves, thriftStruct)
}

func (g *groupFooter) end() []byte {
	t := g.t
	t.i64(2, g.uncompressed)
	t.i64(3, g.rows)
	t.i64(5, g.at)
	t.i64(6, g.total)
	t.i16(7, int16(g.ordinal))
	t.end()
	return t.b
}

// chunkFooter is where a chunk lies.
type chunkFooter struct {
	at, data, size, uncompressed int64
	dict                         bool
	bloom, bloomSize             int64
}

func (g *groupFooter) chunk(c *chunk, m *chunkFooter) {
	g.uncompressed += m.uncompressed
	g.total += m.size
	t := g.t
	t.begin()
	t.i64(2, m.at)
	t.structField(3)
	t.i32(1, int32(c.lf.physical))
	encodings := c.encodings(m.dict)
	t.list(2, len(encodings), thriftI32)
	for _, e := range encodings {
		t.element(int32(e))
	}
	t.list(3, len(c.lf.path), thriftBinary)
	for _, p := range c.lf.path {
		t.text(p)
	}
	t.i32(4, int32(c.opt.Codec))
	t.i64(5, c.stats.Values)
	t.i64(6, m.uncompressed)
	t.i64(7, m.size)
	t.i64(9, m.data)
	if m.dict {
		t.i64(11, m.at)
	}
	t.statistics(12, c)
	t.pageCounts(13, c, m.dict)
	if m.bloomSize > 0 {
		t.i64(14, m.bloom)
		t.i32(15, int32(m.bloomSize))
	}
	t.end()
	t.end()
}

func (c *chunk) encodings(dict bool) []parquet.Encoding {
	out := make([]parquet.Encoding, 0, 4)
	if dict {
		out = append(out, parquet.Encodings.RLEDict, parquet.Encodings.Plain)
	}
	if c.plainPages > 0 && (!dict || c.kind != parquet.Encodings.Plain) || !dict && c.plainPages == 0 {
		out = append(out, c.kind)
	}
	return append(out, parquet.Encodings.RLE)
}

func (t *thrift) statistics(id int, c *chunk) {
	lo, hi := c.stats.encode(c.lf)
	t.structField(id)
	if c.lf.signed {
		t.optional(1, hi)
		t.optional(2, lo)
	}
	t.i64(3, c.stats.Nulls)
	t.optional(5, hi)
	t.optional(6, lo)
	t.end()
}

func (t *thrift) optional(id int, v []byte) {
	if v != nil {
		t.binary(id, v)
	}
}

// pageCounts says how many pages have which encoding: a reader that finds no plain ones may filter by the dictionary.
func (t *thrift) pageCounts(id int, c *chunk, dict bool) {
	kind := int32(pageData)
	if c.opt.PageV2 {
		kind = pageDataV2
	}
	type count struct {
		page int32
		enc  parquet.Encoding
		n    int32
	}
	counts := make([]count, 0, 3)
	if dict {
		counts = append(counts, count{pageDictionary, parquet.Encodings.Plain, 1}, count{kind, parquet.Encodings.RLEDict, c.dictPages})
	}
	if c.plainPages > 0 {
		counts = append(counts, count{kind, c.kind, c.plainPages})
	}
	t.list(id, len(counts), thriftStruct)
	for _, n := range counts {
		t.begin()
		t.i32(1, n.page)
		t.i32(2, int32(n.enc))
		t.i32(3, n.n)
		t.end()
	}
}
