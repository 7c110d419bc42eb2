package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/retry"
)

// spoiled ends a transaction, aborted by now, whose records went to other offsets than their values say. That is fair where
// nothing but markers lies between them: a coordinator that takes over writes those of the transaction before once more.
func (p *producer) spoiled(ctx context.Context, pattern Pattern, txn int64, recs []*kgo.Record) error {
	ours := map[string]bool{}
	for _, r := range recs {
		ours[string(r.Value)] = true
	}
	ends, err := p.stable(ctx, pattern)
	if err != nil {
		return err
	}
	for part, end := range ends {
		if err := p.nothingBut(ctx, ours, int32(part), pattern.first(int32(part), txn), end); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pattern.Spoiled = append(p.pattern.Spoiled, txn)
	p.pattern.Transactions = txn + 1
	p.pattern.move(ends)
	return nil
}

// move takes note that what follows begins at these offsets.
func (p *Pattern) move(ends []int64) {
	for part, end := range ends {
		if by := end - p.End(int32(part)); by > 0 {
			p.Moved = append(p.Moved, Move{Partition: int32(part), Transaction: p.Transactions, By: by})
		}
	}
}

// nothingBut reads a partition from first to end: but for markers it may hold no record whose value is not ours.
func (p *producer) nothingBut(ctx context.Context, ours map[string]bool, part int32, first, end int64) error {
	topic := p.produced().Topic
	client, err := kgo.NewClient(kgo.SeedBrokers(p.brokers...), kgo.ClientID("proof"), kgo.KeepControlRecords(), kgo.DisableClientMetrics(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {part: kgo.NewOffset().At(first)}}))
	if err != nil {
		return fmt.Errorf("make a consumer: %w", err)
	}
	defer client.Close()
	for last := first - 1; last < end-1; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("read partition %d from offset %d: %w", part, last+1, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			last = r.Offset
			if !r.Attrs.IsControl() && !ours[string(r.Value)] {
				err = fmt.Errorf("offset %d of partition %d holds a foreign record: does another producer write there?", r.Offset, part)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// settled waits until the markers of all transactions that have ended are in the log, and takes note of those that are there twice.
// A broker that is killed before loses them: Kafka 4.4 takes partitions that have no leader yet after its start for deleted, and
// skips their markers. The caller holds turn, or runs the producer.
func (p *producer) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ends, err := p.stable(ctx, p.produced())
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pattern.move(ends)
	return nil
}

// stable waits until no transaction is open and everything of the pattern is there, and gives the ends of the partitions.
func (p *producer) stable(ctx context.Context, pattern Pattern) ([]int64, error) {
	for {
		ends, err := p.ends(ctx, pattern, readUncommitted)
		if err == nil {
			var committed []int64
			committed, err = p.ends(ctx, pattern, readCommitted)
			for part := range ends {
				if err == nil && (committed[part] < ends[part] || ends[part] < pattern.End(int32(part))) {
					err = fmt.Errorf("partition %d is stable up to %d of %d", part, committed[part], max(ends[part], pattern.End(int32(part))))
				}
			}
		}
		if err == nil {
			return ends, nil
		}
		if serr := retry.Sleep(ctx, 50*time.Millisecond); serr != nil {
			return nil, fmt.Errorf("wait for the markers: %w", errors.Join(serr, err))
		}
	}
}

// Isolation levels of the protocol.
const (
	readUncommitted int8 = iota
	readCommitted
)

// ends are the offsets behind the last one that a reader sees, by partition.
func (p *producer) ends(ctx context.Context, pattern Pattern, isolation int8) ([]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, isolation
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = pattern.Topic
	for part := range pattern.Partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.CurrentLeaderEpoch, one.Timestamp = part, -1, -1
		topic.Partitions = append(topic.Partitions, one)
	}
	req.Topics = append(req.Topics, topic)
	out, answers := make([]int64, pattern.Partitions), 0
	for _, shard := range p.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, one := range t.Partitions {
				if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
					return nil, err
				}
				out[one.Partition], answers = one.Offset, answers+1
			}
		}
	}
	if answers != len(out) {
		return nil, fmt.Errorf("%d of %d partitions answered", answers, len(out))
	}
	return out, nil
}
