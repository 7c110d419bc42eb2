package harness_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
)

// untilStopped waits until a replica has stopped partition id, and gives why.
func (o *onKafka) untilStopped(r *replica, id int32) (why string) {
	o.t.Helper()
	o.until(fmt.Sprintf("partition %d to be stopped", id), func() bool {
		for _, p := range r.Status().Partitions {
			if p.Partition == id && p.Stopped != "" {
				why = p.Stopped
				return true
			}
		}
		return false
	})
	return why
}

// untilPartitionAtEnd waits until the table holds all of partition id.
func (o *onKafka) untilPartitionAtEnd(id int32) {
	o.t.Helper()
	o.until(fmt.Sprintf("the rest of partition %d", id), func() bool { return o.position(id) == o.ends()[id] })
}

func (o *onKafka) position(id int32) source.Position {
	at, err := o.Positions("orders")
	if err != nil {
		return -1
	}
	for p, pos := range at {
		if p.ID == id {
			return pos
		}
	}
	return -1
}

func wantSaid(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there was no error; one with %q was expected", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %q; %q was expected in it", err, text)
		}
	}
}

// holdPartition makes the broker refuse fetches of a partition until the returned function is called.
func (o *onKafka) holdPartition(id int32) (release func()) {
	return o.k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: harness.Topic, Partitions: []int32{id},
		Err: kerr.NotLeaderForPartition, Count: -1}).Remove
}

// TestRetentionPassesThePosition moves the head of one partition's log past where the table stands, while floe runs, while it is down, and
// after it has read on without having committed.
func TestRetentionPassesThePosition(t *testing.T) {
	t.Run("while it runs", func(t *testing.T) {
		o := newOnKafka(t, 2, 1)
		r := o.start(nil, "a")
		o.produce(20)
		o.untilAtEnd("the first records")
		stood := o.position(0)
		release := o.holdPartition(0)
		o.produce(20)
		o.k.DeleteRecords(harness.Topic, 0, int64(stood)+3)
		release()
		o.untilStopped(r, 0)
		o.produce(10)
		o.untilPartitionAtEnd(1)
		wantSaid(t, r.stop(), "orders/0", fmt.Sprintf("wanted position %d", stood), "below the log's start", "floe positions set")
		o.CheckOf(t, "orders")
		if now := o.position(0); now != stood {
			t.Errorf("the table has moved from %d to %d", stood, now)
		}
	})
	t.Run("while it is down", func(t *testing.T) {
		o := newOnKafka(t, 2, 1)
		o.produce(20)
		o.CatchUp(t, o.ConfigOn(nil, o.source(nil, "a")))
		stood := o.position(0)
		o.produce(20)
		o.k.DeleteRecords(harness.Topic, 0, int64(stood)+3)
		err := o.Live(t, o.ConfigOn(nil, o.source(nil, "b")), fault.New(nil))
		wantSaid(t, err, "orders/0", fmt.Sprintf("wanted position %d", stood), "below the log's start")
		o.CheckOf(t, "orders")
		if now := o.position(0); now != stood {
			t.Errorf("the table has moved from %d to %d", stood, now)
		}
	})
	t.Run("behind what was read and is lost", func(t *testing.T) {
		o := newOnKafka(t, 2, 1)
		o.produce(20)
		o.CatchUp(t, o.ConfigOn(nil, o.source(nil, "a")))
		stood := o.position(0)
		reached, release, seen := make(chan struct{}), make(chan struct{}), false
		plan := fault.New(func(p fault.Point) fault.Action {
			data := strings.HasSuffix(p.Target, ".parquet")
			switch {
			case data && !seen && p.Op == fault.OpCreate && p.Phase == fault.Before:
				seen = true
				close(reached)
				return fault.Wait(release)
			case data && seen && p.Op == fault.OpClose && p.Phase == fault.Before && closed(reached):
				seen, reached = true, make(chan struct{}) // once
				return fault.Fail(fault.ErrInjected)
			}
			return fault.Continue
		})
		first := reached
		o.produce(20)
		r := o.start(plan, "b")
		<-first
		o.k.DeleteRecords(harness.Topic, 0, int64(o.ends()[0])-1)
		close(release)
		o.untilStopped(r, 0)
		o.untilPartitionAtEnd(1)
		wantSaid(t, r.stop(), "orders/0", fmt.Sprintf("wanted position %d", stood), "below the log's start")
		o.CheckOf(t, "orders")
	})
}

// makeAgain deletes the topic and makes it again, with other records at the same offsets.
func (o *onKafka) makeAgain() {
	o.t.Helper()
	o.k.DeleteTopic(harness.Topic)
	o.k.CreateTopic(harness.Topic, 2)
	cl := o.k.Client() // one that does not know the old id
	for id := range int32(2) {
		for off := range int64(60) {
			o.k.ProduceWith(cl, harness.Topic, id, &kgo.Record{Value: fmt.Appendf(nil,
				`{"part":%d,"off":%d,"region":"r0","payload":"of another incarnation"}`, id, off)})
		}
	}
}

// TestTopicMadeAgain deletes the topic and makes it again: no row of the new one may come behind those of the old one.
func TestTopicMadeAgain(t *testing.T) {
	t.Run("while it runs", func(t *testing.T) {
		o := newOnKafka(t, 2, 1)
		a := o.start(nil, "a")
		o.produce(20)
		o.untilAtEnd("the first records")
		o.makeAgain()
		for id := range int32(2) {
			o.untilStopped(a, id)
		}
		b := o.start(nil, "b")
		o.until("the other replica to stop a partition", func() bool {
			for _, p := range b.Status().Partitions {
				if p.Stopped != "" {
					return true
				}
			}
			return false
		})
		wantSaid(t, a.stop(), "another incarnation of the topic")
		wantSaid(t, b.stop(), "another incarnation of the topic")
		o.check()
	})
	t.Run("while it is down", func(t *testing.T) {
		o := newOnKafka(t, 2, 1)
		o.produce(20)
		o.CatchUp(t, o.ConfigOn(nil, o.source(nil, "a")))
		o.makeAgain()
		err := o.Live(t, o.ConfigOn(nil, o.source(nil, "b")), fault.New(nil))
		wantSaid(t, err, "another incarnation of the topic")
		o.check()
	})
}

// shorten makes partition 0's log look as if it ended at end: an unclean leader has lost what came behind.
func shorten(l *kafkatest.Link, end source.Position) {
	l.Rule(func(m kafkatest.Message) kafkatest.Fate {
		if !m.Answer || m.Key != kmsg.Fetch && m.Key != kmsg.ListOffsets {
			return kafkatest.Fate{}
		}
		return kafkatest.Fate{Edit: func(res kmsg.Response) {
			switch res := res.(type) {
			case *kmsg.FetchResponse:
				shortenFetch(m.Request.(*kmsg.FetchRequest), res, end)
			case *kmsg.ListOffsetsResponse:
				for _, topic := range res.Topics {
					for i := range topic.Partitions {
						if p := &topic.Partitions[i]; p.Partition == 0 {
							p.Offset = min(p.Offset, int64(end))
						}
					}
				}
			}
		}}
	})
}

func shortenFetch(req *kmsg.FetchRequest, res *kmsg.FetchResponse, end source.Position) {
	for i, topic := range res.Topics {
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			if p.Partition != 0 {
				continue
			}
			p.RecordBatches, p.HighWatermark, p.LastStableOffset = nil, int64(end), int64(end)
			for _, q := range req.Topics[i].Partitions {
				if q.Partition == 0 && q.FetchOffset > int64(end) {
					p.ErrorCode = kerr.OffsetOutOfRange.Code
				}
			}
		}
	}
}

// TestUncleanLeaderHasLess lets the log of one partition end below where the table stands: it is stopped, and nothing is
// read again.
func TestUncleanLeaderHasLess(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down=%v", down), func(t *testing.T) {
			o := newOnKafka(t, 2, 1)
			o.produce(30)
			a := o.start(nil, "a")
			o.untilAtEnd("the first records")
			stood := o.position(0)
			if down {
				stopAll(t, a)
				a = &replica{link: kafkatest.NewLink(t)}
				shorten(a.link, stood-5)
				a.Topology, a.stop = harness.Start(t, o.ConfigOn(nil, o.source(a.link, "b")))
			} else {
				shorten(a.link, stood-5)
			}
			o.untilStopped(a, 0)
			o.produce(10)
			o.untilPartitionAtEnd(1)
			wantSaid(t, a.stop(), "orders/0", fmt.Sprintf("wanted position %d", stood), "above the log's end")
			o.CheckOf(t, "orders")
			if now := o.position(0); now != stood {
				t.Errorf("the table has moved from %d to %d", stood, now)
			}
		})
	}
}
