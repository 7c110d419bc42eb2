package memory

import (
	"context"
	"errors"
	"sort"

	"github.com/stormfloe/floe/source"
)

// ErrRanTwice is what a second Run of one source gives.
var ErrRanTwice = errors.New("memory: Run was called twice; make another source of the log")

// Run implements source.Source. It also returns nil, after Revoked, when the log is closed and everything that the
// source owns was delivered.
func (s *Source) Run(ctx context.Context, h source.Handler) error {
	s.mu.Lock()
	ran := s.mu.running
	s.mu.running = true
	s.mu.Unlock()
	if ran {
		return ErrRanTwice
	}
	err := s.loop(ctx, h)
	s.revoke(ctx, h, s.owned())
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *Source) loop(ctx context.Context, h source.Handler) error {
	turn := 0
	for ctx.Err() == nil {
		news := s.news()
		closed := s.closed()
		changed, err := s.settle(ctx, h)
		if err != nil {
			return err
		}
		if changed {
			continue
		}
		delivered, err := s.deliverNext(ctx, h, &turn, news)
		if err != nil {
			return err
		}
		if delivered {
			continue
		}
		if closed {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-news.log:
		case <-news.source:
		}
	}
	return nil
}

// news holds the channels that are closed at the next change.
type news struct{ log, source <-chan struct{} }

func (s *Source) news() news {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return news{log: s.log.mu.changed, source: s.mu.changed}
}

func (s *Source) closed() bool {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.mu.closed
}

func (s *Source) owned() []source.Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	ps := make([]source.Partition, 0, len(s.mu.open))
	for p := range s.mu.open {
		ps = append(ps, p)
	}
	sortPartitions(ps)
	return ps
}

// settle brings what is owned in line with what should be. It tells whether anything changed.
func (s *Source) settle(ctx context.Context, h source.Handler) (bool, error) {
	gain, lose := s.difference()
	if len(lose) > 0 {
		s.revoke(ctx, h, lose)
	}
	if len(gain) == 0 {
		return len(lose) > 0, nil
	}
	at, err := h.Assigned(ctx, gain)
	if err != nil {
		var fatal *source.FatalError
		if errors.As(err, &fatal) || ctx.Err() != nil {
			return false, err
		}
		h.Trouble(err)
		// There is no clock here: the next change, or the end, is the time to try again.
		n := s.news()
		select {
		case <-ctx.Done():
		case <-n.log:
		case <-n.source:
		}
		h.Trouble(nil)
		return true, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range gain {
		pos, ok := at[p]
		if s.opts.Unreplayable {
			pos = s.log.Acked(p)
		}
		s.mu.open[p] = &opening{pos: pos, unopened: !ok}
	}
	return true, nil
}

// difference lists what to gain and what to lose.
func (s *Source) difference() (gain, lose []source.Partition) {
	all := s.log.Bounds()
	s.mu.Lock()
	defer s.mu.Unlock()
	present := map[source.Partition]bool{}
	if s.opts.Manual {
		present = s.mu.want
	} else {
		topics := map[string]string{}
		for p := range s.mu.open {
			topics[p.Topic] = p.Incarnation
		}
		for _, b := range all {
			// A topic that was made again is another one: its old partitions fail, and the new ones wait for a person.
			if in, ok := topics[b.Partition.Topic]; !ok || in == b.Partition.Incarnation {
				present[b.Partition] = true
			}
		}
	}
	for p := range present {
		if s.mu.open[p] == nil {
			gain = append(gain, p)
		}
	}
	if s.opts.Manual {
		for p := range s.mu.open {
			if !present[p] {
				lose = append(lose, p)
			}
		}
	}
	sortPartitions(gain)
	sortPartitions(lose)
	return gain, lose
}

func (s *Source) revoke(ctx context.Context, h source.Handler, ps []source.Partition) {
	if len(ps) == 0 {
		return
	}
	// Ownership lasts until Revoked has returned, also when the run's context has ended.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), source.RevokeGrace)
	defer cancel()
	h.Revoked(rctx, ps)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range ps {
		delete(s.mu.open, p)
	}
}

// deliverNext hands over one batch of the next partition that has one.
func (s *Source) deliverNext(ctx context.Context, h source.Handler, turn *int, n news) (bool, error) {
	ps := s.owned()
	for i := range ps {
		p := ps[(*turn+i)%len(ps)]
		b, epoch, err := s.cut(p)
		if err != nil {
			h.Failed(p, err)
			*turn++
			return true, nil
		}
		if b == nil {
			continue
		}
		if err := deliver(ctx, h, b, n.source); err != nil {
			b.Release()
			if errors.Is(err, errInterrupted) {
				return true, nil
			}
			return false, err
		}
		s.moved(p, epoch, b.Range.To)
		*turn = (*turn + i + 1) % len(ps)
		return true, nil
	}
	return false, nil
}

var errInterrupted = errors.New("an assignment changed while a batch was being delivered")

// deliver gives way to a change of the assignment: a handler that has no room must not hold it up.
func deliver(ctx context.Context, h source.Handler, b *source.Batch, changed <-chan struct{}) error {
	dctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-changed:
			cancel(errInterrupted)
		case <-done:
		case <-ctx.Done():
		}
	}()
	err := h.Deliver(dctx, b)
	close(done)
	<-stopped
	if err != nil && errors.Is(context.Cause(dctx), errInterrupted) {
		err = errInterrupted
	}
	cancel(nil)
	return err
}

func (s *Source) moved(p source.Partition, epoch int, to source.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.mu.open[p]; o != nil && o.epoch == epoch {
		o.pos = to
	}
}

// cut takes the next batch of p, nil where there is none, or says why p can't be read on.
func (s *Source) cut(p source.Partition) (*source.Batch, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.mu.open[p]
	if o == nil || o.unopened {
		return nil, 0, nil
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	here, other := s.log.findLocked(p)
	if err := position(p, o.pos, here, other); err != nil {
		o.unopened = true
		return nil, 0, err
	}
	if o.pos == here.next {
		return nil, 0, nil
	}
	b := here.batch(p, o.pos, s.opts.BatchRecords)
	if s.opts.Poison {
		poison(b)
	}
	return b, o.epoch, nil
}

// position checks that p still holds pos.
func position(p source.Partition, pos source.Position, here, other *partition) error {
	e := &source.PositionError{Partition: p, Wanted: pos}
	switch {
	case here == nil && other == nil:
		e.Reason = "the topic is gone"
		return e
	case here == nil:
		e.First, e.Last, e.Reason = other.first, other.next, "another incarnation of the topic"
		return e
	case pos < here.first:
		e.Reason = "below the log's start"
	case pos > here.next:
		e.Reason = "above the log's end"
	default:
		return nil
	}
	e.First, e.Last = here.first, here.next
	return e
}

// batch cuts up to n records from pos on. The range reaches to the next record that is left, or to the end.
func (l *partition) batch(p source.Partition, pos source.Position, n int) *source.Batch {
	i := sort.Search(len(l.records), func(i int) bool { return l.records[i].Position >= pos })
	j := min(i+n, len(l.records))
	b := &source.Batch{Range: source.Range{Partition: p, From: pos, To: l.next}}
	if j < len(l.records) {
		b.Range.To = l.records[j-1].Position + 1
	}
	b.Records = append([]source.Record(nil), l.records[i:j]...)
	for k := range b.Records {
		r := &b.Records[k]
		b.Bytes += int64(recordOverhead + len(r.Key) + len(r.Value))
		for _, hd := range r.Headers {
			b.Bytes += int64(len(hd.Key) + len(hd.Value))
		}
	}
	return b
}

// recordOverhead is about what a source.Record takes beside its bytes.
const recordOverhead = 88

func sortPartitions(ps []source.Partition) {
	sort.Slice(ps, func(i, j int) bool {
		a, b := ps[i], ps[j]
		if a.Topic != b.Topic {
			return a.Topic < b.Topic
		}
		if a.ID != b.ID {
			return a.ID < b.ID
		}
		return a.Incarnation < b.Incarnation
	})
}
