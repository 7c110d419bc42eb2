package explorer

import (
	"math/rand/v2"
	"slices"
)

// weights say how often each kind is drawn.
var weights = [ops]int{
	Produce: 26, Pass: 0,
	Start: 8, Kill: 6, Stop: 3, Freeze: 4, Thaw: 1, Crash: 5, Take: 5, Share: 4, Drop: 2,
	LoseAnswer: 5, Conflict: 2, NotApplied: 4, Delay: 6, Release: 1, Undo: 3, Slow: 2, FailIO: 3, FailedIO: 2, Tear: 2, Cut: 1, Lie: 2,
	Away: 2, Back: 3, Replace: 3, Rollback: 7, Forward: 2, Expire: 2, CherryPick: 4, AddColumn: 2, DropColumn: 1, Respec: 2,
	LoseProperty: 1, OldProperty: 1, WipeWAL: 2, Orphans: 1, Recreate: 0, Grow: 1, Answer: 3,
}

// Generate draws a schedule from a seed.
func Generate(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 0x666c6f65))
	s := Schedule{
		Seed: seed, Partitions: 1 + r.IntN(3), ByRegion: r.IntN(3) == 0, Copy: r.IntN(4) == 0,
		Foreign: r.IntN(4) == 0, Conflicts: r.IntN(2) == 0, Expiring: r.IntN(3) == 0,
	}
	s.Events = append(s.Events, Event{Produce, 0, 4 + r.IntN(16)}, Event{Start, 0, r.IntN(len(shapes))})
	if r.IntN(2) == 0 {
		s.Events = append(s.Events, Event{Start, 1 + r.IntN(2), r.IntN(len(shapes))})
	}
	var g guess
	for _, e := range s.Events {
		g.follow(e)
	}
	for range 8 + r.IntN(28) {
		if ms := pause(r); ms > 0 {
			s.Events = append(s.Events, Event{Pass, 0, ms})
		}
		e := draw(r)
		g.aim(r, &e)
		g.follow(e)
		s.Events = append(s.Events, e)
	}
	if r.IntN(2) == 0 {
		at := 2 + r.IntN(len(s.Events)-2)
		s.Events = slices.Insert(s.Events, at, story(r)...)
	}
	if r.IntN(12) == 0 {
		// Not early: it makes everything before it moot.
		at := len(s.Events)/2 + r.IntN(len(s.Events)/2)
		s.Events = append(s.Events[:at:at], append([]Event{{Recreate, 0, 0}}, s.Events[at:]...)...)
	}
	return s
}

// story is a sequence that chance alone makes too seldom, with pauses between its events.
func story(r *rand.Rand) (out []Event) {
	i, p := r.IntN(slots), r.IntN(4)
	j := (i + 1) % 2
	stories := [][]Event{
		{{Start, i, r.IntN(len(shapes))}, {Undo, i, 1 + r.IntN(2)}, {Produce, 0, 8}},
		{{Start, i, r.IntN(len(shapes))}, {Delay, i, 1}, {Produce, 0, 8}, {Kill, i, 0}, {Start, j, r.IntN(len(shapes))}, {Release, i, 0}},
		{{Start, i, 0}, {Delay, i, 1}, {Produce, 0, 8}, {Rollback, 0, 1}, {Release, i, 0}},
		{{Start, i, 2}, {Produce, 0, 9}, {Rollback, 0, 1}, {Replace, 0, 0}, {CherryPick, 0, 0}, {Answer, 0, 0}, {Start, i, 0}},
		{{Start, i, r.IntN(len(shapes))}, {Start, j, r.IntN(len(shapes))}, {Freeze, i, 0}, {Share, j, p}, {Produce, 0, 9},
			{Pass, 0, 2000}, {Thaw, i, 0}, {Produce, 0, 5}},
		{{Start, i, 0}, {Crash, i, 20 + r.IntN(30)}, {Produce, 0, 9}, {Pass, 0, 40000}, {Orphans, 0, 0}, {Start, i, r.IntN(len(shapes))}},
		{{Start, i, 1}, {Replace, 0, 0}, {LoseProperty, 0, 0}, {Expire, 0, 0}, {Produce, 0, 5}, {Kill, i, 0}, {Start, i, 1}},
	}
	for _, e := range stories[r.IntN(len(stories))] {
		if ms := pause(r); ms > 0 {
			out = append(out, Event{Pass, 0, ms % 400})
		}
		out = append(out, e)
	}
	return out
}

// guess is which slots have a process, as far as the events tell.
type guess struct {
	runs [slots]bool
	away bool
	// open are the events that undo what is still done: thaw, release, answer.
	open []Event
}

func (g *guess) follow(e Event) {
	switch e.Op {
	case Start:
		g.runs[e.I] = true
	case Kill, Stop, Crash, Tear:
		g.runs[e.I] = false
	case Away, Back:
		g.away = e.Op == Away
	case Freeze:
		g.open = append(g.open, Event{Op: Thaw, I: e.I})
	case Delay:
		g.open = append(g.open, Event{Op: Release, I: e.I})
	case CherryPick, Recreate:
		g.open = append(g.open, Event{Op: Answer})
	}
}

// aim gives most events a slot where they can happen.
func (g *guess) aim(r *rand.Rand, e *Event) {
	if g.away && r.IntN(3) == 0 {
		*e = Event{Op: Back}
		return
	}
	if len(g.open) > 0 && r.IntN(8) == 0 {
		n := r.IntN(len(g.open))
		*e = g.open[n]
		g.open = slices.Delete(g.open, n, n+1)
		return
	}
	if e.Op < Start || e.Op > Lie || r.IntN(8) == 0 {
		return
	}
	var fit []int
	for i, runs := range g.runs {
		if runs != (e.Op == Start) {
			fit = append(fit, i)
		}
	}
	switch {
	case len(fit) > 0:
		e.I = fit[r.IntN(len(fit))]
	case e.Op != Start && e.Op != Release:
		*e = Event{Op: Start, I: e.I, N: r.IntN(len(shapes))}
	}
}

// pause is the time before an event in milliseconds: mostly some effects' worth, now and then longer than timeouts.
func pause(r *rand.Rand) int {
	switch n := r.IntN(40); {
	case n < 8:
		return 0
	case n < 20:
		return 1 + r.IntN(20)
	case n < 34:
		return 10 + r.IntN(150)
	case n < 38:
		return 300 + r.IntN(2000)
	case n < 39:
		return 5000 + r.IntN(10000)
	}
	return 25000 + r.IntN(40000)
}

func draw(r *rand.Rand) Event {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := r.IntN(total)
	op := Op(0)
	for n >= weights[op] {
		n -= weights[op]
		op++
	}
	e := Event{Op: op, I: r.IntN(slots)}
	switch op {
	case Produce:
		e.N = 1 + r.IntN(14)
	case Start:
		e.N = r.IntN(len(shapes))
	case Crash:
		e.N = 1 + r.IntN(40)
	case Take, Share, Drop:
		e.N = r.IntN(4)
	case Undo:
		e.N = 1 + r.IntN(4)
	case LoseAnswer, Conflict, NotApplied, Delay:
		e.N = 1 + r.IntN(2)
	case Slow, FailIO, FailedIO, Tear:
		e.N = 1 + r.IntN(12)
	case Lie, Cut:
		e.N = 1 + r.IntN(4)
	case Rollback:
		e.N = 1 + r.IntN(5)
	case Forward, Respec:
		e.N = r.IntN(3)
	case Expire:
		e.N = r.IntN(4)
	case OldProperty:
		e.N = 1 + r.IntN(3)
	}
	return e
}
