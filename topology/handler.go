package topology

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
)

// handler is the topology as the source sees it.
type handler struct{ r *run }

var _ source.Handler = handler{}

// Assigned settles the WAL, finds where each partition starts, and opens them at their tasks.
func (h handler) Assigned(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	r := h.r
	at, err := r.tryAssign(ctx, ps)
	if err != nil {
		if isFinal(err) {
			r.fail(err)
			err = &source.FatalError{Err: err}
		}
		return nil, err
	}
	for w, set := range r.pin(at) {
		if !w.do(ctx, func(life context.Context) { w.openAt(life, set) }) {
			return nil, fmt.Errorf("open partitions: the topology is ending")
		}
	}
	open := sortedPartitions(at)
	r.acks.own(at)
	r.state.intake.assignments.Add(1)
	for _, p := range open {
		r.state.reopened(p)
	}
	r.log.Info("partitions assigned", "partitions", len(ps), "opened", len(at))
	return at, nil
}

// assignTries is how often an assignment is tried, over about a minute, before the source is asked to begin anew.
const assignTries = 12

// tryAssign tries again what may pass: a catalog that hiccups is no reason to give the partitions back.
func (r *run) tryAssign(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	for n := 0; ; n++ {
		at, err := r.assign(ctx, ps)
		if err == nil {
			r.trouble("assignment", nil)
			return at, nil
		}
		if isFinal(err) || ctx.Err() != nil || n >= assignTries {
			return nil, err
		}
		r.trouble("assignment", err)
		if retry.Sleep(ctx, backoff(n)) != nil {
			return nil, err
		}
	}
}

func (r *run) assign(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	if err := r.sinks[0].Settle(ctx, ps); err != nil {
		return nil, fmt.Errorf("settle the WAL: %w", err)
	}
	if r.replayable {
		return r.place(ctx, ps)
	}
	at := map[source.Partition]source.Position{}
	for _, p := range ps {
		pos, err := r.cfg.Source.Start(ctx, p, source.OriginConfigured)
		if err != nil {
			return nil, fmt.Errorf("find the start of %s: %w", p, err)
		}
		at[p] = pos
	}
	return at, nil
}

// pin gives each partition to the task that has it, else to the one with the fewest.
func (r *run) pin(at map[source.Partition]source.Position) map[*worker]map[source.Partition]source.Position {
	r.routes.Lock()
	defer r.routes.Unlock()
	load := map[*worker]int{}
	for _, w := range r.routes.to {
		load[w]++
	}
	out := map[*worker]map[source.Partition]source.Position{}
	for _, p := range sortedPartitions(at) {
		w := r.routes.to[p]
		if w == nil {
			w = r.workers[0]
			for _, other := range r.workers[1:] {
				if load[other] < load[w] {
					w = other
				}
			}
			r.routes.to[p] = w
			load[w]++
		}
		if out[w] == nil {
			out[w] = map[source.Partition]source.Position{}
		}
		out[w][p] = at[p]
	}
	return out
}

// Revoked gives partitions up: what is open of them is sealed, committed and acknowledged, or dropped where ctx ends
// first. Nothing of them is acknowledged afterwards.
func (h handler) Revoked(ctx context.Context, ps []source.Partition) {
	r := h.r
	r.drain(ctx)
	var g errgroup.Group
	for w, set := range r.unpin(ps) {
		g.Go(func() error {
			done := make(chan struct{})
			if !w.do(ctx, func(life context.Context) { w.giveUp(life, set, done) }) {
				return fmt.Errorf("%s did not answer", w.name)
			}
			select {
			case <-done:
				return nil
			case <-ctx.Done():
				return fmt.Errorf("%s still has sealed batches in flight", w.name)
			case <-r.done:
				return nil
			}
		})
	}
	if err := g.Wait(); err != nil {
		r.log.Warn("partitions were lost before all of them was committed; who gets them reads it again",
			"partitions", len(ps), "error", err)
	}
	r.acks.flush(ctx)
	r.left.Store(int64(r.acks.disown(ps)))
	r.log.Info("partitions given up", "partitions", len(ps))
}

// drain waits until the tasks have taken what is queued, for at most half the time that is left: what follows needs some,
// too. A source that ends by itself has nobody who would read it again. Where the run ends it is not needed.
func (r *run) drain(ctx context.Context) {
	grace := source.RevokeGrace
	if end, ok := ctx.Deadline(); ok {
		grace = time.Until(end)
	}
	ctx, cancel := context.WithTimeout(ctx, grace/2)
	defer cancel()
	for _, w := range r.workers {
		mark := make(chan struct{})
		select {
		case w.in <- queued{mark: mark}:
		case <-ctx.Done():
			return
		case <-r.ending:
			return
		}
		select {
		case <-mark:
		case <-ctx.Done():
			return
		case <-r.ending:
			return
		}
	}
}

// unpin takes ps off the routes and says which tasks have something of them: without positions all may.
func (r *run) unpin(ps []source.Partition) map[*worker][]source.Partition {
	r.routes.Lock()
	defer r.routes.Unlock()
	out := map[*worker][]source.Partition{}
	for _, p := range ps {
		w := r.routes.to[p]
		delete(r.routes.to, p)
		if r.replayable {
			if w != nil {
				out[w] = append(out[w], p)
			}
			continue
		}
		for _, w := range r.workers {
			out[w] = append(out[w], p)
		}
	}
	return out
}

// Deliver hands a batch to the task of its partition. It waits while the queues are full. After an error the batch is
// the source's again.
func (h handler) Deliver(ctx context.Context, b *source.Batch) error {
	r := h.r
	r.routes.RLock()
	w := r.routes.to[b.Range.Partition]
	r.routes.RUnlock()
	if w == nil {
		b.Release()
		return nil
	}
	if err := r.queue.Acquire(ctx, r.cost(b)); err != nil {
		return err
	}
	queue, mine := w.in, b
	r.acks.delivered(b.Range)
	in := r.state.intake
	in.records.Add(int64(len(b.Records)))
	in.bytes.Add(b.Bytes)
	in.queued.Add(b.Bytes)
	if !r.replayable {
		// Without positions a batch that is half appended is known by its address alone, and sources may pool theirs.
		c := *b
		queue, mine = r.anyQueue(), &c
	}
	select {
	case queue <- queued{batch: mine}:
		return nil
	case <-ctx.Done():
	case <-r.done:
	}
	r.queue.Release(r.cost(b))
	in.queued.Add(-b.Bytes)
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}

// anyQueue is the next task's in turn, or the first one with room.
func (r *run) anyQueue() chan queued {
	n := int(r.next.Add(1))
	for i := range r.workers {
		if in := r.workers[(n+i)%len(r.workers)].in; len(in) < cap(in) {
			return in
		}
	}
	return r.workers[n%len(r.workers)].in
}

// cost is what b takes of the queues' share; one that is larger than all of it waits until it is alone.
func (r *run) cost(b *source.Batch) int64 { return min(max(1, b.Bytes), r.queueCap) }

// release gives a delivered batch back to the source.
func (r *run) release(b *source.Batch) {
	n, bytes := r.cost(b), b.Bytes
	b.Release()
	r.queue.Release(n)
	r.state.intake.queued.Add(-bytes)
}

// Failed notes that p is not read on. The others go on, and the run ends with an error.
func (h handler) Failed(p source.Partition, err error) {
	r := h.r
	r.log.Error("a partition is stopped", "partition", p.String(), "error", err)
	r.state.stop(p, err)
	r.routes.RLock()
	w := r.routes.to[p]
	r.routes.RUnlock()
	if w == nil {
		return
	}
	r.g.Go(func() error {
		w.do(context.Background(), func(context.Context) { w.stopPartition(p) })
		return nil
	})
}

// Trouble notes a passing failure of the source.
func (h handler) Trouble(err error) {
	if err != nil {
		err = fmt.Errorf("source %s: %w", h.r.cfg.Source.Traits().Name, err)
	}
	h.r.trouble("source", err)
}
