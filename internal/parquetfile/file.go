package parquetfile

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/stormfloe/floe/mapper"
)

// Options of a file. They do not change while it is written; many files share them.
type Options struct {
	Codec compress.Compression
	// Level of the codec, in its own words; compress.DefaultCompressionLevel for its default.
	Level int
	// PageBytes and PageRows end a page: the size of its values before compression, and its rows (0: any number). A page
	// holds at least one row.
	PageBytes, PageRows int64
	// PageV2 writes data pages of version 2.
	PageV2 bool
	// Delta encodes integers, dates and times as DELTA_BINARY_PACKED.
	Delta bool
	// DictBytes is the size at which a dictionary is given up.
	DictBytes int64
	// Bloom is the size of each leaf's Bloom filter in bytes, 0 for none; nil for none at all.
	Bloom []int
}

// Encoder is what the files of one goroutine share: buffers, and the compressor.
type Encoder struct {
	keep    int64
	pool    *pool
	comp    compressor
	levels  levels
	scratch scratch
	body    []byte // the page that is being finished
	// repBytes is the length of the repetition levels in body.
	repBytes int
	thrift   thrift
	spare    []*chunk
}

// NewEncoder holds about that many bytes for reuse, as far as compression needs no more.
func NewEncoder(keep int64) *Encoder { return &Encoder{keep: keep, pool: &pool{keep: keep}} }

// Memory is what is held beside the files.
func (e *Encoder) Memory() int64 { return e.pool.held + e.fixed() }

// fixed is what is held whatever the files are.
func (e *Encoder) fixed() int64 {
	return e.comp.memory() + e.scratch.memory() + int64(cap(e.body)+cap(e.levels.def)+cap(e.levels.rep)+4*cap(e.levels.picks)+cap(e.thrift.b))
}

// Poison makes buffers that are used after they were given back visible, for tests.
func (e *Encoder) Poison() { e.pool.poison = true }

// File is one Parquet file that is being written. It belongs to the goroutine of its Encoder. After an error only Close
// may follow.
type File struct {
	e    *Encoder
	l    *Layout
	opt  *Options
	dict []Dict
	w    io.Writer

	at     int64 // bytes written
	open   []*chunk
	rows   int64 // in the open row group
	held   int64
	groups []byte // the finished row groups, as they go into the footer
	counts FileStats
}

// FileStats is what a file holds. Rows, and what it says of each leaf, count finished row groups.
type FileStats struct {
	Rows      int64
	RowGroups int
	// Sizes are the compressed bytes of each leaf.
	Sizes []int64
	// Leaves are the values of each leaf.
	Leaves []Stats
	// Splits is where each row group begins.
	Splits []int64
}

// Dict says whether a leaf gets a dictionary.
type Dict uint8

// No dictionary; one that is given up where the first page shows that it does not pay; one in any case.
const (
	NoDict Dict = iota
	TryDict
	KeepDict
)

// NewFile begins a file. dict says which leaves get a dictionary; booleans have none.
func (e *Encoder) NewFile(l *Layout, opt *Options, dict []Dict, w io.Writer) *File {
	return &File{e: e, l: l, opt: opt, dict: dict, w: w,
		counts: FileStats{Sizes: make([]int64, len(l.leaves)), Leaves: make([]Stats, len(l.leaves))}}
}

var magic = []byte("PAR1")

func (f *File) put(b []byte) error {
	n, err := f.w.Write(b)
	f.at += int64(n)
	return err
}

// Write appends rows [from, to) of cs to the open row group, and begins one where there is none.
func (f *File) Write(cs *mapper.Columns, from, to int) error {
	if err := f.begin(); err != nil {
		return err
	}
	f.held = 0
	for i := range f.l.leaves {
		if i == len(f.open) {
			f.open = append(f.open, f.chunk(i))
		}
		if err := f.open[i].write(f.e, cs, from, to); err != nil {
			return err
		}
		f.held += f.open[i].memory()
	}
	f.rows += int64(to - from)
	return nil
}

// WriteGroup writes rows [from, to) as a row group of their own, one leaf after the other: little more than one is held
// in memory. There must be no open row group.
func (f *File) WriteGroup(cs *mapper.Columns, from, to int) error {
	if len(f.open) > 0 {
		return errors.New("parquet: a row group is open")
	}
	if err := f.begin(); err != nil {
		return err
	}
	f.rows = int64(to - from)
	return f.group(func(i int) (*chunk, error) {
		c := f.chunk(i)
		return c, c.write(f.e, cs, from, to)
	})
}

// EndGroup writes the open row group out.
func (f *File) EndGroup() error {
	if len(f.open) == 0 {
		return nil
	}
	if err := f.begin(); err != nil {
		return err
	}
	open := f.open
	f.open, f.held = f.open[:0], 0
	return f.group(func(i int) (*chunk, error) { return open[i], nil })
}

func (f *File) begin() error {
	if err := f.e.comp.use(f.opt); err != nil {
		return err
	}
	f.e.pool.keep = f.e.keep - f.e.fixed()
	if f.at > 0 {
		return nil
	}
	return f.put(magic)
}

// chunk begins the chunk of leaf i.
func (f *File) chunk(i int) *chunk {
	c := &chunk{}
	if n := len(f.e.spare); n > 0 {
		c, f.e.spare = f.e.spare[n-1], f.e.spare[:n-1]
	}
	size := 0
	if f.opt.Bloom != nil {
		size = f.opt.Bloom[i]
	}
	c.init(&f.l.leaves[i], f.opt, f.e.pool, f.dict[i], size)
	return c
}

const maxSpare = 64

func (f *File) giveBack(c *chunk) {
	c.release(f.e.pool)
	if len(f.e.spare) < maxSpare {
		f.e.spare = append(f.e.spare, c)
	}
}

// group writes a row group of the chunks that next gives.
func (f *File) group(next func(int) (*chunk, error)) error {
	g := groupFooter{t: &thrift{b: f.groups}, rows: f.rows, ordinal: f.counts.RowGroups, leaves: len(f.l.leaves), at: f.at}
	g.begin()
	for i := range f.l.leaves {
		c, err := next(i)
		if err == nil {
			err = f.chunkOut(c, &g, i)
		}
		f.giveBack(c)
		if err != nil {
			return err
		}
	}
	f.groups = g.end()
	f.counts.Splits = append(f.counts.Splits, g.at)
	f.counts.RowGroups++
	f.counts.Rows += f.rows
	f.rows = 0
	return nil
}

// chunkOut writes leaf i of a row group, and what the footer says of it.
func (f *File) chunkOut(c *chunk, g *groupFooter, i int) error {
	if err := c.endPage(f.e); err != nil {
		return err
	}
	m := chunkFooter{at: f.at, size: c.size, uncompressed: c.uncompressed}
	if c.dictPages > 0 {
		header, data, raw := f.e.dictPage(c)
		m.dict = true
		m.size += int64(len(header) + len(data))
		m.uncompressed += int64(raw)
		if err := errors.Join(f.put(header), f.put(data)); err != nil {
			return err
		}
	}
	m.data = f.at
	for _, b := range c.blocks {
		if err := f.put(b); err != nil {
			return err
		}
	}
	if c.bloom.on() {
		m.bloom = f.at
		t := &f.e.thrift
		t.reset()
		c.bloom.appendHeader(t)
		if err := errors.Join(f.put(t.b), f.put(c.bloom.bits)); err != nil {
			return err
		}
		m.bloomSize = f.at - m.bloom
	}
	g.chunk(c, &m)
	f.counts.Sizes[i] += m.size
	f.counts.Leaves[i].merge(&c.lf.typ, &c.stats)
	return nil
}

// Finish ends the open row group and writes the footer.
func (f *File) Finish() (*FileStats, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	if err := f.EndGroup(); err != nil {
		return nil, err
	}
	t := &f.e.thrift
	t.reset()
	tail := f.l.tail(append(t.b, f.l.head...), f.counts.Rows, f.counts.RowGroups, f.groups)
	n := len(tail)
	t.b = append(tail, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	t.b = append(t.b, magic...)
	if err := f.put(t.b); err != nil {
		return nil, err
	}
	return &f.counts, nil
}

// Stats says what has been written; the open row group counts for nothing but Size and Memory.
func (f *File) Stats() *FileStats { return &f.counts }

// Pending is the size of the finished pages of the open row group.
func (f *File) Pending() int64 {
	var n int64
	for _, c := range f.open {
		n += c.size
	}
	return n
}

// Memory is what the file holds.
func (f *File) Memory() int64 {
	return f.held + int64(cap(f.groups))
}

// Close lets go of what is held; the file is of no use afterwards.
func (f *File) Close() {
	for _, c := range f.open {
		f.giveBack(c)
	}
	f.open, f.held = nil, 0
}
