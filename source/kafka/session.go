package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/source"
)

// session reads the partitions of one generation: fetch loops, metadata, acks.
type session struct {
	src  *Source
	h    source.Handler
	acks *acks

	mu struct {
		sync.Mutex
		parts   map[source.Partition]*part
		order   []*part        // by topic and partition
		loops   map[int32]bool // brokers with a fetch loop
		start   func(id int32) // starts a fetch loop; nil before and after run
		changed chan struct{}  // closed and replaced when a loop may find other work
		claims  int            // rotates the order within requests
	}
	refresh chan struct{} // asks for a look at the metadata
}

// part is the state of one owned partition. Its fields are guarded by session.mu, except while a fetch loop has claimed it:
// then only that loop changes what fetching changes.
type part struct {
	p     source.Partition
	id    topicID
	pos   source.Position
	epoch int32 // the leader's
	// read is what is known of the epochs in which its records were written.
	read *epochs
	// leader is -1 where unknown; replica is where the leader said to read instead, until a time.
	leader, replica int32
	replicaUntil    time.Time
	// opening counts reopenings, so that an answer from before one does not move the position after it.
	opening  int
	maxBytes int
	failed   bool
	claimed  bool
	// notBefore holds the partition back after an error.
	notBefore time.Time
	wait      backoff
	damaged   int       // failed readings of the same place
	missing   time.Time // since when the metadata does not have it
	// end is set by the fetch loop, and needs no lock.
	end logEnd
}

func (s *Source) newSession(h source.Handler, m *clusterMeta, at map[source.Partition]source.Position) *session {
	ss := &session{src: s, h: h, refresh: make(chan struct{}, 1)}
	ss.mu.parts = map[source.Partition]*part{}
	ss.mu.loops = map[int32]bool{}
	ss.mu.changed = make(chan struct{})
	for p, pos := range at {
		q := &part{p: p, pos: pos, epoch: -1, read: s.epochsOf(p), leader: -1, replica: -1, maxBytes: s.cfg.PartitionMaxBytes}
		q.failed = pos == unopened // until Reopen
		if t := m.topics[p.Topic]; t != nil && t.incarnation() == p.Incarnation {
			q.id = t.id
		}
		ss.mu.parts[p] = q
		ss.mu.order = append(ss.mu.order, q)
	}
	slices.SortFunc(ss.mu.order, func(a, b *part) int {
		if c := strings.Compare(a.p.Topic, b.p.Topic); c != 0 {
			return c
		}
		return int(a.p.ID - b.p.ID)
	})
	return ss
}

// run reads until ctx ends; it gives what Deliver gave otherwise.
func (ss *session) run(ctx context.Context, m *clusterMeta, watch func(*clusterMeta)) error {
	g, gctx := errgroup.WithContext(ctx)
	ss.mu.Lock()
	ss.mu.start = func(id int32) {
		g.Go(func() error { return ss.newFetcher(id).run(gctx) })
	}
	ss.mu.Unlock()
	g.Go(func() error {
		ss.acks.run(gctx)
		return nil
	})
	g.Go(func() error {
		ss.apply(gctx, m)
		ss.watch(gctx, watch)
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		ss.mu.Lock()
		defer ss.mu.Unlock()
		ss.mu.start = nil
		return nil
	})
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// watch looks at the metadata now and then, and when somebody asks.
func (ss *session) watch(ctx context.Context, seen func(*clusterMeta)) {
	every := time.NewTicker(ss.src.cfg.MetadataInterval)
	defer every.Stop()
	wait := newBackoff()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-ss.refresh:
		}
		m, err := ss.src.subscribed(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			ss.src.inTrouble("metadata", explain("ask for metadata", err))
			ss.askRefresh()
		default:
			ss.src.noTrouble("metadata")
			if ss.apply(ctx, m) {
				ss.askRefresh()
			} else {
				wait.reset()
			}
			seen(m)
		}
		// However many ask: not more often than this.
		if wait.sleep(ctx) != nil {
			return
		}
	}
}

// askRefresh asks for a look at the metadata, soon.
func (ss *session) askRefresh() {
	select {
	case ss.refresh <- struct{}{}:
	default:
	}
}

func (ss *session) changedLocked() {
	close(ss.mu.changed)
	ss.mu.changed = make(chan struct{})
}

// apply brings the partitions in line with the metadata and tells whether another look is needed soon.
func (ss *session) apply(ctx context.Context, m *clusterMeta) (again bool) {
	var failed []*part
	ss.mu.Lock()
	for _, q := range ss.mu.order {
		if q.failed {
			continue
		}
		ok, gone := ss.placeLocked(q, m)
		again = again || !ok
		if gone {
			q.failed = true
			failed = append(failed, q)
		}
	}
	for _, q := range ss.mu.order {
		if id := q.source(time.Now()); id >= 0 && !q.failed && !ss.mu.loops[id] && ss.mu.start != nil {
			ss.mu.loops[id] = true
			ss.mu.start(id)
		}
	}
	ss.changedLocked()
	ss.mu.Unlock()
	for _, q := range failed {
		ss.gone(ctx, q, m)
	}
	return again
}

// placeLocked finds q's leader. gone says that q's incarnation is no longer there.
func (ss *session) placeLocked(q *part, m *clusterMeta) (ok, gone bool) {
	t := m.topics[q.p.Topic]
	if t != nil && t.err == 0 && len(t.parts) > 0 {
		if t.incarnation() != q.p.Incarnation || m.clusterID != q.p.Cluster {
			return false, true
		}
	}
	leader, err := m.leader(topicPart{q.p.Topic, q.p.ID})
	if errors.Is(err, kafkago.UnknownTopicOrPartition) {
		if q.missing.IsZero() {
			q.missing = time.Now()
		}
		q.leader, q.replica = -1, -1
		return false, time.Since(q.missing) > ss.src.cfg.StartupTimeout
	}
	q.missing = time.Time{}
	if err != nil {
		q.leader, q.replica = -1, -1
		return false, false
	}
	pm := t.parts[q.p.ID]
	if pm.epoch < q.epoch {
		ss.src.cfg.Logger.Warn("kafka leader epoch went back: stale metadata, or the topic was made again",
			"topic", q.p.Topic, "partition", q.p.ID, "epoch", q.epoch, "now", pm.epoch)
	}
	q.leader, q.epoch = leader, pm.epoch
	return true, false
}

// gone tells the handler that q's incarnation is no longer there, with what is there now.
func (ss *session) gone(ctx context.Context, q *part, m *clusterMeta) {
	e := &source.PositionError{Partition: q.p, Wanted: q.pos, Reason: "the topic is gone"}
	key := topicPart{q.p.Topic, q.p.ID}
	if now := m.partition(key); m.topics[q.p.Topic] != nil && now != q.p && now.Incarnation != "" {
		e.Reason = "another incarnation of the topic"
		if now.Cluster != q.p.Cluster {
			e.Reason = "another cluster"
		}
		e.First, e.Last, _ = ss.src.cl.bounds(ctx, m, key, ss.src.committed())
	}
	ss.h.Failed(q.p, e)
}

// source is the broker to read from; -1 where unknown.
func (q *part) source(now time.Time) int32 {
	if q.replica >= 0 && now.Before(q.replicaUntil) {
		return q.replica
	}
	q.replica = -1
	return q.leader
}

func (ss *session) reopen(p source.Partition, pos source.Position) {
	ss.acks.rewind(p, pos)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	q := ss.mu.parts[p]
	if q == nil {
		return
	}
	q.pos, q.failed, q.damaged, q.missing = pos, false, 0, time.Time{}
	q.notBefore = time.Time{}
	q.opening++
	ss.askRefresh()
	ss.changedLocked()
}

// fail stops q and tells the handler, unless it was opened again since.
func (ss *session) fail(q *part, opening int, err error) {
	ss.mu.Lock()
	if q.failed || q.opening != opening {
		ss.mu.Unlock()
		return
	}
	q.failed = true
	ss.mu.Unlock()
	ss.h.Failed(q.p, err)
}

// holdLocked keeps q back for a while.
func (q *part) holdLocked() {
	if q.wait.next == 0 {
		q.wait.reset()
	}
	q.notBefore = time.Now().Add(q.wait.take())
}

// claim takes all free partitions of a broker for one request. Where there are none it says how long nothing can come by itself.
func (ss *session) claim(broker int32) (out []claimed, changed <-chan struct{}, wait time.Duration) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	now := time.Now()
	wait = time.Hour
	n := len(ss.mu.order)
	ss.mu.claims++
	for i := range n {
		// Another one stands first each time: brokers fill the answer in the request's order, and only the first is sure to get a
		// batch that is larger than the limits.
		q := ss.mu.order[(i+ss.mu.claims)%n]
		if q.failed || q.claimed || q.source(now) != broker {
			continue
		}
		if d := q.notBefore.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		q.claimed = true
		out = append(out, claimed{part: q, pos: q.pos, opening: q.opening, maxBytes: q.maxBytes, epoch: q.epoch,
			read: q.read.at(q.pos), id: q.id})
	}
	return out, ss.mu.changed, wait
}

// claimed is a partition in a request, as it was when it was claimed.
type claimed struct {
	*part
	pos      source.Position
	opening  int
	maxBytes int
	epoch    int32
	read     int32 // the epoch of what stands before pos; -1 where unknown
	id       topicID
}

// toLeader sends those that were read from a replica back to their leaders.
func (ss *session) toLeader(cs []claimed) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, c := range cs {
		c.part.replica = -1
	}
}

func (ss *session) unclaim(cs []claimed) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, c := range cs {
		c.part.claimed = false
	}
	ss.changedLocked()
}

// moved puts q at next, behind what was written in the given epoch, unless it was opened again since, and forgets its troubles.
func (ss *session) moved(c *claimed, next source.Position, epoch int32) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if c.part.opening == c.opening {
		c.part.pos = next
	}
	c.part.read.read(next, epoch)
	c.part.wait.reset()
	c.part.damaged = 0
	c.part.maxBytes = ss.src.cfg.PartitionMaxBytes
}

// forgetEpochs makes the next request of c not say in which epoch it has read.
func (ss *session) forgetEpochs(c *claimed) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	c.part.read.forget()
}

func (ss *session) reopened(c *claimed) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return c.part.opening != c.opening
}

func place(broker int32) string { return fmt.Sprintf("broker %d", broker) }
