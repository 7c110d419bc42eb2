package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/retry"
)

// producer fills a topic by its pattern. Run is called once; the other methods from any goroutine.
type producer struct {
	brokers []string
	client  *kgo.Client
	// pause is the time between two transactions.
	pause time.Duration
	// turn is held while a transaction is on its way: who holds it keeps the producer still.
	turn sync.Mutex
	// mu guards the pattern of what has ended.
	mu      sync.Mutex
	pattern Pattern
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
	p.Transactions = 0
	return &producer{brokers: brokers, pattern: p, client: client, pause: pause}, nil
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
			return p.settled(ctx)
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := p.transaction(ctx, txn); err != nil {
			return fmt.Errorf("produce transaction %d to %s: %w", txn, p.produced().Topic, err)
		}
		if err := retry.Sleep(ctx, p.pause); err != nil {
			return err
		}
	}
	return p.settled(ctx)
}

func (p *producer) transaction(ctx context.Context, txn int64) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := p.client.BeginTransaction(); err != nil {
		return err
	}
	pattern := p.produced()
	var recs []*kgo.Record
	var want []int64
	for part := range pattern.Partitions {
		first := pattern.first(part, txn)
		for off := first; off < first+pattern.Records; off++ {
			recs = append(recs, &kgo.Record{Partition: part, Value: pattern.Value(part, off)})
			want = append(want, off)
		}
	}
	if err := p.client.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		return err
	}
	moved := !slices.EqualFunc(recs, want, func(r *kgo.Record, off int64) bool { return r.Offset == off })
	if err := p.client.EndTransaction(ctx, kgo.TransactionEndTry(!moved && !pattern.aborted(txn))); err != nil {
		return err
	}
	if moved {
		return p.spoiled(ctx, pattern, txn, recs)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pattern.Transactions = txn + 1
	return nil
}

// produced is the pattern with what has ended by now.
func (p *producer) produced() Pattern {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pattern
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
