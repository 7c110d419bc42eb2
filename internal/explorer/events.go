package explorer

import (
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/source"
)

// apply makes an event happen, or skips it where it makes no sense.
func (x *explorer) apply(e Event) {
	// Whoever can go on without time passing has gone on: an event falls between two effects.
	synctest.Wait()
	if x.process(e) || x.fault(e) || x.foreign(e) {
		x.stats.Events[e.Op.String()]++
		return
	}
	x.note("  skipped")
}

// process is an event of a process or of the log.
func (x *explorer) process(e Event) bool {
	l := x.lives[e.I%slots]
	p := int32(e.N % len(x.mu.want))
	switch e.Op {
	case Produce:
		x.produce(e.N)
		return true
	case Grow:
		return x.grow(true)
	case Pass:
		x.pass(time.Duration(e.N) * time.Millisecond)
		return true
	case Start:
		if l.alive() {
			return false
		}
		x.start(e.I%slots, e.N)
		return true
	}
	if !l.alive() {
		return false
	}
	switch e.Op {
	case Kill:
		l.plan.Kill()
		x.inherit(l)
	case Stop:
		l.end()
		x.inherit(l)
	case Freeze:
		l.freeze()
		x.trouble()
		x.heldBack()
	case Thaw:
		l.thaw()
	case Take:
		for _, o := range x.lives {
			if o != nil && o != l && o.topo == l.topo && o.owns[p] {
				o.take(p)
			}
		}
		l.give(p)
	case Share:
		l.give(p)
		x.share()
	case Drop:
		if !l.owns[p] {
			return false
		}
		l.take(p)
	default:
		return false
	}
	return true
}

// fault sets up what goes wrong later.
func (x *explorer) fault(e Event) bool {
	switch e.Op {
	case Away, Back:
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.mu.away == (e.Op == Away) {
			return false
		}
		x.mu.away = e.Op == Away
		x.mu.troubled = true
		return true
	case Release:
		held := false
		for _, l := range x.all {
			if l.slot == e.I%slots && l.plan.Held() > 0 {
				held = true
				x.note("released: %v", l.plan.Release())
			}
		}
		return held
	}
	l := x.lives[e.I%slots]
	a := armFor(e)
	if e.Op == Undo {
		a = x.undo(e.N)
	}
	if a.on == nil || !l.alive() {
		return false
	}
	if e.Op == Slow {
		x.trouble()
	}
	l.arm(a)
	return true
}

// undo sets the branch back as soon as a commit is applied.
func (x *explorer) undo(n int) *arm {
	a := armFor(Event{Op: LoseAnswer, N: (n + 1) / 2})
	a.op, a.do = Undo, func() fault.Action {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.mu.inFlight = x.mu.inFlight || x.mu.heldBack
		if x.rollbackLocked(x.w.Catalog.Metadata(), 1) && n%2 == 0 {
			x.expireLocked(x.w.Catalog.Metadata(), 1)
		}
		return fault.Fail(errLost)
	}
	return a
}

// heldBack notes that something was held up.
func (x *explorer) heldBack() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.heldBack = true
}

// trouble notes that deadlines may be missed.
func (x *explorer) trouble() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.troubled = true
}

func (x *explorer) share() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.shared = true
}

// partitions are the numbers of the topic's partitions.
func (x *explorer) partitions() []int32 {
	out := make([]int32, len(x.mu.want))
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func (x *explorer) partition(p int32) source.Partition {
	name, ok := x.w.Log.Partition(harness.Topic, p)
	if !ok {
		panic(fmt.Sprintf("explorer: partition %d does not exist", p))
	}
	return name
}

// owner is the process that has a partition; nil where none that runs does.
func (x *explorer) owner(topo string, p int32) *life {
	for _, l := range x.lives {
		if l.alive() && l.topo == topo && l.owns[p] {
			return l
		}
	}
	return nil
}

// inherit gives what a process had to another one of its topology, as a group does.
func (x *explorer) inherit(dead *life) {
	for _, l := range x.lives {
		if l == dead || !l.alive() || l.topo != dead.topo {
			continue
		}
		for _, p := range x.partitions() {
			if dead.owns[p] {
				l.give(p)
			}
		}
		break
	}
	clear(dead.owns)
}

// produce appends n records over all partitions: mostly rows, now and then a tombstone or a gap.
func (x *explorer) produce(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	made := 0
	for _, w := range x.mu.want {
		made += len(w)
	}
	for i := made; i < made+n; i++ {
		p := i % len(x.mu.want)
		switch {
		case i%13 == 7:
			x.w.Log.Append(harness.Topic, int32(p), source.Record{TimestampMs: int64(i)})
			x.mu.want[p] = append(x.mu.want[p], "")
			continue
		case i%17 == 5:
			x.w.Log.Skip(harness.Topic, int32(p), 2)
			x.mu.want[p] = append(x.mu.want[p], "", "")
		}
		off := len(x.mu.want[p])
		payload := fmt.Sprintf("payload-%d-%d", p, off)
		x.w.Log.Append(harness.Topic, int32(p), source.Record{TimestampMs: int64(i),
			Value: fmt.Appendf(nil, `{"part":%d,"off":%d,"region":"r%d","payload":%q}`, p, off, i%3, payload)})
		x.mu.want[p] = append(x.mu.want[p], payload)
	}
}

// maxPartitions is how far Grow goes.
const maxPartitions = 4

// grow adds a partition where more is true, and gives partitions that nobody has to a process that runs.
func (x *explorer) grow(more bool) bool {
	if more {
		n := len(x.mu.want) + 1
		if n > maxPartitions {
			return false
		}
		x.w.Log.CreateTopic(harness.Topic, n)
		x.mu.Lock()
		x.mu.want = append(x.mu.want, nil)
		x.mu.Unlock()
	}
	for _, topo := range x.topologies() {
		i := slices.IndexFunc(x.lives[:], func(l *life) bool { return l.alive() && l.topo == topo })
		for _, p := range x.partitions() {
			if i >= 0 && x.owner(topo, p) == nil {
				x.lives[i].give(p)
			}
		}
	}
	return true
}
