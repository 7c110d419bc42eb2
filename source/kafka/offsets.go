package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"

	"github.com/stormfloe/floe/source"
)

// topicPart names a partition the way the protocol does.
type topicPart struct {
	topic string
	part  int32
}

// Times with a meaning in the ListOffsets request.
const (
	timeLatest   = -1
	timeEarliest = -2
)

// listOffsets asks the partitions' leaders for the offset of a time, one request per leader. committed makes "latest"
// the last stable offset. Partitions that can't be answered are in the error map.
func (c *cluster) listOffsets(ctx context.Context, m *clusterMeta, ps []topicPart, time int64, committed bool) (map[topicPart]source.Position, map[topicPart]error) {
	found, failed := map[topicPart]source.Position{}, map[topicPart]error{}
	byLeader := map[int32][]topicPart{}
	for _, p := range ps {
		leader, err := m.leader(p)
		if err != nil {
			failed[p] = err
			continue
		}
		byLeader[leader] = append(byLeader[leader], p)
	}
	for leader, group := range byLeader {
		if err := c.listFrom(ctx, m.brokers[leader], group, time, committed, found, failed); err != nil {
			for _, p := range group {
				failed[p] = err
			}
		}
	}
	return found, failed
}

func (c *cluster) listFrom(ctx context.Context, addr string, ps []topicPart, time int64, committed bool,
	found map[topicPart]source.Position, failed map[topicPart]error) error {
	req := &listoffsets.Request{ReplicaID: -1}
	if committed {
		req.IsolationLevel = 1
	}
	index := map[string]int{}
	for _, p := range ps {
		i, ok := index[p.topic]
		if !ok {
			i = len(req.Topics)
			index[p.topic] = i
			req.Topics = append(req.Topics, listoffsets.RequestTopic{Topic: p.topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions,
			listoffsets.RequestPartition{Partition: p.part, CurrentLeaderEpoch: -1, Timestamp: time})
	}
	m, err := c.do(ctx, addr, req)
	if err != nil {
		return err
	}
	for _, t := range m.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			key := topicPart{t.Topic, p.Partition}
			if p.ErrorCode != 0 {
				failed[key] = kafkago.Error(p.ErrorCode)
			} else {
				found[key] = source.Position(p.Offset)
			}
		}
	}
	for _, p := range ps {
		if _, ok := found[p]; !ok && failed[p] == nil {
			failed[p] = errors.New("the broker did not answer for the partition")
		}
	}
	return nil
}

// leader gives the partition's leader, or why there is none.
func (m *clusterMeta) leader(p topicPart) (int32, error) {
	t := m.topics[p.topic]
	if t == nil {
		return -1, kafkago.UnknownTopicOrPartition
	}
	if t.err != 0 {
		return -1, t.err
	}
	pm, ok := t.parts[p.part]
	switch {
	case !ok:
		return -1, kafkago.UnknownTopicOrPartition
	case pm.leader < 0 || m.brokers[pm.leader] == "":
		return -1, kafkago.LeaderNotAvailable
	}
	return pm.leader, nil
}

// bounds gives what one partition holds.
func (c *cluster) bounds(ctx context.Context, m *clusterMeta, p topicPart, committed bool) (first, last source.Position, err error) {
	lows, failed := c.listOffsets(ctx, m, []topicPart{p}, timeEarliest, committed)
	if err := failed[p]; err != nil {
		return 0, 0, err
	}
	highs, failed := c.listOffsets(ctx, m, []topicPart{p}, timeLatest, committed)
	if err := failed[p]; err != nil {
		return 0, 0, err
	}
	return lows[p], highs[p], nil
}

// committed gives the group's offset of a partition; -1 where it has none.
func (c *cluster) committed(ctx context.Context, p topicPart) (source.Position, error) {
	req := &offsetfetch.Request{GroupID: c.cfg.Group, Topics: []offsetfetch.RequestTopic{
		{Name: p.topic, PartitionIndexes: []int32{p.part}}}}
	m, err := c.toGroup(ctx, req, func(m protocol.Message) kafkago.Error {
		return kafkago.Error(m.(*offsetfetch.Response).ErrorCode)
	})
	if errors.Is(err, kafkago.GroupIdNotFound) {
		return -1, nil // newer brokers say so of a group that never was
	}
	if err != nil {
		return 0, err
	}
	for _, t := range m.(*offsetfetch.Response).Topics {
		for _, q := range t.Partitions {
			if t.Name == p.topic && q.PartitionIndex == p.part {
				if q.ErrorCode != 0 {
					return 0, kafkago.Error(q.ErrorCode)
				}
				return source.Position(q.CommittedOffset), nil
			}
		}
	}
	return 0, fmt.Errorf("the coordinator did not answer for %s/%d", p.topic, p.part)
}

// members counts those of the group.
func (c *cluster) members(ctx context.Context) (int, error) {
	m, err := c.toGroup(ctx, &describegroups.Request{Groups: []string{c.cfg.Group}}, func(m protocol.Message) kafkago.Error {
		if groups := m.(*describegroups.Response).Groups; len(groups) > 0 {
			return kafkago.Error(groups[0].ErrorCode)
		}
		return 0
	})
	if errors.Is(err, kafkago.GroupIdNotFound) {
		return 0, nil // newer brokers say so of a group that never was
	}
	if err != nil {
		return 0, err
	}
	for _, g := range m.(*describegroups.Response).Groups {
		if g.GroupID == c.cfg.Group {
			return len(g.Members), nil
		}
	}
	return 0, fmt.Errorf("the coordinator did not answer for group %q", c.cfg.Group)
}
