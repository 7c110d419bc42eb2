package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepWaitsUnlessItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

func TestBackoffDoublesUpToABound(t *testing.T) {
	for n, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		for range 20 {
			if got := Backoff(n, 100, 1000); got > want || got < want*3/4 {
				t.Fatalf("failure %d: %d, want %d less up to a quarter", n, got, want)
			}
		}
	}
	if got := Backoff(1<<30, time.Second, time.Hour); got > time.Hour || got < 45*time.Minute {
		t.Errorf("got %s", got)
	}
}
