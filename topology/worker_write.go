package topology

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// staleAfterReopen is how long after a reopen batches that do not join up are taken for old ones and dropped; later
// ones make the source reopen again.
const staleAfterReopen = 5 * time.Second

// progress does all that can be done without another event: append the batch in hand, seal what is due.
func (w *worker) progress(life context.Context) {
	if !w.resumeAt.IsZero() && !time.Now().Before(w.resumeAt) {
		w.resumeAt = time.Time{}
	}
	for w.batch != nil && w.held == nil && w.free() && life.Err() == nil {
		w.append(life)
	}
	if w.free() && life.Err() == nil && w.task.Due(time.Now()) {
		w.seal(life, false)
	}
	w.askAgain()
	w.hurry(life)
}

// append gives the batch in hand to the task, up to the next threshold.
func (w *worker) append(life context.Context) {
	b := w.batch
	p := b.Range.Partition
	tr := w.at[p]
	if w.r.replayable && (tr == nil || tr.stopped) {
		w.drop()
		return
	}
	if !w.use() {
		return
	}
	if tr != nil && tr.time == 0 && len(b.Records) > 0 {
		tr.time = max(0, b.Records[0].TimestampMs)
	}
	began := time.Now()
	done, err := w.task.Append(life, b)
	w.r.met.wrote(w.name, time.Since(began))
	switch {
	case err != nil:
		w.appendFailed(life, b, err)
	case !done:
		if !w.seal(life, false) {
			w.writeFailed(life, fmt.Errorf("task %s: a threshold was crossed by nothing", w.name))
		}
	case w.r.replayable:
		tr.read = max(tr.read, b.Range.To)
		delete(w.gapped, p)
		w.drop()
	default:
		w.open = append(w.open, b.Range)
		w.drop()
	}
}

// appendFailed decides what an error of Append means. The batch in hand is given up in any case but one: what is still
// wanted of it is delivered again. Where the mapper only lacks something, the batch waits.
func (w *worker) appendFailed(life context.Context, b *source.Batch, err error) {
	var bad *writer.BadRecord
	var judged *writer.JudgedError
	var gap *writer.GapError
	var wait *mapper.NotReadyError
	var ask *writer.EvolveError
	p := b.Range.Partition
	switch {
	case errors.As(err, &wait):
		w.holdFor(life, wait, &w.r.lent)
	case errors.As(err, &ask):
		w.evolve(life, ask)
	case errors.As(err, &judged):
		w.tooManyRejects(life, judged)
	case errors.As(err, &bad):
		w.badRecord(life, bad)
	case errors.As(err, &gap):
		w.drop()
		w.reopenAfterGap(p, gap.Want)
	default:
		w.writeFailed(life, err)
	}
}

// badRecord stops the topology. What lies before the record is sealed, so that the table ends right at it.
func (w *worker) badRecord(life context.Context, bad *writer.BadRecord) {
	if tr := w.at[bad.Partition]; tr != nil {
		tr.read = max(tr.read, bad.Position)
		tr.stopped = true
	}
	w.r.state.stop(bad.Partition, bad)
	w.drop()
	w.seal(life, true)
	w.r.fail(fmt.Errorf("%w. Everything before it is in the table. "+
		"Mend or skip the record, or the schema, and start again", bad))
}

// reopenAfterGap makes the source deliver from where the task stands. Right after a reopen old batches are on their
// way: they are dropped without asking again, for a while.
func (w *worker) reopenAfterGap(p source.Partition, want source.Position) {
	tr := w.at[p]
	if tr == nil {
		return
	}
	if !tr.reopenedAt.IsZero() && time.Since(tr.reopenedAt) < staleAfterReopen {
		w.gapped[p] = struct{}{}
		return
	}
	delete(w.gapped, p)
	w.r.log.Warn("a batch does not join up, reading again", "task", w.name, "partition", p.String(), "position", int64(want))
	w.r.met.rewound(w.name, causeGap)
	tr.reopenedAt = time.Now()
	w.r.cfg.Source.Reopen(p, want)
}

// askAgain reopens partitions of which nothing has joined up for a while after a batch was dropped: the source may have
// missed the reopening (it does not know a partition yet while it is being assigned), and then have nothing more to
// deliver that would show the gap.
func (w *worker) askAgain() {
	for p := range w.gapped {
		tr := w.at[p]
		switch {
		case tr == nil || tr.stopped:
			delete(w.gapped, p)
		case !w.rewinding && time.Since(tr.reopenedAt) >= staleAfterReopen:
			w.reopenAfterGap(p, tr.read)
		}
	}
}

// writeFailed drops the open batch after an I/O error and has its input delivered again, after a pause that grows. It
// goes on for as long as it takes, not ready, once something could be written; before that it is a wrong configuration
// (no permission, a type that the mapper can't make) rather than an outage, and ends like a catalog that is away.
// Sealed batches are not touched by it: the open one begins where they end.
//
// A disk that is full ends the topology at once: somebody must make room, and files that are begun again and again would take what
// room there comes to be.
func (w *worker) writeFailed(life context.Context, err error) {
	if life.Err() != nil {
		return
	}
	w.lose()
	w.task.Discard(life)
	if w.failures == 0 {
		w.failingSince = time.Now()
	}
	wait := backoff(w.failures)
	w.failures++
	w.resumeAt = time.Now().Add(wait)
	w.r.met.writeFailed(w.name)
	w.r.trouble(w.name, fmt.Errorf("task %s cannot write, failure %d in a row: %w", w.name, w.failures, err))
	if errors.Is(err, syscall.ENOSPC) {
		w.halt(fmt.Errorf("task %s cannot write: %w", w.name, err))
		return
	}
	w.redeliverOpen()
	if lasted := time.Since(w.failingSince); !w.works && lasted >= w.r.cfg.StartupTimeout {
		w.halt(fmt.Errorf("task %s has not been able to write anything for %s: %w", w.name, lasted.Round(time.Second), err))
	}
}

// redeliverOpen makes the source deliver again what the open batch held, which has just been dropped.
func (w *worker) redeliverOpen() {
	for _, p := range sortedPartitions(w.at) {
		tr := w.at[p]
		if tr.stopped || !w.r.replayable {
			continue
		}
		tr.read, tr.reopenedAt = tr.sealed, time.Now()
		w.r.cfg.Source.Reopen(p, tr.sealed)
	}
	w.r.acks.nack(w.open)
	w.open = nil
}

// use gives the task the newest metadata, which takes effect with its next batch. A table that has become one that
// can't be written stops the topology.
func (w *worker) use() bool {
	w.rejects = w.r.rejects.give(w.task, w.rejects)
	tbl := w.newest()
	if tbl == nil || tbl == w.table {
		return true
	}
	if w.table == nil || !writer.Alike(w.table, tbl) {
		if err := w.r.parts.check(tbl); err != nil {
			w.halt(fmt.Errorf("the table has changed: %w", err))
			return false
		}
	}
	w.table = tbl
	w.task.Use(tbl)
	return true
}

// halt stops the topology and takes nothing more: what is open can't be sealed or would not be committed.
func (w *worker) halt(err error) {
	w.stopped = true
	w.drop()
	w.r.fail(err)
}

// seal closes the open batch and sends its descriptor off. It reports false where there was nothing to seal or sealing
// failed.
func (w *worker) seal(life context.Context, flush bool) bool {
	if w.rewinding || w.stopped {
		return false
	}
	began, codes := time.Now(), w.task.RejectsByCode()
	d, err := w.task.Seal(life)
	if err != nil {
		w.writeFailed(life, err)
		return true
	}
	if d == nil {
		return false
	}
	w.failures, w.works = 0, true
	w.r.trouble(w.name, nil)
	w.sealed(d, codes, time.Since(began))
	w.send(d, flush)
	w.use()
	return true
}

// sealed notes how far the sealed batches reach.
func (w *worker) sealed(d *descriptor.Descriptor, rejects map[mapper.Code]int64, took time.Duration) {
	for _, in := range d.Inputs {
		if tr := w.at[in.Range.Partition]; tr != nil {
			tr.sealed = in.Range.To
			tr.read = max(tr.read, in.Range.To)
		}
	}
	w.total.add(d, took)
	w.r.batchSealed(w.name, w.r.rejects, d, rejects, took)
}

// send queues a descriptor for the submitter.
func (w *worker) send(d *descriptor.Descriptor, flush bool) {
	w.sends++
	f := &flight{
		epoch: w.epoch, n: w.sends, flush: flush,
		weight: descriptorWeight + int64(filesOf(d))*fileWeight,
		ranges: w.open,
	}
	w.open = nil
	for _, in := range d.Inputs {
		f.ranges = append(f.ranges, in.Range)
	}
	f.sub = committer.Submission{
		Descriptor: d, Owner: w.name, Epoch: w.epoch,
		Done: func(o committer.Outcome) { w.answers.put(answer{f, o}) },
	}
	w.flights[f] = struct{}{}
	w.weight += f.weight
	w.queue = append(w.queue, f)
	if w.full() {
		w.flush()
	}
}

// hurry seals and flushes once every partition of the task was read up to its target: all that is left to wait for
// would be the seal's age and the committer's interval.
func (w *worker) hurry(life context.Context) {
	if w.r.targets == nil || w.batch != nil || w.rewinding || w.stopped || len(w.at) == 0 {
		return
	}
	open := false
	for p, tr := range w.at {
		if tr.stopped {
			continue
		}
		target := w.r.targets[p]
		if tr.read < target {
			w.hurried = false
			return
		}
		open = open || (tr.sealed < target && tr.sealed < tr.read)
	}
	switch {
	case open:
		w.seal(life, true)
	case !w.hurried:
		w.flush()
	}
	w.hurried = true
}
