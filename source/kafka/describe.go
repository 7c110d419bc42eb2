package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/stormfloe/floe/source"
)

// Description is what can be known of the subscription without joining the group.
type Description struct {
	// ClusterID is empty where the brokers give none.
	ClusterID string
	// Brokers is how many there are.
	Brokers int
	// Topics are those of the subscription, by name.
	Topics []TopicDescription
}

// TopicDescription is one topic of the subscription.
type TopicDescription struct {
	Name string
	// Incarnation is the topic's id; empty where the brokers give none.
	Incarnation string
	// Partitions is their number.
	Partitions int
	// Records is how many positions the partitions hold in all, gaps included.
	Records int64
	// Err says why the topic can't be read: it is missing, or the rights are.
	Err error
}

// Ping asks a broker for its metadata: it tells whether one can be reached, TLS and SASL included.
func (s *Source) Ping(ctx context.Context) error {
	_, err := s.cl.metadata(ctx, []string{})
	return explain(fmt.Sprintf("reach the brokers at %v", s.cfg.Brokers), err)
}

// Members is how many members the consumer group has now: none where no process of the topology reads. One that was killed stays a member
// for SessionTimeout.
func (s *Source) Members(ctx context.Context) (int, error) {
	n, err := s.cl.members(ctx)
	return n, explain(fmt.Sprintf("look at the consumer group %q", s.cfg.Group), err)
}

// Describe looks at the cluster, the topics and the rights on them and on the group. Its error is about the cluster or the group as a
// whole; what is wrong with one topic is in its description. It writes nothing and does not join the group.
func (s *Source) Describe(ctx context.Context) (Description, error) {
	m, err := s.subscribed(ctx)
	if err != nil {
		return Description{}, explain(fmt.Sprintf("reach the brokers at %v", s.cfg.Brokers), err)
	}
	d := Description{ClusterID: m.clusterID, Brokers: len(m.brokers)}
	names := slices.Sorted(maps.Keys(m.topics))
	for _, name := range s.cfg.Topics {
		if m.topics[name] == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		d.Topics = append(d.Topics, s.describeTopic(ctx, m, name))
	}
	for _, t := range d.Topics {
		if t.Err == nil && t.Partitions > 0 {
			if _, err := s.cl.committed(ctx, topicPart{t.Name, 0}); errors.Is(err, kafkago.GroupAuthorizationFailed) {
				return d, explain(fmt.Sprintf("use the consumer group %q", s.cfg.Group), err)
			}
			break
		}
	}
	return d, nil
}

func (s *Source) describeTopic(ctx context.Context, m *clusterMeta, name string) TopicDescription {
	d := TopicDescription{Name: name}
	t := m.topics[name]
	switch {
	case t == nil:
		d.Err = fmt.Errorf("kafka: topic %q does not exist; check its name, or create it", name)
		return d
	case t.err != 0:
		d.Err = explain(fmt.Sprintf("use topic %q", name), t.err)
		return d
	}
	d.Incarnation, d.Partitions = t.incarnation(), len(t.parts)
	var ps []topicPart
	for _, id := range slices.Sorted(maps.Keys(t.parts)) {
		ps = append(ps, topicPart{name, id})
	}
	lows, failed := s.cl.listOffsets(ctx, m, ps, timeEarliest, s.committed())
	highs, failedToo := s.cl.listOffsets(ctx, m, ps, timeLatest, s.committed())
	maps.Copy(failed, failedToo)
	for _, p := range ps {
		if err := failed[p]; err != nil {
			d.Err = explain(fmt.Sprintf("ask for the bounds of %s/%d", p.topic, p.part), err)
			return d
		}
		d.Records += int64(highs[p] - lows[p])
	}
	if len(ps) > 0 {
		d.Err = s.mayRead(ctx, m, ps[0], highs[ps[0]])
	}
	return d
}

// mayRead sends one fetch request that waits for nothing: only it shows whether the topic may be read.
func (s *Source) mayRead(ctx context.Context, m *clusterMeta, p topicPart, at source.Position) error {
	leader, err := m.leader(p)
	if err != nil {
		return explain(fmt.Sprintf("read %s/%d", p.topic, p.part), err)
	}
	req := fetchRequest{maxBytes: 1, partitions: []fetchPartition{
		{topic: p.topic, part: p.part, epoch: -1, offset: at, maxBytes: 1}}}
	var code kafkago.Error
	err = s.cl.with(ctx, m.brokers[leader], func(k *conn) error {
		version := min(k.max[protocol.Fetch], fetchNoIDs)
		return k.exclusive(ctx, s.cfg.RequestTimeout, func() error {
			r, correlation, err := k.raw(func(w *wireWriter, correlation int32) []byte {
				return req.encode(w, version, correlation, s.cfg.ClientID)
			})
			if err != nil {
				return err
			}
			_, err = readFetch(&r, version, correlation, s.cfg.MaxRecordBatchBytes, func(a *fetchAnswer) error {
				if a.raw != nil {
					a.raw.release()
				}
				code = a.err
				return nil
			})
			return err
		})
	})
	if err == nil && code == kafkago.TopicAuthorizationFailed {
		err = code
	}
	return explain(fmt.Sprintf("read topic %q", p.topic), err)
}
