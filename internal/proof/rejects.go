package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Outcome is what is to become of a position.
type Outcome int

// The outcomes. Together they are all positions that were consumed.
const (
	// Skipped: there is no record that a reader sees: a gap, a transaction's marker, an aborted record.
	Skipped Outcome = iota
	// Row, Rejected and Filtered: the record becomes a row, a row of the rejects table, or neither, by rule.
	Row
	Rejected
	Filtered
)

// Reject is what the rejects table must say of a record.
type Reject struct {
	Code string
	// Value is the record's, whole.
	Value []byte
}

// FullTruth also knows what becomes of the records that become no row.
type FullTruth interface {
	Truth
	// Outcome of a position below the partition's end.
	Outcome(partition int32, position int64) Outcome
	// Reject is asked where the outcome is Rejected.
	Reject(partition int32, position int64) Reject
}

// CheckRejects compares the head of a rejects table with what was produced: every record that can't become a row is there
// once, whole and with its code, and nothing else of the topology and the topic. With Options.Whole false records may be
// missing. It holds where the main table was never set back: what is history after that is not told apart.
func CheckRejects(ctx context.Context, tbl *table.Table, truth FullTruth, o Options) (*Report, error) {
	r := &rejectsChecker{truth: truth, o: o, seen: map[at]int{}, report: &Report{Count: map[Kind]int{}}}
	if err := r.run(ctx, tbl); err != nil {
		return nil, fmt.Errorf("check %v: %w", tbl.Identifier(), err)
	}
	return r.report, nil
}

// at is a record's place.
type at struct {
	part int32
	off  int64
}

type rejectsChecker struct {
	truth  FullTruth
	o      Options
	head   int64
	seen   map[at]int
	report *Report
}

func (r *rejectsChecker) run(ctx context.Context, tbl *table.Table) error {
	fio, err := tbl.FS(ctx)
	if err != nil {
		return fmt.Errorf("open the table's files: %w", err)
	}
	if s := tbl.CurrentSnapshot(); s != nil {
		r.head, r.report.Snapshots = s.SnapshotID, 1
		d, err := newLive(nil).move(fio, s)
		if err != nil {
			return err
		}
		for _, p := range d.gone {
			r.find(Dangling, at{}, p+" is not there")
		}
		for _, p := range d.deletes {
			r.find(Vanished, at{}, "rows that the delete file "+p+" hides")
		}
		for _, f := range d.added {
			if err := r.file(ctx, fio, f); err != nil {
				return err
			}
		}
	}
	r.missing()
	return nil
}

func (r *rejectsChecker) file(ctx context.Context, fio iceio.IO, f File) error {
	b, err := readAll(fio, f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		r.find(Dangling, at{}, f.Path+" is not there")
		return nil
	}
	if err != nil {
		return err
	}
	n, err := rejectRows(ctx, b, r.row)
	if err != nil || n != f.Rows || int64(len(b)) != f.Bytes {
		r.find(Dangling, at{}, fmt.Sprintf("%s holds %d rows in %d bytes, its manifest says %d in %d (%v)", f.Path, n, len(b), f.Rows, f.Bytes, err))
	}
	r.report.Rows += n
	return ctx.Err()
}

// ReadRejects calls f for each row of a file of rejects, and counts them. value is good during the call alone.
func ReadRejects(ctx context.Context, fio iceio.IO, path string, f func(partition int32, offset int64, value []byte)) (int64, error) {
	b, err := readAll(fio, path)
	if err != nil {
		return 0, err
	}
	return rejectRows(ctx, b, func(c rejectCols, i int) { f(c.partition.Value(i), c.offset.Value(i), c.value.Value(i)) })
}

// rejectRows calls f for each row of a file of rejects, and counts them.
func rejectRows(ctx context.Context, b []byte, f func(rejectCols, int)) (n int64, err error) {
	pf, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		return 0, err
	}
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return 0, err
	}
	t, err := fr.ReadTable(ctx)
	if err != nil {
		return 0, err
	}
	defer t.Release()
	tr := array.NewTableReader(t, 0)
	defer tr.Release()
	for tr.Next() {
		cols, err := rejectColumns(tr.RecordBatch())
		if err != nil {
			return n, err
		}
		for i := range int(tr.RecordBatch().NumRows()) {
			f(cols, i)
		}
		n += tr.RecordBatch().NumRows()
	}
	return n, tr.Err()
}

// rejectCols are the columns that are compared.
type rejectCols struct {
	topology, topic, code *array.String
	partition             *array.Int32
	offset                *array.Int64
	value                 *array.Binary
}

func rejectColumns(rec arrow.RecordBatch) (c rejectCols, err error) {
	ok := true
	c.topology = columnAs[*array.String](rec, "topology", &ok)
	c.topic = columnAs[*array.String](rec, "topic", &ok)
	c.code = columnAs[*array.String](rec, "code", &ok)
	c.partition = columnAs[*array.Int32](rec, "partition", &ok)
	c.offset = columnAs[*array.Int64](rec, "offset", &ok)
	c.value = columnAs[*array.Binary](rec, "value", &ok)
	if !ok {
		err = fmt.Errorf("it lacks columns of a rejects table: %s", rec.Schema())
	}
	return c, err
}

func columnAs[A arrow.Array](rec arrow.RecordBatch, name string, ok *bool) (a A) {
	if i := rec.Schema().FieldIndices(name); len(i) == 1 {
		if a, is := rec.Column(i[0]).(A); is {
			return a
		}
	}
	*ok = false
	return a
}

func (r *rejectsChecker) row(c rejectCols, i int) {
	if c.topic.Value(i) != r.o.Topic || c.topology.Value(i) != r.o.Topologies[0] {
		return
	}
	a := at{c.partition.Value(i), c.offset.Value(i)}
	if a.part < 0 || int(a.part) >= r.o.Partitions || a.off < 0 || a.off >= r.truth.End(a.part) || r.truth.Outcome(a.part, a.off) != Rejected {
		r.find(Foreign, a, "with the code "+c.code.Value(i))
		return
	}
	want := r.truth.Reject(a.part, a.off)
	switch {
	case c.code.Value(i) != want.Code:
		r.find(Altered, a, fmt.Sprintf("has the code %q and not %q", c.code.Value(i), want.Code))
	case c.value.IsNull(i) || !bytes.Equal(c.value.Value(i), want.Value):
		r.find(Altered, a, "its value is not the record's")
	}
	if r.seen[a]++; r.seen[a] == 2 {
		r.find(Doubled, a, "")
	}
}

// missing looks for what is not there.
func (r *rejectsChecker) missing() {
	if !r.o.Whole {
		return
	}
	for part := range int32(r.o.Partitions) {
		for off := range r.truth.End(part) {
			if r.truth.Outcome(part, off) == Rejected && r.seen[at{part, off}] == 0 {
				r.find(Lost, at{part, off}, "")
			}
		}
	}
}

func (r *rejectsChecker) find(k Kind, a at, detail string) {
	r.report.Count[k]++
	if len(r.report.Findings) < maxFindings {
		r.report.Findings = append(r.report.Findings, Finding{Kind: k, Partition: a.part, Position: a.off, Snapshot: r.head, Detail: "reject " + detail})
	}
}

// CheckCounts compares what the positions at the head count, partition by partition, with what was produced up to there:
// rows, rejects, filtered and skipped must each be right, and together be all that was consumed.
func CheckCounts(tbl *table.Table, truth FullTruth, o Options) error {
	if o.Branch == "" {
		o.Branch = table.MainBranch
	}
	s := tbl.SnapshotByName(o.Branch)
	if s == nil {
		return errors.New("the branch has no snapshot")
	}
	raw, ok := positionsOf(s)
	if !ok {
		return errors.New("the head carries no positions")
	}
	v, err := decode(raw, o.Topic, o.Partitions)
	if err != nil {
		return err
	}
	standing := v.topologies[o.Topologies[0]].at
	for part := range int32(o.Partitions) {
		p, ok := standing[part]
		if !ok && truth.End(part) > 0 {
			return fmt.Errorf("partition %d has no position", part)
		}
		var want [4]int64
		for off := p.start; off < p.next; off++ {
			want[truth.Outcome(part, off)]++
		}
		got := [4]int64{Skipped: p.skipped, Row: p.rows, Rejected: p.rejects, Filtered: p.filtered}
		if got != want {
			return fmt.Errorf("partition %d up to %d: %s counted, and it were %s", part, p.next, outcomes(got), outcomes(want))
		}
	}
	return nil
}

func outcomes(n [4]int64) string {
	return fmt.Sprintf("%d rows, %d rejects, %d filtered, %d skipped", n[Row], n[Rejected], n[Filtered], n[Skipped])
}
