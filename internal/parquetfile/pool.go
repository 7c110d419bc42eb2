package parquetfile

import (
	"math/bits"
)

// pool recycles buffers. First touch of memory is dear on virtual machines, and encoding asks for the same sizes over
// and over. What it keeps beyond keep bytes goes to the collector. It belongs to one goroutine.
type pool struct {
	keep int64
	held int64
	free [poolClasses][][]byte
	// poison overwrites what is freed, so that tests see whoever still uses it.
	poison bool
}

const (
	poolMinClass = 8  // 256 bytes
	poolClasses  = 25 // up to 16 MiB; larger buffers are not kept
)

func sizeClass(n int) int { return max(poolMinClass, bits.Len(uint(n-1))) }

// get gives an empty buffer that holds at least n bytes; what is in it is not defined. It is aligned to eight bytes.
func (p *pool) get(n int) []byte {
	c := sizeClass(n)
	if c < poolClasses {
		if l := p.free[c]; len(l) > 0 {
			b := l[len(l)-1]
			l[len(l)-1] = nil
			p.free[c] = l[:len(l)-1]
			p.held -= int64(cap(b))
			return b
		}
	}
	return make([]byte, 0, 1<<c)
}

// zeroed gives n zero bytes.
func (p *pool) zeroed(n int) []byte {
	b := p.get(n)[:n]
	clear(b)
	return b
}

// grow gives b with room for n more bytes; b itself is gone where it was too small.
func (p *pool) grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	out := append(p.get(len(b)+n), b...)
	p.put(b)
	return out
}

// put takes a buffer back; one that is not of the pool's sizes is left to the collector.
func (p *pool) put(b []byte) {
	n := cap(b)
	if n < 1<<poolMinClass || n&(n-1) != 0 {
		return
	}
	c := bits.Len(uint(n)) - 1
	if p.poison {
		for i := range b[:n] {
			b[:n][i] = 0xdb
		}
	}
	if c >= poolClasses || p.held+int64(n) > p.keep {
		return
	}
	p.free[c] = append(p.free[c], b[:0])
	p.held += int64(n)
}
