package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/retry"
)

// producer fills a topic by its pattern. Run is called once; the other methods from any goroutine.
type producer struct {
	pattern Pattern
	client  *kgo.Client
	// pause is the time between two transactions.
	pause time.Duration
	ended atomic.Int64
	// turn is held while a transaction is on its way: who holds it keeps the producer still.
	turn sync.Mutex
}

// callTimeout bounds one call to the broker, a transaction among them.
const callTimeout = time.Minute

// newProducer makes the topic and a producer for it.
func newProducer(ctx context.Context, brokers []string, p Pattern, pause time.Duration) (*producer, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ClientID("proof"), kgo.TransactionalID("proof-"+p.Topic),
		kgo.DefaultProduceTopic(p.Topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.DisableClientMetrics())
	if err != nil {
		return nil, fmt.Errorf("make the producer: %w", err)
	}
	if err := createTopic(ctx, client, p.Topic, p.Partitions); err != nil {
		client.Close()
		return nil, err
	}
	return &producer{pattern: p, client: client, pause: pause}, nil
}

func createTopic(ctx context.Context, client *kgo.Client, name string, partitions int32) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, -1 // what the broker says
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err == nil && len(resp.Topics) == 1 {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("make the topic %s: %w; it must be new", name, err)
	}
	return nil
}

// run produces transaction by transaction until stop is closed or limit of them (0: no limit) have ended. The end of ctx
// is an error: a transaction that was cut short is in no pattern.
func (p *producer) run(ctx context.Context, stop <-chan struct{}, limit int64) error {
	for txn := int64(0); limit == 0 || txn < limit; txn++ {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := p.transaction(ctx, txn); err != nil {
			return fmt.Errorf("produce transaction %d to %s: %w", txn, p.pattern.Topic, err)
		}
		p.ended.Store(txn + 1)
		if err := retry.Sleep(ctx, p.pause); err != nil {
			return err
		}
	}
	return nil
}

func (p *producer) transaction(ctx context.Context, txn int64) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := p.client.BeginTransaction(); err != nil {
		return err
	}
	var recs []*kgo.Record
	first := p.pattern.first(txn)
	for part := range p.pattern.Partitions {
		for off := first; off < first+p.pattern.Records; off++ {
			recs = append(recs, &kgo.Record{Partition: part, Value: p.pattern.Value(part, off)})
		}
	}
	if err := p.client.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		return err
	}
	for i, r := range recs {
		if want := first + int64(i)%p.pattern.Records; r.Offset != want {
			return fmt.Errorf("a record went to offset %d of partition %d and not to %d: does another producer write there?", r.Offset,
				r.Partition, want)
		}
	}
	return p.client.EndTransaction(ctx, kgo.TransactionEndTry(!p.pattern.aborted(txn)))
}

// settled waits until the markers of all transactions that have ended are in the log. A broker that is killed before loses them:
// Kafka 4.4 takes partitions that have no leader yet after its start for deleted, and skips their markers.
func (p *producer) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	want := p.pattern.first(p.ended.Load())
	for {
		have, err := p.stable(ctx)
		if err == nil && have >= want {
			return nil
		}
		if serr := retry.Sleep(ctx, 50*time.Millisecond); serr != nil {
			return fmt.Errorf("wait for the markers: a partition is stable up to %d of %d: %w", have, want, errors.Join(serr, err))
		}
	}
}

// stable is the least last stable offset of the topic's partitions.
func (p *producer) stable(ctx context.Context) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = p.pattern.Topic
	for part := range p.pattern.Partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.CurrentLeaderEpoch, one.Timestamp = part, -1, -1
		topic.Partitions = append(topic.Partitions, one)
	}
	req.Topics = append(req.Topics, topic)
	least, answers := int64(math.MaxInt64), 0
	for _, shard := range p.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return 0, shard.Err
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, one := range t.Partitions {
				if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
					return 0, err
				}
				least, answers = min(least, one.Offset), answers+1
			}
		}
	}
	if answers != int(p.pattern.Partitions) {
		return 0, fmt.Errorf("%d of %d partitions answered", answers, p.pattern.Partitions)
	}
	return least, nil
}

// produced is the pattern with what has ended by now.
func (p *producer) produced() Pattern {
	out := p.pattern
	out.Transactions = p.ended.Load()
	return out
}

// atMost is the pattern with everything that a reader can have seen by now: the transaction that is about to end may have
// become visible before the producer heard of it.
func (p *producer) atMost() Pattern {
	out := p.produced()
	out.Transactions++
	return out
}

func (p *producer) close() { p.client.Close() }

// produceCommand is `proof produce`.
func produceCommand(ctx context.Context, c *call) error {
	var p Pattern
	var limit int64
	fs := c.flags("produce", "produces records that can be computed from partition and offset into a new topic, and writes down by which pattern")
	brokers := fs.String("brokers", "", "addresses of the brokers, with commas between them")
	fs.StringVar(&p.Topic, "topic", "", "the topic; it must not exist")
	patternFlags(fs, &p)
	fs.Int64Var(&limit, "transactions", 100, "how many transactions")
	pause := fs.Duration("pause", 0, "between two transactions")
	out := fs.String("truth", "truth.json", "where the pattern is written, for check")
	if rest, err := c.parse(fs); err != nil {
		return err
	} else if len(rest) > 0 || *brokers == "" || limit < 1 {
		return usage("produce: give --brokers, --topic and at least one transaction, and no arguments")
	}
	prod, err := newProducer(ctx, splitList(*brokers), p, *pause)
	if err != nil {
		return err
	}
	defer prod.close()
	err = prod.run(ctx, nil, limit)
	done := prod.produced()
	err = errors.Join(err, done.save(*out))
	c.printf("%d transactions, %d rows and %d rejects to come of them; the pattern is in %s\n", done.Transactions, done.count(proof.Row),
		done.count(proof.Rejected), *out)
	return err
}
