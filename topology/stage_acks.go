package topology

import "sync"

// pending is one callback of an engine. A batch can lie in several descriptors: it is called once, when all of them have
// been answered, with the first error among them.
type pending struct {
	ack func(error)
	mu  struct {
		sync.Mutex
		parts int
		whole bool
		err   error
		done  bool
	}
}

func newPending(ack func(error)) *pending { return &pending{ack: ack} }

// part says that another descriptor, or the open batch, holds some of it.
func (p *pending) part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.parts++
}

// all says that no part comes any more.
func (p *pending) all() {
	p.settle(func() { p.mu.whole = true })
}

// answer tells what became of one part.
func (p *pending) answer(err error) {
	p.settle(func() {
		p.mu.parts--
		if p.mu.err == nil {
			p.mu.err = err
		}
	})
}

func (p *pending) settle(change func()) {
	p.mu.Lock()
	change()
	call := p.mu.whole && p.mu.parts == 0 && !p.mu.done
	p.mu.done = p.mu.done || call
	err := p.mu.err
	p.mu.Unlock()
	if call && p.ack != nil {
		p.ack(err)
	}
}

// open callbacks of one batch of the writer, in the order they came.
type callbacks []*pending

func (c callbacks) answer(err error) {
	for _, p := range c {
		p.answer(err)
	}
}
