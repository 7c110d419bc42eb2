package harness_test

import (
	"errors"
	"testing"

	"github.com/stormfloe/floe/internal/fault"
)

var errGateway = errors.New("504 gateway timeout")

// moment is a point in a life: the nth time that the effect reaches the phase.
type moment struct {
	op    fault.Op
	phase fault.Phase
	nth   int
}

// outcome is what becomes of one commit request.
type outcome struct {
	name string
	// act happens at the request, before or after it is applied.
	act   fault.Action
	phase fault.Phase
	// dies: the process ends at the next thing it does.
	dies bool
	// release is when a late request is applied: counted from its answer, or where the process has died from the start of the
	// next one. The zero value is when that life is over, or for a process that has died before the next begins.
	release moment
}

// late is the outcome whose request arrives at a moment of the same life.
func late(name string, at moment) outcome {
	return outcome{name: "late: " + name, act: fault.Late(errGateway), release: at}
}

// later is the outcome whose request arrives at a moment of the next life.
func later(name string, at moment) outcome {
	return outcome{name: "late, process died: " + name, act: fault.Late(errGateway), dies: true, release: at}
}

// outcomes of a commit request: applied and answered is every other run.
var outcomes = []outcome{
	{name: "applied, answer lost", act: fault.Fail(errGateway), phase: fault.After},
	{name: "applied, answer lost, process died", act: fault.Fail(errGateway), phase: fault.After, dies: true},
	{name: "not applied", act: fault.Fail(errGateway)},
	{name: "not applied, process died", act: fault.Fail(errGateway), dies: true},
	// The look is a load. Other committers load, too: the third one is beyond that of each of three.
	late("after the look", moment{fault.OpLoad, fault.After, 1}),
	late("after the second look", moment{fault.OpLoad, fault.After, 2}),
	late("after the third look", moment{fault.OpLoad, fault.After, 3}),
	late("the retry was sent", moment{fault.OpCommit, fault.Before, 1}),
	late("the retry was applied", moment{fault.OpCommit, fault.After, 1}),
	late("a second commit was applied", moment{fault.OpCommit, fault.After, 2}),
	late("after the run", moment{}),
	later("before the next life", moment{}),
	later("the next life has looked", moment{fault.OpLoad, fault.After, 1}),
	later("the next life has looked twice", moment{fault.OpLoad, fault.After, 2}),
	later("the next life has listed the WAL", moment{fault.OpList, fault.After, 1}),
	later("the next life has sent the entry again", moment{fault.OpCommit, fault.Before, 1}),
	later("the next life's commit was applied", moment{fault.OpCommit, fault.After, 1}),
	later("the next life's second commit was applied", moment{fault.OpCommit, fault.After, 2}),
}

// gate holds a life up at a moment until the late request has been released.
type gate struct {
	reached, open chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) at(m moment) fault.Decider {
	seen := 0
	return func(p fault.Point) fault.Action {
		if p.Op != m.op || p.Phase != m.phase {
			return fault.Continue
		}
		if seen++; seen != m.nth {
			return fault.Continue
		}
		close(g.reached)
		return fault.Wait(g.open)
	}
}

// during runs a life, and f when the gate is reached.
func (g *gate) during(life func() error, f func()) error {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-g.reached:
			f()
			close(g.open)
		case <-over:
		}
	}()
	err := life()
	close(over)
	<-done
	return err
}

// trial is one outcome of one commit of a life.
type trial struct {
	shape
	outcome
	nth int
}

// plan makes the nth commit end as it should, and what follows it.
func (c trial) plan(g *gate) *fault.Plan {
	n, next := 0, g.at(c.release)
	return fault.New(func(p fault.Point) fault.Action {
		switch {
		case n == c.nth && c.dies:
			return fault.Crash
		case n == c.nth:
			return next(p)
		case p.Op == fault.OpCommit && p.Phase == c.phase:
			if n++; n == c.nth {
				return c.act
			}
		}
		return fault.Continue
	})
}

// verdict says what became of a trial.
type verdict struct {
	// sent: there was such a commit. held: its request was late; then applied or not, at its moment or when all was over.
	sent, held, applied, inTime bool
}

func (c trial) run(t *testing.T) (v verdict) {
	bubble(t, func(t *testing.T) {
		w := c.world(t)
		w.Produce(60)
		g := newGate()
		plan := c.plan(g)
		release := func() {
			if plan.Held() > 0 {
				v.held, v.applied = true, plan.Release() == nil
			}
		}
		inTime := func() { v.inTime = true; release() }
		err := g.during(func() error { return c.live(t, w, plan) }, inTime)
		v.sent = reached(plan, fault.OpCommit, c.phase) >= c.nth
		if c.dies && v.sent {
			w.CheckOf(t, "orders")
			w.Produce(10)
			if c.release.nth == 0 {
				inTime()
			}
			err = g.during(func() error { return c.live(t, w, fault.New(g.at(c.release))) }, inTime)
		}
		if err != nil {
			t.Errorf("a life gave %v", err)
		}
		w.CheckOf(t, "orders")
		release()
		w.CheckOf(t, "orders")
		w.Produce(10)
		c.lives(t, w)
		w.Check(t)
	})
	if t.Failed() {
		t.Fatalf("%s, commit %d: %s: %+v", c.shape.name, c.nth, c.outcome.name, v)
	}
	return v
}

func reached(p *fault.Plan, op fault.Op, phase fault.Phase) (n int) {
	for _, pt := range p.Trace() {
		if pt.Op == op && pt.Phase == phase {
			n++
		}
	}
	return n
}

// TestEveryOutcomeOfEveryCommit lets each commit of a run end in each way, one at a time.
func TestEveryOutcomeOfEveryCommit(t *testing.T) {
	var byOutcome, byShape counts
	byOutcome.logAtEnd(t, "outcomes of a commit, over all shapes")
	byShape.logAtEnd(t, "outcomes of a commit, by shape")
	turn := random(t).IntN(len(shapes))
	for i, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rnd := random(t)
			commits := 0
			for _, p := range s.plain(t) {
				if p.Op == fault.OpCommit && p.Phase == fault.Before {
					commits++
				}
			}
			try := func(o outcome, nth int) bool {
				v := trial{s, o, nth}.run(t)
				if !v.sent {
					return false
				}
				byShape.add(s.name, "commits", 1)
				byOutcome.add(o.name, "commits", 1)
				switch {
				case v.held && v.applied:
					byOutcome.add(o.name, "applied-late", 1)
				case v.held:
					byOutcome.add(o.name, "refused-late", 1)
				}
				if v.held && !v.inTime {
					byOutcome.add(o.name, "released-at-the-end", 1)
				}
				return true
			}
			if !*every {
				for j, o := range outcomes {
					if (turn+i+j)%len(shapes) == 0 { // each outcome in one of the shapes
						try(o, 1+rnd.IntN(commits))
					}
				}
				return
			}
			for _, o := range outcomes {
				for nth := 1; try(o, nth); nth++ {
				}
			}
		})
	}
}
