package topology

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/stormfloe/floe/source"
)

// acker tells the source what the table holds. It has a goroutine of its own because Ack may wait for a network, and it
// joins what came meanwhile into one call.
type acker struct {
	r   *run
	box *mailbox[ackItem]

	mu struct {
		sync.Mutex
		owned map[source.Partition]bool
		// reach is how far each owned partition was delivered, held how far the table is known to hold it.
		reach, held map[source.Partition]source.Position
		// covered is what the table holds of each partition of a source without positions.
		covered map[source.Partition]*coverage
	}
}

// ackItem is ranges to acknowledge, or a mark that is closed when all before it are.
type ackItem struct {
	ranges []source.Range
	mark   chan struct{}
}

func newAcker(r *run) *acker {
	a := &acker{r: r, box: newMailbox[ackItem]()}
	a.mu.owned = map[source.Partition]bool{}
	a.mu.reach, a.mu.held = map[source.Partition]source.Position{}, map[source.Partition]source.Position{}
	a.mu.covered = map[source.Partition]*coverage{}
	return a
}

func (a *acker) own(at map[source.Partition]source.Position) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range at {
		a.mu.owned[p] = true
	}
	maps.Copy(a.mu.held, at)
}

// stands notes where the table turned out to stand.
func (a *acker) stands(at map[source.Partition]source.Position) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p, pos := range at {
		if a.mu.owned[p] {
			a.mu.held[p] = pos
		}
	}
}

// disown: nothing of ps is acknowledged from now on. It counts those that were delivered further than they are held.
func (a *acker) disown(ps []source.Partition) (behind int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range ps {
		if a.mu.held[p] < a.mu.reach[p] {
			behind++
		}
		delete(a.mu.owned, p)
		delete(a.mu.covered, p)
		delete(a.mu.reach, p)
		delete(a.mu.held, p)
	}
	return behind
}

// delivered notes a batch before it goes to a task. The first one of a source without positions says where its partition
// begins.
func (a *acker) delivered(rg source.Range) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.reach[rg.Partition] = max(a.mu.reach[rg.Partition], rg.To)
	if !a.r.replayable && a.mu.covered[rg.Partition] == nil {
		a.mu.covered[rg.Partition] = &coverage{end: rg.From}
	}
}

// ack notes that the table holds ranges.
func (a *acker) ack(ranges []source.Range) {
	if !a.r.replayable {
		ranges = a.prefixes(ranges)
	}
	a.mu.Lock()
	for _, rg := range ranges {
		if pos, owned := a.mu.held[rg.Partition]; owned {
			a.mu.held[rg.Partition] = max(pos, rg.To)
		}
	}
	a.mu.Unlock()
	if len(ranges) > 0 {
		a.box.put(ackItem{ranges: ranges})
	}
}

// prefixes notes that ranges are held and gives what is so without a hole from the beginning of each partition on:
// batches of one partition went to several tasks, and an ack speaks for everything before it.
func (a *acker) prefixes(ranges []source.Range) []source.Range {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []source.Range
	for _, rg := range ranges {
		c := a.mu.covered[rg.Partition]
		if c == nil {
			continue
		}
		if from := c.end; c.add(rg) {
			out = append(out, source.Range{Partition: rg.Partition, From: from, To: c.end})
		}
	}
	return out
}

// coverage is how far a partition is held without a hole, and what is held beyond the first one.
type coverage struct {
	end    source.Position
	beyond []source.Range
}

// add reports whether end has moved.
func (c *coverage) add(rg source.Range) bool {
	was := c.end
	c.beyond = append(c.beyond, rg)
	for again := true; again; {
		again = false
		c.beyond = slices.DeleteFunc(c.beyond, func(r source.Range) bool {
			if r.From > c.end {
				return false
			}
			again = again || r.To > c.end
			c.end = max(c.end, r.To)
			return true
		})
	}
	return c.end > was
}

// nack has a source without positions deliver again what is not acknowledged. Sources with positions are reopened where
// the task stands instead.
func (a *acker) nack(ranges []source.Range) {
	if a.r.replayable {
		return
	}
	again := map[source.Partition]source.Position{}
	a.mu.Lock()
	for _, rg := range ranges {
		if c := a.mu.covered[rg.Partition]; c != nil && rg.To > c.end {
			again[rg.Partition] = c.end
		}
	}
	a.mu.Unlock()
	for _, p := range sortedPartitions(again) {
		a.r.cfg.Source.Reopen(p, again[p])
	}
}

// flush waits until everything acknowledged so far has been told to the source.
func (a *acker) flush(ctx context.Context) {
	mark := make(chan struct{})
	a.box.put(ackItem{mark: mark})
	select {
	case <-mark:
	case <-a.r.done:
	case <-ctx.Done():
	}
}

func (a *acker) run(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-a.box.ready():
		}
		var ranges []source.Range
		var marks []chan struct{}
		for _, it := range a.box.take() {
			ranges = append(ranges, it.ranges...)
			if it.mark != nil {
				marks = append(marks, it.mark)
			}
		}
		if ranges = a.join(ranges); len(ranges) > 0 {
			a.r.cfg.Source.Ack(life, ranges)
		}
		for _, m := range marks {
			close(m)
		}
	}
}

// join makes one range a partition of them, of owned partitions only.
func (a *acker) join(ranges []source.Range) []source.Range {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := map[source.Partition]source.Range{}
	for _, rg := range ranges {
		if !a.mu.owned[rg.Partition] {
			continue
		}
		if had, there := by[rg.Partition]; there {
			rg.From, rg.To = min(rg.From, had.From), max(rg.To, had.To)
		}
		by[rg.Partition] = rg
	}
	out := make([]source.Range, 0, len(by))
	for _, p := range sortedPartitions(by) {
		out = append(out, by[p])
	}
	return out
}
