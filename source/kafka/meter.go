package kafka

import (
	"sync/atomic"

	"github.com/stormfloe/floe/source"
)

// fetched counts over all sessions and fetch loops.
type fetched struct {
	requests, bytes atomic.Int64
}

// logEnd is where a partition ends, as its broker said last.
type logEnd struct{ v atomic.Int64 }

// heard notes a broker's answer; a follower's may be a little behind.
func (e *logEnd) heard(a *fetchAnswer, committed bool) {
	end := a.highWatermark
	if committed && a.lastStable >= 0 {
		end = a.lastStable
	}
	e.v.Store(int64(end) + 1)
}

// get is false where nothing was heard yet.
func (e *logEnd) get() (source.Position, bool) {
	v := e.v.Load()
	return source.Position(v - 1), v > 0
}

// Reading implements source.Meter.
func (s *Source) Reading() source.Reading {
	out := source.Reading{Fetches: s.fetched.requests.Load(), FetchedBytes: s.fetched.bytes.Load(), Ends: map[source.Partition]source.Position{}}
	ss := s.current()
	if ss == nil {
		return out
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, q := range ss.mu.order {
		if end, ok := q.end.get(); ok {
			out.Ends[q.p] = end
		}
	}
	return out
}
