package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/internal/proof"
)

// TestTheTopicHoldsThePattern reads a topic with an independent client and compares it with the pattern.
func TestTheTopicHoldsThePattern(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	path := filepath.Join(t.TempDir(), "truth.json")
	args := []string{"produce", "--brokers", strings.Join(k.Addrs(), ","), "--topic", "t", "--partitions", "3", "--records", "7",
		"--abort-every", "4", "--tombstone-every", "5", "--bad-every", "6", "--transactions", "12", "--truth", path}
	if code, _, stderr := proofs(args...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	p, err := loadPattern(path)
	if err != nil || p.Transactions != 12 {
		t.Fatalf("%+v, %v", p, err)
	}
	type at struct {
		part int32
		off  int64
	}
	got := map[at]string{}
	for _, rec := range readAll(t, k, p) {
		if rec.Value != nil {
			got[at{rec.Partition, rec.Offset}] = string(rec.Value)
		}
	}
	records := 0
	for part := range p.Partitions {
		for off := range p.End(part) {
			value, there := got[at{part, off}]
			what := p.Outcome(part, off)
			is := what == proof.Row || what == proof.Rejected
			if is != there || is && value != string(p.Value(part, off)) {
				t.Errorf("partition %d, offset %d holds %q; its outcome is to be %d", part, off, value, what)
			} else if is {
				records++
			}
		}
	}
	if records != len(got) || int64(records) != p.count(proof.Row)+p.count(proof.Rejected) || p.count(proof.Rejected) == 0 {
		t.Errorf("%d records of the pattern, %d in the topic", records, len(got))
	}
	if code, _, stderr := proofs(args...); code != 1 || !strings.Contains(stderr, "must be new") {
		t.Errorf("into a topic that exists: exit code %d\n%s", code, stderr)
	}
}

// readAll reads committed records until the ends that the pattern names.
func readAll(t *testing.T, k *kafkatest.Cluster, p Pattern) (out []*kgo.Record) {
	t.Helper()
	cl := k.Client(kgo.ConsumeTopics(p.Topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(50*time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ends := map[int32]bool{}
	for len(ends) < int(p.Partitions) {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("read the topic: %v; partitions read: %v", err, ends)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset == p.End(r.Partition)-1 {
				ends[r.Partition] = true
			}
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

func TestTheProducerStopsWhereAnotherWrites(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	p := somePattern()
	prod, err := newProducer(context.Background(), k.Addrs(), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer prod.close()
	k.Produce("t", 1, &kgo.Record{Value: []byte("another")})
	if err := prod.run(context.Background(), nil, 5); err == nil || !strings.Contains(err.Error(), "does another producer write there?") {
		t.Errorf("got %v", err)
	}
}

// TestTheProducerGoesOnBehindAMarkerThatIsThereTwice has markers written where none belongs, in one partition, as a coordinator does
// that takes over: between two transactions, and behind the last one.
func TestTheProducerGoesOnBehindAMarkerThatIsThereTwice(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	prod, err := newProducer(t.Context(), k.Addrs(), somePattern(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer prod.close()
	for txn := range int64(6) {
		if txn == 1 || txn == 4 {
			strayMarker(t, k, "t", 1)
		}
		if err := prod.transaction(t.Context(), txn); err != nil {
			t.Fatal(err)
		}
	}
	strayMarker(t, k, "t", 1)
	if err := prod.settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := prod.produced()
	if len(p.Moved) != 3 || !slices.Equal(p.Spoiled, []int64{1, 4}) || p.End(0) != 6*4 || p.End(1) != 6*4+3 {
		t.Errorf("the pattern is %+v", p)
	}
	rows := int64(0)
	for _, r := range readAll(t, k, p) {
		if want := p.Value(r.Partition, r.Offset); string(r.Value) != string(want) || p.Outcome(r.Partition, r.Offset) == proof.Skipped {
			t.Errorf("partition %d, offset %d holds %s, want %s", r.Partition, r.Offset, r.Value, want)
		}
		if p.Outcome(r.Partition, r.Offset) == proof.Row {
			rows++
		}
	}
	if rows == 0 || rows != p.count(proof.Row) {
		t.Errorf("%d rows, the pattern has %d", rows, p.count(proof.Row))
	}
}

// strayMarker ends a transaction that has no record.
func strayMarker(t *testing.T, k *kafkatest.Cluster, topic string, partition int32) {
	t.Helper()
	cl := k.Client(kgo.TransactionalID("stray"))
	id, epoch, err := cl.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "stray", id, epoch
	at := kmsg.NewAddPartitionsToTxnRequestTopic()
	at.Topic, at.Partitions = topic, []int32{partition}
	add.Topics = append(add.Topics, at)
	if _, err := add.RequestWith(t.Context(), cl); err != nil {
		t.Fatal(err)
	}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = "stray", id, epoch, true
	if resp, err := end.RequestWith(t.Context(), cl); err != nil || resp.ErrorCode != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
}
