package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/leavegroup"

	"github.com/stormfloe/floe/source"
)

// closeGrace is how long leaving the group may take before its connections are cut.
const closeGrace = 5 * time.Second

// membership is one joining of the group for one subscription.
type membership struct {
	src    *Source
	h      source.Handler
	group  *kafkago.ConsumerGroup
	dialer *cuttable
	sub    subscription
	// gone says that a subscribed topic has vanished. kafka-go's leader may then give out nothing at all, so that the next
	// joining is a new one, without the topic.
	gone atomic.Bool
	// none says that the present generation gave this member nothing.
	none atomic.Bool
}

// member joins the group and works through its generations. It returns nil when the subscription changed or ctx ended.
func (s *Source) member(ctx context.Context, h source.Handler, sub subscription) error {
	m := &membership{src: s, h: h, sub: sub, dialer: newCuttable(&s.cfg)}
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{
		ID:      s.cfg.Group,
		Brokers: s.cl.addresses(),
		Topics:  slices.Sorted(maps.Keys(sub)),
		Dialer: &kafkago.Dialer{ClientID: s.cfg.ClientID, DialFunc: m.dialer.dial, Timeout: s.cfg.DialTimeout,
			TLS: s.cfg.TLS, SASLMechanism: s.cfg.SASL},
		GroupBalancers:    []kafkago.GroupBalancer{evenBalancer{}},
		HeartbeatInterval: s.cfg.HeartbeatInterval,
		SessionTimeout:    s.cfg.SessionTimeout,
		RebalanceTimeout:  s.cfg.RebalanceTimeout,
		JoinGroupBackoff:  500 * time.Millisecond,
		Timeout:           min(s.cfg.RequestTimeout, s.cfg.SessionTimeout/3),
		Logger:            kafkago.LoggerFunc(debugLog(s.cfg.Logger)),
		ErrorLogger:       kafkago.LoggerFunc(debugLog(s.cfg.Logger)),
	})
	if err != nil {
		return fatal(fmt.Errorf("kafka: join group %q: %w", s.cfg.Group, err))
	}
	m.group = group
	defer m.close()
	for {
		gen, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil && gen == nil:
			return nil
		case errors.Is(err, kafkago.RebalanceInProgress):
			continue // the others are still giving up; kafka-go joins again
		case err != nil:
			err = explain(fmt.Sprintf("join group %q", s.cfg.Group), err)
			if hopeless(err) {
				return fatal(err)
			}
			s.inTrouble("group", err)
			continue
		}
		s.noTrouble("group")
		end, err := m.generation(ctx, gen)
		if err != nil || end != endRejoin {
			return err
		}
	}
}

// debugLog hands kafka-go's chatter on; it names members, topics and offsets, no payload.
func debugLog(l *slog.Logger) func(string, ...any) {
	return func(format string, args ...any) {
		if l.Enabled(context.Background(), slog.LevelDebug) {
			l.Debug("kafka-go group", "text", fmt.Sprintf(format, args...))
		}
	}
}

// close leaves the group. A join that hangs is cut off.
func (m *membership) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.group.Close() // never fails
	}()
	t := time.NewTimer(closeGrace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		m.dialer.cut()
		<-done
	}
	m.dialer.cut()
}

// ending says why a generation's work ended.
type ending int

const (
	endRejoin      ending = iota // the group rebalances, or should
	endResubscribe               // other topics are wanted
	endRun                       // ctx has ended, or an error
)

// generation holds one assignment from its beginning to its end.
func (m *membership) generation(ctx context.Context, gen *kafkago.Generation) (end ending, err error) {
	over, release := hold(gen)
	alive := m.keepAlive(gen, over)
	defer func() {
		m.letGo(ctx, gen, over, end)
		release()
		alive.stop()
	}()
	assigned := assignment(gen)
	at, meta, err := m.assign(ctx, over, assigned)
	if at == nil {
		return m.whyEnded(ctx, over), err
	}
	end, err = m.work(ctx, gen, over, at, meta, alive)
	return end, err
}

// letGo makes kafka-go leave the group rather than join again, where the run ends.
func (m *membership) letGo(ctx context.Context, gen *kafkago.Generation, over <-chan struct{}, end ending) {
	if end == endRejoin && ctx.Err() == nil {
		return
	}
	// Close marks the group as closed before it waits for us; Next shows that it has.
	go func() { _ = m.group.Close() }()
	for {
		if _, err := m.group.Next(context.Background()); errors.Is(err, kafkago.ErrGroupClosed) {
			break
		}
	}
	select {
	case <-over:
		// The generation ended by itself, so kafka-go may join again before it sees that it is closed, and then waits for the whole group.
		// Having left already, its join is refused at once. Where leaving fails, the wait is longer, and nothing else.
		lctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		_, _ = m.src.cl.toGroup(lctx, &leavegroup.Request{GroupID: gen.GroupID, MemberID: gen.MemberID,
			Members: []leavegroup.RequestMember{{MemberID: gen.MemberID}}},
			func(r protocol.Message) kafkago.Error { return kafkago.Error(r.(*leavegroup.Response).ErrorCode) })
	default:
	}
}

func (m *membership) whyEnded(ctx context.Context, over <-chan struct{}) ending {
	select {
	case <-ctx.Done():
		return endRun
	case <-over:
		return endRejoin
	default:
		return endRun
	}
}

// hold keeps the generation open until release is called: kafka-go waits for every function it started before it joins
// again. over is closed when the generation has ended for the group.
func hold(gen *kafkago.Generation) (over <-chan struct{}, release func()) {
	began := make(chan (<-chan struct{}))
	done := make(chan struct{})
	gen.Start(func(ctx context.Context) {
		began <- ctx.Done()
		<-done
	})
	return <-began, func() { close(done) }
}

func assignment(gen *kafkago.Generation) []topicPart {
	var out []topicPart
	for _, topic := range slices.Sorted(maps.Keys(gen.Assignments)) {
		for _, a := range gen.Assignments[topic] {
			out = append(out, topicPart{topic, int32(a.ID)})
		}
	}
	return out
}

// assign asks the handler where to open what was assigned, until it says so. A nil map without an error: the generation or ctx
// ended before.
func (m *membership) assign(ctx context.Context, over <-chan struct{}, ps []topicPart) (map[source.Partition]source.Position, *clusterMeta, error) {
	actx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer whenClosed(over, cancel)()
	begun := time.Now()
	for wait := newBackoff(); actx.Err() == nil; _ = wait.sleep(actx) {
		meta, err := m.src.subscribed(actx)
		if actx.Err() != nil {
			break
		}
		if err != nil {
			m.src.inTrouble("assignment", explain("ask for the topics' ids", err))
			continue
		}
		named, unknown := names(meta, ps)
		if len(unknown) > 0 {
			// A topic that this broker has not heard of yet, or no longer. The others do not wait for ever.
			m.src.inTrouble("assignment", explain(fmt.Sprintf("open topic %q", unknown[0]), kafkago.UnknownTopicOrPartition))
			if time.Since(begun) < m.src.cfg.StartupTimeout {
				continue
			}
			for _, topic := range unknown {
				m.sub[topic] = 0 // when it is back, the group is joined again
			}
		}
		at := map[source.Partition]source.Position{}
		if len(named) > 0 {
			m.src.assigning()
			if at, err = m.h.Assigned(actx, named); err != nil {
				var f *source.FatalError
				if errors.As(err, &f) && ctx.Err() == nil {
					return nil, nil, err
				}
				if actx.Err() == nil { // else it was told to give up
					m.src.inTrouble("assignment", err)
				}
				continue
			}
		}
		m.src.noTrouble("assignment")
		// The handler may have taken long: look again at ids and leaders before the first fetch.
		if now, err := m.src.subscribed(actx); err == nil {
			meta = now
		}
		return m.owned(named, at), meta, nil
	}
	return nil, nil, nil
}

// unopened marks a partition that is owned, but that the handler gave no position for.
const unopened source.Position = -1

func (m *membership) owned(named []source.Partition, at map[source.Partition]source.Position) map[source.Partition]source.Position {
	out := make(map[source.Partition]source.Position, len(named))
	for _, p := range named {
		out[p] = unopened
		if pos, ok := at[p]; ok {
			out[p] = pos
		}
	}
	return out
}

// names gives the full names of what was assigned, and the topics that are unknown.
func names(meta *clusterMeta, ps []topicPart) (named []source.Partition, unknown []string) {
	for _, p := range ps {
		if t := meta.topics[p.topic]; t != nil && t.err == 0 {
			named = append(named, meta.partition(p))
		} else if !slices.Contains(unknown, p.topic) {
			unknown = append(unknown, p.topic)
		}
	}
	return named, unknown
}

// whenClosed calls f when ch is closed; the returned function ends the watch.
func whenClosed(ch <-chan struct{}, f func()) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ch:
			f()
		case <-quit:
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}

// work reads until something ends it, then gives the partitions back.
func (m *membership) work(ctx context.Context, gen *kafkago.Generation, over <-chan struct{},
	at map[source.Partition]source.Position, meta *clusterMeta, alive *keepAlive) (ending, error) {
	wctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer whenClosed(over, func() { stop(errRejoin) })()

	ps := slices.SortedFunc(maps.Keys(at), comparePartitions)
	m.none.Store(len(ps) == 0)
	ss := m.src.newSession(m.h, meta, at)
	ss.acks = newAcks(ps, m.src.cfg.CommitInterval, gen.CommitOffsets, m.src.committedOffsets)
	m.src.own(ss)
	err := ss.run(wctx, meta, func(now *clusterMeta) {
		if why := m.changed(now); why != nil {
			stop(why)
		}
	})
	if len(ps) > 0 {
		rctx, cancel := alive.whileOwned(ctx, m.revokeGrace())
		m.h.Revoked(rctx, ps)
		cancel()
	}
	m.src.own(nil)
	ss.acks.close()
	if !alive.isLost() {
		ss.acks.flush()
	}
	m.src.noTrouble("commit")
	switch {
	case err != nil || ctx.Err() != nil:
		return endRun, err
	case errors.Is(context.Cause(wctx), errResubscribe), m.gone.Load():
		return endResubscribe, nil
	}
	return endRejoin, nil
}

func (m *membership) revokeGrace() time.Duration {
	return min(source.RevokeGrace, m.src.cfg.RebalanceTimeout*2/3)
}

var (
	errRejoin      = errors.New("the group rebalances")
	errResubscribe = errors.New("the topics changed")
)

// changed tells whether the metadata calls for another assignment, and remembers it.
func (m *membership) changed(now *clusterMeta) error {
	var why error
	for name := range m.sub {
		if t := now.topics[name]; t == nil || t.err == kafkago.UnknownTopicOrPartition {
			m.gone.Store(true)
			if m.none.Load() {
				return errResubscribe
			}
		}
	}
	for name, n := range now.subscription() {
		old, known := m.sub[name]
		switch {
		case !known:
			return errResubscribe
		case n > old:
			m.sub[name] = n
			why = errRejoin
		}
	}
	return why
}

func comparePartitions(a, b source.Partition) int {
	switch {
	case a.Topic != b.Topic && a.Topic < b.Topic:
		return -1
	case a.Topic != b.Topic:
		return 1
	}
	return int(a.ID) - int(b.ID)
}
