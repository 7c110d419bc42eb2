package topology

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// fakeTable is a table as the topology sees one: positions, rows, a history that can be set back.
type fakeTable struct {
	mu      sync.Mutex
	history []fakeSnapshot
	// loadErr makes every look fail; away makes commits wait.
	finishErr error
	loadErr   error
	away      bool
	changed   chan struct{}
	begins    int
}

type fakeSnapshot struct {
	at       map[source.Partition]source.Position
	rows     map[source.Partition][]source.Position
	instance string
	moved    []source.Range
}

func newFakeTable() *fakeTable { return &fakeTable{changed: make(chan struct{})} }

func (t *fakeTable) set(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *fakeTable) headLocked() fakeSnapshot {
	if len(t.history) == 0 {
		return fakeSnapshot{at: map[source.Partition]source.Position{}, rows: map[source.Partition][]source.Position{}}
	}
	return t.history[len(t.history)-1]
}

func (t *fakeTable) nextLocked(instance string, moved []source.Range) fakeSnapshot {
	h := t.headLocked()
	n := fakeSnapshot{at: maps.Clone(h.at), rows: map[source.Partition][]source.Position{}, instance: instance, moved: moved}
	for p, rows := range h.rows {
		n.rows[p] = slices.Clone(rows)
	}
	return n
}

func (t *fakeTable) positions() committer.Positions {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.positionsLocked()
}

func (t *fakeTable) positionsLocked() committer.Positions {
	out := committer.Positions{At: map[source.Partition]committer.Progress{}}
	for p, pos := range t.headLocked().at {
		out.Known = true
		out.At[p] = committer.Progress{Next: pos}
	}
	return out
}

// rollback sets the table back by n snapshots.
func (t *fakeTable) rollback(n int) { t.set(func() { t.history = t.history[:len(t.history)-n] }) }

func (t *fakeTable) snapshots() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.history)
}

// check says what is wrong with the rows, given where each partition should have come to.
func (t *fakeTable) check(want map[source.Partition]source.Position) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.headLocked()
	for p, to := range want {
		if h.at[p] != to {
			return fmt.Errorf("%s: the table stands at %d, want %d", p, h.at[p], to)
		}
		rows := slices.Sorted(slices.Values(h.rows[p]))
		for i, r := range rows {
			if r != source.Position(i) {
				return fmt.Errorf("%s: row %d is of position %d", p, i, r)
			}
		}
		if len(rows) != int(to) {
			return fmt.Errorf("%s: %d rows, want %d", p, len(rows), to)
		}
	}
	return nil
}

// fakeSink commits to a fakeTable by the rules of the committer.
type fakeSink struct {
	cfg       committer.Config
	t         *fakeTable
	subs      chan committer.Submission
	flush     chan struct{}
	forgotten map[string]uint64
	settled   [][]source.Partition
	// meddle is called before each descriptor is looked at.
	meddle func(d *descriptor.Descriptor) *committer.Outcome
}

func newFakeSink(cfg committer.Config, t *fakeTable) *fakeSink {
	return &fakeSink{cfg: cfg, t: t, subs: make(chan committer.Submission, 2), flush: make(chan struct{}, 1),
		forgotten: map[string]uint64{}}
}

func (s *fakeSink) Load(context.Context) (committer.Positions, error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	return s.t.positionsLocked(), s.t.loadErr
}
func (s *fakeSink) Table() *table.Table { return nil }
func (s *fakeSink) Settle(_ context.Context, ps []source.Partition) error {
	s.settled = append(s.settled, ps)
	return nil
}
func (s *fakeSink) Begin(_ context.Context, starts map[source.Partition]source.Position) (committer.Positions, error) {
	s.t.set(func() {
		s.t.begins++
		n := s.t.nextLocked(s.cfg.Instance, nil)
		for p, pos := range starts {
			if _, there := n.at[p]; !there {
				n.at[p] = pos
			}
		}
		s.t.history = append(s.t.history, n)
	})
	return s.Load(context.Background())
}
func (s *fakeSink) Submit(ctx context.Context, sub committer.Submission) error {
	select {
	case s.subs <- sub:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (s *fakeSink) Finish(context.Context) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	return s.t.finishErr
}

func (s *fakeSink) Flush() {
	select {
	case s.flush <- struct{}{}:
	default:
	}
}

func (s *fakeSink) Run(ctx context.Context) error {
	for {
		if !s.waitTillBack(ctx) {
			return nil
		}
		var timer <-chan time.Time
		var pending []committer.Submission
		gather := true
		for gather {
			select {
			case <-ctx.Done():
				return nil
			case sub := <-s.subs:
				pending = append(pending, sub)
				timer = time.After(s.cfg.Interval)
				gather = s.cfg.Interval > 0
			case <-timer:
				gather = false
			case <-s.flush:
				for len(s.subs) > 0 {
					pending = append(pending, <-s.subs)
				}
				gather = false
			}
		}
		if !s.waitTillBack(ctx) {
			return nil
		}
		for _, sub := range pending {
			sub.Done(s.commit(sub))
		}
	}
}

func (s *fakeSink) waitTillBack(ctx context.Context) bool {
	for {
		s.t.mu.Lock()
		away, changed := s.t.away, s.t.changed
		s.t.mu.Unlock()
		if !away {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

func (s *fakeSink) commit(sub committer.Submission) (o committer.Outcome) {
	d := sub.Descriptor
	if s.forgotten[sub.Owner] >= sub.Epoch {
		return committer.Outcome{Verdict: committer.Reread}
	}
	if s.meddle != nil {
		if o := s.meddle(d); o != nil {
			if o.Verdict == committer.Reread {
				s.forgotten[sub.Owner] = sub.Epoch
			}
			return *o
		}
	}
	s.t.set(func() {
		h := s.t.headLocked()
		equal, passed := true, len(d.Inputs) > 0
		for _, in := range d.Inputs {
			pos, there := h.at[in.Range.Partition]
			equal = equal && there && pos == in.Range.From
			passed = passed && there && in.Range.To <= pos
		}
		switch {
		case passed:
			o.Verdict = committer.AlreadyThere
		case !equal:
			s.forgotten[sub.Owner] = sub.Epoch
			o = committer.Outcome{Verdict: committer.Reread, Foreign: s.foreignLocked(d)}
		default:
			n := s.t.nextLocked(s.cfg.Instance, nil)
			for _, in := range d.Inputs {
				n.at[in.Range.Partition] = in.Range.To
				n.moved = append(n.moved, in.Range)
				for r := in.Range.From; r < in.Range.To; r++ {
					n.rows[in.Range.Partition] = append(n.rows[in.Range.Partition], r)
				}
			}
			s.t.history = append(s.t.history, n)
			o.Verdict = committer.Landed
		}
	})
	return o
}

func (s *fakeSink) foreignLocked(d *descriptor.Descriptor) bool {
	for _, snap := range slices.Backward(s.t.history) {
		for _, m := range snap.moved {
			for _, in := range d.Inputs {
				if in.Range.Partition == m.Partition {
					return snap.instance != s.cfg.Instance
				}
			}
		}
	}
	return false
}

// pass lets the clock of a synctest bubble go on by d; everything that is due meanwhile happens.
func pass(d time.Duration) { <-time.After(d) }
