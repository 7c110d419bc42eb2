package rejects

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// Stored is a reject as it was read from the table.
type Stored struct {
	Topology  string
	Partition source.Partition
	// Record has its key, value and headers only where ReadOptions.Contents asks for them. They are valid until the function that
	// Read calls has returned.
	Record source.Record
	Code   mapper.Code
	Reason string
	Column string
	// At is when it was refused.
	At time.Time
	// Batch is the UUID of the batch that refused it, Replayed the commit id of a replay that took it in, or empty.
	Batch, Replayed string
	// File is the data file that the row lies in, Commits are the commits of the main table whose rejects were appended together
	// with it: none where another engine has rewritten the file, or the snapshot that appended it has expired.
	File    string
	Commits []string
	// Moved says that a replay has written the row anew, in the place of the file that its commit had passed.
	Moved bool
}

// Reject is st as what is to be written. It shares st's record.
func (st *Stored) Reject() Reject {
	return Reject{Topology: st.Topology, Partition: st.Partition, Record: &st.Record, At: st.At, Batch: st.Batch, Replayed: st.Replayed,
		Err: &mapper.BadRecordError{Code: st.Code, Column: st.Column, Reason: st.Reason}}
}

// ReadOptions of Read. The zero value reads all rows without their contents.
type ReadOptions struct {
	// Topology leaves out the rows of others; empty: none.
	Topology string
	// File leaves out what lies in other data files; empty: nothing.
	File string
	// Contents reads keys, values and headers too.
	Contents bool
}

// readRows is how many rows are in memory at once.
const readRows = 1024

// Read calls each with every reject that the table's newest snapshot holds, file by file. It ends with the first error, also
// of each. The table must be one that Check is content with.
func Read(ctx context.Context, tbl *table.Table, opts ReadOptions, each func(*Stored) error) error {
	if tbl.CurrentSnapshot() == nil {
		return nil
	}
	name := strings.Join(tbl.Identifier(), ".")
	origins, err := originsOf(ctx, tbl)
	if err != nil {
		return fmt.Errorf("rejects table %s: %w", name, err)
	}
	columns := []string{Topology, Cluster, Topic, Incarnation, Partition, Offset, Timestamp, Code, Reason, Column, RejectedAt, Batch, Replayed}
	if opts.Contents {
		columns = append(columns, Key, Value, Headers)
	}
	scan := []table.ScanOption{table.WithSelectedFields(columns...), table.WithArrowBatchSize(readRows), table.WithMaxConcurrency(1)}
	if opts.Topology != "" {
		scan = append(scan, table.WithRowFilter(iceberg.EqualTo(iceberg.Reference(Topology), opts.Topology)))
	}
	s := tbl.Scan(scan...)
	tasks, err := s.PlanFiles(ctx)
	if err != nil {
		return fmt.Errorf("rejects table %s: plan the scan: %w", name, err)
	}
	for _, task := range tasks {
		path := task.File.FilePath()
		if opts.File != "" && path != opts.File {
			continue
		}
		_, batches, err := s.ReadTasks(ctx, []table.FileScanTask{task})
		if err != nil {
			return fmt.Errorf("rejects table %s: read %s: %w", name, path, err)
		}
		for b, err := range batches {
			if err != nil {
				return fmt.Errorf("rejects table %s: read %s: %w", name, path, err)
			}
			err := Each(b, func(st *Stored) error {
				st.File, st.Commits, st.Moved = path, origins[path].commits, origins[path].moved
				return each(st)
			})
			b.Release()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// origin is what the snapshot that added a file says of it.
type origin struct {
	commits []string
	moved   bool
}

// originsOf gives the origin of each live file whose snapshot is retained.
func originsOf(ctx context.Context, tbl *table.Table) (map[string]origin, error) {
	fio, err := tbl.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open its files: %w", err)
	}
	manifests, err := tbl.CurrentSnapshot().Manifests(fio)
	if err != nil {
		return nil, fmt.Errorf("read its manifest list: %w", err)
	}
	out := map[string]origin{}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentData {
			continue
		}
		for e, err := range m.Entries(fio, true) {
			if err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			if s := tbl.SnapshotByID(e.SnapshotID()); s != nil {
				out[e.DataFile().FilePath()] = origin{commitsOf(s), s.Summary != nil && s.Summary.Operation != table.OpAppend}
			}
		}
	}
	return out, nil
}

// keyCommitID is where a snapshot names the commits, separated by commas. The main table's names one.
const keyCommitID = "storm.iceberg.commit-id"

func commitsOf(s *table.Snapshot) []string {
	if s.Summary == nil || s.Summary.Properties[keyCommitID] == "" {
		return nil
	}
	return strings.Split(s.Summary.Properties[keyCommitID], ",")
}

// Each calls each with every row of b, whose columns have the names of the table's. File, Commits and Moved are left empty. It ends
// with the first error, also of each.
func Each(b arrow.RecordBatch, each func(*Stored) error) error {
	r := reader{by: map[string]arrow.Array{}}
	for i, f := range b.Schema().Fields() {
		r.by[f.Name] = b.Column(i)
	}
	for _, c := range Columns() {
		if c.Required && r.by[c.Name] == nil {
			return fmt.Errorf("rejects table: there is no column %q", c.Name)
		}
	}
	for i := range int(b.NumRows()) {
		r.row = i
		st := r.stored()
		if r.err != nil {
			return r.err
		}
		if err := each(st); err != nil {
			return err
		}
	}
	return nil
}

// reader takes a row out of a batch's columns. The first column that is not as the table should have it is its error.
type reader struct {
	by  map[string]arrow.Array
	row int
	err error
}

func (r *reader) stored() *Stored {
	st := &Stored{
		Topology: r.text(Topology),
		Partition: source.Partition{Cluster: r.text(Cluster), Topic: r.text(Topic), Incarnation: r.text(Incarnation),
			ID: int32(r.number(Partition, 0))},
		Code: mapper.Code(r.text(Code)), Reason: r.text(Reason), Column: r.text(Column),
		At:    time.UnixMicro(r.number(RejectedAt, 0)).UTC(),
		Batch: r.text(Batch), Replayed: r.text(Replayed),
	}
	st.Record.Position = source.Position(r.number(Offset, 0))
	if st.Record.TimestampMs = -1; !r.null(Timestamp) {
		st.Record.TimestampMs = time.UnixMicro(r.number(Timestamp, 0)).UnixMilli()
	} else if reason, ms, late := cutLate(st.Reason); late {
		st.Reason, st.Record.TimestampMs = reason, ms
	}
	if _, ok := r.by[Value]; ok {
		st.Record.Key, st.Record.Value, st.Record.Headers = r.bytes(Key), r.bytes(Value), r.headers()
	}
	return st
}

func (r *reader) null(column string) bool {
	a := r.by[column]
	return a == nil || a.IsNull(r.row)
}

func (r *reader) wrong(column string) {
	if r.err == nil {
		r.err = fmt.Errorf("rejects table: column %q is read as %s", column, r.by[column].DataType())
	}
}

func (r *reader) text(column string) string {
	if r.null(column) {
		return ""
	}
	switch a := r.by[column].(type) {
	case *array.String:
		return strings.Clone(a.Value(r.row))
	case *array.LargeString:
		return strings.Clone(a.Value(r.row))
	}
	r.wrong(column)
	return ""
}

func (r *reader) number(column string, otherwise int64) int64 {
	if r.null(column) {
		return otherwise
	}
	switch a := r.by[column].(type) {
	case *array.Int32:
		return int64(a.Value(r.row))
	case *array.Int64:
		return a.Value(r.row)
	case *array.Timestamp:
		return int64(a.Value(r.row))
	}
	r.wrong(column)
	return otherwise
}

func (r *reader) bytes(column string) []byte {
	if r.null(column) {
		return nil
	}
	b, ok := bytesAt(r.by[column], r.row)
	if !ok {
		r.wrong(column)
	}
	return b
}

// bytesAt gives value i, not nil where it is empty.
func bytesAt(a arrow.Array, i int) ([]byte, bool) {
	if a.IsNull(i) {
		return nil, true
	}
	var b []byte
	switch a := a.(type) {
	case *array.Binary:
		b = a.Value(i)
	case *array.LargeBinary:
		b = a.Value(i)
	default:
		return nil, false
	}
	if b == nil {
		b = []byte{}
	}
	return b, true
}

func (r *reader) headers() []source.Header {
	if r.null(Headers) {
		return nil
	}
	list, ok := r.by[Headers].(array.ListLike)
	if !ok {
		r.wrong(Headers)
		return nil
	}
	from, to := list.ValueOffsets(r.row)
	elements, ok := list.ListValues().(*array.Struct)
	if !ok {
		r.wrong(Headers)
		return nil
	}
	t := elements.DataType().(*arrow.StructType)
	ki, kok := t.FieldIdx(HeaderKey)
	vi, vok := t.FieldIdx(HeaderValue)
	if !kok || !vok {
		r.wrong(Headers)
		return nil
	}
	var out []source.Header
	for i := int(from); i < int(to); i++ {
		k, ok1 := bytesAt(elements.Field(ki), i)
		v, ok2 := bytesAt(elements.Field(vi), i)
		if !ok1 || !ok2 {
			r.wrong(Headers)
			return nil
		}
		out = append(out, source.Header{Key: k, Value: v})
	}
	return out
}
