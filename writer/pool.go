package writer

import (
	"math/bits"
	"sync"
	"unsafe"
)

// pool recycles the buffers of the Parquet encoder. First touch of memory is dear on virtual machines, and the encoder
// asks for the same sizes over and over. It is Arrow's Allocator; what it keeps beyond keep bytes goes to the collector.
// Any goroutine.
type pool struct {
	keep int64
	// poison overwrites what is freed, so that tests see whoever still uses it.
	poison bool

	mu struct {
		sync.Mutex
		free [poolClasses][][]byte
		held int64
	}
}

const (
	poolMinClass = 8  // 256 bytes
	poolClasses  = 25 // up to 16 MiB; larger buffers are not kept
)

func sizeClass(n int) int {
	return max(poolMinClass, bits.Len(uint(n-1)))
}

// Allocate gives size zeroed bytes, aligned to 64: bitmaps and Bloom filters count on it, and clearing what is in the
// cache already costs nothing beside a first touch.
func (p *pool) Allocate(size int) []byte {
	if size <= 0 {
		return nil
	}
	c := sizeClass(size)
	if c < poolClasses {
		p.mu.Lock()
		if l := p.mu.free[c]; len(l) > 0 {
			b := l[len(l)-1]
			l[len(l)-1] = nil
			p.mu.free[c] = l[:len(l)-1]
			p.mu.held -= int64(cap(b))
			p.mu.Unlock()
			b = b[:size]
			clear(b)
			return b
		}
		p.mu.Unlock()
	}
	b := make([]byte, 1<<c+64)
	at := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[at : at+size : at+1<<c]
}

// Reallocate keeps what b holds, up to size bytes.
func (p *pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) && cap(b) > 0 {
		return b[:size]
	}
	out := p.Allocate(size)
	copy(out, b)
	p.Free(b)
	return out
}

// Free takes a buffer back; one that is not of the pool's sizes is left to the collector.
func (p *pool) Free(b []byte) {
	n := cap(b)
	if n < 1<<poolMinClass || n&(n-1) != 0 {
		return
	}
	c := bits.Len(uint(n)) - 1
	if c >= poolClasses {
		return
	}
	if p.poison {
		for i := range b[:n] {
			b[:n][i] = 0xdb
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.held+int64(n) > p.keep {
		return
	}
	p.mu.free[c] = append(p.mu.free[c], b[:0])
	p.mu.held += int64(n)
}

// heldBytes is what lies in the pool.
func (p *pool) heldBytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.held
}
