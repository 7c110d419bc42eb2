package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// Emit takes the bytes of a sealed batch on their way to a CommitterStage, in the order in which it is called. The stage
// waits for it: blocking holds the writer back. committed must be called once, from any goroutine, with nil when the
// CommitterStage's done was, and with an error otherwise. An error of Emit itself counts as that.
type Emit func(ctx context.Context, sealed []byte, committed func(error)) error

// WriterStage writes records to files and emits sealed batches. Methods may be called from any goroutine; calls for one
// partition must come in the order of its positions.
type WriterStage struct {
	*stage
	name string
	emit func(ctx context.Context, d *descriptor.Descriptor, tbl *table.Table, committed func(error)) error
	// wake tells Run that a batch was opened.
	wake chan struct{}
	// hurry asks the committer behind the stage not to wait for its interval; nil where it is not known.
	hurry      func()
	positioned bool
	flying     inFlight

	mu struct {
		turn
		task           *writer.Task
		table, rejects *table.Table
		at             map[source.Partition]source.Position
		open           callbacks
		ended          bool
	}
}

// turn is a lock that is held while files are written and sealed. It is a channel so that who waits for it in a
// testing/synctest bubble lets the bubble's time go on; for a mutex it stands still, and slow storage never answers.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

// NewWriterStage makes a stage that emits the bytes of sealed batches. It starts nothing.
func NewWriterStage(cfg StageConfig, emit Emit) (*WriterStage, error) {
	if emit == nil {
		return nil, fmt.Errorf("topology: a writer stage needs something to emit to")
	}
	s, err := newStage(cfg, "writer", 0)
	if err != nil {
		return nil, err
	}
	return newWriterStage(s, cfg, func(ctx context.Context, d *descriptor.Descriptor, tbl *table.Table, done func(error)) error {
		b, err := descriptor.Encode(d, tbl.Metadata())
		if err != nil {
			return fmt.Errorf("encode a sealed batch: %w", err)
		}
		return emit(ctx, b, done)
	})
}

func newWriterStage(s *stage, cfg StageConfig,
	emit func(context.Context, *descriptor.Descriptor, *table.Table, func(error)) error) (*WriterStage, error) {
	w := &WriterStage{stage: s, name: fmt.Sprintf("writer/%d", cfg.Task), emit: emit, wake: make(chan struct{}, 1),
		positioned: cfg.Positioned}
	wc := s.cfg.writer(0)
	wc.Name = w.name
	wc.MaxOpenFiles = s.cfg.Writer.MaxOpenFiles
	wc.MaxBufferedBytes = max(1<<20, MemoryShares(s.cfg.Memory).OpenFiles)
	s.rejects.configure(&wc)
	t, err := writer.New(wc)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	w.mu.turn = make(turn, 1)
	w.mu.task, w.mu.at = t, map[source.Partition]source.Position{}
	return w, nil
}

// Run loads the table, seals what has become old, and keeps the table's metadata fresh, until ctx ends. Then it seals
// what is open, and waits within the shutdown timeout until what was emitted is answered.
func (w *WriterStage) Run(ctx context.Context) error {
	defer w.end()
	defer w.close()
	if err := w.load(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	w.open()
	return w.write(ctx)
}

// write is Run on a table that has been loaded.
func (w *WriterStage) write(ctx context.Context) error {
	defer w.close()
	w.use(w.sink.Table())
	refresh := time.NewTicker(w.cfg.Committer.CheckInterval)
	defer refresh.Stop()
	for {
		timer := time.NewTimer(w.untilDue())
		select {
		case <-ctx.Done():
			timer.Stop()
			return w.finish(ctx)
		case <-w.wake:
		case <-timer.C:
			w.sealDue(ctx)
		case <-refresh.C:
			_, err := w.sink.Load(ctx)
			if err == nil && w.rejects.due() {
				err = w.rejects.load(ctx, w.sink.Table())
			}
			if ctx.Err() == nil {
				w.trouble("table", err)
			}
			if err == nil {
				w.use(w.sink.Table())
			}
		}
		timer.Stop()
	}
}

// finish is the graceful end.
func (w *WriterStage) finish(ctx context.Context) error {
	w.state.setPhase(PhaseStopping)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.ShutdownTimeout)
	defer cancel()
	err := w.Flush(late)
	if w.hurry != nil {
		w.hurry()
	}
	w.close()
	if !w.flying.wait(late) {
		w.flying.abandon(ErrStageEnded)
		err = errors.Join(err, fmt.Errorf("topology: emitted batches were not answered within %s", w.cfg.ShutdownTimeout))
	}
	return err
}

// close drops what is open; nothing is taken afterwards.
func (w *WriterStage) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return
	}
	w.mu.ended = true
	open := w.mu.open
	w.mu.open = nil
	if err := w.mu.task.Close(); err != nil {
		w.log.Warn("closing a writer task failed", "error", err)
	}
	open.answer(ErrStageEnded)
}

func (w *WriterStage) untilDue() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.mu.task.Deadline()
	if at.IsZero() {
		return time.Hour
	}
	return max(time.Millisecond, time.Until(at))
}

// use gives the task newer metadata, for its next batch.
func (w *WriterStage) use(tbl *table.Table) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.useLocked(tbl)
}

func (w *WriterStage) useLocked(tbl *table.Table) {
	w.mu.rejects = w.rejects.give(w.mu.task, w.mu.rejects)
	if tbl != nil && tbl != w.mu.table {
		w.mu.table = tbl
		w.mu.task.Use(tbl)
	}
}

// Begin asks the table where partitions go on, records a first position for those that have none (starts), and opens
// them in the stage. Other partitions stay open, except after ErrRewound: then each has to be asked for again.
func (w *WriterStage) Begin(ctx context.Context, starts map[source.Partition]source.Position) (map[source.Partition]source.Position, error) {
	at, err := w.stage.Begin(ctx, starts)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return nil, ErrStageEnded
	}
	if w.flying.err() != nil {
		w.dropLocked(ErrRewound)
		clear(w.mu.at) // the other partitions have to be asked for, too
		w.flying.restart()
	} else if err := w.sealLocked(ctx); err != nil {
		return nil, err
	}
	maps.Copy(w.mu.at, at)
	w.mu.task.Open(ctx, w.mu.at)
	return at, nil
}

// Release seals what is open and closes partitions that the engine gives to somebody else. It does not wait until what
// was sealed is committed: their callbacks tell.
func (w *WriterStage) Release(ctx context.Context, ps ...source.Partition) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return ErrStageEnded
	}
	err := w.sealLocked(ctx)
	for _, p := range ps {
		delete(w.mu.at, p)
	}
	w.mu.task.Open(ctx, w.mu.at)
	return err
}

// Write takes a record without position. ack may be nil. It is called with nil when the record is in the table, with an
// error when it may not be; it must neither block nor call the stage. An error of Write itself (a *writer.BadRecord is one)
// says that the record was not taken; ack is then not called. A *writer.JudgedError says that too many became rejects, and
// that the engine is to end: where it is the first records that are bad, what is open is dropped, and its callbacks have
// ErrRewound. A *mapper.NotReadyError is no verdict: what the mapper needs (a schema of a registry) could not be had, bring
// the record again after a pause. rec is not kept.
func (w *WriterStage) Write(ctx context.Context, rec *source.Record, ack func(error)) error {
	if w.positioned {
		return fmt.Errorf("topology: this stage wants positions; use WriteAt")
	}
	return w.WriteBatch(ctx, &source.Batch{Records: []source.Record{*rec}}, ack)
}

// WriteAt takes a record of p at rec.Position. A record below what is there already is skipped, and acknowledged with
// it; positions that are left out hold no record.
func (w *WriterStage) WriteAt(ctx context.Context, p source.Partition, rec *source.Record, ack func(error)) error {
	b := &source.Batch{Records: []source.Record{*rec}, Range: source.Range{Partition: p, To: rec.Position + 1}}
	return w.WriteBatch(ctx, b, ack)
}

// Skip says that p holds no record below to.
func (w *WriterStage) Skip(ctx context.Context, p source.Partition, to source.Position, ack func(error)) error {
	return w.WriteBatch(ctx, &source.Batch{Range: source.Range{Partition: p, To: to}}, ack)
}

// fetch gets what the mapper lacks, or says that it can't be had now.
func (w *WriterStage) fetch(ctx context.Context, wait *mapper.NotReadyError) error {
	part := w.name + "/fetch"
	if err := wait.Fetch(ctx); err != nil {
		if ctx.Err() == nil {
			w.trouble(part, err)
		}
		return fmt.Errorf("%w: %w", wait, err)
	}
	w.trouble(part, nil)
	return nil
}

// WriteBatch takes a batch: with positions, its range must begin at or below the position that is expected next. It does
// not release the batch and keeps nothing of it. After an error, ErrRewound included, what of the batch was taken is
// not acknowledged.
func (w *WriterStage) WriteBatch(ctx context.Context, b *source.Batch, ack func(error)) error {
	if err := w.up(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return ErrStageEnded
	}
	if w.positioned {
		if err := w.flying.err(); err != nil {
			w.dropLocked(err)
			return err
		}
		if _, open := w.mu.at[b.Range.Partition]; !open {
			return fmt.Errorf("topology: %s is not open: call Begin first", b.Range.Partition)
		}
	}
	if !w.positioned {
		// The writer knows a batch that it has taken in part by its address, and engines may use one again for others.
		c := *b
		b = &c
	}
	if w.mu.table == nil {
		w.useLocked(w.sink.Table()) // Run has just loaded it
	}
	quiet := w.mu.task.Deadline().IsZero()
	err := w.appendLocked(ctx, b, newPending(ack))
	if quiet { // also after a bad record: what precedes it is in the batch
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return err
}

func (w *WriterStage) appendLocked(ctx context.Context, b *source.Batch, p *pending) error {
	for {
		done, err := w.mu.task.Append(ctx, b)
		var wait *mapper.NotReadyError
		if errors.As(err, &wait) {
			if err = w.fetch(ctx, wait); err == nil {
				continue
			}
			return err
		}
		if err != nil {
			return w.appendFailedLocked(err)
		}
		p.part()
		w.mu.open = append(w.mu.open, p)
		if done {
			break
		}
		if err := w.sealLocked(ctx); err != nil {
			return err
		}
	}
	if w.mu.task.Due(time.Now()) || w.mu.task.Stats().Since.IsZero() {
		if err := w.sealLocked(ctx); err != nil {
			return err
		}
	}
	p.all()
	return nil
}
