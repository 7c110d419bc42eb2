package writer

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

const (
	// rejectsLane is in the names of rejects' files; no encoder of rows has it, should both tables share a folder.
	rejectsLane = maxParallel
	// maxRejectFiles seals a batch: what waits to be appended to the rejects table is bounded by its files. There is one
	// where rejects are few, and another where one has grown to the table's file size.
	maxRejectFiles = 4
	// rejectsShare of MaxBufferedBytes is for rejects, and at least minRejects: below it they would make many small files.
	rejectsShare = 16
	minRejects   = 512 << 10
)

// rejecter writes the records of a batch that can't become rows. It is made for a task's first, and belongs to the task's
// goroutine.
type rejecter struct {
	plan *plan
	rows *rejects.Rows
	cols *mapper.Columns
	enc  *encoder
	// rej is what is being added.
	rej rejects.Reject

	// of the batch:
	open  bool
	n     int64
	codes map[mapper.Code]int64
}

// judge tells of good records, and asks whether record number at of b may be taken as a reject where it is bad.
func (t *Task) judge(b *source.Batch, at, good int, bad *mapper.BadRecordError) error {
	if t.cfg.Judge == nil || !t.cfg.Rejects {
		return nil
	}
	err := t.cfg.Judge(good, bad)
	if err == nil || bad == nil {
		return nil
	}
	return &JudgedError{err, &BadRecord{b.Range.Partition, b.Records[at].Position, bad}}
}

// reject takes record number at of b as a reject. After a *BadRecord the batch is as before.
func (t *Task) reject(ctx context.Context, b *source.Batch, pr *progress, at int, bad *mapper.BadRecordError) error {
	rec := &b.Records[at]
	stop := func(err *mapper.BadRecordError) error {
		return &BadRecord{Partition: b.Range.Partition, Position: rec.Position, Err: err}
	}
	if !t.cfg.Rejects {
		return stop(bad)
	}
	if err := t.openRejects(ctx); err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	r := t.rejects
	r.rej = rejects.Reject{Topology: t.cfg.Topology, Partition: b.Range.Partition, Record: rec, Err: bad,
		At: t.cfg.Now(), Batch: t.batch.id.String()}
	err := r.add()
	r.rej = rejects.Reject{}
	if over, ok := errors.AsType[*mapper.BadRecordError](err); ok {
		return stop(&mapper.BadRecordError{Code: over.Code, Reason: "the rejects table can't take it either: " + over.Reason})
	}
	if err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	r.codes[bad.Code]++
	pr.rejected(rec)
	t.batch.rejects++
	t.touch()
	return nil
}

// RejectsByCode counts the open batch's rejects by what makes them ones; nil where there is none. The map is the caller's
// once the batch was sealed. Only from the task's goroutine.
func (t *Task) RejectsByCode() map[mapper.Code]int64 {
	if t.rejects == nil {
		return nil
	}
	return t.rejects.codes
}

// openRejects opens the batch's rejects on the newest metadata of their table.
func (t *Task) openRejects(ctx context.Context) error {
	if t.rejects == nil {
		t.rejects = &rejecter{enc: newEncoder(rejectsLane, max(minRejects, t.cfg.rejectsBudget()), 1)}
	}
	r := t.rejects
	if r.open {
		return nil
	}
	if err := r.prepare(t.nextRejects); err != nil {
		return err
	}
	if r.plan.uuid == t.plan.uuid {
		return errors.New("the rejects table is the table itself: name another one")
	}
	fs, err := storageIO(ctx, t.nextRejects)
	if err != nil {
		return err
	}
	r.open, r.n, r.codes = true, 0, map[mapper.Code]int64{}
	r.cols.Reset()
	r.enc.begin(r.plan, fs, t.batch.id)
	return nil
}

// prepare makes plan and columns where the table has changed since the last batch.
func (r *rejecter) prepare(tbl *table.Table) error {
	if r.plan != nil && r.plan.fits(tbl) {
		return nil
	}
	if err := rejects.Check(tbl); err != nil {
		return err
	}
	p, err := compile(tbl)
	if err != nil {
		return err
	}
	if r.rows, err = rejects.NewRows(p.rows); err != nil {
		return err
	}
	if r.cols, err = mapper.NewColumns(p.rows); err != nil {
		return err
	}
	r.plan = p
	return nil
}

// add appends what rej is. A *mapper.BadRecordError says that it is too large for any columns.
func (r *rejecter) add() error {
	err := r.rows.Append(&r.rej, r.cols)
	if errors.Is(err, mapper.ErrFull) && r.cols.Rows > 0 {
		if err := r.flush(); err != nil {
			return err
		}
		err = r.rows.Append(&r.rej, r.cols)
	}
	if errors.Is(err, mapper.ErrFull) {
		return &mapper.BadRecordError{Code: CodeTooLarge, Reason: "the record does not fit columns of 2 GiB"}
	}
	if err != nil {
		return err
	}
	r.n++
	if r.cols.Rows >= stageRows || r.cols.Bytes() >= min(stageBytes, r.enc.budget/4) {
		return r.flush()
	}
	return nil
}

func (r *rejecter) flush() error {
	if r.cols.Rows == 0 {
		return nil
	}
	err := r.enc.add(r.cols, nil, nil)
	r.cols.Reset()
	return err
}

// seal closes the batch's files of rejects; they are durable when it returns. There is at least one.
func (r *rejecter) seal(ctx context.Context) (*descriptor.Rejects, error) {
	if err := r.flush(); err != nil {
		return nil, err
	}
	s, err := r.enc.seal(ctx)
	if err != nil {
		return nil, err
	}
	if s.rows != r.n {
		return nil, fmt.Errorf("the files hold %d rows, %d were added", s.rows, r.n)
	}
	r.close()
	return &descriptor.Rejects{
		TableUUID: r.plan.uuid, SchemaID: r.plan.schema.ID, SpecID: r.plan.spec.ID(), FormatVersion: r.plan.formatVersion,
		Files: s.files, Rows: s.rows, Bytes: s.bytes,
	}, nil
}

// drop gives the batch's rejects up and removes what was written of them, as far as that works.
func (r *rejecter) drop(ctx context.Context) {
	if r.open {
		r.enc.drop(ctx)
		r.close()
	}
}

func (r *rejecter) close() {
	r.cols.Reset()
	r.open, r.n, r.codes = false, 0, nil
}

// load is what the batch's rejects hold.
func (r *rejecter) load() load {
	l := r.enc.last
	l.held += r.enc.pages.Memory()
	if r.cols != nil {
		l.held += r.cols.Cap()
		l.bytes += r.cols.Bytes()
	}
	return l
}

// rejectsBudget is what is left to rejects of the memory that may be held.
func (c *Config) rejectsBudget() int64 {
	if !c.Rejects {
		return 0
	}
	return c.MaxBufferedBytes / rejectsShare
}
