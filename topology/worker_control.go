package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
)

// Another instance that commits what this one has written is a replica that took the partition over, and settles with the
// next assignment, or a second deployment under the same name. Two of those cost each other half the work, for ever, also
// where their commits land in turn: so a commit of our own does not begin the count anew, only settledAfter of them in a
// row do, or a new assignment. How often is borne is chosen at random, so that only one of two gives way.
const (
	minForeign, maxForeign = 5, 25
	settledAfter           = 20
)

// open adds partitions, or sets those that are there to other positions. What is open is sealed first, because the task
// drops it when its set changes.
func (w *worker) openAt(life context.Context, ps map[source.Partition]source.Position) {
	w.seal(life, false)
	now := time.Now()
	for p, pos := range ps {
		w.at[p] = &track{read: pos, sealed: pos, held: pos, reopenedAt: now}
	}
	w.foreign = 0
	w.openTask(life)
}

// openTask gives the task its partitions, each where the sealed batches end. Nothing may be open.
func (w *worker) openTask(life context.Context) {
	if !w.r.replayable {
		return
	}
	at := make(map[source.Partition]source.Position, len(w.at))
	for p, tr := range w.at {
		at[p] = tr.sealed
	}
	w.task.Open(life, at)
}

// giveUp seals what is open of ps and forgets them; done is closed when nothing of them is in flight any more.
func (w *worker) giveUp(life context.Context, ps []source.Partition, done chan struct{}) {
	g := &giveUp{ps: map[source.Partition]bool{}, done: done}
	for _, p := range ps {
		g.ps[p] = true
	}
	w.seal(life, false)
	for p := range g.ps {
		delete(w.at, p)
	}
	if w.batch != nil && g.ps[w.batch.Range.Partition] {
		w.drop()
	}
	if !w.rewinding {
		w.openTask(life)
	}
	w.flush()
	w.waiting = append(w.waiting, g)
	w.checkWaiting()
}

// flush makes the committer not wait for its interval with what is in flight. The wish goes the way of the sealed
// batches, so that it can't overtake one that still waits to be taken.
func (w *worker) flush() {
	if n := len(w.queue); n > 0 {
		w.queue[n-1].flush = true
		return
	}
	w.queue = append(w.queue, &flight{flush: true})
}

func (f *flight) covers(ps map[source.Partition]bool) bool {
	for _, rg := range f.ranges {
		if ps[rg.Partition] {
			return true
		}
	}
	return false
}

// checkWaiting tells those whose partitions are no longer in flight.
func (w *worker) checkWaiting() {
	kept := w.waiting[:0]
	for _, g := range w.waiting {
		busy := false
		for f := range w.flights {
			busy = busy || f.covers(g.ps)
		}
		if busy {
			kept = append(kept, g)
			continue
		}
		close(g.done)
	}
	w.waiting = kept
}

// answered takes what became of a sealed batch.
func (w *worker) answered(life context.Context, a answer) {
	if _, there := w.flights[a.f]; !there {
		return
	}
	w.forget(a.f)
	switch a.o.Verdict {
	case committer.Landed, committer.AlreadyThere:
		w.landed(a)
	case committer.Reread:
		w.reread(life, a)
	default:
		err := a.o.Err
		if err == nil {
			err = errors.New("the committer gave no reason")
		}
		w.r.acks.nack(a.f.ranges)
		w.halt(fmt.Errorf("a sealed batch of %s can't be committed: %w", w.name, err))
	}
	w.checkWaiting()
}

func (w *worker) forget(f *flight) {
	delete(w.flights, f)
	w.weight -= f.weight
}

// landed acknowledges: the table holds the batch, by this commit or by another one. In the latter case another instance
// wrote the same ranges; whether what is in flight behind it still joins up, the committer will say.
func (w *worker) landed(a answer) {
	if a.o.Verdict == committer.Landed {
		w.stale = 0
		if w.own++; w.own >= settledAfter {
			w.foreign = 0
		}
	}
	if a.f.epoch == w.epoch {
		for _, rg := range a.f.ranges {
			if tr := w.at[rg.Partition]; tr != nil {
				tr.held = max(tr.held, rg.To)
			}
		}
		w.heldUntil(a.f)
	}
	w.r.acks.ack(a.f.ranges)
	select {
	case w.r.landed <- struct{}{}:
	default:
	}
	w.crossed(a)
}

// heldUntil notes the times of the newest records that are held now.
func (w *worker) heldUntil(f *flight) {
	for _, in := range f.sub.Descriptor.Inputs {
		if tr := w.at[in.Range.Partition]; tr != nil && in.MaxTimestampMs > 0 {
			tr.time = in.MaxTimestampMs
		}
	}
}

// crossed counts how often another instance has committed in our stead, and reports whether it was too often. All that was
// sealed before the first such answer counts once: a process that was frozen, or whose branch was just made from another
// one, learns of many batches at a time.
func (w *worker) crossed(a answer) bool {
	if !a.o.Foreign || !w.owns(a.f) {
		return false
	}
	w.own = 0
	if a.f.n <= w.crossings {
		return false
	}
	w.crossings = w.sends
	if w.foreign++; w.foreign < w.bears {
		return false
	}
	w.halt(fmt.Errorf("%d times another instance under the topology name %q has committed what this one had "+
		"written. Two deployments run under one name: give one of them another name", w.foreign, w.r.cfg.Name))
	return true
}

// reread rewinds the worker, once for all batches of an epoch.
func (w *worker) reread(life context.Context, a answer) {
	if a.f.epoch != w.epoch {
		return
	}
	if w.crossed(a) {
		return
	}
	w.r.log.Warn("a sealed batch is stale, going back to the table's positions", "task", w.name,
		"foreign", a.o.Foreign, "error", a.o.Err)
	w.rewind(life, causeStale, a.f.ranges)
}

func (w *worker) owns(f *flight) bool {
	for _, rg := range f.ranges {
		if w.at[rg.Partition] != nil {
			return true
		}
	}
	return false
}

// rewind drops the open batch and everything in flight, and has the table's positions read. It goes on in resume.
// lost are ranges that are no longer in flight and did not land either.
func (w *worker) rewind(life context.Context, cause string, lost []source.Range) {
	if w.rewinding || w.stopped {
		return
	}
	w.lose()
	lost = append(slices.Clone(lost), w.open...)
	for f := range w.flights {
		lost = append(lost, f.ranges...)
	}
	w.open, w.evolved = nil, nil
	w.epoch++
	w.rewinding = true
	w.r.met.rewound(w.name, cause)
	w.task.Discard(life)
	for _, f := range w.queue {
		w.forget(f)
	}
	w.queue = nil
	w.r.acks.nack(lost)
	if len(w.waiting) > 0 {
		w.flush() // the wish of those who gave partitions up was in the queue
		w.checkWaiting()
	}
	asked := maps.Clone(w.at)
	wait := time.Duration(0)
	if w.stale > 0 {
		wait = backoff(w.stale - 1)
	}
	w.stale++
	w.r.g.Go(func() error { w.locate(life, asked, wait); return nil })
}

// locate asks the table where partitions stand, until it answers, and brings the answer to the worker. It runs in a goroutine
// of its own, so that the worker can give up partitions meanwhile.
func (w *worker) locate(life context.Context, asked map[source.Partition]*track, wait time.Duration) {
	ps := sortedPartitions(asked)
	if retry.Sleep(life, wait) != nil {
		return
	}
	for n := 0; ; n++ {
		at, err := w.r.place(life, ps)
		if err == nil {
			w.r.trouble(w.name, nil)
			w.do(life, func(life context.Context) { w.resume(life, asked, at) })
			return
		}
		if life.Err() != nil {
			return
		}
		if isFinal(err) {
			w.do(life, func(context.Context) { w.halt(err) })
			return
		}
		w.r.trouble(w.name, fmt.Errorf("task %s reads the table's positions: %w", w.name, err))
		if retry.Sleep(life, backoff(n)) != nil {
			return
		}
	}
}

// resume goes on after a rewind at the positions of the table. Partitions that came meanwhile have their own; those
// that went are gone, also where they have come back; those that the table stands elsewhere for (another incarnation) are
// stopped.
func (w *worker) resume(life context.Context, asked map[source.Partition]*track, at map[source.Partition]source.Position) {
	if !w.rewinding {
		return
	}
	w.rewinding = false
	now := time.Now()
	moved := map[source.Partition]source.Position{}
	for p, was := range asked {
		pos, there := at[p]
		switch tr := w.at[p]; {
		case tr == nil || tr != was || tr.stopped:
		case !there:
			tr.stopped = true
		default:
			w.at[p] = &track{read: pos, sealed: pos, held: pos, reopenedAt: now}
			moved[p] = pos
		}
	}
	w.r.acks.stands(moved)
	w.openTask(life)
	for _, p := range sortedPartitions(moved) {
		w.r.cfg.Source.Reopen(p, moved[p])
	}
}

// stopPartition takes nothing more of p: the source can't read it on.
func (w *worker) stopPartition(p source.Partition) {
	if tr := w.at[p]; tr != nil {
		tr.stopped = true
	}
}

// heldNow is what the table is known to hold, by partition.
func (w *worker) heldNow() map[source.Partition]source.Position {
	held := make(map[source.Partition]source.Position, len(w.at))
	if w.rewinding {
		return held
	}
	for p, tr := range w.at {
		held[p] = tr.held
	}
	return held
}

// behind rewinds if the table no longer holds what it was known to: it was rolled back.
func (w *worker) behind(life context.Context, now committer.Positions, held map[source.Partition]source.Position) {
	for p, pos := range held {
		if tr := w.at[p]; tr == nil || tr.stopped {
			continue
		}
		if pr, there := now.At[p]; !there || pr.Next < pos {
			w.r.log.Warn("the table was set back, going back with it", "task", w.name, "partition", p.String(),
				"held", int64(pos), "now", int64(pr.Next))
			w.stale = 0
			w.rewind(life, causeRollback, nil)
			return
		}
	}
}

// publishEvery is how often at most a worker shows what it does.
const publishEvery = 250 * time.Millisecond

// publish shows what the worker does. It gives the time until the next one is due.
func (w *worker) publish(now time.Time) time.Duration {
	if next := w.published.Add(publishEvery); now.Before(next) {
		return next.Sub(now)
	}
	w.published = now
	st := w.task.Stats()
	ts := TaskStatus{Task: w.name, Phase: w.phase(), OpenRows: st.Rows, OpenRejects: st.Rejects, OpenBytes: st.Bytes, OpenFiles: st.OpenFiles,
		InFlight: len(w.flights), Epoch: w.epoch, Sealed: w.total}
	if !st.Since.IsZero() {
		since := st.Since
		ts.OpenSince = &since
	}
	ps := make(map[source.Partition]PartitionStatus, len(w.at))
	for p, tr := range w.at {
		ps[p] = PartitionStatus{Topic: p.Topic, Partition: p.ID, Task: w.name,
			Read: tr.read, Sealed: tr.sealed, Committed: tr.held, time: tr.time}
	}
	w.r.state.setTask(w.i, ts, ps)
	return time.Hour
}

func (w *worker) phase() string {
	switch {
	case w.stopped:
		return "stopped"
	case w.rewinding:
		return "rewinding"
	case !w.resumeAt.IsZero():
		return "backing off"
	case w.held != nil:
		return "fetching"
	case w.full():
		return "waiting"
	case !w.task.Deadline().IsZero():
		return "writing"
	}
	return "idle"
}
