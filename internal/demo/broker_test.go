package demo

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProducerGoesOnAtTheEndOfTheLog(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct{ n, want, held int64 }{{1000, 1000, 1000}, {1000, 0, 1000}, {500, 0, 1000}, {10_007, 9007, 10_007}} {
		b, err := startBroker(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.produce(context.Background(), c.n, func(int64) {})
		if err != nil || got != c.want || b.held() != c.held {
			t.Errorf("run %d: produced %d, want %d; held %d; %v", i, got, c.want, b.held(), err)
		}
		if i == 3 {
			compare(t, b, c.held)
		}
		b.close()
	}
}

func TestProducerThatWasCutOffGoesOn(t *testing.T) {
	b, err := startBroker(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	ctx, cancel := context.WithCancel(context.Background())
	_, err = b.produce(ctx, 50_000, func(held int64) {
		if held > 20_000 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("the end of the context was not noticed")
	}
	if _, err := b.produce(context.Background(), 50_000, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	compare(t, b, 50_000)
}

// compare reads every record and compares it with the event of its place.
func compare(t *testing.T, b *broker, n int64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.ConsumeTopics(Topic), kgo.DisableClientMetrics(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for n > 0 {
		fetches := cl.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n--
			if want := string(EventAt(r.Partition, r.Offset).AppendJSON(nil)); string(r.Value) != want {
				t.Fatalf("%d/%d: %s, want %s", r.Partition, r.Offset, r.Value, want)
			}
		})
	}
}
