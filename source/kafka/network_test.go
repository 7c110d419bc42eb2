package kafka_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/source/sourcetest"
)

// linked is a source behind a link, with one topic of n partitions on two brokers. The recorder holds that ranges join up.
type linked struct {
	k    *kafkatest.Cluster
	link *kafkatest.Link
	src  *kafka.Source
	rec  *sourcetest.Recorder
}

func newLinked(t *testing.T, n int32, change func(*kafka.Config)) *linked {
	t.Helper()
	l := &linked{k: kafkatest.Start(t, kafkatest.Options{Brokers: 2})}
	l.k.CreateTopic("topic", n)
	l.link = kafkatest.NewLink(t)
	cfg := config(l.k, "topic")
	cfg.Dial = l.link.Dial
	if change != nil {
		change(&cfg)
	}
	l.src = newSource(t, cfg)
	l.rec = sourcetest.NewRecorder(t, l.src)
	return l
}

// answers makes a rule for answers to requests of one key.
func answers(key kmsg.Key, f func(m kafkatest.Message) kafkatest.Fate) func(kafkatest.Message) kafkatest.Fate {
	return func(m kafkatest.Message) kafkatest.Fate {
		if m.Answer && m.Key == key {
			return f(m)
		}
		return kafkatest.Fate{}
	}
}

// edits makes a rule that changes fetch answers with records: f gets each such partition, and how many came before it.
func edits(f func(n int, p *kmsg.FetchResponseTopicPartition)) func(kafkatest.Message) kafkatest.Fate {
	n := 0
	return answers(kmsg.Fetch, func(kafkatest.Message) kafkatest.Fate {
		return kafkatest.Fate{Edit: func(res kmsg.Response) {
			for i := range res.(*kmsg.FetchResponse).Topics {
				ps := res.(*kmsg.FetchResponse).Topics[i].Partitions
				for j := range ps {
					if len(ps[j].RecordBatches) > 0 {
						f(n, &ps[j])
						n++
					}
				}
			}
		}}
	})
}

// TestResetsInTheMiddleOfAFetchAnswer cuts fetch answers at many places; each time the rest is read again.
func TestResetsInTheMiddleOfAFetchAnswer(t *testing.T) {
	t.Parallel() // it waits most of the time
	l := newLinked(t, 2, nil)
	var cut atomic.Int64 // where the next answer with records is cut; -1 for nowhere
	cut.Store(-1)
	l.link.Rule(answers(kmsg.Fetch, func(m kafkatest.Message) kafkatest.Fate {
		if m.Bytes > 500 {
			if at := cut.Swap(-1); at >= 0 {
				return kafkatest.Fate{Reset: true, Bytes: int(at)}
			}
		}
		return kafkatest.Fate{}
	}))
	r := sourcetest.Go(t, l.src, l.rec)
	l.rec.WaitOwned(2)
	n := 0
	for _, at := range []int64{0, 3, 4, 9, 60, 100, 130, 200, 400, 499, 1 << 20} {
		cut.Store(at)
		for id := range int32(2) {
			l.k.Produce("topic", id, kafkatest.Values(n, 100)...)
		}
		n += 100
		for id := range int32(2) {
			l.rec.WaitRecords("topic", id, n)
		}
		if cut.Load() != -1 {
			t.Errorf("no answer was cut at %d", at)
		}
	}
	l.rec.Wait("the end of the trouble", func() bool {
		all := l.rec.TroublesLocked()
		return len(all) > 0 && all[len(all)-1] == nil
	})
	r.MustStop()
	for id := range int32(2) {
		wantValues(t, l.rec.Records("topic", id), 0, n)
	}
}

// TestEveryAnswerIsLost resets the connection in the middle of the first answers to each kind of request, also those of the
// group, and then all connections at once.
func TestEveryAnswerIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	l := newLinked(t, 2, func(c *kafka.Config) { c.SessionTimeout, c.RebalanceTimeout = time.Second, time.Second })
	want := []kmsg.Key{kmsg.ApiVersions, kmsg.Fetch, kmsg.Metadata, kmsg.ListOffsets, kmsg.FindCoordinator, kmsg.JoinGroup,
		kmsg.SyncGroup, kmsg.Heartbeat, kmsg.OffsetFetch, kmsg.OffsetCommit}
	lost, all := map[kmsg.Key]bool{}, make(chan struct{})
	l.link.Rule(func(m kafkatest.Message) kafkatest.Fate {
		if !m.Answer || lost[m.Key] || !slices.Contains(want, m.Key) {
			return kafkatest.Fate{}
		}
		if lost[m.Key] = true; len(lost) == len(want) {
			close(all)
		}
		return kafkatest.Fate{Reset: true, Bytes: m.Bytes / 2}
	})
	l.rec.OnDeliver = func(ctx context.Context, b *source.Batch) error {
		l.src.Ack(ctx, []source.Range{b.Range})
		return nil
	}
	for id := range int32(2) {
		l.k.Produce("topic", id, kafkatest.Values(0, 20)...)
	}
	r := sourcetest.Go(t, l.src, l.rec)
	<-all
	for id := range int32(2) {
		l.rec.WaitPosition("topic", id, 20)
	}
	l.link.Break()
	for id := range int32(2) {
		l.k.Produce("topic", id, kafkatest.Values(20, 20)...)
	}
	l.link.Mend()
	for id := range int32(2) {
		l.rec.WaitPosition("topic", id, 40)
	}
	r.MustStop()
}

// TestSilenceInOneDirection lets answers, then requests, vanish while the connection stays open.
func TestSilenceInOneDirection(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, answer := range []bool{true, false} {
		t.Run(fmt.Sprintf("answers=%v", answer), func(t *testing.T) {
			l := newLinked(t, 1, func(c *kafka.Config) { c.RequestTimeout = 200 * time.Millisecond })
			r := sourcetest.Go(t, l.src, l.rec)
			l.rec.WaitOwned(1)
			silenced := make(chan struct{})
			first := true
			l.link.Rule(func(m kafkatest.Message) kafkatest.Fate {
				if first && m.Answer == answer && m.Key == kmsg.Fetch {
					first = false
					close(silenced)
					return kafkatest.Fate{Silent: true}
				}
				return kafkatest.Fate{}
			})
			<-silenced
			l.k.Produce("topic", 0, kafkatest.Values(0, 10)...)
			l.rec.WaitRecords("topic", 0, 10)
			r.MustStop()
		})
	}
}

// TestLateAnswerAfterReopen holds a fetch answer back while its partition is opened elsewhere: what it brings belongs to the
// old opening, and nothing of it may follow what is delivered from the new one.
func TestLateAnswerAfterReopen(t *testing.T) {
	for _, to := range []source.Position{0, 15, 30, 35} {
		t.Run(fmt.Sprintf("to %d", to), func(t *testing.T) {
			l := newLinked(t, 1, nil)
			l.k.Produce("topic", 0, kafkatest.Values(0, 30)...)
			r := sourcetest.Go(t, l.src, l.rec)
			l.rec.WaitRecords("topic", 0, 30)
			arrived, release := make(chan struct{}), make(chan struct{})
			held := false
			l.link.Rule(answers(kmsg.Fetch, func(m kafkatest.Message) kafkatest.Fate {
				if !held && m.Bytes > 200 {
					held = true
					close(arrived)
					return kafkatest.Fate{Wait: release}
				}
				return kafkatest.Fate{}
			}))
			l.k.Produce("topic", 0, kafkatest.Values(30, 20)...)
			<-arrived
			p := l.rec.Find("topic", 0)
			l.rec.Reopen(p, to)
			close(release)
			l.k.Produce("topic", 0, kafkatest.Values(50, 10)...)
			l.rec.WaitPosition("topic", 0, 60)
			r.MustStop()
			wantValues(t, l.rec.Records("topic", 0), int(to), 60-int(to))
		})
	}
}

// TestRevokedWhileAnAnswerIsHeld: a fetch answer that is on its way for long must not keep a member from giving up, nor be
// delivered to whoever holds the partition next.
func TestRevokedWhileAnAnswerIsHeld(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	o := newOwners()
	link := kafkatest.NewLink(t)
	cfg := config(k, "topic")
	cfg.Dial = link.Dial
	srcA, recA := o.memberOn(t, newSource(t, cfg), "a")
	a := sourcetest.Go(t, srcA, recA)
	recA.WaitOwned(2)
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	link.Rule(answers(kmsg.Fetch, func(m kafkatest.Message) kafkatest.Fate {
		if m.Bytes < 200 {
			return kafkatest.Fate{}
		}
		arrived <- struct{}{}
		return kafkatest.Fate{Wait: release}
	}))
	for id := range int32(2) {
		k.Produce("topic", id, kafkatest.Values(0, 20)...)
	}
	<-arrived
	srcB, recB := o.member(t, k, "b", "topic")
	b := sourcetest.Go(t, srcB, recB)
	recB.WaitOwned(1)
	recA.WaitOwned(1)
	close(release)
	link.Rule(nil)
	for _, rec := range []*sourcetest.Recorder{recA, recB} {
		for _, p := range rec.Owned() {
			rec.WaitPosition("topic", p.ID, 20)
		}
	}
	a.MustStop()
	b.MustStop()
	if n := o.total(); n != 40 {
		t.Errorf("%d records in all; 40 were expected", n)
	}
}

// TestBatchesFromBeforeTheAskedOffset puts everything that was read before in front of each answer.
func TestBatchesFromBeforeTheAskedOffset(t *testing.T) {
	l := newLinked(t, 1, nil)
	var before []byte
	l.link.Rule(edits(func(_ int, p *kmsg.FetchResponseTopicPartition) {
		mine := p.RecordBatches
		p.RecordBatches = append(slices.Clone(before), mine...)
		before = append(before, mine...)
	}))
	r := sourcetest.Go(t, l.src, l.rec)
	for i := range 5 {
		l.k.Produce("topic", 0, kafkatest.Values(10*i, 10)...)
		l.rec.WaitRecords("topic", 0, 10*(i+1))
	}
	r.MustStop()
	wantValues(t, l.rec.Records("topic", 0), 0, 50)
}

// TestDamageOnTheWay damages answers: it is read again, and what was whole is not read twice.
func TestDamageOnTheWay(t *testing.T) {
	l := newLinked(t, 1, nil)
	l.link.Rule(edits(func(n int, p *kmsg.FetchResponseTopicPartition) {
		b := p.RecordBatches
		switch n % 6 {
		case 0:
			b[len(b)-1] ^= 1 // a checksum that is wrong
		case 1, 4:
			p.RecordBatches = b[:len(b)-5] // a last batch that is cut off
		case 2:
			p.RecordBatches = b[:20]
		case 3:
			p.RecordBatches = nil // empty
		}
	}))
	r := sourcetest.Go(t, l.src, l.rec)
	for i := range 6 {
		l.k.Produce("topic", 0, kafkatest.Values(20*i, 10)...)
		l.k.Produce("topic", 0, kafkatest.Values(20*i+10, 10)...)
		l.rec.WaitRecords("topic", 0, 20*(i+1))
	}
	r.MustStop()
	wantValues(t, l.rec.Records("topic", 0), 0, 120)
}

// TestLastingDamageFailsItsPartitionOnly damages one partition for good.
func TestLastingDamageFailsItsPartitionOnly(t *testing.T) {
	l := newLinked(t, 2, nil)
	l.link.Rule(edits(func(_ int, p *kmsg.FetchResponseTopicPartition) {
		if b := p.RecordBatches; p.Partition == 0 && binary.BigEndian.Uint64(b) >= 5 {
			b[len(b)-1] ^= 1
		}
	}))
	l.k.Produce("topic", 0, kafkatest.Values(0, 5)...)
	r := sourcetest.Go(t, l.src, l.rec)
	l.rec.WaitRecords("topic", 0, 5)
	l.k.Produce("topic", 0, kafkatest.Values(5, 5)...)
	l.k.Produce("topic", 1, kafkatest.Values(0, 5)...)
	err := l.rec.WaitFailed("topic", 0)
	wantText(t, err, "topic/0: the record batch at offset 5 can't be read: its checksum is")
	l.rec.WaitRecords("topic", 1, 5)
	r.MustStop()
	wantValues(t, l.rec.Records("topic", 0), 0, 5)
}

// TestThrottling: answers that ask for a pause are taken, and nothing is asked meanwhile.
func TestThrottling(t *testing.T) {
	l := newLinked(t, 1, nil)
	l.link.Rule(func(m kafkatest.Message) kafkatest.Fate {
		if !m.Answer {
			return kafkatest.Fate{}
		}
		return kafkatest.Fate{Edit: func(res kmsg.Response) {
			if s, ok := res.(interface{ SetThrottle(int32) }); ok {
				s.SetThrottle(30)
			}
		}}
	})
	r := sourcetest.Go(t, l.src, l.rec)
	for i := range 5 {
		l.k.Produce("topic", 0, kafkatest.Values(10*i, 10)...)
		l.rec.WaitRecords("topic", 0, 10*(i+1))
	}
	r.MustStop()
}

// TestReopenWhileTheAssignmentIsTakenUp: the handler may open a partition again as soon as Assigned has returned, before
// the first fetch.
func TestReopenWhileTheAssignmentIsTakenUp(t *testing.T) {
	l := newLinked(t, 1, nil)
	l.k.Produce("topic", 0, kafkatest.Values(0, 10)...)
	assigned := make(chan source.Partition, 1)
	l.rec.OnAssigned = func(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
		assigned <- ps[0]
		return map[source.Partition]source.Position{ps[0]: 10}, nil
	}
	arrived, release := make(chan struct{}), make(chan struct{})
	held := false
	l.link.Rule(func(m kafkatest.Message) kafkatest.Fate {
		if !m.Answer && m.Key == kmsg.Metadata && len(assigned) > 0 && !held {
			held = true
			close(arrived)
			return kafkatest.Fate{Wait: release}
		}
		return kafkatest.Fate{}
	})
	r := sourcetest.Go(t, l.src, l.rec)
	<-arrived
	l.rec.Reopen(<-assigned, 4)
	close(release)
	l.rec.WaitPosition("topic", 0, 10)
	l.rec.WaitRecords("topic", 0, 6)
	r.MustStop()
	wantValues(t, l.rec.Records("topic", 0), 4, 6)
}

// TestLogThatWentAnotherWay: a leader that says it has lost what was read stops the partition, although its log is long
// enough. It is told in which epoch was read, so that it can know.
func TestLogThatWentAnotherWay(t *testing.T) {
	for _, rebalanced := range []bool{false, true} {
		t.Run(fmt.Sprintf("rebalanced=%v", rebalanced), func(t *testing.T) { anotherWay(t, rebalanced) })
	}
}

func anotherWay(t *testing.T, rebalanced bool) {
	l := newLinked(t, 2, nil)
	_, l.rec = newOwners().memberOn(t, l.src, "a") // opens where it ended
	assigned := make(chan struct{}, 1000)
	open := l.rec.OnAssigned
	l.rec.OnAssigned = func(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
		assigned <- struct{}{}
		return open(ctx, ps)
	}
	r := sourcetest.Go(t, l.src, l.rec)
	l.rec.WaitOwned(2)
	<-assigned
	for i := range 2 {
		for id := range int32(2) {
			l.k.Produce("topic", id, kafkatest.Values(10*i, 10)...)
			l.rec.WaitRecords("topic", id, 10*(i+1))
			if err := l.k.MoveTopicPartition("topic", id, int32(i)); err != nil { // the next are written in another epoch
				t.Fatal(err)
			}
		}
	}
	if rebalanced {
		l.k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress})
		<-assigned
		l.rec.WaitOwned(2)
	}
	told := make(chan int32, 1000)
	l.link.Rule(func(m kafkatest.Message) kafkatest.Fate {
		req, ok := m.Request.(*kmsg.FetchRequest)
		if !ok || !m.Answer {
			return kafkatest.Fate{}
		}
		return kafkatest.Fate{Edit: func(res kmsg.Response) {
			for i, topic := range res.(*kmsg.FetchResponse).Topics {
				for j := range topic.Partitions {
					if p := &topic.Partitions[j]; p.Partition == 0 && p.ErrorCode == 0 {
						told <- req.Topics[i].Partitions[j].LastFetchedEpoch
						p.RecordBatches, p.HighWatermark = nil, 50
						p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 15
					}
				}
			}
		}}
	})
	err := l.rec.WaitFailed("topic", 0)
	wantText(t, err, "wanted position 20, but the log holds [0, 50): the leader has lost what was read from offset 15 on")
	if epoch, want := <-told, epochAt(t, l.k, 10); epoch != want {
		t.Errorf("the broker was told epoch %d; %d was read last", epoch, want)
	}
	l.k.Produce("topic", 1, kafkatest.Values(20, 10)...)
	l.rec.WaitRecords("topic", 1, 30)
	r.MustStop()
}

// epochAt gives the leader epoch that a batch of partition 0 was written in, as another client sees it.
func epochAt(t *testing.T, k *kafkatest.Cluster, offset int64) int32 {
	t.Helper()
	cl := k.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"topic": {0: kgo.NewOffset().At(offset)}}))
	fs := cl.PollFetches(t.Context())
	if err := fs.Err(); err != nil {
		t.Fatal(err)
	}
	return fs.Records()[0].LeaderEpoch
}

// TestEpochThatTheBrokerForgot: a broker that has no end for the epoch that was read last answers like one that has lost the
// position. It is asked without.
func TestEpochThatTheBrokerForgot(t *testing.T) {
	l := newLinked(t, 1, nil)
	l.k.Produce("topic", 0, kafkatest.Values(0, 10)...)
	r := sourcetest.Go(t, l.src, l.rec)
	l.rec.WaitRecords("topic", 0, 10)
	l.link.Rule(func(m kafkatest.Message) kafkatest.Fate {
		req, ok := m.Request.(*kmsg.FetchRequest)
		if !ok || !m.Answer || req.Topics[0].Partitions[0].LastFetchedEpoch < 0 {
			return kafkatest.Fate{}
		}
		return kafkatest.Fate{Edit: func(res kmsg.Response) {
			p := &res.(*kmsg.FetchResponse).Topics[0].Partitions[0]
			p.ErrorCode, p.RecordBatches = kerr.OffsetOutOfRange.Code, nil
		}}
	})
	l.k.Produce("topic", 0, kafkatest.Values(10, 10)...)
	l.rec.WaitRecords("topic", 0, 20)
	l.k.Produce("topic", 0, kafkatest.Values(20, 10)...)
	l.rec.WaitRecords("topic", 0, 30)
	r.MustStop()
	wantValues(t, l.rec.Records("topic", 0), 0, 30)
}

// TestHeadThatWentWhileTheBrokerRead: records from behind the position, in an answer that says that the log begins there, are no
// gap that compaction left.
func TestHeadThatWentWhileTheBrokerRead(t *testing.T) {
	l := newLinked(t, 1, nil)
	l.k.Produce("topic", 0, kafkatest.Values(0, 10)...)
	first := true
	l.link.Rule(edits(func(_ int, p *kmsg.FetchResponseTopicPartition) {
		if first {
			first = false
			l.k.Produce("topic", 0, kafkatest.Values(10, 10)...)
			l.k.DeleteRecords("topic", 0, 10)
			binary.BigEndian.PutUint64(p.RecordBatches, 10) // the first batch's offset is not under its checksum
			p.LogStartOffset = 10
		}
	}))
	r := sourcetest.Go(t, l.src, l.rec)
	wantText(t, l.rec.WaitFailed("topic", 0), "wanted position 0, but the log holds [10, 20): below the log's start")
	r.MustStop()
	if n := len(l.rec.Records("topic", 0)); n != 0 {
		t.Errorf("%d records were delivered; none was expected", n)
	}
}
