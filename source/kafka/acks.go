package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
)

// acks gathers the newest ack of each owned partition and hands them to commit now and then. Add never waits.
type acks struct {
	interval time.Duration
	commit   func(map[string]map[int]int64) error
	outcome  func(error) // is told how each commit went

	mu struct {
		sync.Mutex
		floor   map[source.Partition]source.Position // owned partitions: what was committed or is about to be
		pending map[source.Partition]source.Position
		closed  bool
	}
	wake chan struct{}
}

func newAcks(ps []source.Partition, interval time.Duration, commit func(map[string]map[int]int64) error, outcome func(error)) *acks {
	a := &acks{interval: interval, commit: commit, outcome: outcome, wake: make(chan struct{}, 1)}
	a.mu.floor = make(map[source.Partition]source.Position, len(ps))
	for _, p := range ps {
		a.mu.floor[p] = -1
	}
	a.mu.pending = map[source.Partition]source.Position{}
	return a
}

func (a *acks) add(ranges []source.Range) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.closed {
		return
	}
	for _, r := range ranges {
		if floor, owned := a.mu.floor[r.Partition]; owned && r.To > floor {
			a.mu.floor[r.Partition] = r.To
			a.mu.pending[r.Partition] = r.To
		}
	}
	if len(a.mu.pending) > 0 {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// rewind lets the group's offset go back to where p was opened again.
func (a *acks) rewind(p source.Partition, pos source.Position) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if floor, owned := a.mu.floor[p]; owned && pos < floor {
		a.mu.floor[p] = pos
		delete(a.mu.pending, p)
	}
}

// run commits until ctx ends.
func (a *acks) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		if retry.Sleep(ctx, a.interval) != nil {
			return
		}
		a.flush()
	}
}

// flush commits what is pending; what fails stays pending, unless newer acks came.
func (a *acks) flush() {
	a.mu.Lock()
	pending := a.mu.pending
	a.mu.pending = map[source.Partition]source.Position{}
	a.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	offsets := map[string]map[int]int64{}
	for p, pos := range pending {
		if offsets[p.Topic] == nil {
			offsets[p.Topic] = map[int]int64{}
		}
		offsets[p.Topic][int(p.ID)] = int64(pos)
	}
	err := a.commit(offsets)
	a.outcome(err)
	if err == nil || errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return // a topic that is gone takes no offsets; the others were taken
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for p, pos := range pending {
		if _, newer := a.mu.pending[p]; !newer && a.mu.floor[p] >= pos {
			a.mu.pending[p] = pos
		}
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// close takes no more acks.
func (a *acks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.closed = true
}
