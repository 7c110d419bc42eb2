package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/stormfloe/floe/source"
)

// Source reads Kafka topics as one member of a consumer group. See source.Source for the contract.
type Source struct {
	cfg     Config
	pattern *regexp.Regexp // nil where topics are named
	cl      *cluster
	budget  *budget
	epochs  map[source.Partition]*epochs // of all partitions owned so far; touched by Run alone
	fetched fetched

	mu struct {
		sync.Mutex
		ran     bool
		session *session // of the partitions owned now; nil where there are none
		// early keeps what is opened again between Assigned and the session that reads what was assigned.
		early   map[source.Partition]source.Position
		trouble troubles
	}
}

var (
	_ source.Source = (*Source)(nil)
	_ source.Meter  = (*Source)(nil)
)

// New checks the configuration. It connects to nothing.
func New(cfg Config) (*Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Source{cfg: cfg.withDefaults()}
	if s.cfg.TopicPattern != "" {
		s.pattern = regexp.MustCompile(s.cfg.TopicPattern)
	}
	s.cl = newCluster(&s.cfg)
	s.epochs = map[source.Partition]*epochs{}
	s.budget = newBudget(s.cfg.MaxBufferedBytes)
	return s, nil
}

// Close ends the connections that Partitions, Start, Ping and Describe made. Run does it at its end too. A later call of these
// connects anew.
func (s *Source) Close() error {
	s.cl.close()
	return nil
}

// Traits implements source.Source.
func (s *Source) Traits() source.Traits {
	return source.Traits{Name: "kafka", Replayable: true, Discovers: s.pattern != nil}
}

func (s *Source) committed() bool { return s.cfg.Isolation == ReadCommitted }

// Partitions implements source.Source. A leader that is just moving is waited for a little.
func (s *Source) Partitions(ctx context.Context) (out []source.Bounds, err error) {
	err = patiently(ctx, func() error {
		out, err = s.partitions(ctx)
		return err
	})
	return out, err
}

func (s *Source) partitions(ctx context.Context) ([]source.Bounds, error) {
	m, err := s.subscribed(ctx)
	if err != nil {
		return nil, explain("list the partitions", err)
	}
	var ps []topicPart
	for _, name := range slices.Sorted(maps.Keys(m.topics)) {
		t := m.topics[name]
		if t.err != 0 {
			return nil, explain(fmt.Sprintf("list the partitions of topic %q", name), t.err)
		}
		for _, id := range slices.Sorted(maps.Keys(t.parts)) {
			ps = append(ps, topicPart{name, id})
		}
	}
	lows, failed := s.cl.listOffsets(ctx, m, ps, timeEarliest, s.committed())
	highs, failedToo := s.cl.listOffsets(ctx, m, ps, timeLatest, s.committed())
	maps.Copy(failed, failedToo)
	out := make([]source.Bounds, 0, len(ps))
	for _, p := range ps {
		if err := failed[p]; err != nil {
			return nil, explain(fmt.Sprintf("ask for the bounds of %s/%d", p.topic, p.part), err)
		}
		out = append(out, source.Bounds{Partition: m.partition(p), First: lows[p], Last: highs[p]})
	}
	return out, nil
}

// subscribed asks for the metadata of what is subscribed. Only topics of the subscription are in the answer.
func (s *Source) subscribed(ctx context.Context) (*clusterMeta, error) {
	if s.pattern == nil {
		return s.cl.metadata(ctx, s.cfg.Topics)
	}
	m, err := s.cl.metadata(ctx, nil)
	if err != nil {
		return nil, err
	}
	for name, t := range m.topics {
		if t.internal || !s.pattern.MatchString(name) {
			delete(m.topics, name)
		}
	}
	return m, nil
}

// partition gives the full name of a partition.
func (m *clusterMeta) partition(p topicPart) source.Partition {
	out := source.Partition{Cluster: m.clusterID, Topic: p.topic, ID: p.part}
	if t := m.topics[p.topic]; t != nil {
		out.Incarnation = t.incarnation()
	}
	return out
}

// Start implements source.Source.
func (s *Source) Start(ctx context.Context, p source.Partition, o source.Origin) (source.Position, error) {
	var pos source.Position
	err := patiently(ctx, func() (err error) {
		pos, err = s.start(ctx, p, o)
		return err
	})
	if err != nil {
		return 0, explain(fmt.Sprintf("find the start of %s", p), err)
	}
	return pos, nil
}

func (s *Source) start(ctx context.Context, p source.Partition, o source.Origin) (source.Position, error) {
	m, err := s.cl.metadata(ctx, []string{p.Topic})
	if err != nil {
		return 0, err
	}
	key := topicPart{p.Topic, p.ID}
	if _, err := m.leader(key); err != nil {
		return 0, err
	}
	if now := m.partition(key); now != p {
		return 0, fmt.Errorf("another incarnation of the topic is there: id %q of cluster %q instead of id %q of cluster %q",
			now.Incarnation, now.Cluster, p.Incarnation, p.Cluster)
	}
	list := func(time int64) (source.Position, error) {
		found, failed := s.cl.listOffsets(ctx, m, []topicPart{key}, time, s.committed())
		return found[key], failed[key]
	}
	if o == source.OriginFirst {
		return list(timeEarliest)
	}
	switch s.cfg.Start.Kind {
	case StartLatest:
		return list(timeLatest)
	case StartTime:
		if pos, err := list(s.cfg.Start.Time.UnixMilli()); err != nil || pos >= 0 {
			return pos, err
		}
		return list(timeLatest)
	case StartGroup:
		if pos, err := s.cl.committed(ctx, key); err != nil || pos >= 0 {
			return pos, err
		}
	case StartOffsets:
		if pos, ok := s.cfg.Start.Offsets[p.Topic][p.ID]; ok {
			return pos, nil
		}
	}
	return list(timeEarliest)
}

// Reopen implements source.Source. A partition that failed is tried again.
func (s *Source) Reopen(p source.Partition, pos source.Position) {
	s.mu.Lock()
	ss := s.mu.session
	if ss == nil && s.mu.early != nil {
		s.mu.early[p] = pos
	}
	s.mu.Unlock()
	if ss != nil {
		ss.reopen(p, pos)
	}
}

// Ack implements source.Source. The group's offsets are written in the background, once per CommitInterval and before
// a partition is given up; they never go back, unless Reopen went back.
func (s *Source) Ack(_ context.Context, acked []source.Range) {
	if ss := s.current(); ss != nil {
		ss.acks.add(acked)
	}
}

func (s *Source) current() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.session
}

// epochsOf gives what is known of p's epochs. A session has it to itself.
func (s *Source) epochsOf(p source.Partition) *epochs {
	if s.epochs[p] == nil {
		s.epochs[p] = &epochs{}
	}
	return s.epochs[p]
}

// assigning makes Reopen wait for the session that is to come. What it was told before is older than the answer of the
// Assigned that follows.
func (s *Source) assigning() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.early = map[source.Partition]source.Position{}
}

// own makes ss the session that Reopen and Ack go to; nil for none.
func (s *Source) own(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.session = ss
	for p, pos := range s.mu.early {
		if ss != nil {
			ss.reopen(p, pos)
		}
	}
	s.mu.early = nil
}

// ErrRanTwice is what a second Run of one source gives.
var ErrRanTwice = errors.New("kafka: Run was called twice; make another source")

// Run implements source.Source.
func (s *Source) Run(ctx context.Context, h source.Handler) error {
	s.mu.Lock()
	ran := s.mu.ran
	s.mu.ran = true
	s.mu.trouble.report = h.Trouble
	s.mu.Unlock()
	if ran {
		return ErrRanTwice
	}
	defer s.cl.close()
	for first := true; ctx.Err() == nil; first = false {
		sub, err := s.subscribe(ctx, first)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := s.member(ctx, h, sub); err != nil {
			return err
		}
	}
	return nil
}

// subscription is what the group is joined for: partitions by topic.
type subscription map[string]int

func (m *clusterMeta) subscription() subscription {
	sub := subscription{}
	for name, t := range m.topics {
		if t.err == 0 && len(t.parts) > 0 {
			sub[name] = len(t.parts)
		}
	}
	return sub
}

// subscribe waits until a broker answers and the topics are there. At the first time only for the startup timeout.
func (s *Source) subscribe(ctx context.Context, first bool) (subscription, error) {
	deadline := time.Now().Add(s.cfg.StartupTimeout)
	if s.pattern != nil {
		defer s.noTrouble("topics")
	}
	for wait := newBackoff(); ; {
		m, err := s.subscribed(ctx)
		if err == nil {
			s.noTrouble("brokers")
			var sub subscription
			if sub, err = s.complete(m); err == nil {
				s.noTrouble("topics")
				return sub, nil
			}
			s.inTrouble("topics", err)
			if !first && len(sub) > 0 {
				return sub, nil // a topic was deleted while it was being read: the others go on
			}
		} else if ctx.Err() == nil {
			err = explain(fmt.Sprintf("reach the brokers at %v", s.cfg.Brokers), err)
			s.inTrouble("brokers", err)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case hopeless(err), first && s.pattern == nil && time.Now().After(deadline), first && m == nil && time.Now().After(deadline):
			return nil, fatal(err)
		}
		if err := wait.sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// complete gives the subscription, or says which topic is missing.
func (s *Source) complete(m *clusterMeta) (subscription, error) {
	sub := m.subscription()
	if s.pattern != nil {
		if len(sub) == 0 {
			return nil, fmt.Errorf("kafka: no topic matches topic_pattern %q yet", s.cfg.TopicPattern)
		}
		return sub, nil
	}
	for _, name := range s.cfg.Topics {
		if _, ok := sub[name]; ok {
			continue
		}
		if t := m.topics[name]; t != nil && t.err != 0 {
			return sub, explain(fmt.Sprintf("subscribe to topic %q", name), t.err)
		}
		return sub, fmt.Errorf("kafka: topic %q does not exist; check its name, or create it", name)
	}
	return sub, nil
}
