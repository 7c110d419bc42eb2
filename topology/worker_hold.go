package topology

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// hold is the wait for what the mapper needs before the batch in hand can go on. Nothing is dropped or read again, and what
// was mapped before is sealed as ever. It ends with the batch.
type hold struct {
	stop context.CancelFunc
	// of is the batch in hand.
	of source.Range
	// ended is closed when nothing of the hold runs any more.
	ended chan struct{}
}

// holdFor has what the batch in hand needs fetched, for as long as it takes, in a goroutine of its own. first is set once
// that place has answered; nil where it has before.
func (w *worker) holdFor(life context.Context, wait *mapper.NotReadyError, first *atomic.Bool) {
	ctx, stop := context.WithCancel(life)
	h := &hold{stop: stop, of: w.batch.Range, ended: make(chan struct{})}
	before := w.lastHold
	w.held, w.lastHold = h, h
	w.r.g.Go(func() error {
		defer close(h.ended)
		defer stop()
		if before != nil {
			<-before.ended // it takes its trouble back
		}
		w.fetch(ctx, h, wait, first)
		return nil
	})
}

// fetch tries until it has what is needed. It goes on for as long as it takes, not ready, once something was fetched there by this
// run; before that, and where the answer is a refusal that stays, it is a wrong configuration rather than an outage.
func (w *worker) fetch(ctx context.Context, h *hold, wait *mapper.NotReadyError, first *atomic.Bool) {
	part := w.name + "/fetch"
	defer w.r.trouble(part, nil)
	began, refused := time.Now(), time.Time{}
	for n := 0; ; n++ {
		err := wait.Fetch(ctx)
		if err == nil {
			if first != nil {
				first.Store(true)
			}
			w.do(ctx, func(context.Context) {
				if w.held == h {
					w.held = nil
				}
			})
			return
		}
		if ctx.Err() != nil {
			return
		}
		since := began
		if errors.Is(err, mapper.ErrRefused) {
			if refused.IsZero() {
				refused = time.Now()
			}
			since = refused
		} else {
			refused = time.Time{}
			if first == nil || first.Load() {
				since = time.Now()
			}
		}
		lasted := time.Since(since)
		if lasted >= w.r.cfg.StartupTimeout {
			w.do(ctx, func(context.Context) {
				w.halt(fmt.Errorf("task %s has waited %s for %s: %w (a record among %s needs it)", w.name, lasted.Round(time.Second), wait.What, err, h.of))
			})
			return
		}
		w.r.trouble(part, fmt.Errorf("task %s holds its records until %s is there: %w", w.name, wait.What, err))
		if retry.Sleep(ctx, min(backoff(n), w.r.cfg.StartupTimeout-lasted)) != nil {
			return
		}
	}
}

// letGo ends the hold of the batch in hand.
func (w *worker) letGo() {
	if w.held != nil {
		w.held.stop()
		w.held = nil
	}
}
