package bench

import (
	"time"

	"github.com/stormfloe/floe/topology"
)

// sample is how far a topology has come.
type sample struct {
	// read is how many records were taken over, rows and commits what is visible, failures the commits that failed.
	read, rows, commits, failures int64
	files, bytes                  int64
	// last is when the last commit landed, and took how long it took.
	last time.Time
	took time.Duration
}

// watcher looks at a topology a few times a second. Its cost is part of what is measured: some tens of allocations each.
type watcher struct {
	seen        func(sample)
	top         *topology.Topology
	done, ended chan struct{}

	// first and last are the samples at the first commit and at the last one; took has each commit's time that was seen.
	first, last sample
	took        []time.Duration
}

// every is how often a watcher looks.
const every = 50 * time.Millisecond

func watch(seen func(sample)) *watcher {
	return &watcher{seen: seen, done: make(chan struct{}), ended: make(chan struct{})}
}

// start begins to look at t.
func (w *watcher) start(t *topology.Topology) {
	w.top = t
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
				w.look()
			}
		}
	}()
}

// stop looks a last time.
func (w *watcher) stop() {
	if w.top == nil {
		return
	}
	close(w.done)
	<-w.ended
	w.look()
}

func (w *watcher) look() {
	var s sample
	st := w.top.Status()
	for _, p := range st.Partitions {
		s.read += int64(p.Read)
	}
	for _, c := range st.Committers {
		s.rows, s.commits, s.failures = s.rows+c.Rows, s.commits+c.Commits, s.failures+c.Failures
		s.files, s.bytes = s.files+c.Files, s.bytes+c.Bytes
		if c.LastCommit != nil {
			s.last, s.took = *c.LastCommit, time.Duration(c.LastCommitSeconds*float64(time.Second))
		}
	}
	if s.commits > w.last.commits {
		if w.last.commits == 0 {
			w.first = s
		}
		w.took, w.last = append(w.took, s.took), s
	}
	w.seen(s)
}
