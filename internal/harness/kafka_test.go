package harness_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
)

// mirror brings what is new in the world's log to the same offsets of a Kafka topic. What the log leaves out becomes
// transactions that were aborted: a record and a marker.
type mirror struct {
	k    *kafkatest.Cluster
	next map[source.Partition]source.Position
	txns int
}

func (m *mirror) copy(t *testing.T, w *harness.World) {
	t.Helper()
	r := &replay{at: m.next, deliver: func(b *source.Batch) error {
		id := b.Range.Partition.ID
		at := m.next[b.Range.Partition]
		for _, rec := range b.Records {
			at = m.skip(id, at, rec.Position)
			out := &kgo.Record{Timestamp: time.UnixMilli(rec.TimestampMs)}
			if rec.Value != nil {
				out.Value = append([]byte{}, rec.Value...)
			}
			if off := m.k.Produce(harness.Topic, id, out); off != int64(rec.Position) {
				t.Errorf("partition %d: offset %d instead of %d", id, off, rec.Position)
			}
			at++
		}
		m.next[b.Range.Partition] = m.skip(id, at, b.Range.To)
		return nil
	}}
	if err := r.run(t.Context(), w.Log); err != nil {
		t.Fatal(err)
	}
}

func (m *mirror) skip(id int32, at, to source.Position) source.Position {
	for ; at < to; at += 2 {
		m.txns++
		m.k.Transaction(fmt.Sprintf("aborted-%d", m.txns), false, harness.Topic, id, &kgo.Record{Value: []byte("never seen")})
	}
	return at
}

// TestReplicasOnKafka runs two replicas in one group while records come, ends and kills them in turn, and lets the last one
// catch up.
func TestReplicasOnKafka(t *testing.T) {
	w := harness.New(t, harness.Shape{Partitions: 4})
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic(harness.Topic, 4)
	m := &mirror{k: k, next: map[source.Partition]source.Position{}}
	for _, b := range w.Log.Bounds() {
		m.next[b.Partition] = 0
	}
	src := func() *kafka.Source {
		s, err := kafka.New(kafka.Config{Brokers: k.Addrs(), Topics: []string{harness.Topic}, Group: "floe-orders",
			HeartbeatInterval: 50 * time.Millisecond, SessionTimeout: time.Second, RebalanceTimeout: 2 * time.Second,
			FetchMaxWait: 50 * time.Millisecond, MetadataInterval: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	top, stop := harness.Start(t, w.ConfigOn(nil, src()))
	for i := range 4 {
		w.Produce(40)
		m.copy(t, w)
		other, stopOther := harness.Start(t, w.ConfigOn(nil, src()))
		before := w.Catalog.Commits()
		w.Produce(40)
		m.copy(t, w)
		harness.Until(t, "a commit", func() bool { return w.Catalog.Commits() > before })
		if i%2 == 0 {
			top.Kill()
		}
		if err := stop(); err != nil && i%2 != 0 {
			t.Fatal(err)
		}
		top, stop = other, stopOther
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.Produce(10)
	m.copy(t, w)
	if err := w.Live(t, w.ConfigOn(nil, src()), fault.New(nil)); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.CheckOf(t, "orders")
	at, err := w.Positions("orders")
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int32]source.Position{}
	for _, b := range w.Log.Bounds() {
		ends[b.Partition.ID] = b.Last
	}
	for p, pos := range at {
		if pos != ends[p.ID] {
			t.Errorf("%s: the table stands at %d, the topic ends at %d", p, pos, ends[p.ID])
		}
	}
	if len(at) != 4 {
		t.Errorf("%d partitions have positions", len(at))
	}
}
