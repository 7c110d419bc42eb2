package harness_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/topology"
)

const group = "floe-orders"

// onKafka is a world whose log is mirrored into a topic of a Kafka cluster, record by record at the same offsets. What the
// log leaves out becomes transactions that were aborted: a record and a marker.
type onKafka struct {
	*harness.World
	t    *testing.T
	k    *kafkatest.Cluster
	next map[source.Partition]source.Position
	txns int
	// bell rings when something has happened that a test may wait for: the table has changed, a message has come along a
	// replica's link, a replica has written a line into its log.
	bell bell
}

// bell wakes everyone who waits. The zero value is one; any goroutine.
type bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// Write rings for a line of a log.
func (b *bell) Write(line []byte) (int, error) {
	b.ring()
	return len(line), nil
}

// until waits until cond holds, which is asked again whenever the bell has rung. What cond looks at may change a little after
// the ring that belongs to it; members of a group that live beat, so that there is always a next one. It has patience: on a
// machine that is busy with other things, members of a group lose each other again and again.
func (o *onKafka) until(what string, cond func() bool) {
	o.t.Helper()
	limit := time.NewTimer(3 * time.Minute)
	defer limit.Stop()
	for {
		rung := o.bell.next()
		if cond() {
			return
		}
		select {
		case <-rung:
		case <-limit.C:
			at, err := o.Positions("orders")
			o.t.Fatalf("waited in vain: %s; the table stands at %v (%v), the log ends at %v", what, at, err, o.ends())
		}
	}
}

func newOnKafka(t *testing.T, partitions, brokers int) *onKafka {
	t.Helper()
	o := &onKafka{World: harness.New(t, harness.Shape{Partitions: partitions}), t: t,
		k: kafkatest.Start(t, kafkatest.Options{Brokers: brokers}), next: map[source.Partition]source.Position{}}
	o.Catalog.OnChange(o.bell.ring)
	o.k.CreateTopic(harness.Topic, int32(partitions))
	for _, b := range o.Log.Bounds() {
		o.next[b.Partition] = 0
	}
	return o
}

// produce adds n records over all partitions.
func (o *onKafka) produce(n int) {
	o.t.Helper()
	o.Produce(n)
	r := &replay{at: o.next, deliver: func(b *source.Batch) error {
		o.mirror(b)
		return nil
	}}
	if err := r.run(o.t.Context(), o.Log); err != nil {
		o.t.Fatal(err)
	}
}

func (o *onKafka) mirror(b *source.Batch) {
	id, at := b.Range.Partition.ID, o.next[b.Range.Partition]
	var run []*kgo.Record
	flush := func() {
		if len(run) == 0 {
			return
		}
		if off, want := o.k.Produce(harness.Topic, id, run...), int64(at)-int64(len(run)); off != want {
			o.t.Errorf("partition %d: offset %d instead of %d", id, off, want)
		}
		run = nil
	}
	for _, rec := range b.Records {
		if at < rec.Position {
			flush()
			at = o.skip(id, at, rec.Position)
		}
		out := &kgo.Record{Timestamp: time.UnixMilli(rec.TimestampMs)}
		if rec.Value != nil {
			out.Value = append([]byte{}, rec.Value...)
		}
		run = append(run, out)
		at++
	}
	flush()
	o.next[b.Range.Partition] = o.skip(id, at, b.Range.To)
}

func (o *onKafka) skip(id int32, at, to source.Position) source.Position {
	for ; at < to; at += 2 {
		o.txns++
		o.k.Transaction(fmt.Sprintf("aborted-%d", o.txns), false, harness.Topic, id, &kgo.Record{Value: []byte("never seen")})
	}
	return at
}

// source makes a member of the group, with times that are short.
func (o *onKafka) source(link *kafkatest.Link, client string) *kafka.Source {
	o.t.Helper()
	cfg := kafka.Config{Brokers: o.k.Addrs(), Topics: []string{harness.Topic}, Group: group, ClientID: client,
		HeartbeatInterval: 50 * time.Millisecond, SessionTimeout: 4 * time.Second, RebalanceTimeout: 2 * time.Second,
		FetchMaxWait: 50 * time.Millisecond, MetadataInterval: 200 * time.Millisecond, CommitInterval: 20 * time.Millisecond,
		RequestTimeout: 2 * time.Second}
	if link != nil {
		cfg.Dial = link.Dial
		link.OnMessage(o.bell.ring)
	}
	s, err := kafka.New(cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

// replica is a topology that runs until it is stopped.
type replica struct {
	*topology.Topology
	link *kafkatest.Link
	stop func() error
}

func (o *onKafka) start(plan *fault.Plan, client string) *replica {
	o.t.Helper()
	r := &replica{link: kafkatest.NewLink(o.t)}
	cfg := o.ConfigOn(plan, o.source(r.link, client))
	cfg.Committer.EmptyInterval = 50 * time.Millisecond // positions that move without rows
	var log io.Writer = &o.bell
	if os.Getenv("FLOE_TEST_LOG") != "" {
		log = io.MultiWriter(os.Stderr, log)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil)).With("replica", client)
	r.Topology, r.stop = harness.Start(o.t, cfg)
	return r
}

// ends are the log's ends by partition.
func (o *onKafka) ends() map[int32]source.Position {
	ends := map[int32]source.Position{}
	for _, b := range o.Log.Bounds() {
		ends[b.Partition.ID] = b.Last
	}
	return ends
}

// atEnd says that the table has come to the log's ends.
func (o *onKafka) atEnd() bool {
	at, err := o.Positions("orders")
	ends := o.ends()
	if err != nil || len(at) != len(ends) {
		return false
	}
	for p, pos := range at {
		if pos < ends[p.ID] {
			return false
		}
	}
	return true
}

// untilAtEnd waits until the table holds everything.
func (o *onKafka) untilAtEnd(what string) {
	o.t.Helper()
	o.until(what, o.atEnd)
}

// check holds that the table has everything once, in every snapshot.
func (o *onKafka) check() {
	o.t.Helper()
	o.CheckOf(o.t, "orders")
	at, err := o.Positions("orders")
	if err != nil {
		o.t.Fatal(err)
	}
	ends := o.ends()
	for p, pos := range at {
		if pos != ends[p.ID] {
			o.t.Errorf("%s: the table stands at %d, the topic ends at %d", p, pos, ends[p.ID])
		}
	}
	if len(at) != len(ends) {
		o.t.Errorf("%d partitions have positions; %d were expected", len(at), len(ends))
	}
}

// TestReplicasOnKafka runs two replicas in one group while records come, ends and kills them in turn, and lets the last one
// catch up.
func TestReplicasOnKafka(t *testing.T) {
	o := newOnKafka(t, 4, 1)
	r := o.start(nil, "0")
	for i := range 4 {
		o.produce(40)
		other := o.start(nil, fmt.Sprint(i+1))
		before := o.Catalog.Commits()
		o.produce(40)
		o.until("a commit", func() bool { return o.Catalog.Commits() > before })
		if i%2 == 0 {
			r.Kill()
		}
		if err := r.stop(); err != nil && i%2 != 0 {
			t.Fatal(err)
		}
		r = other
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	o.produce(10)
	o.CatchUp(t, o.ConfigOn(nil, o.source(nil, "last")))
	o.check()
}

// stopAll ends replicas and fails the test where one gives an error.
func stopAll(t *testing.T, rs ...*replica) {
	t.Helper()
	var errs []error
	for _, r := range rs {
		errs = append(errs, r.stop())
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
