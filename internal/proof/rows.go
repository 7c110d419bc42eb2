package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
)

// row is what a row says of its record.
type row struct {
	part int32
	off  int64
	// null says that part or off is missing.
	null    bool
	payload string
}

// noPayload is the payload of a row without one.
const noPayload = "\x00null"

// errDangling says that a data file is not what the table says it is.
type errDangling struct{ error }

func isDangling(err error) bool {
	var d errDangling
	return errors.As(err, &d)
}

// wholeFile is up to which size a file is fetched at once.
const wholeFile = 64 << 20

// readFile calls f for each row of a data file and counts them. An error is an errDangling where the file is not there or
// can't be read as what it should be, otherwise the storage's.
func (c *checker) readFile(ctx context.Context, df File, f func(row)) (n int64, err error) {
	h, err := c.fio.Open(df.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errDangling{fmt.Errorf("%s is not there", df.Path)}
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if info, err := h.Stat(); err == nil && info.Size() != df.Bytes {
		return 0, errDangling{fmt.Errorf("%s has %d bytes, its manifest says %d", df.Path, info.Size(), df.Bytes)}
	}
	if c.o.Cache == nil {
		return c.columns.read(ctx, h, df, f)
	}
	rows, ok := c.o.Cache.get(df.Path).([]row)
	if !ok {
		if _, err = c.columns.read(ctx, h, df, func(r row) { rows = append(rows, r) }); err != nil {
			return 0, err
		}
		c.o.Cache.put(df.Path, rows)
	}
	for _, r := range rows {
		f(r)
	}
	return int64(len(rows)), nil
}

// columns are the field ids of the columns that matter; -1 where the table has none of the name.
type columns struct{ part, off, payload int32 }

func columnsOf(sc *iceberg.Schema) columns {
	id := func(name string) int32 {
		if f, ok := sc.FindFieldByName(name); ok {
			return int32(f.ID)
		}
		return -1
	}
	return columns{id("part"), id("off"), id("payload")}
}

// seekable is what Parquet reads from.
type seekable interface {
	io.ReaderAt
	io.ReadSeeker
}

func (cs columns) read(ctx context.Context, h seekable, df File, f func(row)) (int64, error) {
	if df.Bytes <= wholeFile {
		b, err := io.ReadAll(h)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", df.Path, err)
		}
		h = bytes.NewReader(b)
	}
	h = struct{ seekable }{h} // the Parquet reader would close what can be closed
	n, err := cs.parse(ctx, h, f)
	if err != nil && ctx.Err() == nil {
		err = errDangling{fmt.Errorf("read %s: %w", df.Path, err)}
	}
	return n, err
}

func (cs columns) parse(ctx context.Context, h seekable, f func(row)) (n int64, err error) {
	defer func() {
		if r := recover(); r != nil { // the library's way to say that a file is no Parquet, here and there
			err = fmt.Errorf("%v", r)
		}
	}()
	pf, err := file.NewParquetReader(h)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pf.Close()) }()
	part, off, payload := find(pf, cs.part, "part"), find(pf, cs.off, "off"), find(pf, cs.payload, "payload")
	if part < 0 || off < 0 {
		return 0, errors.New("it has no columns part and off")
	}
	// The library gives columns in the order of the file, whatever the order of asking.
	leaves := []int{part, off}
	if payload >= 0 {
		leaves = append(leaves, payload)
	}
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 16 << 10}, memory.DefaultAllocator)
	if err != nil {
		return 0, err
	}
	rr, err := fr.GetRecordReader(ctx, leaves, nil)
	if err != nil {
		return 0, err
	}
	defer rr.Release()
	at := func(rec arrow.RecordBatch, leaf int) arrow.Array {
		if leaf < 0 {
			return nil
		}
		return rec.Column(rec.Schema().FieldIndices(pf.MetaData().Schema.Column(leaf).Name())[0])
	}
	for rr.Next() {
		rec := rr.RecordBatch()
		if err := each(at(rec, part), at(rec, off), at(rec, payload), f); err != nil {
			return n, err
		}
		n += rec.NumRows()
	}
	if err := rr.Err(); err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, nil
}

// find gives the leaf of a field id, or of the name where the file has no ids; -1 for none.
func find(pf *file.Reader, id int32, name string) int {
	sc := pf.MetaData().Schema
	byName := -1
	for i := range sc.NumColumns() {
		n := sc.Column(i).SchemaNode()
		if id >= 0 && n.FieldID() == id {
			return i
		}
		if n.FieldID() < 0 && sc.Column(i).Path() == name && sc.Column(i).PhysicalType() != parquet.Types.Undefined {
			byName = i
		}
	}
	return byName
}

func each(part, off, payload arrow.Array, f func(row)) error {
	for i := range part.Len() {
		r := row{payload: noPayload, null: part.IsNull(i) || off.IsNull(i)}
		if !r.null {
			p, err := whole(part, i)
			if err != nil {
				return fmt.Errorf("column part: %w", err)
			}
			if r.off, err = whole(off, i); err != nil {
				return fmt.Errorf("column off: %w", err)
			}
			r.part = int32(p)
			r.null = int64(r.part) != p
		}
		if payload != nil && payload.IsValid(i) {
			s, ok := payload.(interface{ Value(int) string })
			if !ok {
				return fmt.Errorf("column payload is %s", payload.DataType())
			}
			r.payload = s.Value(i)
		}
		f(r)
	}
	return nil
}

func whole(a arrow.Array, i int) (int64, error) {
	switch a := a.(type) {
	case *array.Int32:
		return int64(a.Value(i)), nil
	case *array.Int64:
		return a.Value(i), nil
	}
	return 0, fmt.Errorf("it is %s, not an integer", a.DataType())
}
