package demo

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go/table"
)

// Check is what was found when every row of the table was compared with the event of its id.
type Check struct {
	// Expected events, Rows in the table, and how many different events they are.
	Expected int64 `json:"expected"`
	Rows     int64 `json:"rows"`
	Distinct int64 `json:"distinct"`
	// Missing events have no row, Duplicate rows have an event that another row has, Foreign rows have an id that no
	// event has, Wrong rows have a column that is not the event's.
	Missing   int64 `json:"missing"`
	Duplicate int64 `json:"duplicate"`
	Foreign   int64 `json:"foreign"`
	Wrong     int64 `json:"wrong"`
	// FirstProblem names the first row that is not as it should be.
	FirstProblem string `json:"first_problem,omitempty"`
}

// OK says that each event is there once, as it was produced, and nothing else.
func (c Check) OK() bool {
	return c.Rows == c.Expected && c.Distinct == c.Expected && c.Missing+c.Duplicate+c.Foreign+c.Wrong == 0
}

// String is the account in one line.
func (c Check) String() string {
	s := fmt.Sprintf("%d events expected, %d rows, %d distinct; %d missing, %d duplicate, %d foreign, %d wrong",
		c.Expected, c.Rows, c.Distinct, c.Missing, c.Duplicate, c.Foreign, c.Wrong)
	if c.FirstProblem != "" {
		s += " (" + c.FirstProblem + ")"
	}
	return s
}

// problem keeps the first.
func (c *Check) problem(format string, args ...any) {
	if c.FirstProblem == "" {
		c.FirstProblem = fmt.Sprintf(format, args...)
	}
}

// verify reads the whole table and compares it with the events below ends.
func verify(ctx context.Context, tbl *table.Table, ends [Partitions]int64, progress func(rows int64)) (Check, error) {
	v := &verifier{ends: ends}
	var top int64
	for p, end := range ends {
		v.check.Expected += end
		if end > 0 {
			top = max(top, (end-1)*Partitions+int64(p)+1)
		}
	}
	v.seen = make([]uint64, (top+63)/64)
	// The reader's goroutines end with the context, also where reading stops early.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, batches, err := tbl.Scan().ToArrowRecords(ctx)
	if err != nil {
		return v.check, fmt.Errorf("read the table back: %w", err)
	}
	for batch, err := range batches {
		if err != nil {
			return v.check, fmt.Errorf("read the table back: %w", err)
		}
		err = v.batch(batch)
		batch.Release()
		if err != nil {
			return v.check, err
		}
		progress(v.check.Rows)
	}
	v.check.Missing = v.check.Expected - v.check.Distinct
	return v.check, nil
}

type verifier struct {
	ends  [Partitions]int64
	seen  []uint64 // a bit an event, by id
	check Check
}

// batch compares one batch of rows.
func (v *verifier) batch(b arrow.RecordBatch) error {
	cols, err := columnsOf(b)
	if err != nil {
		return err
	}
	for i := range int(b.NumRows()) {
		v.check.Rows++
		id := cols.id.Value(i)
		if id < 0 || id/Partitions >= v.ends[max(0, id)%Partitions] {
			v.check.Foreign++
			v.check.problem("id %d was never produced", id)
			continue
		}
		if bit := uint64(1) << (id % 64); v.seen[id/64]&bit != 0 {
			v.check.Duplicate++
			v.check.problem("id %d is there twice", id)
		} else {
			v.seen[id/64] |= bit
			v.check.Distinct++
		}
		if column := cols.differs(i, EventOf(id)); column != "" {
			v.check.Wrong++
			v.check.problem("id %d has another %s", id, column)
		}
	}
	return nil
}

// text is a column of strings, whatever the width of its offsets.
type text interface {
	arrow.Array
	Value(i int) string
}

type columns struct {
	id, user           *array.Int64
	time               *array.Timestamp
	amount             *array.Decimal128
	region, kind, page text
}

func columnsOf(b arrow.RecordBatch) (columns, error) {
	var c columns
	var missing string
	column(b, "id", &c.id, &missing)
	column(b, "region", &c.region, &missing)
	column(b, "event_time", &c.time, &missing)
	column(b, "user_id", &c.user, &missing)
	column(b, "event_type", &c.kind, &missing)
	column(b, "amount", &c.amount, &missing)
	column(b, "page", &c.page, &missing)
	if missing != "" {
		return c, fmt.Errorf("the table %s has no column %s of the expected type: it is not the demo's; remove the folder and start again", TableName, missing)
	}
	if dt, ok := c.time.DataType().(*arrow.TimestampType); !ok || dt.Unit != arrow.Microsecond {
		return c, fmt.Errorf("the column event_time of %s is not in microseconds", TableName)
	}
	return c, nil
}

func column[T arrow.Array](b arrow.RecordBatch, name string, into *T, missing *string) {
	if at := b.Schema().FieldIndices(name); len(at) == 1 {
		if col, ok := b.Column(at[0]).(T); ok {
			*into = col
			return
		}
	}
	*missing = name
}

// differs gives the name of the first column of row i that is not e's, or "".
func (c columns) differs(i int, e Event) string {
	switch {
	case c.region.IsNull(i) || c.region.Value(i) != e.Region:
		return "region"
	case c.time.IsNull(i) || int64(c.time.Value(i)) != e.TimeMicros:
		return "event_time"
	case c.user.IsNull(i) || c.user.Value(i) != e.UserID:
		return "user_id"
	case c.kind.IsNull(i) || c.kind.Value(i) != e.Type:
		return "event_type"
	case c.amount.IsNull(i) || c.amount.Value(i) != decimal128.FromI64(e.AmountCents):
		return "amount"
	case c.page.IsNull(i) != (e.Page == ""), e.Page != "" && c.page.Value(i) != e.Page:
		return "page"
	}
	return ""
}
