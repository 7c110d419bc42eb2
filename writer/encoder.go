package writer

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/parquetfile"
	"github.com/stormfloe/floe/mapper"
)

const (
	// chunkRows and chunkBytes are what a partition gathers before its rows go to the Parquet encoder.
	chunkRows  = 16384
	chunkBytes = 1 << 20
	// smallPart is below what a Parquet encoder holds by itself: writing such a partition out, but not closing its file,
	// would not free memory.
	smallPart = 32 << 10
	// partOverhead is about what the bookkeeping of a live partition takes, columnOverhead what a column without rows does.
	partOverhead   = 512
	columnOverhead = 768
	// doneOverhead is about what the description of a finished file takes, doneLeaf what each leaf adds to it.
	doneOverhead = 2048
	doneLeaf     = 320
)

// encoder writes the files of one batch, or of one share of it. It belongs to one goroutine.
type encoder struct {
	lane    int
	budget  int64
	maxOpen int
	pages   *parquetfile.Encoder

	// of the batch:
	p      *plan
	fs     icebergio.WriteFileIO
	id     uuid.UUID
	seq    int
	parts  []*part // by tuple number; nil where nothing is open
	live   []*part
	sinks  []*sink // of all files of the batch
	done   []iceberg.DataFile
	rows   int64 // in done
	bytes  int64 // in done
	counts []int32
	order  []int32
	starts []int32
	last   load // as of the last add

	// spare columns to reuse, all of spareOf's schema; spareHeld is what they take.
	spare     []*mapper.Columns
	spareOf   *mapper.Schema
	spareHeld int64
	seen      map[uint64]struct{} // scratch of chooseDict
}

// part is an Iceberg partition with rows or a file open.
type part struct {
	n     int32
	tuple *tuple
	cols  *mapper.Columns
	file  *file
	held  int64
}

func newEncoder(lane int, budget int64, maxOpen int) *encoder {
	return &encoder{lane: lane, budget: budget, maxOpen: max(1, maxOpen), pages: parquetfile.NewEncoder(budget / 4), seen: map[uint64]struct{}{}}
}

// begin starts a batch.
func (e *encoder) begin(p *plan, fs icebergio.WriteFileIO, id uuid.UUID) {
	e.p, e.fs, e.id, e.seq, e.last = p, fs, id, 0, load{}
	if e.spareOf != p.rows {
		e.spare, e.spareOf, e.spareHeld = nil, p.rows, 0
	}
}

// add takes the rows of src, whose partitions are tuples[at[i]]; at is nil for an unpartitioned table.
func (e *encoder) add(src *mapper.Columns, at []int32, tuples []*tuple) error {
	if at == nil {
		pt := e.part(0, nil)
		if err := e.write(pt, src); err != nil {
			return err
		}
		return e.relieve()
	}
	e.sort(at, len(tuples))
	for i := 0; i < len(e.order); {
		n := at[e.order[i]]
		j := int(e.starts[n])
		if err := e.scatter(e.part(n, tuples[n]), src, e.order[i:j]); err != nil {
			return err
		}
		i = j
	}
	return e.relieve()
}

// sort orders the row numbers by partition (a counting sort); starts[n] becomes the end of partition n's run.
func (e *encoder) sort(at []int32, tuples int) {
	e.counts = slices.Grow(e.counts[:0], tuples)[:tuples]
	clear(e.counts)
	for _, n := range at {
		e.counts[n]++
	}
	e.starts = slices.Grow(e.starts[:0], tuples)[:tuples]
	var sum int32
	for n, c := range e.counts {
		e.starts[n] = sum
		sum += c
	}
	e.order = slices.Grow(e.order[:0], len(at))[:len(at)]
	for row, n := range at {
		e.order[e.starts[n]] = int32(row)
		e.starts[n]++
	}
}

func (e *encoder) part(n int32, t *tuple) *part {
	for int(n) >= len(e.parts) {
		e.parts = append(e.parts, nil)
	}
	if e.parts[n] == nil {
		e.parts[n] = &part{n: n, tuple: t}
		e.live = append(e.live, e.parts[n])
	}
	return e.parts[n]
}

func (e *encoder) scatter(pt *part, src *mapper.Columns, rows []int32) error {
	if pt.cols == nil {
		cols, err := e.columns()
		if err != nil {
			return err
		}
		pt.cols = cols
	}
	for len(rows) > 0 {
		n := min(len(rows), max(1, chunkRows-pt.cols.Rows))
		if err := pt.cols.AppendRows(src, rows[:n]); err != nil {
			// Full, which chunkBytes makes nearly impossible: write out and take them one by one.
			if pt.cols.Rows == 0 {
				return fmt.Errorf("gather rows of partition %s: %w", pt.tuple.path, err)
			}
			n = 0
		}
		rows = rows[n:]
		if n == 0 || pt.cols.Rows >= chunkRows || pt.cols.Bytes() >= chunkBytes {
			if err := e.write(pt, pt.cols); err != nil {
				return err
			}
			pt.cols.Reset()
		}
	}
	return nil
}

func (e *encoder) columns() (*mapper.Columns, error) {
	if n := len(e.spare); n > 0 {
		c := e.spare[n-1]
		e.spare[n-1], e.spare = nil, e.spare[:n-1]
		e.spareHeld -= c.Cap()
		return c, nil
	}
	return mapper.NewColumns(e.p.rows)
}

// write gives rows to the partition's file, which is begun, or ended for another, as needed.
func (e *encoder) write(pt *part, cols *mapper.Columns) error {
	if err := e.room(pt, cols); err != nil || cols.Rows == 0 {
		return err
	}
	return pt.file.write(cols)
}

// room sees to it that pt has a file that can take cols.
func (e *encoder) room(pt *part, cols *mapper.Columns) error {
	if cols.Rows == 0 {
		return nil
	}
	if f := pt.file; f != nil && f.rows > 0 && (f.rowGroups() >= maxRowGroups || f.size(cols.Bytes()) >= e.p.set.targetSize) {
		if err := e.closeFile(context.Background(), pt); err != nil {
			return err
		}
	}
	if pt.file != nil {
		return nil
	}
	partition := ""
	if pt.tuple != nil {
		partition = pt.tuple.path
	}
	path := e.p.loc.path(partition, fmt.Sprintf("%05d-%s-%05d.parquet", e.lane, e.id, e.seq))
	e.seq++
	pt.file = newFile(e.p, e.fs, path, e.pages, chooseDict(e.p, cols, e.seen), e.budget/2)
	e.sinks = append(e.sinks, pt.file.sink)
	return nil
}

// closeFile ends the partition's file; it is durable afterwards.
func (e *encoder) closeFile(ctx context.Context, pt *part) error {
	f := pt.file
	st, err := f.finish()
	if err != nil {
		return err
	}
	if err := f.sink.finish(ctx); err != nil {
		return err
	}
	df, err := f.dataFile(st, pt.tuple)
	if err != nil {
		return err
	}
	e.finished(df)
	pt.file = nil
	return nil
}

func (e *encoder) finished(df iceberg.DataFile) {
	e.done = append(e.done, df)
	e.rows += df.Count()
	e.bytes += df.FileSizeBytes()
}

// retire gives a partition's columns back, and forgets it where no file is open.
func (e *encoder) retire(pt *part) {
	if pt.cols != nil && pt.cols.Rows == 0 {
		pt.cols = nil
	}
	if pt.cols == nil && pt.file == nil {
		e.parts[pt.n] = nil
	}
}

// load is what an encoder holds: memory, bytes of the batch so far, files.
type load struct {
	held, bytes int64
	open, files int
	// done is the part of held that the descriptions of finished files take: only a seal frees it.
	done int64
}

// measure also takes note of what each partition holds.
func (e *encoder) measure() load {
	l := load{bytes: e.bytes, files: len(e.done)}
	leaves := int64(len(e.p.leaves))
	l.done = int64(l.files) * (doneOverhead + leaves*doneLeaf)
	l.held = l.done
	for _, pt := range e.live {
		pt.held = partOverhead
		if pt.cols != nil {
			pt.held += pt.cols.Cap() + leaves*columnOverhead
			l.bytes += pt.cols.Bytes()
		}
		if f := pt.file; f != nil {
			pt.held += f.memory()
			l.bytes += f.size(0)
			if f.sink.w != nil {
				l.open++
			}
		}
		l.held += pt.held
	}
	return l
}

// relieve keeps the bounds: it writes out, or closes, the largest partitions.
func (e *encoder) relieve() error {
	l := e.measure()
	defer func() { e.last = l }()
	for pass := 0; l.held > e.budget && pass < 3; pass++ {
		largest := slices.Clone(e.live)
		slices.SortFunc(largest, func(a, b *part) int { return int(min(1, max(-1, b.held-a.held))) })
		for _, pt := range largest {
			if l.held <= e.budget/4*3 {
				break
			}
			if err := e.relievePart(pt); err != nil {
				return err
			}
			l.held -= pt.held
			if pt.file != nil {
				l.held += pt.file.memory()
			}
		}
		e.sweep()
		l = e.measure()
	}
	if l.open <= e.maxOpen {
		return nil
	}
	open := slices.DeleteFunc(slices.Clone(e.live), func(pt *part) bool { return pt.file == nil || pt.file.sink.w == nil })
	slices.SortFunc(open, func(a, b *part) int { return int(min(1, max(-1, b.file.sink.n-a.file.sink.n))) })
	for _, pt := range open[:l.open-e.maxOpen] {
		if err := e.drain(pt); err != nil {
			return err
		}
	}
	e.sweep()
	l = e.measure()
	return nil
}

// relievePart writes a partition's rows out as a row group. Where the rows are not what takes the memory, it closes the
// file.
func (e *encoder) relievePart(pt *part) error {
	var raw, rest int64
	if pt.cols != nil && pt.cols.Rows > 0 {
		raw = pt.cols.Cap()
	}
	if pt.file != nil {
		rest = pt.file.memory()
	}
	if raw < smallPart || raw < rest/2 {
		return e.drain(pt)
	}
	if err := e.room(pt, pt.cols); err != nil {
		return err
	}
	if err := pt.file.writeGroup(pt.cols); err != nil {
		return err
	}
	pt.cols.Reset()
	e.retire(pt)
	return nil
}

// drain writes what is left of a partition and closes its file.
func (e *encoder) drain(pt *part) error {
	if err := e.encodeRest(pt); err != nil {
		return err
	}
	if pt.file != nil {
		if err := e.closeFile(context.Background(), pt); err != nil {
			return err
		}
	}
	e.retire(pt)
	return nil
}

func (e *encoder) encodeRest(pt *part) error {
	if pt.cols == nil || pt.cols.Rows == 0 {
		return nil
	}
	if err := e.room(pt, pt.cols); err != nil {
		return err
	}
	write := pt.file.write
	if !pt.file.open {
		write = pt.file.writeGroup
	}
	if err := write(pt.cols); err != nil {
		return err
	}
	pt.cols.Reset()
	return nil
}

// sweep drops partitions from the list that hold nothing any more.
func (e *encoder) sweep() {
	e.live = slices.DeleteFunc(e.live, func(pt *part) bool { return e.parts[pt.n] != pt })
}
