package kafka

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/stormfloe/floe/source"
)

const (
	minChunkShift = 12 // 4 KiB
	maxChunkShift = 24 // 16 MiB; larger ones are not kept
)

// chunk is a piece of pooled memory that several batches may point into. The last release gives it back.
type chunk struct {
	b    []byte
	refs atomic.Int32
	// counted says that a batch already counts this memory. It belongs to the goroutine that decodes.
	counted bool
}

var chunkPools [maxChunkShift - minChunkShift + 1]sync.Pool

// chunkCap is the capacity that a chunk for n bytes has.
func chunkCap(n int) int {
	if n <= 1<<minChunkShift {
		return 1 << minChunkShift
	}
	if n > 1<<maxChunkShift {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// newChunk gives an empty chunk with room for n bytes and one reference.
func newChunk(n int) *chunk {
	c := chunkCap(n)
	if c <= 1<<maxChunkShift {
		if v := chunkPools[bits.Len(uint(c))-1-minChunkShift].Get(); v != nil {
			k := v.(*chunk)
			k.b = k.b[:0]
			k.refs.Store(1)
			k.counted = false
			return k
		}
	}
	k := &chunk{b: make([]byte, 0, c)}
	k.refs.Store(1)
	return k
}

func (c *chunk) retain() { c.refs.Add(1) }

func (c *chunk) release() {
	if c.refs.Add(-1) > 0 {
		return
	}
	n := cap(c.b)
	if n&(n-1) == 0 && n >= 1<<minChunkShift && n <= 1<<maxChunkShift {
		chunkPools[bits.Len(uint(n))-1-minChunkShift].Put(c)
	}
}

// recordSize and headerSize are what one source.Record and one source.Header take.
const (
	recordSize = 88
	headerSize = 48
)

// keepRecords and keepHeaders are the longest slices that the pool keeps.
const (
	keepRecords = 64 << 10
	keepHeaders = 64 << 10
)

// buffers is what a batch in somebody's hands must give back. The source.Batch itself is not pooled, so that a second
// Release can't hit somebody else's batch.
type buffers struct {
	batch   *source.Batch
	chunks  []*chunk
	records []source.Record // kept between batches
	headers []source.Header
	budget  *budget
	charged int64
	onFree  func()
}

var bufferPool sync.Pool

func newBuffers(p source.Partition, from source.Position) *buffers {
	b, ok := bufferPool.Get().(*buffers)
	if !ok {
		b = &buffers{}
		b.onFree = b.free
	}
	b.batch = &source.Batch{
		Range:     source.Range{Partition: p, From: from, To: from},
		Records:   b.records[:0],
		OnRelease: b.onFree,
	}
	b.records = nil
	return b
}

// hold keeps c alive until the batch is released, and counts its memory where this is the first batch to point into it.
func (b *buffers) hold(c *chunk) {
	if n := len(b.chunks); n > 0 && b.chunks[n-1] == c {
		return
	}
	c.retain()
	b.chunks = append(b.chunks, c)
	if !c.counted {
		c.counted = true
		b.batch.Bytes += int64(cap(c.b))
	}
}

// charge counts the batch's memory in the budget until its release.
func (b *buffers) charge(to *budget) {
	b.batch.Bytes += int64(cap(b.batch.Records))*recordSize + int64(cap(b.headers))*headerSize
	b.budget, b.charged = to, b.batch.Bytes
	to.add(b.charged)
}

// free is the batch's OnRelease.
func (b *buffers) free() {
	for i, c := range b.chunks {
		c.release()
		b.chunks[i] = nil
	}
	b.chunks = b.chunks[:0]
	b.records = b.batch.Records
	b.batch.Records = nil
	b.batch = nil
	clear(b.records)
	clear(b.headers)
	if b.headers = b.headers[:0]; cap(b.headers) > keepHeaders {
		b.headers = nil
	}
	if cap(b.records) > keepRecords {
		b.records = nil
	}
	budget, n := b.budget, b.charged
	b.budget, b.charged = nil, 0
	bufferPool.Put(b)
	if budget != nil {
		budget.give(n)
	}
}

// budget bounds the bytes that were handed over and not yet released. Whoever decodes waits for room before each batch
// and counts afterwards what the batch really takes, so the bound can be passed by one batch per fetch loop; a batch
// larger than the whole budget does not block for ever.
type budget struct {
	max int64
	mu  struct {
		sync.Mutex
		used int64
		room chan struct{} // closed when something was given back; nil while nobody waits
	}
}

func newBudget(n int64) *budget {
	return &budget{max: n}
}

// wait returns when less than the bound is in use.
func (b *budget) wait(ctx context.Context) error {
	for {
		b.mu.Lock()
		if b.mu.used < b.max {
			b.mu.Unlock()
			return nil
		}
		if b.mu.room == nil {
			b.mu.room = make(chan struct{})
		}
		room := b.mu.room
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-room:
		}
	}
}

func (b *budget) add(n int64) {
	b.mu.Lock()
	b.mu.used += n
	b.mu.Unlock()
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.used -= n
	if b.mu.room != nil {
		close(b.mu.room)
		b.mu.room = nil
	}
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.used
}
