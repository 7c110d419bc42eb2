package memory

import (
	"context"
	"fmt"
	"sync"

	"github.com/stormfloe/floe/source"
)

// StartAt says where a partition starts that the table has no position for.
type StartAt int

const (
	// StartEarliest is the lowest readable position. It is the default.
	StartEarliest StartAt = iota
	// StartLatest is the position behind the last record.
	StartLatest
	// StartAcked is where the acks of earlier readers ended, as a consumer group's offsets do.
	StartAcked
)

// Options of a source. The zero value reads all partitions from the earliest position, replayable.
type Options struct {
	// Name appears in Traits; default "memory".
	Name string
	// Unreplayable makes a source that can't be opened at a position: it goes on where the acks ended.
	Unreplayable bool
	// Discovers is handed on in Traits.
	Discovers bool
	// Manual leaves the assignment to Assign and Revoke. Otherwise the source owns every partition, also those that
	// appear while it runs.
	Manual bool
	// BatchRecords is the most records in one batch; default 1000.
	BatchRecords int
	// Start is where partitions start that the table has no position for.
	Start StartAt
	// Poison hands out copies and overwrites them when the batch is released, so that a use after Release shows.
	Poison bool
}

// Source reads a log. See source.Source for its contract.
type Source struct {
	log  *Log
	opts Options

	mu struct {
		sync.Mutex
		want    map[source.Partition]bool // what Assign and Revoke asked for
		open    map[source.Partition]*opening
		running bool
		changed chan struct{}
	}
}

// opening is one owned partition.
type opening struct {
	pos source.Position
	// epoch counts reopenings, so that a batch cut before one does not move the position after it.
	epoch int
	// unopened says that the handler gave no position, or that the partition failed.
	unopened bool
}

var _ source.Source = (*Source)(nil)

// Source makes a reader of the log.
func (l *Log) Source(o Options) *Source {
	if o.Name == "" {
		o.Name = "memory"
	}
	if o.BatchRecords <= 0 {
		o.BatchRecords = 1000
	}
	s := &Source{log: l, opts: o}
	s.mu.want = map[source.Partition]bool{}
	s.mu.open = map[source.Partition]*opening{}
	s.mu.changed = make(chan struct{})
	return s
}

// Traits implements source.Source.
func (s *Source) Traits() source.Traits {
	return source.Traits{Name: s.opts.Name, Replayable: !s.opts.Unreplayable, Discovers: s.opts.Discovers}
}

// Partitions implements source.Source.
func (s *Source) Partitions(context.Context) ([]source.Bounds, error) { return s.log.Bounds(), nil }

// Start implements source.Source.
func (s *Source) Start(_ context.Context, p source.Partition, o source.Origin) (source.Position, error) {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	here, other := l.findLocked(p)
	switch {
	case other != nil:
		return 0, fmt.Errorf("start of %s: the topic was made again, its incarnation is no longer %q", p, p.Incarnation)
	case here == nil:
		return 0, fmt.Errorf("start of %s: no such partition", p)
	case o == source.OriginFirst || s.opts.Start == StartEarliest:
		return here.first, nil
	case s.opts.Start == StartLatest:
		return here.next, nil
	}
	return max(here.first, l.mu.acked[p]), nil
}

// Assign gives partitions to a source made with Options.Manual; before Run or while it runs. It does not wait.
func (s *Source) Assign(ps ...source.Partition) { s.want(true, ps) }

// Revoke takes partitions away again. It does not wait; the handler's Revoked tells when they are gone.
func (s *Source) Revoke(ps ...source.Partition) { s.want(false, ps) }

func (s *Source) want(v bool, ps []source.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range ps {
		if v {
			s.mu.want[p] = true
		} else {
			delete(s.mu.want, p)
		}
	}
	s.changedLocked()
}

func (s *Source) changedLocked() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// Reopen implements source.Source. An unreplayable source goes on where its acks ended instead of at pos.
func (s *Source) Reopen(p source.Partition, pos source.Position) {
	if s.opts.Unreplayable {
		pos = s.log.Acked(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.mu.open[p]; o != nil {
		o.pos, o.unopened = pos, false
		o.epoch++
		s.changedLocked()
	}
}

// Ack implements source.Source.
func (s *Source) Ack(_ context.Context, acked []source.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	for _, r := range acked {
		if s.mu.open[r.Partition] != nil {
			s.log.mu.acked[r.Partition] = max(s.log.mu.acked[r.Partition], r.To)
		}
	}
}
