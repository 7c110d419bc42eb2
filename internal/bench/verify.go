package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"
)

// Check is what was found when the ids in the table were compared with those that were produced.
type Check struct {
	// Rows are those of the run, without the ones that were there before.
	Rows int64 `json:"rows"`
	// Missing records have no row, Doubled rows a record that another row has, Foreign rows none at all.
	Missing int64 `json:"missing"`
	Doubled int64 `json:"doubled"`
	Foreign int64 `json:"foreign"`
}

// ok says that each of n records is there once, and nothing else.
func (c Check) ok(n int64) bool { return c.Rows == n && c.Missing+c.Doubled+c.Foreign == 0 }

// verify reads the ids. before is how many rows of the history there are, which have ids of their own.
func (b *bench) verify(ctx context.Context, config string, before int64, res *Result) (err error) {
	b.progress("verify", 0)
	t, err := b.Runner.Table(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	tbl, err := t.Load(ctx)
	if err != nil {
		return err
	}
	ids := &idSet{seen: make([]uint64, (b.Records+63)/64), n: b.Records, before: before}
	if err := ids.read(ctx, tbl, func(n int64) { b.progress("verify", n) }); err != nil {
		return fmt.Errorf("read the table back: %w", err)
	}
	ids.finish()
	res.Check = ids.check
	if res.OK = res.Check.ok(b.Records) && ids.old == before; !res.OK {
		return fmt.Errorf("the table does not hold each record once: %d records, %d rows; %d missing, %d doubled, %d foreign",
			b.Records, res.Check.Rows, res.Check.Missing, res.Check.Doubled, res.Check.Foreign)
	}
	return nil
}

// idSet is the ids that were seen, a bit each.
type idSet struct {
	seen      []uint64
	n, before int64
	// old counts the rows of the history.
	old   int64
	check Check
}

func (s *idSet) read(ctx context.Context, tbl *table.Table, progress func(rows int64)) error {
	// The reader's goroutines end with the context, also where reading stops early.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, batches, err := tbl.Scan(table.WithSelectedFields("id")).ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		err = s.add(batch)
		batch.Release()
		if err != nil {
			return err
		}
		progress(s.check.Rows)
	}
	return nil
}

func (s *idSet) add(b arrow.RecordBatch) error {
	col, ok := b.Column(0).(*array.Int64)
	if !ok {
		return fmt.Errorf("the column id is %s", b.Column(0).DataType())
	}
	for i := range col.Len() {
		id := col.Value(i)
		k := id - firstID
		switch bit := uint64(1) << (uint64(k) % 64); {
		case id >= 0 && id < s.before:
			s.old++
		case k < 0 || k >= s.n:
			s.check.Foreign++
		case s.seen[k/64]&bit != 0:
			s.check.Rows++
			s.check.Doubled++
		default:
			s.check.Rows++
			s.seen[k/64] |= bit
		}
	}
	return nil
}

// finish counts what was not seen.
func (s *idSet) finish() { s.check.Missing = s.n - (s.check.Rows - s.check.Doubled) }
