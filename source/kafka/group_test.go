package kafka_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/sourcetest"
)

// owners checks that no partition has two owners at once, and remembers where each ended: the place of a table.
type owners struct {
	mu   sync.Mutex
	who  map[source.Partition]string
	next map[source.Partition]source.Position
	got  map[source.Partition]int
}

// member makes a source and a recorder that open where the last owner ended.
func (o *owners) member(t *testing.T, k *kafkatest.Cluster, name string, topics ...string) (source.Source, *sourcetest.Recorder) {
	return o.memberOn(t, newSource(t, config(k, topics...)), name)
}

func (o *owners) memberOn(t *testing.T, src source.Source, name string) (source.Source, *sourcetest.Recorder) {
	rec := sourcetest.NewRecorder(t, src)
	rec.OnAssigned = func(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		at := map[source.Partition]source.Position{}
		for _, p := range ps {
			if other := o.who[p]; other != "" {
				t.Errorf("%s is assigned to %s while %s owns it", p, name, other)
			}
			o.who[p] = name
			at[p] = o.next[p]
		}
		return at, nil
	}
	rec.OnDeliver = func(_ context.Context, b *source.Batch) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		p := b.Range.Partition
		if o.who[p] != name {
			t.Errorf("%s delivers %s, which %q owns", name, b.Range, o.who[p])
		}
		o.next[p] = b.Range.To
		o.got[p] += len(b.Records)
		return nil
	}
	rec.OnRevoked = func(_ context.Context, ps []source.Partition) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, p := range ps {
			delete(o.who, p)
		}
	}
	return src, rec
}

func newOwners() *owners {
	return &owners{who: map[source.Partition]string{}, next: map[source.Partition]source.Position{}, got: map[source.Partition]int{}}
}

func (o *owners) total() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, c := range o.got {
		n += c
	}
	return n
}

func TestTwoMembersShareThePartitions(t *testing.T) {
	t.Parallel() // it waits most of the time
	k := kafkatest.Start(t, kafkatest.Options{Brokers: 2})
	k.CreateTopic("topic", 4)
	for id := range int32(4) {
		k.Produce("topic", id, kafkatest.Values(0, 50)...)
	}
	o := newOwners()
	srcA, recA := o.member(t, k, "a", "topic")
	srcB, recB := o.member(t, k, "b", "topic")
	a := sourcetest.Go(t, srcA, recA)
	recA.WaitOwned(4)
	b := sourcetest.Go(t, srcB, recB)
	recB.WaitOwned(2)
	recA.WaitOwned(2)
	for id := range int32(4) {
		k.Produce("topic", id, kafkatest.Values(50, 50)...)
	}
	wait := func(rec *sourcetest.Recorder) {
		rec.Wait("all records", func() bool { return o.total() == 400 })
	}
	for _, p := range recA.Owned() {
		recA.WaitPosition("topic", p.ID, 100)
	}
	for _, p := range recB.Owned() {
		recB.WaitPosition("topic", p.ID, 100)
	}
	wait(recA)
	b.MustStop()
	recA.WaitOwned(4)
	for id := range int32(4) {
		k.Produce("topic", id, kafkatest.Values(100, 1)...)
		recA.WaitPosition("topic", id, 101)
	}
	a.MustStop()
	if n := o.total(); n != 404 {
		t.Errorf("%d records in all; 404 were expected", n)
	}
}

func TestSlowRevokedKeepsTheMembership(t *testing.T) {
	t.Parallel() // it waits most of the time
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	o := newOwners()
	cfg := config(k, "topic")
	cfg.SessionTimeout, cfg.HeartbeatInterval = time.Second, 50*time.Millisecond
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	// Revoked takes many heartbeats, longer than the session: they are counted, not slept for.
	beats := make(chan struct{}, 1000)
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Count: -1, Observe: true, When: func(kmsg.Request) bool {
		select {
		case beats <- struct{}{}:
		default:
		}
		return true
	}})
	var lost atomic.Bool
	rec.OnRevoked = func(ctx context.Context, ps []source.Partition) {
		for len(beats) > 0 {
			<-beats
		}
		for range 30 {
			select {
			case <-beats:
			case <-ctx.Done():
				lost.Store(true)
				return
			}
		}
		src.Ack(ctx, []source.Range{{Partition: ps[0], From: 0, To: 1}})
	}
	a := sourcetest.Go(t, src, rec)
	rec.WaitOwned(2)
	srcB, recB := o.member(t, k, "b", "topic")
	b := sourcetest.Go(t, srcB, recB)
	recB.WaitOwned(1)
	rec.WaitOwned(1)
	if lost.Load() {
		t.Error("the member was thrown out while Revoked ran")
	}
	offsets := committed(t, k)
	if len(offsets) != 1 {
		t.Errorf("committed are %v; the ack from inside Revoked was expected", offsets)
	}
	b.MustStop()
	a.MustStop()
}

// committed gives the group's offsets by "topic/partition".
func committed(t *testing.T, k *kafkatest.Cluster) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = "group"
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "group"
	req.Groups = append(req.Groups, g)
	res, err := req.RequestWith(t.Context(), k.Client())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range res.Groups {
		for _, topic := range g.Topics {
			for _, p := range topic.Partitions {
				out[fmt.Sprintf("%s/%d", topic.Topic, p.Partition)] = p.Offset
			}
		}
	}
	return out
}

func TestAcksMoveTheGroup(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	k.Produce("topic", 0, kafkatest.Values(0, 10)...)
	commits := make(chan struct{}, 100)
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Count: -1, Observe: true, When: func(kmsg.Request) bool {
		commits <- struct{}{}
		return true
	}})
	src := newSource(t, config(k, "topic"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitRecords("topic", 0, 10)
	p := rec.Find("topic", 0)
	src.Ack(t.Context(), []source.Range{{Partition: p, From: 0, To: 4}})
	<-commits
	src.Ack(t.Context(), []source.Range{{Partition: p, From: 0, To: 2}}) // behind: nothing
	src.Ack(t.Context(), []source.Range{{Partition: p, From: 4, To: 7}}) // flushed at the end, if not before
	r.MustStop()
	if got := committed(t, k); got["topic/0"] != 7 || len(got) != 1 {
		t.Errorf("committed are %v; topic/0 at 7 was expected", got)
	}
	src.Ack(t.Context(), []source.Range{{Partition: p, From: 7, To: 10}})
	if got := committed(t, k); got["topic/0"] != 7 {
		t.Errorf("an ack after the run moved the group to %d", got["topic/0"])
	}
}
