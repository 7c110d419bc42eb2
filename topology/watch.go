package topology

import (
	"context"
	"fmt"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
)

// watch compares the table's positions with what it was known to hold. Commits check the partitions that they move;
// this is for those that stand still: after a rollback their rows have to come back, too.
func (r *run) watch(reading context.Context) {
	if !r.replayable {
		return
	}
	for retry.Sleep(reading, r.cfg.Committer.CheckInterval) == nil {
		held := make([]map[source.Partition]source.Position, len(r.workers))
		for i, w := range r.workers {
			w.do(reading, func(context.Context) { held[i] = w.heldNow() })
		}
		// What was held before the load must be in what is loaded, whatever lands meanwhile.
		now, ok := r.look(reading)
		if !ok {
			continue
		}
		for i, w := range r.workers {
			w.do(reading, func(life context.Context) { w.behind(life, now, held[i]) })
		}
	}
}

// look loads the table's positions. A failure is trouble; one that a person must mend ends the run.
func (r *run) look(reading context.Context) (committer.Positions, bool) {
	now, err := r.sinks[0].Load(reading)
	switch {
	case err == nil:
		r.trouble("table", nil)
		return now, true
	case reading.Err() != nil:
	case isFinal(err):
		r.fail(err)
	default:
		r.trouble("table", fmt.Errorf("read the table's positions: %w", err))
	}
	return now, false
}

// caughtUpEvery is how often the table is looked at for what other replicas have committed.
const caughtUpEvery = time.Second

// setTargets notes what the source holds now.
func (r *run) setTargets(ctx context.Context) error {
	all, err := r.cfg.Source.Partitions(ctx)
	if err != nil {
		return err
	}
	r.targets = make(map[source.Partition]source.Position, len(all))
	for _, b := range all {
		r.targets[b.Partition] = b.Last
	}
	return nil
}

// untilCaughtUp ends the run when the table, whoever wrote it, has reached every target. Partitions that were stopped
// are not waited for; Run reports them.
func (r *run) untilCaughtUp(reading context.Context) {
	tick := time.NewTicker(caughtUpEvery)
	defer tick.Stop()
	for {
		if now, ok := r.look(reading); ok && r.reached(now) {
			r.log.Info("caught up", "partitions", len(r.targets))
			r.stopSource()
			return
		}
		select {
		case <-reading.Done():
			return
		case <-r.landed:
		case <-tick.C:
		}
	}
}

func (r *run) reached(now committer.Positions) bool {
	for p, target := range r.targets {
		if r.state.isStopped(p) {
			continue
		}
		pr, there := now.At[p]
		if there && pr.Next >= target {
			continue
		}
		err := foreignIdentity(now, source.Bounds{Partition: p, Last: target})
		if there || err == nil {
			return false
		}
		// Nobody will read it, whoever owns it.
		r.state.stop(p, err)
	}
	return true
}
