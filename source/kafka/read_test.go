package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/source/sourcetest"
)

func wantValues(t *testing.T, got []source.Record, from, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d records; %d were expected", len(got), n)
	}
	for i, r := range got {
		if want := fmt.Sprintf("v%d", from+i); string(r.Value) != want {
			t.Fatalf("record %d is %q; %q was expected", i, r.Value, want)
		}
	}
}

func TestAllCodecs(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			k := kafkatest.Start(t, kafkatest.Options{})
			k.CreateTopic("topic", 1)
			cl := k.Client(kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(900_000))
			var want []*kgo.Record
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range 3000 {
				r := &kgo.Record{Value: bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN(400)), Timestamp: time.UnixMilli(int64(1_000_000 + i))}
				switch i % 4 {
				case 0:
					r.Key = fmt.Appendf(nil, "k%d", i)
				case 1:
					r.Value = nil
				case 2:
					r.Value, r.Key = []byte{}, []byte{}
				case 3:
					r.Headers = []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}, {Key: "", Value: []byte{}}}
				}
				want = append(want, r)
			}
			for i := 0; i < len(want); i += 500 {
				k.ProduceWith(cl, "topic", 0, want[i:i+500]...)
			}
			src := newSource(t, config(k, "topic"))
			rec := sourcetest.NewRecorder(t, src)
			r := sourcetest.Go(t, src, rec)
			rec.WaitRecords("topic", 0, len(want))
			r.MustStop()
			for i, g := range rec.Records("topic", 0) {
				equalRecord(t, g, want[i])
			}
		})
	}
}

func equalRecord(t *testing.T, got source.Record, want *kgo.Record) {
	t.Helper()
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	if int64(got.Position) != want.Offset || got.TimestampMs != want.Timestamp.UnixMilli() || !same(got.Key, want.Key) ||
		!same(got.Value, want.Value) || len(got.Headers) != len(want.Headers) {
		t.Fatalf("got %+v; %+v was expected", got, want)
	}
	for i, h := range got.Headers {
		if string(h.Key) != want.Headers[i].Key || !same(h.Value, want.Headers[i].Value) {
			t.Fatalf("header %d is %+v; %+v was expected", i, h, want.Headers[i])
		}
	}
}

func TestTransactions(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 1)
	a := k.Client(kgo.TransactionalID("a"))
	b := k.Client(kgo.TransactionalID("b"))
	ctx := t.Context()
	// a and b overlap: b begins first and is committed, a is aborted in between, and then begins another one.
	for _, cl := range []*kgo.Client{a, b} {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
	}
	k.ProduceWith(b, "topic", 0, kafkatest.Values(0, 2)...)
	k.ProduceWith(a, "topic", 0, kafkatest.Values(900, 5)...)
	k.Produce("topic", 0, kafkatest.Values(2, 1)...)
	k.ProduceWith(b, "topic", 0, kafkatest.Values(3, 1)...)
	end(t, a, kgo.TryAbort)
	if err := a.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	k.ProduceWith(a, "topic", 0, kafkatest.Values(4, 2)...)
	end(t, b, kgo.TryCommit)
	end(t, a, kgo.TryCommit)
	k.Transaction("c", false, "topic", 0, kafkatest.Values(950, 3)...) // an aborted tail

	src := newSource(t, config(k, "topic"))
	all, err := src.Partitions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []source.Position{0, 1, 3, 6, 8} {
		t.Run(fmt.Sprintf("opened at %d", from), func(t *testing.T) {
			src := newSource(t, config(k, "topic"))
			rec := sourcetest.NewRecorder(t, src)
			rec.OnAssigned = func(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
				return map[source.Partition]source.Position{ps[0]: from}, nil
			}
			r := sourcetest.Go(t, src, rec)
			rec.WaitPosition("topic", 0, all[0].Last)
			r.MustStop()
			got := rec.Records("topic", 0)
			wantValues(t, got, 6-len(got), len(got))
			for _, r := range got {
				if r.Position < from {
					t.Errorf("record at %d, below the opening position", r.Position)
				}
			}
			if from == 0 && len(got) != 6 {
				t.Errorf("%d records; 6 were committed", len(got))
			}
		})
	}
}

func end(t *testing.T, cl *kgo.Client, how kgo.TransactionEndTry) {
	t.Helper()
	if err := cl.EndTransaction(t.Context(), how); err != nil {
		t.Fatal(err)
	}
}

func TestReadUncommittedSeesAbortedRecordsAndNoMarkers(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 1)
	k.Transaction("a", false, "topic", 0, kafkatest.Values(0, 3)...)
	k.Transaction("b", true, "topic", 0, kafkatest.Values(3, 3)...)
	cfg := config(k, "topic")
	cfg.Isolation = kafka.ReadUncommitted
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitPosition("topic", 0, 8)
	r.MustStop()
	wantValues(t, rec.Records("topic", 0), 0, 6)
}

func TestOpenTransactionHoldsBackTheEnd(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 1)
	k.Produce("topic", 0, kafkatest.Values(0, 2)...)
	cl := k.Client(kgo.TransactionalID("a"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	k.ProduceWith(cl, "topic", 0, kafkatest.Values(2, 2)...)
	src := newSource(t, config(k, "topic"))
	all, err := src.Partitions(t.Context())
	if err != nil || all[0].Last != 2 {
		t.Fatalf("Partitions gave %+v, %v; the last stable offset 2 was expected", all, err)
	}
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitRecords("topic", 0, 2)
	end(t, cl, kgo.TryCommit)
	rec.WaitRecords("topic", 0, 4)
	r.MustStop()
	wantValues(t, rec.Records("topic", 0), 0, 4)
}

func TestRecordLargerThanTheFetchSizes(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	cl := k.Client(kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(1_000_000))
	big := bytes.Repeat([]byte("x"), 700_000)
	for id := range int32(2) {
		k.ProduceWith(cl, "topic", id, &kgo.Record{Value: []byte("before")})
		k.ProduceWith(cl, "topic", id, &kgo.Record{Value: big})
		k.ProduceWith(cl, "topic", id, &kgo.Record{Value: []byte("after")})
	}
	cfg := config(k, "topic")
	cfg.FetchMaxBytes, cfg.PartitionMaxBytes, cfg.MaxBufferedBytes = 2048, 1024, 4096
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	for id := range int32(2) {
		rec.WaitRecords("topic", id, 3)
	}
	r.MustStop()
	if got := rec.Records("topic", 0)[1].Value; !bytes.Equal(got, big) {
		t.Errorf("the big record has %d bytes; %d were expected", len(got), len(big))
	}
}

func TestRecordAboveTheCapFailsItsPartitionOnly(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	cl := k.Client(kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(1_000_000))
	k.ProduceWith(cl, "topic", 0, kafkatest.Values(0, 1)...)
	k.ProduceWith(cl, "topic", 0, &kgo.Record{Value: bytes.Repeat([]byte("x"), 500_000)})
	k.ProduceWith(cl, "topic", 1, kafkatest.Values(0, 1)...)
	cfg := config(k, "topic")
	cfg.PartitionMaxBytes, cfg.MaxRecordBatchBytes = 10_000, 100_000
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	err := rec.WaitFailed("topic", 0)
	if want := "topic/0: the record batch at offset 1 can't be read"; !bytes.HasPrefix([]byte(err.Error()), []byte(want)) {
		t.Errorf("the failure is %q; %q was expected", err, want)
	}
	rec.WaitRecords("topic", 1, 1)
	k.Produce("topic", 1, kafkatest.Values(1, 1)...)
	rec.WaitRecords("topic", 1, 2)
	r.MustStop()
}

func TestGapsFromCompaction(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	if err := k.Cluster.CreateTopic("topic", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	// Each key is written again and again: only its last value stays.
	for i := range 30 {
		k.Produce("topic", 0, &kgo.Record{Key: fmt.Appendf(nil, "k%d", i%3), Value: fmt.Appendf(nil, "v%d", i)})
	}
	k.Compact()
	src := newSource(t, config(k, "topic"))
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitPosition("topic", 0, 30)
	r.MustStop()
	got := rec.Records("topic", 0)
	if len(got) == 30 {
		t.Skip("kfake did not compact anything")
	}
	if got[len(got)-1].Position != 29 {
		t.Errorf("the last record is at %d; 29 was expected", got[len(got)-1].Position)
	}
	for _, e := range rec.Troubles() {
		t.Errorf("trouble: %v", e)
	}
}
