package kafka_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/internal/services"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/source/sourcetest"
)

// TestConformanceOnARealBroker runs the suite against the brokers in FLOE_TEST_KAFKA (host:port, comma separated).
func TestConformanceOnARealBroker(t *testing.T) {
	brokers := strings.Split(services.Address(t, "FLOE_TEST_KAFKA"), ",")
	var topics atomic.Int64
	sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
		r := &realBroker{brokers: brokers, topic: fmt.Sprintf("floe-test-%d-%d", time.Now().UnixNano(), topics.Add(1))}
		r.client = r.connect(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
		r.create(t)
		return sourcetest.Fixture{
			Topic: r.topic,
			New:   r.source, Append: r.append, Skip: r.abort, Truncate: r.truncate,
			Leaks: []goleak.Option{goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kgo.(*Client).updateMetadataLoop")},
		}
	})
}

type realBroker struct {
	brokers []string
	topic   string
	client  *kgo.Client
	txns    atomic.Int64
}

func (r *realBroker) connect(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.brokers...), kgo.DefaultProduceTopic(r.topic)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func (r *realBroker) create(t *testing.T) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = r.topic, 2, 1
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(t.Context(), r.client)
	if err == nil {
		err = kerr.ErrorForCode(res.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("create %s: %v", r.topic, err)
	}
}

func (r *realBroker) source(t *testing.T) source.Source {
	return newSource(t, kafka.Config{Brokers: r.brokers, Topics: []string{r.topic}, Group: r.topic,
		FetchMaxWait: 100 * time.Millisecond, HeartbeatInterval: 500 * time.Millisecond, CommitInterval: 10 * time.Millisecond})
}

func (r *realBroker) append(t *testing.T, id int32, from, n int) { r.produce(t, r.client, id, from, n) }

func (r *realBroker) produce(t *testing.T, cl *kgo.Client, id int32, from, n int) {
	rs := kafkatest.Values(from, n)
	for _, rec := range rs {
		rec.Partition = id
	}
	if err := cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		t.Errorf("produce: %v", err)
	}
}

// abort leaves aborted records and a marker in the partition.
func (r *realBroker) abort(t *testing.T, id int32) {
	cl := r.connect(t, kgo.TransactionalID(fmt.Sprintf("%s-%d", r.topic, r.txns.Add(1))), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	r.produce(t, cl, id, 1000, 3)
	if err := cl.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

func (r *realBroker) truncate(t *testing.T, id int32, first source.Position) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = r.topic
	rt.Partitions = []kmsg.DeleteRecordsRequestTopicPartition{{Partition: id, Offset: int64(first)}}
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(context.Background(), r.client)
	if err == nil {
		err = kerr.ErrorForCode(res.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("delete records: %v", err)
	}
}
