package writer

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	icebergio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/mapper"
)

const (
	// writeBatch is how many values the Parquet encoder takes at a time.
	writeBatch = 16384
	// maxRowGroups ends a file: a row group's number has 16 bits, and a footer with thousands is dear to read.
	maxRowGroups = 1000
	// leafOverhead is about what the encoder holds for one leaf of an open row group, beside its pages.
	leafOverhead = 4 << 10
	// fileOverhead is about what a file holds while it has no open row group.
	fileOverhead = 4 << 10
)

// file is one Parquet file that is being written.
type file struct {
	p     *plan
	sink  *sink
	fw    *pqarrow.FileWriter
	stats []leafStats

	rows      int64
	rowGroups int
	// open says that a row group takes rows; groupRows and groupRaw are what it has got, in rows and in column bytes.
	open                bool
	groupRows, groupRaw int64
	// groupBytes ends a row group by its column bytes.
	groupBytes int64
	// raw is the sum of column bytes of closed row groups; with sink.n it gives the ratio of the compression.
	raw int64
}

// newFile begins a file; sample are its first rows, from which it is decided what gets a dictionary. Nothing is made on
// the storage yet. An open row group stays in memory: it ends at the table's size for it, or at maxGroup column bytes.
func newFile(p *plan, fs icebergio.WriteFileIO, path string, alloc *pool, sample *mapper.Columns, maxGroup int64) (*file, error) {
	f := &file{p: p, sink: &sink{fs: fs, path: path, on: p.loc.on}, stats: make([]leafStats, len(p.leaves)),
		groupBytes: min(p.set.rowGroupBytes, maxGroup)}
	props := p.set.parquetProps(p.leaves, chooseDict(p, sample), alloc)
	arrowProps := pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(memory.Allocator(alloc)))
	fw, err := pqarrow.NewFileWriter(p.arrow, f.sink, props, arrowProps)
	if err != nil {
		return nil, fmt.Errorf("begin data file %s: %w", path, err)
	}
	f.fw = fw
	return f, nil
}

// write appends rows to the open row group, and begins one where there is none or the limits are reached.
func (f *file) write(cs *mapper.Columns) error {
	if cs.Rows == 0 {
		return nil
	}
	set := f.p.set
	if !f.open || f.groupRows >= set.rowGroupRows || f.groupRaw >= f.groupBytes {
		if err := f.nextGroup(); err != nil {
			return err
		}
	}
	raw := cs.Bytes()
	rec := record(f.p.arrow, cs)
	defer rec.Release()
	if err := f.fw.WriteBuffered(rec); err != nil {
		return f.fail(err)
	}
	rows, err := f.fw.RowGroupNumRows()
	if err != nil {
		return f.fail(err)
	}
	if int64(rows) < f.groupRows+int64(cs.Rows) { // the library has begun row groups of its own
		f.rowGroups += int((f.groupRows + int64(cs.Rows) - 1) / set.rowGroupRows)
		f.raw += f.groupRaw
		f.groupRaw = 0
	}
	f.groupRows, f.groupRaw = int64(rows), f.groupRaw+raw
	f.count(cs)
	return nil
}

// writeGroup writes rows as a row group of their own and ends it: nothing of them stays in the encoder.
func (f *file) writeGroup(cs *mapper.Columns) error {
	if cs.Rows == 0 {
		return nil
	}
	if int64(cs.Rows) > f.p.set.rowGroupRows {
		return f.write(cs)
	}
	f.endGroup()
	rec := record(f.p.arrow, cs)
	defer rec.Release()
	if err := f.fw.Write(rec); err != nil {
		return f.fail(err)
	}
	f.raw += cs.Bytes()
	f.rowGroups++
	f.count(cs)
	return nil
}

func (f *file) nextGroup() error {
	f.endGroup()
	if err := f.fw.NewBufferedRowGroupChecked(); err != nil {
		return f.fail(err)
	}
	f.open = true
	f.rowGroups++
	return nil
}

// endGroup only takes note: the library ends a row group when the next one begins, or at the end of the file.
func (f *file) endGroup() {
	f.raw += f.groupRaw
	f.groupRows, f.groupRaw, f.open = 0, 0, false
}

func (f *file) count(cs *mapper.Columns) {
	f.rows += int64(cs.Rows)
	for i := range f.p.leaves {
		f.stats[i].update(&f.p.leaves[i], cs)
	}
}

// finish writes the footer into the sink and gives the metadata. The sink still has to be finished.
func (f *file) finish() (*metadata.FileMetaData, error) {
	if err := f.fw.Close(); err != nil {
		return nil, f.fail(err)
	}
	f.open = false
	m, err := f.fw.FileMetadata()
	if err != nil {
		return nil, f.fail(err)
	}
	if m.NumRows != f.rows {
		return nil, fmt.Errorf("data file %s has %d rows in its footer, %d were written", f.sink.path, m.NumRows, f.rows)
	}
	return m, nil
}

// fail gives the sink's own error, which names the path and the operation, before the library's wrapping of it.
func (f *file) fail(err error) error {
	if f.sink.err != nil {
		return f.sink.err
	}
	return fmt.Errorf("encode data file %s: %w", f.sink.path, err)
}

// memory is about what the file holds: finished pages of the open row group, pages that are being filled, what waits in
// the sink, and the Bloom filters of all row groups, which are written with the footer.
func (f *file) memory() int64 {
	n := f.sink.memory() + fileOverhead + int64(f.rowGroups)*f.p.bloomBytes
	if f.open {
		leaves := int64(len(f.p.leaves))
		n += f.fw.RowGroupTotalCompressedBytes() + min(f.groupRaw, leaves*2*f.p.set.pageBytes) + leaves*leafOverhead
	}
	return n
}

// size is about how large the file would be if it ended with more column bytes than it has now.
func (f *file) size(more int64) int64 {
	pending := f.groupRaw + more
	if f.sink.n > 64<<10 && f.raw > 0 {
		return f.sink.n + int64(float64(pending)*min(1, float64(f.sink.n)/float64(f.raw)))
	}
	if f.groupRaw > 1<<20 { // no row group is finished: judge by the finished pages of the open one
		if c := f.fw.RowGroupTotalCompressedBytes(); c > 0 {
			inPages := f.groupRaw - min(f.groupRaw/2, int64(len(f.p.leaves))*f.p.set.pageBytes/2)
			return f.sink.n + int64(float64(pending)*min(1, float64(c)/float64(inPages)))
		}
	}
	return f.sink.n + pending
}

// close lets go of the encoder's buffers after an error.
func (f *file) close() {
	f.sink.abort()
	_ = f.fw.Close() // it fails on the aborted sink, and is of no use any more
}
