package explorer

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Finding is what is wrong with a run.
type Finding struct {
	// Rule is what was broken, in a few words that are the same for every run that breaks it: "rows", "ack", "stuck".
	Rule string
	// Detail is what was seen.
	Detail string
	// Log is what happened, in order.
	Log string
}

func (f *Finding) Error() string { return fmt.Sprintf("%s: %s", f.Rule, f.Detail) }

// Stats count what runs did.
type Stats struct {
	Schedules, Lives, Commits, Acks, Effects int
	// Events counts those that were not skipped, by kind; Ends the lives by how they ended.
	Events map[string]int
	Ends   map[string]int
	// Virtual is the time that passed in the bubbles.
	Virtual time.Duration
	// Log is what happened in one run, in order; Add leaves it out.
	Log []string
}

// Add adds another's counts.
func (s *Stats) Add(o *Stats) {
	if s.Events == nil {
		s.Events, s.Ends = map[string]int{}, map[string]int{}
	}
	s.Schedules += o.Schedules
	s.Lives += o.Lives
	s.Commits += o.Commits
	s.Acks += o.Acks
	s.Effects += o.Effects
	s.Virtual += o.Virtual
	for k, n := range o.Events {
		s.Events[k] += n
	}
	for k, n := range o.Ends {
		s.Ends[k] += n
	}
}

// Run runs a schedule in a bubble of its own and gives what is wrong, nil for nothing. It does not fail t, and may be called
// from several goroutines at once with a t of its own each. A run that can't even be ended (a goroutine that waits for ever)
// leaves goroutines behind.
func Run(t *testing.T, s Schedule) (found *Finding, stats *Stats) {
	stats = &Stats{Schedules: 1, Events: map[string]int{}, Ends: map[string]int{}}
	defer func() {
		if p := recover(); p != nil {
			found = &Finding{Rule: "stuck", Detail: fmt.Sprintf("the bubble: %v", p), Log: string(debug.Stack())}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		x := newExplorer(s, stats)
		defer func() {
			stats.Virtual = time.Since(began)
			x.mu.Lock()
			defer x.mu.Unlock()
			stats.Log = x.mu.log
			if found = x.mu.found; found != nil {
				found.Log = strings.Join(x.mu.log, "\n")
			}
		}()
		x.run(t)
	})
	return found, stats
}

// run is the whole of a run. What it started has ended when it returns.
func (x *explorer) run(t testing.TB) {
	defer x.killAll()
	if err := x.build(t); err != nil {
		x.find("setup", "%v", err)
		return
	}
	for i, e := range x.s.Events {
		if x.stopped() {
			return
		}
		x.note("event %d %v", i, e)
		x.apply(e)
	}
	x.finish()
}

// finish mends everything and demands that all of it comes right.
func (x *explorer) finish() {
	x.note("finish")
	x.mend()
	x.grow(false)
	x.settleDown()
	if x.stopped() {
		return
	}
	x.stopAll()
	// The last lives find something to do: one that finds itself caught up may end before anything is assigned to it, and
	// then settles nothing.
	x.produce(len(x.mu.want))
	for _, topo := range x.topologies() {
		if x.stopped() {
			return
		}
		x.lastLife(topo)
	}
	if !x.stopped() {
		x.prove()
	}
}
