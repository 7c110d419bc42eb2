package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d; the error is that of ctx, where it ended first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Backoff is the wait after failure n, counted from 0: first, doubling up to most, less up to a quarter of it by chance, so
// that those who failed together do not all come back together.
func Backoff(n int, first, most time.Duration) time.Duration {
	d := most
	if n < 30 && first<<n < most {
		d = first << n
	}
	return d - rand.N(d/4+1)
}
