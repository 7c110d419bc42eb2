package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stormfloe/floe/writer"
)

// appendFailedLocked decides about the open batch. A bad record, or one that does not join up, leaves it as it was. Where the
// first records are bad, the configuration is wrong, and what it made of them must not be committed.
func (w *WriterStage) appendFailedLocked(err error) error {
	var bad *writer.BadRecord
	var judged *writer.JudgedError
	var gap *writer.GapError
	if errors.As(err, &judged) {
		var over *TooManyRejects
		if !errors.As(err, &over) || over.Within == 0 {
			w.dropLocked(fmt.Errorf("%w: %w", ErrRewound, err))
		}
		return err
	}
	if errors.As(err, &bad) || errors.As(err, &gap) {
		return err
	}
	w.trouble(w.name, err)
	err = fmt.Errorf("%w: %w", ErrRewound, err)
	w.dropLocked(err)
	return err
}

// dropLocked drops the open batch and tells its callbacks. With positions the stage then stands where the batch began,
// which is behind what the engine has brought: it has to ask again.
func (w *WriterStage) dropLocked(why error) {
	open := w.mu.open
	w.mu.open = nil
	w.mu.task.Discard(context.Background())
	if w.positioned {
		w.flying.lose(why)
	}
	open.answer(why)
}

// Flush seals and emits what is open.
func (w *WriterStage) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.ended {
		return ErrStageEnded
	}
	return w.sealLocked(ctx)
}

// sealDue seals what has become old. Its callbacks tell of failures; Run goes on.
func (w *WriterStage) sealDue(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.ended && w.mu.task.Due(time.Now()) {
		if err := w.sealLocked(ctx); err != nil {
			w.log.Warn("a batch could not be sealed", "error", err)
		}
	}
}

// sealLocked seals the open batch and emits it.
func (w *WriterStage) sealLocked(ctx context.Context) error {
	if err := w.flying.err(); err != nil && w.positioned {
		w.dropLocked(err)
		return err
	}
	began, codes := time.Now(), w.mu.task.RejectsByCode()
	tbl := w.mu.table
	d, err := w.mu.task.Seal(ctx)
	if err != nil {
		return w.appendFailedLocked(err)
	}
	open := w.mu.open
	w.mu.open = nil
	if d == nil {
		w.flying.join(open)
		return nil
	}
	w.trouble(w.name, nil)
	for _, in := range d.Inputs {
		w.mu.at[in.Range.Partition] = in.Range.To
	}
	w.batchSealed(w.name, w.rejects, d, codes, time.Since(began))
	b := w.flying.add(open)
	answer := func(err error) {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrRewound, err)
		}
		w.flying.answer(b, err)
	}
	if err := w.emit(ctx, d, tbl, answer); err != nil {
		answer(err)
		return fmt.Errorf("emit a sealed batch: %w", err)
	}
	w.useLocked(w.sink.Table())
	return nil
}
