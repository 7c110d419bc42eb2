package writer

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

const (
	// segmentRecords and segmentBytes are how much is mapped between two looks at the thresholds.
	segmentRecords = 1024
	segmentBytes   = 256 << 10
	// minSegment is where a segment ends up when each partition value is bad.
	minSegment = 16
)

// Append takes the records of b from the expected position of its partition on; what lies below it is skipped (it is
// there already), and a batch of a partition that is not open is ignored. done is false where a threshold was crossed
// inside the batch: Seal, then call again with the same batch. Append does not release b.
//
// Errors: *BadRecord, where there is no rejects table, or where not even that takes the record; what Config.Judge gives, as a
// *JudgedError; *GapError where b starts behind the expected position; *mapper.NotReadyError where the mapper lacks
// something, which is to be fetched before Append is called with the same batch again; *EvolveError where Config.Evolve is set;
// anything else is I/O, or a table that can't be written, after which the open batch is of no use and must be dropped with
// Discard or Open. After the others the batch is as good as before: it holds what precedes the record, which is expected
// next.
func (t *Task) Append(ctx context.Context, b *source.Batch) (done bool, err error) {
	if err := t.usable(); err != nil {
		return false, err
	}
	pr, at, err := t.place(b)
	if pr == nil || err != nil {
		return err == nil, err
	}
	if err := t.begin(ctx); err != nil {
		t.failed = err
		return false, err
	}
	mapper.SetPartition(t.mapper, b.Range.Partition)
	t.taking = b.Range.Partition
	done, err = t.appendFrom(ctx, b, pr, at)
	if err != nil && !passes(err) {
		t.failed = err
	}
	return done, err
}

// passes says that the open batch is as good as before the error.
func passes(err error) bool {
	var bad *BadRecord
	var judged *JudgedError
	var wait *mapper.NotReadyError
	var ask *EvolveError
	return errors.As(err, &bad) || errors.As(err, &judged) || errors.As(err, &ask) || errors.As(err, &wait) || errors.Is(err, errEnded)
}

// errEnded marks that Append stopped between two records because its context ended.
var errEnded = errors.New("append stopped")

// place finds where b goes on: its partition's progress and the first record to take. No progress: nothing to take.
func (t *Task) place(b *source.Batch) (*progress, int, error) {
	if t.cfg.Unpositioned {
		at := 0
		if t.resume.batch == b {
			at = t.resume.at
		}
		t.resume.batch = nil
		return t.alone, at, nil
	}
	pr := t.parts[b.Range.Partition]
	if pr == nil || b.Range.To <= pr.next {
		return nil, 0, nil
	}
	if b.Range.From > pr.next {
		return nil, 0, &GapError{Partition: b.Range.Partition, Want: pr.next, Got: b.Range.From}
	}
	return pr, firstAt(b.Records, pr.next), nil
}

func (t *Task) appendFrom(ctx context.Context, b *source.Batch, pr *progress, at int) (bool, error) {
	for at < len(b.Records) {
		if t.crossed() {
			t.leave(b, pr, at)
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			t.leave(b, pr, at)
			return false, fmt.Errorf("%w: %w", errEnded, context.Cause(ctx))
		}
		seg := t.segment(b.Records[at:])
		n, bad, err := t.take(seg, pr)
		at += n
		if n > 0 {
			t.touch()
		}
		if err != nil {
			if at < len(b.Records) {
				t.leave(b, pr, at)
			}
			return false, t.placed(b, at, err)
		}
		if err := t.judge(b, at, n, bad); err != nil {
			t.leave(b, pr, at)
			return false, err
		}
		if bad != nil {
			if err := t.reject(ctx, b, pr, at, bad); err != nil {
				t.leave(b, pr, at)
				return false, err
			}
			at++
		}
		if t.stage.full() || bad == nil && n < len(seg) {
			if err := t.stage.flush(t.enc); err != nil {
				return false, err
			}
		}
	}
	if !t.cfg.Unpositioned {
		pr.next = b.Range.To
		t.touch()
	}
	t.verdict = verdict{} // another batch may use the memory
	return true, nil
}

// placed adds the place to the error of a mapper that is broken.
func (t *Task) placed(b *source.Batch, at int, err error) error {
	var ask *mapper.EvolveError
	if t.cfg.Evolve && errors.As(err, &ask) && at < len(b.Records) {
		return &EvolveError{Partition: b.Range.Partition, Position: b.Records[at].Position, Err: ask, task: t, recs: b.Records[at:]}
	}
	if at < len(b.Records) {
		return fmt.Errorf("%s, position %d: %w", b.Range.Partition, b.Records[at].Position, err)
	}
	return fmt.Errorf("%s: %w", b.Range.Partition, err)
}

// leave ends the range at record number at: positions without a record before it belong to this batch.
func (t *Task) leave(b *source.Batch, pr *progress, at int) {
	if t.cfg.Unpositioned {
		t.resume.batch, t.resume.at = b, at
		return
	}
	if pos := b.Records[at].Position; pos > pr.next {
		pr.next = pos
		t.touch()
	}
}

// segment cuts records so that thresholds are exact and memory is bounded.
func (t *Task) segment(recs []source.Record) []source.Record {
	n := min(len(recs), t.pace, t.stage.room())
	if t.cfg.SealRecords > 0 {
		n = int(min(int64(n), t.cfg.SealRecords-t.batch.rows-t.batch.rejects-t.batch.filtered))
	}
	size := 0
	for i := range n {
		size += len(recs[i].Value) + len(recs[i].Key)
		for _, h := range recs[i].Headers {
			size += len(h.Key) + len(h.Value)
		}
		if size >= segmentBytes {
			return recs[:i+1]
		}
	}
	return recs[:n]
}

// take maps records into the stage and finds their partitions. It takes the first n of them; bad says why the one
// behind them can't be taken. Fewer than all, without bad: the stage is full.
func (t *Task) take(recs []source.Record, pr *progress) (n int, bad *mapper.BadRecordError, err error) {
	st := t.stage
	first := st.cols.Rows
	n, bad, err = t.mapAll(recs)
	if err != nil {
		st.cols.Truncate(first)
		return 0, nil, err
	}
	if rerr := st.route(first); rerr == nil {
		t.pace = min(segmentRecords, 2*t.pace)
	} else {
		t.pace = max(minSegment, min(t.pace, rerr.row-first)) // what stands behind it is mapped again
		n = int(st.recOf[rerr.row-first])
		bad = &mapper.BadRecordError{Code: CodePartitionValue, Column: rerr.column, Reason: rerr.reason}
		st.cols.Truncate(rerr.row)
		st.route(first) // the rows before it have a partition: this can't fail
	}
	rows := st.cols.Rows - first
	pr.took(recs[:n], rows)
	t.batch.rows += int64(rows)
	t.batch.filtered += int64(n - rows)
	st.countMet(n)
	return n, bad, nil
}

func (t *Task) mapAll(recs []source.Record) (n int, bad *mapper.BadRecordError, err error) {
	st := t.stage
	st.recOf, st.met = st.recOf[:0], st.met[:0]
	for i := range recs {
		before := st.cols.Rows
		switch err := t.mapper.Map(&recs[i], st.cols); {
		case err == nil:
			if st.cols.Rows != before+1 {
				return 0, nil, fmt.Errorf("the mapper added %d rows for one record", st.cols.Rows-before)
			}
			st.recOf = append(st.recOf, int32(i))
		case errors.Is(err, mapper.ErrFiltered):
			st.filtered(i, err)
		default:
			ask, err := t.wish(err, &recs[i])
			switch {
			case ask != nil && i > 0:
				return i, nil, nil // the next segment begins with it
			case ask != nil:
				return 0, nil, ask
			case !errors.Is(err, mapper.ErrFiltered):
				return refused(err, i, before)
			}
			st.filtered(i, err)
		}
	}
	return len(recs), nil, nil
}

// refused says what the mapper's error for record number i means, where the columns hold rows. It stands apart from the
// loop, so that what errors.As needs is made for a refused record only.
func refused(err error, i, rows int) (n int, bad *mapper.BadRecordError, _ error) {
	var wait *mapper.NotReadyError
	switch {
	case errors.Is(err, mapper.ErrFull):
		if rows > 0 {
			return i, nil, nil
		}
		return i, &mapper.BadRecordError{Code: CodeTooLarge, Reason: "the record does not fit columns of 2 GiB"}, nil
	case errors.As(err, &bad):
		return i, bad, nil
	case errors.As(err, &wait):
		if i > 0 {
			return i, nil, nil // the next segment begins with it
		}
		return 0, nil, wait
	default:
		return 0, nil, fmt.Errorf("map record: %w", err)
	}
}
