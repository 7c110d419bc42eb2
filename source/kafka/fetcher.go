package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/source"
)

// fetcher is the fetch loop of one broker. It asks for all its partitions at once.
type fetcher struct {
	ss     *session
	broker int32
	conn   *conn
	addr   string
	dec    *decoder
	claims []claimed
	hit    int      // where the answer's last partition stood in claims
	now    *claimed // being decoded
	req    fetchRequest
}

// errReopened ends the decoding of an answer whose partition was opened elsewhere meanwhile.
var errReopened = errors.New("the partition was opened again")

// deliverError is what the handler's Deliver gave: it ends the run.
type deliverError struct{ err error }

func (e *deliverError) Error() string { return e.err.Error() }
func (e *deliverError) Unwrap() error { return e.err }

func (ss *session) newFetcher(broker int32) *fetcher {
	cfg := &ss.src.cfg
	f := &fetcher{
		ss: ss, broker: broker,
		req: fetchRequest{
			maxWaitMs: int32(cfg.FetchMaxWait / time.Millisecond), minBytes: int32(cfg.FetchMinBytes),
			maxBytes: int32(cfg.FetchMaxBytes), committed: cfg.Isolation == ReadCommitted, rack: cfg.Rack,
		},
	}
	f.dec = newDecoder(cfg.MaxRecordBatchBytes, ss.src.budget, f.deliver)
	return f
}

func (f *fetcher) deliver(ctx context.Context, b *source.Batch) error {
	if f.ss.reopened(f.now) {
		return errReopened
	}
	if err := f.ss.h.Deliver(ctx, b); err != nil {
		return &deliverError{err}
	}
	return nil
}

// run fetches until ctx ends or Deliver fails.
func (f *fetcher) run(ctx context.Context) error {
	defer f.disconnect()
	wait := newBackoff()
	for ctx.Err() == nil {
		cs, changed, idle := f.ss.claim(f.broker)
		if len(cs) == 0 {
			f.ss.src.noTrouble(place(f.broker))
			f.idle(ctx, changed, idle)
			continue
		}
		err := f.fetch(ctx, cs)
		f.ss.unclaim(cs)
		var deliver *deliverError
		switch {
		case err == nil:
			f.ss.src.noTrouble(place(f.broker))
			wait.reset()
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &deliver):
			return deliver.err
		default:
			f.disconnect()
			f.ss.toLeader(cs)
			f.ss.src.inTrouble(place(f.broker), explain(fmt.Sprintf("fetch from broker %d", f.broker), err))
			f.ss.askRefresh()
			if wait.sleep(ctx) != nil {
				return nil
			}
		}
	}
	return nil
}

func (f *fetcher) idle(ctx context.Context, changed <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-t.C:
	}
}

func (f *fetcher) disconnect() {
	if f.conn != nil {
		f.conn.close()
		f.conn = nil
	}
}

// connect gives the loop's own connection: a fetch may wait on the broker for long.
func (f *fetcher) connect(ctx context.Context) error {
	addr, err := f.ss.src.cl.address(f.broker)
	if err != nil {
		return err
	}
	if f.conn != nil && f.addr == addr {
		return nil
	}
	f.disconnect()
	f.conn, err = dial(ctx, &f.ss.src.cfg, addr)
	f.addr = addr
	return err
}

// fetch sends one request and works through its answer.
func (f *fetcher) fetch(ctx context.Context, cs []claimed) error {
	if err := f.connect(ctx); err != nil {
		return err
	}
	cfg := &f.ss.src.cfg
	version := f.prepare(cs)
	var throttle int32
	err := f.conn.exclusive(ctx, cfg.RequestTimeout+cfg.FetchMaxWait, func() error {
		r, correlation, err := f.conn.raw(func(w *wireWriter, correlation int32) []byte {
			return f.req.encode(w, version, correlation, cfg.ClientID)
		})
		if err != nil {
			return err
		}
		throttle, err = readFetch(&r, version, correlation, cfg.MaxRecordBatchBytes, func(a *fetchAnswer) error {
			err := f.answer(ctx, a)
			// Deliver may have taken long; the rest of the answer has its own time.
			f.conn.nc.SetDeadline(time.Now().Add(cfg.RequestTimeout))
			if err == nil {
				err = ctx.Err()
			}
			return err
		})
		return err
	})
	if err == nil {
		f.ss.src.fetched.requests.Add(1)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no answer within %s: %w", cfg.RequestTimeout+cfg.FetchMaxWait, err)
	} else if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errShort) {
		err = fmt.Errorf("the answer ended too early: %w", err)
	}
	if err == nil && throttle > 0 {
		// Brokers before 2.0 have held the answer back themselves; newer ones mute the connection for this time.
		return retry.Sleep(ctx, time.Duration(throttle)*time.Millisecond)
	}
	return err
}

// prepare fills the request. Topics are named by id where all have one and the broker can read it.
func (f *fetcher) prepare(cs []claimed) (version int16) {
	f.claims, f.hit = cs, 0
	newest := f.conn.max[protocol.Fetch]
	version = min(newest, fetchNoIDs)
	if newest >= fetchWithIDs && !slices.ContainsFunc(cs, func(c claimed) bool { return c.id == topicID{} }) {
		version = fetchWithIDs
	}
	// The order rotates with each claim; topics that wrap around are brought together without moving the first one.
	if first := cs[0].p.Topic; cs[len(cs)-1].p.Topic != first || len(cs) > 2 {
		slices.SortStableFunc(cs, func(a, b claimed) int {
			if af, bf := a.p.Topic == first, b.p.Topic == first; af != bf {
				if af {
					return -1
				}
				return 1
			}
			return strings.Compare(a.p.Topic, b.p.Topic)
		})
	}
	ps := f.req.partitions[:0]
	for i := range cs {
		c := &cs[i]
		ps = append(ps, fetchPartition{topic: c.p.Topic, id: c.id, part: c.p.ID, epoch: c.epoch, offset: c.pos, read: c.read, maxBytes: int32(c.maxBytes)})
	}
	f.req.partitions = ps
	return version
}

// answer works through what the broker says of one partition. Its error ends the loop's request.
func (f *fetcher) answer(ctx context.Context, a *fetchAnswer) error {
	if a.raw != nil {
		defer a.raw.release()
		f.ss.src.fetched.bytes.Add(int64(len(a.raw.b)))
	}
	// Brokers answer in the request's order, so that the next one is close.
	for i := range f.claims {
		at := (f.hit + i) % len(f.claims)
		c := &f.claims[at]
		if c.p.ID == a.part && (a.topic == c.p.Topic || a.topic == "" && a.id == c.id) {
			f.hit = at + 1
			if a.err != 0 {
				return f.refused(ctx, c, a)
			}
			c.end.heard(a, f.req.committed)
			return f.records(ctx, c, a)
		}
	}
	return nil // not asked for
}

// records decodes and delivers.
func (f *fetcher) records(ctx context.Context, c *claimed, a *fetchAnswer) error {
	cfg := &f.ss.src.cfg
	if a.oversize > 0 {
		f.ss.fail(c.part, c.opening, f.tooLarge(c, a.oversize))
		return nil
	}
	if a.preferredReplica >= 0 && a.preferredReplica != f.broker {
		f.ss.mu.Lock()
		c.part.replica, c.part.replicaUntil = a.preferredReplica, time.Now().Add(5*time.Minute)
		f.ss.mu.Unlock()
		f.ss.askRefresh() // so that a loop for the replica is started
	}
	if a.cutOff >= 0 {
		f.cutOff(c, a)
		return nil
	}
	if a.raw == nil {
		return nil
	}
	if a.logStart > c.pos && firstOffset(a.raw.b) > int64(c.pos) {
		return f.outOfRange(ctx, c) // what was wanted went while the broker read: no gap that compaction left
	}
	f.now = c
	res, err := f.dec.decode(ctx, &recordSet{partition: c.p, from: c.pos, raw: a.raw, aborted: a.aborted})
	if res.next > c.pos {
		f.ss.moved(c, res.next, res.epoch)
	}
	var bad *RecordError
	switch {
	case errors.Is(err, errReopened):
		return nil
	case errors.As(err, &bad):
		f.damaged(c, bad)
		return nil
	case err != nil:
		return err
	case res.needs > cfg.MaxRecordBatchBytes:
		f.ss.fail(c.part, c.opening, f.tooLarge(c, res.needs))
	case res.next == c.pos && res.needs > 0:
		f.ss.mu.Lock()
		c.part.maxBytes = min(max(res.needs, 2*c.maxBytes), cfg.MaxRecordBatchBytes)
		f.ss.mu.Unlock()
	}
	return nil
}

func (f *fetcher) tooLarge(c *claimed, n int) error {
	return &RecordError{Partition: c.p, Position: c.pos,
		Reason: fmt.Sprintf("it takes %d bytes, and max_record_batch_bytes is %d", n, f.ss.src.cfg.MaxRecordBatchBytes),
		Hint:   "Raise max_record_batch_bytes"}
}

// readings is how often a damaged batch is read before its partition is given up: the damage may be on the way.
const readings = 3

func (f *fetcher) damaged(c *claimed, bad error) {
	f.ss.mu.Lock()
	c.part.damaged++
	n := c.part.damaged
	c.part.holdLocked()
	f.ss.mu.Unlock()
	if n >= readings {
		f.ss.fail(c.part, c.opening, bad)
		return
	}
	f.ss.src.cfg.Logger.Warn("kafka record batch can't be read, reading it again", "error", bad)
}

// refused decides what a broker's error for one partition means.
func (f *fetcher) refused(ctx context.Context, c *claimed, a *fetchAnswer) error {
	switch {
	case a.err == kafkago.OffsetOutOfRange:
		return f.outOfRange(ctx, c)
	case a.err == kafkago.TopicAuthorizationFailed:
		f.ss.fail(c.part, c.opening, explain(fmt.Sprintf("read %s", c.p), a.err))
		return nil
	case a.err == kafkago.InvalidMessage:
		f.damaged(c, &RecordError{Partition: c.p, Position: c.pos, Reason: "the broker finds its own log damaged there",
			Hint: "Look at the broker's log; another replica may hold it whole"})
		return nil
	}
	f.ss.mu.Lock()
	c.part.replica = -1
	c.part.holdLocked()
	f.ss.mu.Unlock()
	f.ss.askRefresh()
	if !movedOn(a.err) && a.err != kafkago.OffsetNotAvailable {
		f.ss.src.cfg.Logger.Warn("kafka broker refused a fetch, trying again", "topic", c.p.Topic, "partition", c.p.ID,
			"broker", f.broker, "error", brief(a.err))
	}
	return nil
}

// cutOff stops a partition whose leader has another log than the one that was read: it was elected without being in sync, or has lost
// what it had not written to its disk. A replica that lags says the same.
func (f *fetcher) cutOff(c *claimed, a *fetchAnswer) {
	if f.toLeader(c) {
		return
	}
	f.ss.forgetEpochs(c) // whoever opens it again takes the log as it is
	f.ss.fail(c.part, c.opening, &source.PositionError{Partition: c.p, Wanted: c.pos, First: max(a.logStart, 0), Last: a.highWatermark,
		Reason: fmt.Sprintf("the leader has lost what was read from offset %d on, and may hold other records there", a.cutOff)})
}

// toLeader makes c be read from its leader next, and tells whether that is somebody else.
func (f *fetcher) toLeader(c *claimed) bool {
	f.ss.mu.Lock()
	defer f.ss.mu.Unlock()
	c.part.replica = -1
	c.part.holdLocked()
	return f.broker != c.part.leader
}

// outOfRange finds out whether the position is really gone: a replica may lag, and a leader that has just moved does not know
// its end yet.
func (f *fetcher) outOfRange(ctx context.Context, c *claimed) error {
	if f.toLeader(c) {
		return nil
	}
	f.ss.forgetEpochs(c) // a broker that has no end for it says the same
	cl := f.ss.src.cl
	m, err := cl.metadata(ctx, []string{c.p.Topic})
	if err != nil {
		return nil // asked again at the next refusal
	}
	key := topicPart{c.p.Topic, c.p.ID}
	if _, err := m.leader(key); err != nil || m.partition(key) != c.p {
		f.ss.askRefresh()
		return nil
	}
	first, end, err := cl.bounds(ctx, m, key, false)
	if err != nil || c.pos >= first && c.pos <= end {
		return nil
	}
	e := &source.PositionError{Partition: c.p, Wanted: c.pos, First: first, Last: end, Reason: "below the log's start"}
	if c.pos > end {
		e.Reason = "above the log's end"
	}
	if f.ss.src.committed() {
		if _, stable, err := cl.bounds(ctx, m, key, true); err == nil {
			e.Last = stable
		}
	}
	f.ss.fail(c.part, c.opening, e)
	return nil
}
