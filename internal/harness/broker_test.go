package harness_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/kafkatest"
)

// brokerFault is something that a broker, or the network before it, does while records flow.
type brokerFault struct {
	name string
	// strike makes it happen. The returned function, where there is one, waits until it has and ends it.
	strike func(o *onKafka, rs []*replica) (over func())
}

// TestBrokerFaults lets brokers and networks fail in all ways, one after the other, while records flow into one replica and into two,
// and compares the table now and then, with its whole history.
func TestBrokerFaults(t *testing.T) {
	faults := allBrokerFaults()
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
			t.Parallel()
			o := newOnKafka(t, 4, 3)
			var rs []*replica
			for i := range replicas {
				rs = append(rs, o.start(nil, fmt.Sprint(i)))
			}
			stride := 10
			if *every {
				stride = 1
			}
			n := 0
			for i := rand.IntN(stride); i < len(faults); i += stride {
				o.strike(faults[i], rs)
				if n++; n%20 == 0 {
					o.check()
				}
			}
			stopAll(t, rs...)
			o.check()
			t.Logf("%d of %d faults, %d commits", n, len(faults), o.Catalog.Commits())
		})
	}
}

// strike lets records flow before, during and after a fault.
func (o *onKafka) strike(f brokerFault, rs []*replica) {
	o.t.Helper()
	began := time.Now()
	defer func() { o.t.Logf("%7.3fs %s", time.Since(began).Seconds(), f.name) }()
	o.produce(8)
	over := f.strike(o, rs)
	o.produce(8)
	if over != nil {
		over()
	}
	o.produce(4)
	o.untilAtEnd("what came around: " + f.name)
	if o.t.Failed() {
		o.t.Fatalf("after: %s", f.name)
	}
}

func allBrokerFaults() []brokerFault {
	var out []brokerFault
	for _, fs := range [][]brokerFault{moves(), throttles(), fetchRefusals(), groupRefusals(), cuts(), damages()} {
		out = append(out, fs...)
	}
	return out
}

// moves are what an operator or a failing broker makes of leaders and coordinators.
func moves() []brokerFault {
	return []brokerFault{
		{"leaders move one by one", func(o *onKafka, _ []*replica) func() {
			for id := range int32(4) {
				node := (o.k.LeaderFor(harness.Topic, id) + 1) % 3
				if err := o.k.MoveTopicPartition(harness.Topic, id, node); err != nil {
					o.t.Fatal(err)
				}
			}
			return nil
		}},
		{"leaders move at once", func(o *onKafka, _ []*replica) func() {
			o.k.ShufflePartitionLeaders()
			return nil
		}},
		{"the coordinator moves", func(o *onKafka, _ []*replica) func() {
			o.k.RehashCoordinators()
			return nil
		}},
		{"leaders and the coordinator move", func(o *onKafka, rs []*replica) func() {
			o.k.RehashCoordinators()
			o.k.ShufflePartitionLeaders()
			for _, r := range rs {
				r.link.ResetAll()
			}
			return nil
		}},
		{"a broker comes and another goes", func(o *onKafka, rs []*replica) func() {
			gone := o.k.LeaderFor(harness.Topic, 0)
			if _, _, err := o.k.AddNode(-1, 0); err != nil {
				o.t.Fatal(err)
			}
			if err := o.k.RemoveNode(gone); err != nil {
				o.t.Fatal(err)
			}
			for _, r := range rs {
				r.link.ResetAll()
			}
			return func() {
				if _, _, err := o.k.AddNode(gone, 0); err != nil {
					o.t.Fatal(err)
				}
			}
		}},
	}
}

// throttles make brokers ask for a pause, in all their answers.
func throttles() []brokerFault {
	return []brokerFault{{"all answers are throttled", func(_ *onKafka, rs []*replica) func() {
		return rule(rs, func(m kafkatest.Message) kafkatest.Fate {
			if !m.Answer {
				return kafkatest.Fate{}
			}
			return kafkatest.Fate{Edit: func(res kmsg.Response) {
				if s, ok := res.(interface{ SetThrottle(int32) }); ok {
					s.SetThrottle(50)
				}
			}}
		})
	}}}
}

// rule puts one rule on the links of all replicas.
func rule(rs []*replica, f func(kafkatest.Message) kafkatest.Fate) (over func()) {
	for _, r := range rs {
		r.link.Rule(f)
	}
	return func() {
		for _, r := range rs {
			r.link.Rule(nil)
		}
	}
}

// refusal makes requests be refused a few times and waits until they were.
func refusal(f kfake.Fault) func(*onKafka, []*replica) func() {
	return func(o *onKafka, _ []*replica) func() {
		h := o.k.Fault(f)
		return func() {
			ctx, cancel := context.WithTimeout(o.t.Context(), 30*time.Second)
			defer cancel()
			if err := h.Wait(ctx, 1); err != nil {
				o.t.Errorf("nothing was refused: %v", err)
			}
			h.Remove()
		}
	}
}

// fetchRefusals are what a broker may say of one partition, or of a whole fetch.
func fetchRefusals() []brokerFault {
	var out []brokerFault
	for _, e := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
		kerr.OffsetOutOfRange, kerr.KafkaStorageError, kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.UnknownTopicOrPartition,
		kerr.LeaderNotAvailable, kerr.ReplicaNotAvailable, kerr.OffsetNotAvailable, kerr.UnknownServerError} {
		out = append(out, brokerFault{"fetch: " + e.Message, refusal(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch},
			Topic: harness.Topic, Partitions: []int32{0, 2}, Err: e, Count: 3})})
	}
	return append(out,
		// Three times in a row for one place would give the partition up.
		brokerFault{"fetch: CORRUPT_MESSAGE", refusal(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: harness.Topic,
			Partitions: []int32{1}, Err: kerr.CorruptMessage, Count: 1})},
		brokerFault{"fetch as a whole: FETCH_SESSION_ID_NOT_FOUND", refusal(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch},
			TopLevel: true, Err: kerr.FetchSessionIDNotFound, Count: 3})},
		brokerFault{"metadata: LEADER_NOT_AVAILABLE", refusal(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata},
			Topic: harness.Topic, Err: kerr.LeaderNotAvailable, Count: 2})},
		brokerFault{"metadata: UNKNOWN_TOPIC_OR_PARTITION", refusal(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata},
			Topic: harness.Topic, Err: kerr.UnknownTopicOrPartition, Count: 2})})
}

// groupRefusals are what a coordinator may say to each request of a member. Joining again is brought about by a heartbeat that is told of a
// rebalance.
func groupRefusals() []brokerFault {
	codes := []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable,
		kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedInstanceID}
	var out []brokerFault
	for _, key := range []kmsg.Key{kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetCommit, kmsg.OffsetFetch,
		kmsg.LeaveGroup} {
		for _, e := range codes {
			f := kfake.Fault{Keys: []kmsg.Key{key}, Group: group, Err: e, Count: 2}
			strike := refusal(f)
			switch key {
			case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch:
				strike = joiningAgain(f, kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: group, Err: kerr.RebalanceInProgress})
			case kmsg.LeaveGroup:
				// What is left is left where a join fails.
				strike = joiningAgain(f, kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: group, Err: kerr.RebalanceInProgress},
					kfake.Fault{Keys: []kmsg.Key{kmsg.SyncGroup}, Group: group, Err: kerr.UnknownServerError})
			}
			out = append(out, brokerFault{fmt.Sprintf("%s: %s", key.Name(), e.Message), strike})
		}
	}
	return append(out,
		brokerFault{"FindCoordinator: COORDINATOR_NOT_AVAILABLE", joiningAgain(
			kfake.Fault{Keys: []kmsg.Key{kmsg.FindCoordinator}, Group: group, Err: kerr.CoordinatorNotAvailable, Count: 3},
			kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: group, Err: kerr.UnknownMemberID})},
		brokerFault{"OffsetCommit: applied, and REQUEST_TIMED_OUT", refusal(
			kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: group, Err: kerr.RequestTimedOut, Count: 2})})
}

// joiningAgain makes a member join again by other refusals.
func joiningAgain(f kfake.Fault, others ...kfake.Fault) func(*onKafka, []*replica) func() {
	return func(o *onKafka, rs []*replica) func() {
		over := refusal(f)(o, rs)
		h := o.k.Fault(others...)
		return func() {
			over()
			h.Remove()
		}
	}
}

// cuts reset connections in the middle of the answers to each kind of request, or let one direction fall silent.
func cuts() []brokerFault {
	var out []brokerFault
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.Metadata, kmsg.Heartbeat, kmsg.OffsetCommit} {
		for _, part := range []int{0, 1, 2, 4} {
			out = append(out, brokerFault{fmt.Sprintf("answers to %s are cut at %d/4", key.Name(), part),
				few(4, func(m kafkatest.Message) bool { return m.Answer && m.Key == key && hasRecords(m) },
					func(m kafkatest.Message) kafkatest.Fate {
						return kafkatest.Fate{Reset: true, Bytes: m.Bytes * part / 4}
					})})
		}
	}
	for _, answer := range []bool{true, false} {
		out = append(out, brokerFault{fmt.Sprintf("silence, answers=%v", answer),
			few(2, func(m kafkatest.Message) bool { return m.Answer == answer && m.Key == kmsg.Fetch },
				func(kafkatest.Message) kafkatest.Fate { return kafkatest.Fate{Silent: true} })})
	}
	return append(out, brokerFault{"the network is away", func(_ *onKafka, rs []*replica) func() {
		for _, r := range rs {
			r.link.Break()
		}
		return func() {
			for _, r := range rs {
				r.link.Mend()
			}
		}
	}})
}

// few gives the first n messages that fit a fate, and waits until one has come.
func few(n int, fits func(kafkatest.Message) bool, fate func(kafkatest.Message) kafkatest.Fate) func(*onKafka, []*replica) func() {
	return func(o *onKafka, rs []*replica) func() {
		var hits atomic.Int64
		over := rule(rs, func(m kafkatest.Message) kafkatest.Fate {
			if !fits(m) || hits.Add(1) > int64(n) {
				return kafkatest.Fate{}
			}
			o.bell.ring()
			return fate(m)
		})
		return func() {
			struck := func() bool { return hits.Load() > 0 }
			for more := 0; !struck(); more++ {
				o.until("the fault to strike", func() bool { return struck() || o.atEnd() })
				if more == 200 {
					o.t.Fatal("waited in vain: the fault does not strike")
				}
				// What came may have been committed around a rebalance, without such a message: some more brings one.
				o.produce(4)
			}
			over()
		}
	}
}

// damages change what fetch answers hold.
func damages() []brokerFault {
	var out []brokerFault
	for name, change := range map[string]func(p *kmsg.FetchResponseTopicPartition){
		"a wrong checksum":           func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches[len(p.RecordBatches)-1] ^= 1 },
		"a last batch cut off":       func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = p.RecordBatches[:len(p.RecordBatches)-3] },
		"a header cut off":           func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = p.RecordBatches[:30] },
		"an empty answer":            func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = nil },
		"the same batch twice":       func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = twice(p.RecordBatches) },
		"an answer for another part": func(p *kmsg.FetchResponseTopicPartition) { p.Partition = 77 },
	} {
		out = append(out, brokerFault{name, few(2, func(m kafkatest.Message) bool {
			return m.Answer && m.Key == kmsg.Fetch && hasRecords(m)
		}, func(kafkatest.Message) kafkatest.Fate { return kafkatest.Fate{Edit: eachPartition(change)} })})
	}
	return out
}

// hasRecords tells answers to a fetch that bring something from empty ones, by their size. Others have what they have.
func hasRecords(m kafkatest.Message) bool {
	req, ok := m.Request.(*kmsg.FetchRequest)
	if !ok {
		return true
	}
	parts := 0
	for _, topic := range req.Topics {
		parts += len(topic.Partitions)
	}
	return m.Bytes > 120+40*parts
}

func twice(b []byte) []byte { return append(b[:len(b):len(b)], b...) }

func eachPartition(f func(*kmsg.FetchResponseTopicPartition)) func(kmsg.Response) {
	return func(res kmsg.Response) {
		for _, topic := range res.(*kmsg.FetchResponse).Topics {
			for i := range topic.Partitions {
				if len(topic.Partitions[i].RecordBatches) > 0 {
					f(&topic.Partitions[i])
				}
			}
		}
	}
}
