package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// broker is the in-process Kafka broker.
type broker struct {
	cluster *kfake.Cluster
	addr    string
}

// startBroker starts the broker on dir, on port if that is free and otherwise on any. A port that stays the same lets
// the floe.yaml of the run before go on working.
func startBroker(dir string, port int) (*broker, error) {
	cluster, err := newCluster(dir, port)
	if err != nil && port != 0 {
		cluster, err = newCluster(dir, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("start the in-process broker on %s: %w", dir, err)
	}
	b := &broker{cluster: cluster, addr: cluster.ListenAddrs()[0]}
	if cluster.TopicInfo(Topic) == nil {
		// The broker was killed in its very first moment, between two of its files: nothing was produced yet.
		if err := cluster.CreateTopic(Topic, Partitions, nil); err != nil {
			cluster.Close()
			return nil, fmt.Errorf("create the topic %s: %w", Topic, err)
		}
	}
	if got := len(cluster.PartitionInfos(Topic)); got != Partitions {
		cluster.Close()
		return nil, fmt.Errorf("the topic %s in %s has %d partitions and not %d: remove the folder and start again", Topic, dir, got, Partitions)
	}
	return b, nil
}

func newCluster(dir string, port int) (*kfake.Cluster, error) {
	return kfake.NewCluster(
		kfake.Ports(port),
		kfake.DataDir(dir),
		// A folder that was used before keeps the id it has.
		kfake.ClusterID("floe-demo-"+uuid.NewString()),
		kfake.SeedTopics(Partitions, Topic),
	)
}

func (b *broker) close() { b.cluster.Close() }

// ends gives each partition's end offset.
func (b *broker) ends() [Partitions]int64 {
	var out [Partitions]int64
	for _, p := range b.cluster.PartitionInfos(Topic) {
		out[p.Partition] = p.HighWatermark
	}
	return out
}

// held is the number of events the broker holds.
func (b *broker) held() int64 {
	var n int64
	for _, end := range b.ends() {
		n += end
	}
	return n
}

// produce appends the events that are missing until the broker holds n, and gives how many it appended. progress is
// told now and then how many the broker holds. A partition that holds more already is left as it is.
func (b *broker) produce(ctx context.Context, n int64, progress func(held int64)) (int64, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(b.addr),
		kgo.DefaultProduceTopic(Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.MaxBufferedRecords(50_000),
		kgo.DisableClientMetrics(),
		kgo.ClientID("floe-demo"),
	)
	if err != nil {
		return 0, fmt.Errorf("make the producer: %w", err)
	}
	defer client.Close()
	ends := b.ends()
	held := b.held()
	start := held
	failed := &firstError{}
	promise := func(_ *kgo.Record, err error) { failed.set(err) }
	var buf []byte
	for wrote := true; wrote; {
		wrote = false
		for p := range int32(Partitions) {
			stop := min(ends[p]+turn, perPartition(n, p))
			for ; ends[p] < stop; ends[p]++ {
				buf = EventAt(p, ends[p]).AppendJSON(buf[:0])
				value := make([]byte, len(buf))
				copy(value, buf)
				client.Produce(ctx, &kgo.Record{Partition: p, Value: value}, promise)
				held++
				wrote = true
			}
		}
		if err := failed.get(); err != nil {
			return held - start, produceError(err)
		}
		progress(held)
	}
	if err := client.Flush(ctx); err != nil {
		return held - start, produceError(err)
	}
	return held - start, produceError(failed.get())
}

// turn is how many events a partition gets before the next has its turn.
const turn = 512

func produceError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("produce events to the in-process broker: %w", err)
}

// port is the one the broker listens on.
func (b *broker) port() int {
	var port int
	_, after, _ := strings.Cut(b.addr, ":")
	_, _ = fmt.Sscanf(after, "%d", &port)
	return port
}
