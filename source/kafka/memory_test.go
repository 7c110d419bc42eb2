package kafka_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/sourcetest"
)

// hoarder keeps batches instead of releasing them.
type hoarder struct {
	*sourcetest.Recorder
	mu      sync.Mutex
	came    *sync.Cond
	kept    []*source.Batch
	bytes   int64
	most    int64
	records int
}

func (h *hoarder) Deliver(_ context.Context, b *source.Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records += len(b.Records)
	h.kept = append(h.kept, b)
	h.bytes += b.Bytes
	h.most = max(h.most, h.bytes)
	h.came.Broadcast()
	return nil
}

// take waits until at least n bytes are kept, or all records have come, and gives the oldest batch; nil when nothing is left.
func (h *hoarder) take(n int64, all int) *source.Batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.bytes < n && h.records < all {
		h.came.Wait()
	}
	if len(h.kept) == 0 {
		return nil
	}
	b := h.kept[0]
	h.kept = h.kept[1:]
	h.bytes -= b.Bytes
	return b
}

func TestUnreleasedBatchesHoldTheSourceBack(t *testing.T) {
	const bound = 1 << 20
	k := kafkatest.Start(t, kafkatest.Options{Brokers: 2})
	k.CreateTopic("topic", 4)
	cl := k.Client(kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	for id := range int32(4) {
		for range 40 {
			k.ProduceWith(cl, "topic", id, &kgo.Record{Value: bytes.Repeat([]byte("x"), 100_000)}) // small on the wire
		}
	}
	cfg := config(k, "topic")
	cfg.MaxBufferedBytes = bound
	src := newSource(t, cfg)
	h := &hoarder{Recorder: sourcetest.NewRecorder(t, src)}
	h.came = sync.NewCond(&h.mu)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { done <- src.Run(ctx, h) }()
	// Whatever is let go makes room for as much: the source comes back to the bound each time, and never far beyond it.
	for b := h.take(bound, 160); b != nil; b = h.take(bound, 160) {
		b.Release()
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	// Per broker one batch may be on top: about 1 MiB of content and its records.
	if limit := int64(bound + 2*(3<<20)); h.most > limit {
		t.Errorf("%d bytes were out at once; at most %d were expected", h.most, limit)
	}
	if h.records != 160 {
		t.Errorf("%d records; 160 were expected", h.records)
	}
}
