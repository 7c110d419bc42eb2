package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/sourcetest"
)

func TestPartitionsAddedWhileRunning(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 1)
	src := newSource(t, config(k, "topic"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitOwned(1)
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = "topic", 3
	req.Topics = append(req.Topics, rt)
	req.TimeoutMillis = 5000
	if _, err := req.RequestWith(t.Context(), k.Client()); err != nil {
		t.Fatal(err)
	}
	rec.WaitOwned(3)
	k.Produce("topic", 2, kafkatest.Values(0, 5)...)
	rec.WaitRecords("topic", 2, 5)
	r.MustStop()
}

func TestTopicPattern(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("orders-a", 1)
	k.CreateTopic("other", 1)
	cfg := config(k)
	cfg.TopicPattern = "^orders-.*"
	src := newSource(t, cfg)
	if !src.Traits().Discovers {
		t.Error("a source with a pattern must say that it discovers topics")
	}
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitOwned(1)
	k.CreateTopic("orders-b", 2)
	k.Produce("orders-b", 1, kafkatest.Values(0, 5)...)
	rec.WaitOwned(3)
	rec.WaitRecords("orders-b", 1, 5)
	r.MustStop()
	all, err := src.Partitions(t.Context())
	if err != nil || len(all) != 3 {
		t.Errorf("Partitions gives %v, %v; the 3 of orders-a and orders-b were expected", all, err)
	}
}

func TestPatternWaitsForItsFirstTopic(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	cfg := config(k)
	cfg.TopicPattern = "^orders$"
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	troubled := func() bool { return len(rec.TroublesLocked()) > 0 }
	rec.Wait("word of the missing topic", troubled)
	k.CreateTopic("orders", 1)
	rec.WaitOwned(1)
	r.MustStop()
}

func TestTopicMadeAgainFailsItsPartitions(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 1)
	k.CreateTopic("other", 1)
	k.Produce("topic", 0, kafkatest.Values(0, 5)...)
	src := newSource(t, config(k, "topic", "other"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitRecords("topic", 0, 5)
	old := rec.Find("topic", 0)
	k.DeleteTopic("topic")
	k.CreateTopic("topic", 1)
	k.ProduceWith(k.Client(), "topic", 0, kafkatest.Values(100, 20)...) // a client that does not know the old id
	err := rec.WaitFailed("topic", 0)
	if !strings.Contains(err.Error(), "another incarnation of the topic") {
		t.Errorf("the failure is %q", err)
	}
	var pe *source.PositionError
	if ok := asPosition(err, &pe); !ok || pe.Wanted != 5 || pe.Partition != old {
		t.Errorf("the failure is %+v", pe)
	}
	k.Produce("other", 0, kafkatest.Values(0, 5)...)
	rec.WaitRecords("other", 0, 5)
	r.MustStop()
	if n := len(rec.Records("topic", 0)); n != 5 {
		t.Errorf("%d records of the topic; only the 5 of its first life were expected", n)
	}
}

func TestDeletedTopicFailsAfterAWhile(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 1)
	cfg := config(k, "topic")
	cfg.StartupTimeout = 300 * time.Millisecond
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitOwned(1)
	k.DeleteTopic("topic")
	if err := rec.WaitFailed("topic", 0); !strings.Contains(err.Error(), "the topic is gone") {
		t.Errorf("the failure is %q", err)
	}
	r.MustStop()
}

func TestLeaderMoves(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{Brokers: 3})
	k.CreateTopic("topic", 1)
	src := newSource(t, config(k, "topic"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitOwned(1)
	for i := range 6 {
		k.Produce("topic", 0, kafkatest.Values(10*i, 10)...)
		rec.WaitRecords("topic", 0, 10*(i+1))
		if err := k.MoveTopicPartition("topic", 0, int32(i%3)); err != nil {
			t.Fatal(err)
		}
	}
	r.MustStop()
	wantValues(t, rec.Records("topic", 0), 0, 60)
}

func TestCoordinatorMovesAndRefusals(t *testing.T) {
	t.Parallel() // it waits most of the time
	k := kafkatest.Start(t, kafkatest.Options{Brokers: 3})
	k.CreateTopic("topic", 2)
	k.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, Err: kerr.CoordinatorNotAvailable, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.NotCoordinator, Count: 1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "topic", Err: kerr.NotLeaderForPartition, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "topic", Err: kerr.UnknownServerError, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "topic", Err: kerr.OffsetNotAvailable, Count: 1},
	)
	k.Produce("topic", 0, kafkatest.Values(0, 10)...)
	src := newSource(t, config(k, "topic"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitRecords("topic", 0, 10)
	k.RehashCoordinators()
	k.Produce("topic", 0, kafkatest.Values(10, 10)...)
	rec.WaitRecords("topic", 0, 20)
	r.MustStop()
	if last := rec.Troubles()[len(rec.Troubles())-1]; last != nil {
		t.Errorf("the last word on trouble is %v; nil was expected", last)
	}
}

func TestDeletedTopicDoesNotStopTheGroup(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("stays", 2)
	k.CreateTopic("goes", 2)
	o := newOwners()
	srcA, recA := o.member(t, k, "a", "stays", "goes")
	srcB, recB := o.member(t, k, "b", "stays", "goes")
	a := sourcetest.Go(t, srcA, recA)
	recA.WaitOwned(4)
	k.DeleteTopic("goes")
	b := sourcetest.Go(t, srcB, recB)
	recB.Wait("word of the missing topic", func() bool { return len(recB.TroublesLocked()) > 0 })
	k.CreateTopic("goes", 2)
	recB.WaitOwned(2)
	recA.WaitOwned(2)
	k.Produce("stays", 0, kafkatest.Values(0, 5)...)
	k.Produce("stays", 1, kafkatest.Values(0, 5)...)
	for _, rec := range []*sourcetest.Recorder{recA, recB} {
		for _, p := range rec.Owned() {
			if p.Topic == "stays" {
				rec.WaitRecords("stays", p.ID, 5)
			}
		}
	}
	b.MustStop()
	a.MustStop()
}

func TestTopicDeletedInTheMiddleLeavesTheOthers(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("stays", 1)
	k.CreateTopic("goes", 1)
	cfg := config(k, "stays", "goes")
	cfg.StartupTimeout = 300 * time.Millisecond
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitOwned(2)
	k.DeleteTopic("goes")
	rec.WaitFailed("goes", 0)
	// A rebalance now: the group's leader must not hand out nothing because of the topic that is gone.
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = "stays", 3
	req.Topics = append(req.Topics, rt)
	req.TimeoutMillis = 5000
	if _, err := req.RequestWith(t.Context(), k.Client()); err != nil {
		t.Fatal(err)
	}
	rec.WaitOwned(3)
	k.Produce("stays", 2, kafkatest.Values(0, 5)...)
	rec.WaitRecords("stays", 2, 5)
	r.MustStop()
}
