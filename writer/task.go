package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// Task maps records to rows, writes Parquet files and seals batches. It belongs to one goroutine. With GroupBy it runs
// encoders of its own, which live until Close; it is still one task to its caller, and its seal is the barrier between
// them: one descriptor, one schema and spec.
type Task struct {
	cfg  Config
	next *table.Table // the newest metadata, for the next batch
	// nextRejects is that of the rejects table; rejects writes to it, nil before the first reject.
	nextRejects *table.Table
	rejects     *rejecter

	// plan and what is made for it; they outlive a batch where the table stays the same.
	plan   *plan
	mapper mapper.Mapper
	stage  *stage
	enc    backend

	parts map[source.Partition]*progress
	// alone is the progress of a source without positions; resume is where a batch of it was left.
	alone  *progress
	resume struct {
		batch *source.Batch
		at    int
	}

	batch batch
	// pace is how many records are mapped between two looks at partition values; it falls where they are bad.
	pace int
	// taking is the partition that Append was last called for; verdict is of the record that was settled last without a change
	// of the schema, and trial what tells, nil before the first record that asks for one.
	taking  source.Partition
	verdict verdict
	trial   *trial
	// failed is set once the open batch is of no use.
	failed error
	closed bool
}

// batch is what is open.
type batch struct {
	open bool // files and columns may hold rows of it
	id   uuid.UUID
	// since is when the first position moved; zero where none did.
	since time.Time
	// rows, rejects and filtered count its records.
	rows, rejects, filtered int64
	// fs is where its files are; closed are those that its encoders have given away, which no descriptor names yet.
	fs     writeIO
	closed []iceberg.DataFile
}

// remove removes what is closed, as far as that works.
func (b *batch) remove(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(parallelIO)
	for _, f := range b.closed {
		if ctx.Err() == nil {
			g.Go(func() error { return b.fs.Remove(f.FilePath()) })
		}
	}
	_ = g.Wait() // as with an encoder's drop: what stays is an orphan
}

// New makes a task. It starts nothing that Close does not end.
func New(cfg Config) (*Task, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &Task{cfg: cfg, enc: newBackend(cfg), parts: map[source.Partition]*progress{}, alone: newProgress(0), pace: segmentRecords}, nil
}

// Use gives the newest metadata. It takes effect for the next batch; all files of a batch are written against one
// schema and spec. Must be called before the first Append.
func (t *Task) Use(tbl *table.Table) {
	if t.trial != nil && !t.trial.plan.fits(tbl) {
		t.trial = nil
	}
	t.next = tbl
}

// UseRejects gives the newest metadata of the rejects table, which takes effect for the next batch. Must be called before
// the first Append where Config.Rejects is set.
func (t *Task) UseRejects(tbl *table.Table) { t.nextRejects = tbl }

// Open drops the open batch, if any, and sets the partitions of the task to exactly these, each expected at its
// position.
func (t *Task) Open(ctx context.Context, at map[source.Partition]source.Position) {
	t.drop(ctx)
	clear(t.parts)
	for p, pos := range at {
		t.parts[p] = newProgress(pos)
	}
}

// Discard drops the open batch, and sets each partition back to where the batch began. Files it has written, which no
// descriptor names, are removed as far as that works.
func (t *Task) Discard(ctx context.Context) {
	t.drop(ctx)
	for _, pr := range t.parts {
		pr.rewind()
	}
}

func (t *Task) drop(ctx context.Context) {
	if t.batch.open {
		t.enc.drop(ctx)
		t.batch.remove(ctx)
	}
	if t.rejects != nil {
		t.rejects.drop(ctx)
	}
	if t.stage != nil {
		t.stage.reset()
	}
	t.alone = newProgress(0)
	t.resume.batch = nil
	t.batch, t.failed, t.verdict = batch{}, nil, verdict{}
}

// begin opens a batch on the newest metadata.
func (t *Task) begin(ctx context.Context) error {
	if t.batch.open {
		t.renew(ctx)
	}
	if t.batch.open {
		return nil
	}
	if t.next == nil {
		return errors.New("writer: no table: call Use before Append")
	}
	if t.cfg.Rejects && t.nextRejects == nil {
		return errors.New("writer: no rejects table: call UseRejects before Append")
	}
	if err := t.prepare(); err != nil {
		return err
	}
	fs, err := storageIO(ctx, t.next)
	if err != nil {
		return err
	}
	t.batch = batch{open: true, id: uuid.New(), fs: fs}
	t.stage.begin()
	t.enc.begin(t.plan, fs, t.batch.id)
	return nil
}

// storageIO gives the storage that files of a table are written to.
func storageIO(ctx context.Context, tbl *table.Table) (writeIO, error) {
	// The FileIO lives longer than this call: it must not be bound to its context.
	any, err := tbl.FS(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("open the table's storage: %w", err)
	}
	fs, ok := any.(writeIO)
	if !ok {
		return nil, fmt.Errorf("the table's storage (%T) can't be written", any)
	}
	return fs, nil
}

// prepare makes plan, mapper and columns where the table has changed since the last batch.
func (t *Task) prepare() error {
	if t.plan != nil && t.plan.fits(t.next) {
		return nil
	}
	p, err := compile(t.next)
	if err != nil {
		return err
	}
	m := t.mapper
	if t.plan != nil && t.plan.uuid == p.uuid && t.plan.rows.ID == p.rows.ID && t.plan.rows.Equal(p.rows) {
		p.rows = t.plan.rows // the mapper and the columns stay
	} else if m, err = t.cfg.Mapper(p.rows); err != nil {
		return fmt.Errorf("make the mapper for schema %d: %w", p.rows.ID, err)
	}
	st, err := newStage(p, t.cfg)
	if err != nil {
		return err
	}
	t.plan, t.mapper, t.stage = p, m, st // together: the table may become again what it was for the last plan
	return nil
}

// touch notes that a position moved.
func (t *Task) touch() {
	if t.batch.since.IsZero() {
		t.batch.since = t.cfg.Now()
	}
}

// crossed says that a threshold other than age has been reached.
func (t *Task) crossed() bool {
	b := &t.batch
	if !b.open {
		return false
	}
	if t.cfg.SealRecords > 0 && b.rows+b.rejects+b.filtered >= t.cfg.SealRecords {
		return true
	}
	l := t.enc.load()
	if b.rejects > 0 {
		r := t.rejects.load()
		if r.files >= maxRejectFiles {
			return true
		}
		l.bytes += r.bytes
	}
	if t.cfg.SealBytes > 0 && l.bytes+t.stage.cols.Bytes() >= t.cfg.SealBytes {
		return true
	}
	return l.files >= maxBatchFiles || t.tooFine(l)
}

// tooFine says that the batch has so many partitions, or files closed early, that their bookkeeping takes the memory that
// the rows need. Only a seal frees it.
func (t *Task) tooFine(l load) bool {
	if t.stage.router == nil {
		return l.done > t.cfg.MaxBufferedBytes/4
	}
	each := partOverhead + int64(len(t.plan.leaves))*columnOverhead
	return l.done > t.cfg.MaxBufferedBytes/4 || t.stage.router.bytes+int64(len(t.stage.router.tuples))*each > t.cfg.MaxBufferedBytes/2
}

// Due says that the open batch should be sealed: a threshold has been crossed, or its age at now.
func (t *Task) Due(now time.Time) bool {
	if t.batch.since.IsZero() {
		return false
	}
	d := t.Deadline()
	return !d.IsZero() && !now.Before(d) || t.crossed()
}

// Deadline is when the open batch becomes due by age, zero where nothing is open or age does not count.
func (t *Task) Deadline() time.Time {
	if t.batch.since.IsZero() || t.cfg.SealInterval < 0 {
		return time.Time{}
	}
	return t.batch.since.Add(t.cfg.SealInterval)
}

// Seal closes the batch's files, so that they are durable, and gives its descriptor; nil where no position moved since
// the last seal. The next batch starts where this one ended. After an error the open batch is of no use: Discard.
func (t *Task) Seal(ctx context.Context) (*descriptor.Descriptor, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if t.batch.since.IsZero() {
		return nil, nil
	}
	d, err := t.seal(ctx)
	if err != nil {
		t.failed = fmt.Errorf("seal batch: %w", err)
		return nil, t.failed
	}
	for _, pr := range t.parts {
		pr.advance()
	}
	t.alone = newProgress(0)
	t.stage.reset()
	t.batch = batch{}
	return d, nil
}

func (t *Task) seal(ctx context.Context) (*descriptor.Descriptor, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := t.stage.flush(t.enc); err != nil {
		return nil, err
	}
	s, err := t.enc.seal(ctx)
	t.batch.closed = s.files
	if err != nil {
		return nil, err
	}
	if s.rows != t.batch.rows {
		return nil, fmt.Errorf("the files hold %d rows, %d were mapped", s.rows, t.batch.rows)
	}
	d := &descriptor.Descriptor{
		ID: t.batch.id, Topology: t.cfg.Topology, Task: t.cfg.Name,
		TableUUID: t.plan.uuid, SchemaID: t.plan.schema.ID, SpecID: t.plan.spec.ID(), FormatVersion: t.plan.formatVersion,
		Files: s.files, Rows: s.rows, Bytes: s.bytes, SealedAt: t.cfg.Now(),
	}
	if !t.cfg.Unpositioned {
		d.Inputs = inputs(t.parts)
	}
	if t.batch.rejects > 0 {
		if d.Rejects, err = t.rejects.seal(ctx); err != nil {
			return nil, fmt.Errorf("rejects: %w", err)
		}
	}
	return d, nil
}

// usable says whether the open batch may go on.
func (t *Task) usable() error {
	if t.closed {
		return errors.New("writer: the task is closed")
	}
	if t.failed != nil {
		return fmt.Errorf("writer: the open batch has failed and must be discarded: %w", t.failed)
	}
	return nil
}

// Stats of the open batch.
type Stats struct {
	// Rows, Rejects and Filtered count its records. Bytes are those of its files as far as written, plus what is buffered,
	// rejects included.
	Rows, Rejects, Filtered, Bytes int64
	// BufferedBytes is about what the task holds in memory.
	BufferedBytes int64
	OpenFiles     int
	// Since is when the first position moved; zero where none did.
	Since time.Time
}

// Stats says what is open. Only from the task's goroutine.
func (t *Task) Stats() Stats {
	s := Stats{Rows: t.batch.rows, Rejects: t.batch.rejects, Filtered: t.batch.filtered, Since: t.batch.since}
	if t.stage != nil {
		s.BufferedBytes = t.stage.memory()
	}
	if t.batch.open {
		l := t.enc.load()
		s.Bytes, s.OpenFiles = l.bytes+t.stage.cols.Bytes(), l.open
		s.BufferedBytes += l.held
	}
	if t.rejects != nil {
		l := t.rejects.load()
		s.Bytes += l.bytes
		s.BufferedBytes += l.held
		s.OpenFiles += l.open
	}
	return s
}

// Close drops the open batch and ends the encoders.
func (t *Task) Close() error {
	if t.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	t.Discard(ctx)
	t.enc.close()
	t.closed = true
	return nil
}

// inputs are the ranges that moved, in a stable order.
func inputs(parts map[source.Partition]*progress) []descriptor.Input {
	var out []descriptor.Input
	for p, pr := range parts {
		if pr.next == pr.from {
			continue
		}
		out = append(out, descriptor.Input{
			Range: source.Range{Partition: p, From: pr.from, To: pr.next},
			Rows:  pr.rows, Rejects: pr.rejects, Filtered: pr.filtered,
			Skipped:        int64(pr.next-pr.from) - pr.rows - pr.rejects - pr.filtered,
			MaxTimestampMs: pr.maxMs,
		})
	}
	slices.SortFunc(out, func(a, b descriptor.Input) int { return comparePartitions(a.Range.Partition, b.Range.Partition) })
	return out
}
