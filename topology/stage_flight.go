package topology

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// inFlight is what a writer stage has emitted and what it learned from the answers. It has its own lock, because answers
// come also while a batch is being emitted.
type inFlight struct {
	mu struct {
		sync.Mutex
		// lost says why what was taken over is not in the table; life counts the times that this was dealt with, so that
		// a late answer of an earlier one says nothing.
		lost error
		life int
		// last is the newest batch that was emitted, open are those that are not answered.
		last *sent
		open map[*sent]bool
		idle chan struct{} // closed when open becomes empty; nil where nobody waits
	}
}

// sent is an emitted batch, guarded by inFlight's lock.
type sent struct {
	acks     callbacks
	life     int
	answered bool
}

// add notes a batch that is about to be emitted.
func (f *inFlight) add(acks callbacks) *sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := &sent{acks: acks, life: f.mu.life}
	f.mu.last = b
	if f.mu.open == nil {
		f.mu.open = map[*sent]bool{}
	}
	f.mu.open[b] = true
	return b
}

// answer takes what became of b, once, and calls its callbacks.
func (f *inFlight) answer(b *sent, err error) {
	f.mu.Lock()
	if b.answered {
		f.mu.Unlock()
		return
	}
	b.answered = true
	if err != nil && b.life == f.mu.life && f.mu.lost == nil {
		f.mu.lost = err
	}
	f.closeLocked(b)
	acks := b.acks
	f.mu.Unlock()
	acks.answer(err)
}

func (f *inFlight) closeLocked(b *sent) {
	delete(f.mu.open, b)
	if len(f.mu.open) == 0 && f.mu.idle != nil {
		close(f.mu.idle)
		f.mu.idle = nil
	}
}

// withdraw takes back a batch that nobody took, without calling its callbacks; false where they were called already.
func (f *inFlight) withdraw(b *sent) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b.answered {
		return false
	}
	b.answered = true
	f.closeLocked(b)
	return true
}

// join answers acks together with the newest batch: what they stand for lies below its end.
func (f *inFlight) join(acks callbacks) {
	f.mu.Lock()
	if b := f.mu.last; b != nil && !b.answered {
		b.acks = append(b.acks, acks...)
		f.mu.Unlock()
		return
	}
	err := f.mu.lost
	f.mu.Unlock()
	acks.answer(err)
}

// err says why what was taken over is lost, nil where it is not.
func (f *inFlight) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.lost
}

func (f *inFlight) lose(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.lost == nil {
		f.mu.lost = err
	}
}

// restart begins another life.
func (f *inFlight) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.lost = nil
	f.mu.life++
	f.mu.last = nil
}

// wait waits until everything has been answered; false where ctx ended first.
func (f *inFlight) wait(ctx context.Context) bool {
	f.mu.Lock()
	if len(f.mu.open) == 0 {
		f.mu.Unlock()
		return true
	}
	if f.mu.idle == nil {
		f.mu.idle = make(chan struct{})
	}
	idle := f.mu.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}

// abandon answers everything that was not answered.
func (f *inFlight) abandon(err error) {
	f.mu.Lock()
	open := slices.Collect(maps.Keys(f.mu.open))
	f.mu.Unlock()
	for _, b := range open {
		f.answer(b, err)
	}
}
