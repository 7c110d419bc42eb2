package kafkatest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options of a cluster. The zero value is one broker.
type Options struct {
	// Brokers is their number; default 1.
	Brokers int
	// More is handed to kfake.
	More []kfake.Opt
}

// Cluster is a running in-process Kafka. It ends with the test.
type Cluster struct {
	*kfake.Cluster
	t testing.TB
	// client writes to the partition that a record names.
	client *kgo.Client
}

// Start runs a cluster until the test ends.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	opts := []kfake.Opt{kfake.NumBrokers(o.Brokers), kfake.GroupMinSessionTimeout(100 * time.Millisecond)}
	fake, err := kfake.NewCluster(append(opts, o.More...)...)
	if err != nil {
		t.Fatalf("start kfake: %v", err)
	}
	k := &Cluster{Cluster: fake, t: t}
	t.Cleanup(func() {
		if k.client != nil {
			k.client.Close()
		}
		fake.Close()
	})
	return k
}

// Addrs are the brokers' addresses.
func (k *Cluster) Addrs() []string { return k.ListenAddrs() }

// Client makes another client of the cluster, which ends with the test.
func (k *Cluster) Client(opts ...kgo.Opt) *kgo.Client {
	k.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		k.t.Fatalf("make a client: %v", err)
	}
	k.t.Cleanup(cl.Close)
	return cl
}

// CreateTopic makes a topic.
func (k *Cluster) CreateTopic(name string, partitions int32) {
	k.t.Helper()
	if err := k.Cluster.CreateTopic(name, partitions, nil); err != nil {
		k.t.Fatalf("create topic %s: %v", name, err)
	}
}

// DeleteTopic deletes a topic.
func (k *Cluster) DeleteTopic(name string) {
	k.t.Helper()
	if err := k.Cluster.DeleteTopic(name); err != nil {
		k.t.Fatalf("delete topic %s: %v", name, err)
	}
}

// DeleteRecords moves the start of a partition's log.
func (k *Cluster) DeleteRecords(topic string, partition int32, first int64) {
	k.t.Helper()
	if err := k.Cluster.DeleteRecords(topic, partition, first); err != nil {
		k.t.Fatalf("delete records of %s/%d: %v", topic, partition, err)
	}
}

// Produce writes records to a partition with the default settings and gives the offset of the first.
func (k *Cluster) Produce(topic string, partition int32, records ...*kgo.Record) int64 {
	k.t.Helper()
	if k.client == nil {
		k.client = k.Client()
	}
	return k.ProduceWith(k.client, topic, partition, records...)
}

// ProduceWith writes through a client of the caller's.
func (k *Cluster) ProduceWith(cl *kgo.Client, topic string, partition int32, records ...*kgo.Record) int64 {
	k.t.Helper()
	for _, r := range records {
		r.Topic, r.Partition = topic, partition
	}
	if err := cl.ProduceSync(k.context(), records...).FirstErr(); err != nil {
		k.t.Fatalf("produce to %s/%d: %v", topic, partition, err)
	}
	if len(records) == 0 {
		return -1
	}
	return records[0].Offset
}

// Transaction writes records to a partition in one transaction and commits or aborts it; a marker follows the records.
func (k *Cluster) Transaction(id string, commit bool, topic string, partition int32, records ...*kgo.Record) {
	k.t.Helper()
	cl := k.Client(kgo.TransactionalID(id))
	if err := cl.BeginTransaction(); err != nil {
		k.t.Fatalf("begin transaction: %v", err)
	}
	k.ProduceWith(cl, topic, partition, records...)
	if err := cl.EndTransaction(k.context(), kgo.TransactionEndTry(commit)); err != nil {
		k.t.Fatalf("end transaction: %v", err)
	}
}

// context bounds what one call may take.
func (k *Cluster) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	k.t.Cleanup(cancel)
	return ctx
}

// Values makes n records with the values "v<from>", "v<from+1>" and so on.
func Values(from, n int) []*kgo.Record {
	out := make([]*kgo.Record, n)
	for i := range out {
		out[i] = &kgo.Record{Value: fmt.Appendf(nil, "v%d", from+i)}
	}
	return out
}
