package topology

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/evolve"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// run is one life of a topology. Two contexts bound it: the source's, which ends first and makes it give back its
// partitions gracefully, and life, which ends last and takes workers and committers with it.
type run struct {
	*report
	cfg        *Config
	parts      parts
	replayable bool

	sinks   []sink
	rejects *rejectsTable
	workers []*worker
	acks    *acker
	// evolver is nil where records may not change the schema.
	evolver *evolve.Evolver

	// queue bounds the bytes between source and workers.
	queue    *semaphore.Weighted
	queueCap int64
	next     atomic.Uint32

	routes struct {
		sync.RWMutex
		to map[source.Partition]*worker
	}

	// targets are where each partition must come to before the run has caught up; nil where that is not asked for. They
	// are set before any worker starts.
	targets map[source.Partition]source.Position
	// left counts partitions that were given up last although they were delivered further than they are committed.
	left atomic.Int64
	// landed has a token when something was committed since it was looked at.
	landed chan struct{}
	// lent says that something a mapper needed has been there once: where it comes from is set up rightly.
	lent atomic.Bool

	g errgroup.Group
	// done is life's end, ending that of reading; killed is the user's wish for it.
	done, ending, killed <-chan struct{}
	// kill is told how the run is ended at once.
	kill       *atomic.Pointer[func()]
	stopSource context.CancelFunc
	endLife    context.CancelFunc

	mu struct {
		sync.Mutex
		err error
	}
}

func newRun(t *Topology) *run {
	r := &run{
		report: &report{log: t.cfg.Logger.With("topology", t.cfg.Name), state: t.state},
		cfg:    &t.cfg, parts: t.parts,
		replayable: t.cfg.Source.Traits().Replayable,
		queueCap:   max(1, MemoryShares(t.cfg.Memory).Queues),
		landed:     make(chan struct{}, 1),
		killed:     t.kill,
		kill:       &t.end,
		rejects:    newRejectsTable(&t.cfg),
	}
	if c, ok := t.cfg.Table.(SchemaChanger); ok && t.cfg.Evolve.On() {
		most := t.cfg.Evolve.MaxColumns
		def(&most, mapper.DefaultMaxColumns)
		r.evolver = evolve.New(c, most, t.cfg.Committer.AttemptTimeout)
	}
	r.queue = semaphore.NewWeighted(r.queueCap)
	r.routes.to = map[source.Partition]*worker{}
	return r
}

// run starts everything in the order of dependence, and ends it in the opposite one.
func (r *run) run(ctx context.Context) error {
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	defer endLife()
	reading, stopSource := context.WithCancel(ctx)
	defer stopSource()
	r.done, r.ending, r.endLife, r.stopSource = life.Done(), reading.Done(), endLife, stopSource
	end := func() { r.die(ErrKilled) }
	r.kill.Store(&end)
	finished := make(chan struct{})
	var guard errgroup.Group
	guard.Go(func() error { r.guard(reading, finished); return nil })

	err := r.start(reading)
	if err == nil {
		err = r.flow(life, reading)
	}
	r.met.unregister() // a start that fails may have metrics already
	close(finished)
	_ = guard.Wait()
	r.state.setPhase(PhaseEnded)
	return r.verdict(ctx, err)
}

// guard ends life when the graceful end takes too long, or at once after Kill.
func (r *run) guard(reading context.Context, finished <-chan struct{}) {
	select {
	case <-finished:
		return
	case <-r.killed:
		r.die(ErrKilled)
		return
	case <-reading.Done():
	}
	r.state.setPhase(PhaseStopping)
	timeout := time.NewTimer(r.cfg.ShutdownTimeout)
	defer timeout.Stop()
	select {
	case <-finished:
	case <-r.killed:
		r.die(ErrKilled)
	case <-timeout.C:
		r.die(fmt.Errorf("topology: the graceful end took longer than %s and was cut off; nothing is lost, "+
			"what was not committed is read again at the next start", r.cfg.ShutdownTimeout))
	}
}

// verdict is what Run returns: the first failure, else the partitions that were stopped.
func (r *run) verdict(ctx context.Context, err error) error {
	r.mu.Lock()
	first := r.mu.err
	r.mu.Unlock()
	switch {
	case first != nil:
		err = first
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = nil
	}
	if err == nil {
		err = r.state.stoppedPartitions()
	}
	if err != nil {
		r.state.setError(err)
	}
	return err
}

// fail ends the run gracefully with err; the first one counts.
func (r *run) fail(err error) {
	r.note(err)
	r.stopSource()
}

// die ends the run at once with err: life first, so that giving partitions back does nothing any more.
func (r *run) die(err error) {
	r.note(err)
	r.endLife()
	r.stopSource()
}

func (r *run) note(err error) {
	r.mu.Lock()
	if r.mu.err == nil {
		r.mu.err = err
		r.log.Error("the topology stops", "error", err)
	}
	r.mu.Unlock()
	r.state.setError(err)
}

// start makes the parts, waits for the catalog and checks the table.
func (r *run) start(ctx context.Context) error {
	r.state.setPhase(PhaseStarting)
	for i := range r.cfg.committers() {
		cc := r.cfg.committer(i)
		obs := newObserver(r.report, cc)
		cc.Observer = obs
		s, err := r.parts.sink(cc, r.cfg.Table, r.cfg.WAL)
		if err != nil {
			return fmt.Errorf("topology: %w", err)
		}
		r.sinks = append(r.sinks, s)
		if err := r.wait(ctx, r.cfg.StartupTimeout, "load the table", func() error { _, err := s.Load(ctx); return err }); err != nil {
			return err
		}
		if i == 0 {
			tbl := s.Table()
			if err := r.parts.check(tbl); err != nil {
				return err
			}
			name := tableName(tbl)
			r.state.setTable(name, s.Table)
			if r.met, err = newMetrics(r.cfg.Registerer, r.cfg.Name, name, r.state); err != nil {
				return err
			}
		}
		r.met.beginCommitter(obs.task)
	}
	if r.rejects != nil {
		load := func() error { return r.rejects.load(ctx, r.sinks[0].Table()) }
		if err := r.wait(ctx, r.cfg.StartupTimeout, "load the rejects table", load); err != nil {
			return err
		}
		r.state.setRejectsTable(r.rejects.name())
	}
	if r.cfg.UntilCaughtUp {
		return r.wait(ctx, r.cfg.StartupTimeout, "ask the source for its partitions", func() error { return r.setTargets(ctx) })
	}
	return nil
}

// isFinal says that waiting will not mend err.
func isFinal(err error) bool {
	var stop *committer.StopError
	var fatal *source.FatalError
	return errors.As(err, &stop) || errors.As(err, &fatal)
}

// flow runs the workers and committers, and the source in front of them, until the source has ended.
func (r *run) flow(life, reading context.Context) error {
	r.acks = newAcker(r)
	for i := range r.cfg.tasks() {
		w, err := newWorker(r, i)
		if err != nil {
			r.closeWorkers()
			return fmt.Errorf("topology: %w", err)
		}
		r.workers = append(r.workers, w)
		r.met.beginTask(w.name)
	}
	for i, s := range r.sinks {
		r.g.Go(func() error { r.runSink(life, i, s); return nil })
	}
	for _, w := range r.workers {
		r.g.Go(func() error { w.run(life); return nil })
		r.g.Go(func() error { w.submitter(life); return nil })
	}
	r.g.Go(func() error { r.acks.run(life); return nil })
	r.g.Go(func() error { r.watch(reading); return nil })
	r.g.Go(func() error { r.watchEnds(reading); return nil })
	if r.rejects != nil {
		r.g.Go(func() error { r.refreshRejects(reading); return nil })
	}
	if r.targets != nil {
		r.g.Go(func() error { r.untilCaughtUp(reading); return nil })
	}
	r.state.setPhase(PhaseRunning)
	err := r.cfg.Source.Run(reading, handler{r})
	switch n := r.left.Load(); {
	case reading.Err() != nil:
	case err != nil:
		r.fail(fmt.Errorf("source %s: %w", r.cfg.Source.Traits().Name, err))
	case n > 0:
		r.fail(fmt.Errorf("source %s has ended, and not everything of %d partitions could be committed. Nothing is lost: "+
			"start again, and it is read from where the table stands", r.cfg.Source.Traits().Name, n))
	}
	r.stopSource()
	r.finishRejects(life)
	r.endLife()
	_ = r.g.Wait()
	for _, w := range r.workers {
		w.end()
	}
	return nil
}

// finishRejects waits until the rejects of the last commits are in their table, for half of the time that the graceful end may
// take. Where that can't be, the next start does it; a run that was to catch up hasn't, then.
func (r *run) finishRejects(life context.Context) {
	ctx, cancel := context.WithTimeout(life, r.cfg.ShutdownTimeout/2)
	defer cancel()
	for _, s := range r.sinks {
		err := s.Finish(ctx)
		switch {
		case err == nil || life.Err() != nil:
		case r.cfg.UntilCaughtUp:
			r.note(fmt.Errorf("%s: %w", rejectsWait, err))
		default:
			r.log.Warn(rejectsWait, "error", err)
		}
	}
}

// rejectsWait is said where a graceful end left rejects behind.
const rejectsWait = "rejects are not in their table yet; the next start appends them"

func (r *run) closeWorkers() {
	for _, w := range r.workers {
		_ = w.task.Close()
	}
}

// runSink runs a committer. Without it nothing can end gracefully.
func (r *run) runSink(life context.Context, i int, s sink) {
	err := s.Run(life)
	if life.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("it ended by itself")
	}
	r.die(fmt.Errorf("committer %d: %w", i, err))
}

// sinkOf is the committer that worker i submits to.
func (r *run) sinkOf(i int) sink { return r.sinks[min(i, len(r.sinks)-1)] }

// backoff is the wait after failure n (from 0): 100 ms doubling to 10 s, less up to a quarter of it.
func backoff(n int) time.Duration { return retry.Backoff(n, 100*time.Millisecond, 10*time.Second) }
