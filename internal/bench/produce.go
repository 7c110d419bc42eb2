package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/internal/retry"
)

// Job is what the child is told to do: the records of a topic.
type Job struct {
	// Brokers are those of a real cluster. Empty: the child is the broker.
	Brokers []string `json:"brokers,omitempty"`
	Topic   string   `json:"topic"`
	// Produced says that the records are in the topic already.
	Produced    bool   `json:"produced,omitempty"`
	Workload    string `json:"workload"`
	Seed        uint64 `json:"seed"`
	Records     int64  `json:"records"`
	RecordBytes int    `json:"record_bytes,omitempty"`
	Partitions  int    `json:"partitions"`
	Codec       string `json:"codec"`
	// Rate is how many records a second are produced, from when the child is ready on, until it ends; 0 is all of them
	// before. What is older than Keep is deleted then.
	Rate float64       `json:"rate,omitempty"`
	Keep time.Duration `json:"keep,omitempty"`
}

// producer writes the batches of a job, each to the partition that it belongs to.
type producer struct {
	job    Job
	client *kgo.Client
	topic  kmsg.MetadataResponseTopic
	// done and bytes are the records so far and their values' size; ends is each partition's end.
	done, bytes atomic.Int64
	ends        []atomic.Int64
}

// produceTimeout bounds one request to a broker.
const produceTimeout = 30 * time.Second

func newProducer(ctx context.Context, j Job) (*producer, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(j.Brokers...), kgo.DisableClientMetrics(), kgo.ClientID("floe-bench"),
		kgo.RequestTimeoutOverhead(produceTimeout), kgo.BrokerMaxWriteBytes(100<<20))
	if err != nil {
		return nil, fmt.Errorf("make the producer: %w", err)
	}
	p := &producer{job: j, client: cl, ends: make([]atomic.Int64, j.Partitions)}
	if err := p.prepare(ctx); err != nil {
		cl.Close()
		return nil, err
	}
	return p, nil
}

// prepare makes the topic, or looks at the one that is there.
func (p *producer) prepare(ctx context.Context) error {
	if !p.job.Produced {
		if err := p.createTopic(ctx); err != nil {
			return fmt.Errorf("make the topic %s: %w", p.job.Topic, err)
		}
	}
	for {
		err := p.lookUp(ctx)
		var told *kerr.Error
		if err == nil || !errors.As(err, &told) || !told.Retriable || p.job.Produced {
			return err
		}
		// A topic that was just made has no leaders for a moment.
		if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (p *producer) createTopic(ctx context.Context) error {
	req, t := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = p.job.Topic, int32(p.job.Partitions), 1
	config := func(name string, value int) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, kmsg.StringPtr(fmt.Sprint(value))
		t.Configs = append(t.Configs, c)
	}
	// A record of the largest size stays below it, whatever the codec makes of it.
	config("max.message.bytes", 4*MaxRecordBytes)
	if p.job.Rate > 0 {
		config("segment.bytes", 16<<20) // what is deleted goes by segments
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("it exists; name another, or say --produced where an earlier bench with the same flags has filled it")
	}
	return err
}

// lookUp finds the topic's id and leaders.
func (p *producer) lookUp(ctx context.Context) error {
	req, t := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(p.job.Topic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return fmt.Errorf("look up the topic %s: %w", p.job.Topic, err)
	}
	p.topic = resp.Topics[0]
	slices.SortFunc(p.topic.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
	if err := kerr.ErrorForCode(p.topic.ErrorCode); err != nil {
		return fmt.Errorf("look up the topic %s: %w", p.job.Topic, err)
	}
	if n := len(p.topic.Partitions); n != p.job.Partitions {
		return fmt.Errorf("the topic %s has %d partitions and not %d; say so with --partitions", p.job.Topic, n, p.job.Partitions)
	}
	for _, part := range p.topic.Partitions {
		if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
			return fmt.Errorf("look up partition %d of the topic %s: %w", part.Partition, p.job.Topic, err)
		}
	}
	return nil
}

// producers is how many goroutines pack and send. Each has partitions of its own, so that a partition's order is always
// the same.
const producers = 4

// run makes all records and, unless they are there, sends them.
func (p *producer) run(ctx context.Context) error {
	if p.job.Produced {
		if err := p.count(ctx); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for w := range min(producers, p.job.Partitions) {
		g.Go(func() error { return p.work(ctx, w) })
	}
	return g.Wait()
}

// work does every batch whose partition is the worker's.
func (p *producer) work(ctx context.Context, worker int) error {
	pack, err := newPacker(p.job)
	if err != nil {
		return err
	}
	workers, began := min(producers, p.job.Partitions), time.Now()
	for b := int64(0); b*pack.per < p.job.Records; b++ {
		part := int(b % int64(p.job.Partitions))
		if part%workers != worker {
			continue
		}
		if err := p.pace(ctx, began, b*pack.per); err != nil {
			return err
		}
		var n int32
		var size int64
		if p.job.Produced {
			n, size = pack.fill(b, p.job.Records)
			err = ctx.Err()
		} else {
			var wire []byte
			wire, n, size = pack.pack(b, p.job.Records)
			err = p.send(ctx, p.topic.Partitions[part], wire)
		}
		if err != nil {
			return err
		}
		p.done.Add(int64(n))
		p.bytes.Add(size)
		p.ends[part].Add(int64(n))
	}
	return nil
}

// pace waits until it is time for record i.
func (p *producer) pace(ctx context.Context, began time.Time, i int64) error {
	if p.job.Rate == 0 {
		return nil
	}
	due := time.Duration(float64(i) / p.job.Rate * float64(time.Second))
	if wait := due - time.Since(began); wait > 0 {
		return retry.Sleep(ctx, wait)
	}
	return ctx.Err()
}

// send produces one batch. It is not tried again: without the answer nobody knows whether it is there.
func (p *producer) send(ctx context.Context, to kmsg.MetadataResponseTopicPartition, wire []byte) error {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, int32(produceTimeout.Milliseconds())
	t, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	t.Topic, t.TopicID = p.job.Topic, p.topic.TopicID
	part.Partition, part.Records = to.Partition, wire
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := p.client.Broker(int(to.Leader)).Request(ctx, req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("produce to %s/%d: %w", p.job.Topic, to.Partition, err)
	}
	return nil
}

// count refuses a topic that does not hold as many records as there should be.
func (p *producer) count(ctx context.Context) error {
	var held int64
	for _, part := range p.topic.Partitions {
		for _, at := range []struct{ stamp, sign int64 }{{-1, 1}, {-2, -1}} { // the end, the start
			n, err := p.offset(ctx, part, at.stamp)
			if err != nil {
				return fmt.Errorf("ask for the offsets of %s/%d: %w", p.job.Topic, part.Partition, err)
			}
			held += at.sign * n
		}
	}
	if held != p.job.Records {
		return fmt.Errorf("the topic %s holds %d records and not %d: give the flags it was filled with", p.job.Topic, held, p.job.Records)
	}
	return nil
}

func (p *producer) offset(ctx context.Context, of kmsg.MetadataResponseTopicPartition, stamp int64) (int64, error) {
	req, t, part := kmsg.NewPtrListOffsetsRequest(), kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.Timestamp, part.CurrentLeaderEpoch = of.Partition, stamp, -1
	t.Topic, t.Partitions = p.job.Topic, append(t.Partitions, part)
	req.ReplicaID, req.Topics = -1, append(req.Topics, t)
	resp, err := p.client.Broker(int(of.Leader)).RetriableRequest(ctx, req)
	if err != nil {
		return 0, err
	}
	got := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	return got.Offset, kerr.ErrorForCode(got.ErrorCode)
}
