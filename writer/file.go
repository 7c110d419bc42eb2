package writer

import (
	"fmt"

	icebergio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/parquetfile"
	"github.com/stormfloe/floe/mapper"
)

const (
	// maxRowGroups ends a file: a row group's number has 16 bits, and a footer with thousands is dear to read.
	maxRowGroups = 1000
	// fileOverhead is about what a file holds beside its buffers, leafOverhead what each leaf adds.
	fileOverhead = 1 << 10
	leafOverhead = 256
)

// file is one Parquet file that is being written.
type file struct {
	p    *plan
	sink *sink
	out  *parquetfile.File

	rows int64
	// open says that a row group takes rows; groupRows and groupRaw are what it has got, in rows and in column bytes.
	open                bool
	groupRows, groupRaw int64
	// groupBytes ends a row group by its column bytes.
	groupBytes int64
	// raw is the sum of column bytes of closed row groups; with sink.n it gives the ratio of the compression.
	raw int64
}

// newFile begins a file; dict says which leaves get a dictionary. Nothing is made on the storage yet. An open row group
// stays in memory: it ends at the table's size for it, or at maxGroup column bytes.
func newFile(p *plan, fs icebergio.WriteFileIO, path string, enc *parquetfile.Encoder, dict []parquetfile.Dict, maxGroup int64) *file {
	f := &file{p: p, sink: &sink{fs: fs, path: path, on: p.loc.on}, groupBytes: min(p.set.rowGroupBytes, maxGroup)}
	f.out = enc.NewFile(p.layout, &p.parquet, dict, f.sink)
	return f
}

// write appends rows to the open row group, and begins others as the limits are reached.
func (f *file) write(cs *mapper.Columns) error {
	raw, set := cs.Bytes(), f.p.set
	for from := 0; from < cs.Rows; {
		if f.groupRows >= set.rowGroupRows || f.groupRaw >= f.groupBytes {
			if err := f.endGroup(); err != nil {
				return err
			}
		}
		to := int(min(int64(cs.Rows), int64(from)+set.rowGroupRows-f.groupRows))
		if err := f.out.Write(cs, from, to); err != nil {
			return f.fail(err)
		}
		f.open = true
		f.groupRows += int64(to - from)
		f.groupRaw += raw * int64(to-from) / int64(cs.Rows)
		from = to
	}
	f.rows += int64(cs.Rows)
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
	if err := f.endGroup(); err != nil {
		return err
	}
	if err := f.out.WriteGroup(cs, 0, cs.Rows); err != nil {
		return f.fail(err)
	}
	f.raw += cs.Bytes()
	f.rows += int64(cs.Rows)
	return nil
}

func (f *file) endGroup() error {
	if !f.open {
		return nil
	}
	f.raw += f.groupRaw
	f.groupRows, f.groupRaw, f.open = 0, 0, false
	if err := f.out.EndGroup(); err != nil {
		return f.fail(err)
	}
	return nil
}

// finish writes the footer into the sink and says what is in the file. The sink still has to be finished.
func (f *file) finish() (*parquetfile.FileStats, error) {
	if err := f.endGroup(); err != nil {
		return nil, err
	}
	st, err := f.out.Finish()
	if err != nil {
		return nil, f.fail(err)
	}
	if st.Rows != f.rows {
		return nil, fmt.Errorf("data file %s has %d rows in its footer, %d were written", f.sink.path, st.Rows, f.rows)
	}
	return st, nil
}

// fail gives the sink's own error, which names the path and the operation, before the encoder's.
func (f *file) fail(err error) error {
	if f.sink.err != nil {
		return f.sink.err
	}
	return fmt.Errorf("encode data file %s: %w", f.sink.path, err)
}

// rowGroups is how many there are, the open one included.
func (f *file) rowGroups() int {
	n := f.out.Stats().RowGroups
	if f.open {
		n++
	}
	return n
}

// memory is about what the file holds.
func (f *file) memory() int64 {
	return f.sink.memory() + f.out.Memory() + fileOverhead + leafOverhead*int64(len(f.p.leaves))
}

// size is about how large the file would be if it ended with more column bytes than it has now.
func (f *file) size(more int64) int64 {
	pending := f.groupRaw + more
	if f.sink.n > 64<<10 && f.raw > 0 {
		return f.sink.n + int64(float64(pending)*min(1, float64(f.sink.n)/float64(f.raw)))
	}
	if f.groupRaw > 1<<20 { // no row group is finished: judge by the finished pages of the open one
		if c := f.out.Pending(); c > 0 {
			inPages := f.groupRaw - min(f.groupRaw/2, int64(len(f.p.leaves))*f.p.set.pageBytes/2)
			return f.sink.n + int64(float64(pending)*min(1, float64(c)/float64(inPages)))
		}
	}
	return f.sink.n + pending
}

// close lets go of the encoder's buffers after an error.
func (f *file) close() {
	f.sink.abort()
	f.out.Close()
}
