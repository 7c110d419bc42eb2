package kafka

import "github.com/stormfloe/floe/source"

// maxEpochs bounds what is remembered of one partition. Each change of its leader may add one.
const maxEpochs = 64

// epochs remembers of one partition in which leader epochs its records were written, as far as they were read: so a broker
// can be told, with a position, what stood before it when it was read. It outlives generations, since a position that is
// opened again was often read by the same process. Within a log epochs only grow.
type epochs struct {
	// known holds, in ascending order, positions whose preceding record was written in an epoch.
	known []epochRange
}

// epochRange: what stands before each position from first to last, both included, was written in the epoch.
type epochRange struct {
	first, last source.Position
	epoch       int32
}

// at gives the epoch of what stands before pos; -1 where it is unknown.
func (e *epochs) at(pos source.Position) int32 {
	for i := len(e.known) - 1; i >= 0; i-- {
		if r := e.known[i]; r.first <= pos && pos <= r.last {
			return r.epoch
		}
	}
	return -1
}

// read notes that what stands before next was written in the epoch. Where the positions before it are known to be of the same
// epoch, so is all between.
func (e *epochs) read(next source.Position, epoch int32) {
	if epoch < 0 {
		e.forget()
		return
	}
	n := len(e.known)
	switch {
	case n > 0 && next <= e.known[n-1].last:
		return // read again
	case n > 0 && epoch == e.known[n-1].epoch:
		e.known[n-1].last = next
		return
	case n > 0 && epoch < e.known[n-1].epoch:
		e.forget() // not one log
	case n == maxEpochs:
		e.known = append(e.known[:0], e.known[1:]...)
	}
	e.known = append(e.known, epochRange{next, next, epoch})
}

func (e *epochs) forget() { e.known = e.known[:0] }
