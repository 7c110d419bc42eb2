package committer

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/stormfloe/floe/internal/retry"
)

const (
	// firstBackoff is the most that the first wait takes.
	firstBackoff = 100 * time.Millisecond
	// movedBackoff is the most that a wait after a moved head takes: others are committing, and waiting long only lets
	// more of them through.
	movedBackoff = 2 * time.Second
	// repeatLog is how often a trouble that lasts is logged again.
	repeatLog = time.Minute
)

// trouble is what keeps commits from going through, while it lasts.
type trouble struct {
	since  time.Time
	logged time.Time
	tries  int
}

// suffer tells of trouble: to the observer each time, to the log at first and then now and again.
func (c *Committer) suffer(err error) {
	now := c.cfg.Now()
	if c.trouble.since.IsZero() {
		c.trouble.since = now
	}
	c.trouble.tries++
	c.obs.Trouble(err)
	if c.trouble.logged.IsZero() || now.Sub(c.trouble.logged) >= repeatLog {
		c.trouble.logged = now
		c.log.Warn("commit is held up; files and positions are kept and it is tried again until it works",
			"error", err, "tries", c.trouble.tries, "since", c.trouble.since)
	}
}

// relieve tells that the trouble has passed.
func (c *Committer) relieve() {
	if c.trouble.since.IsZero() {
		return
	}
	c.obs.Trouble(nil)
	c.log.Info("commits go through again", "tries", c.trouble.tries, "after", c.cfg.Now().Sub(c.trouble.since))
	c.trouble = trouble{}
}

// backoff waits before try n (from 0), with full jitter, and reports whether ctx still runs.
func backoff(ctx context.Context, n int, limit time.Duration) bool {
	wait := limit
	if n < 20 {
		wait = min(limit, firstBackoff<<n)
	}
	return retry.Sleep(ctx, rand.N(wait+1)) == nil
}

// seek looks until the table can be seen; it gives up when ctx ends, or with a *StopError.
func (c *Committer) seek(ctx context.Context) (*view, error) {
	for n := 0; ; n++ {
		v, err := c.look(ctx)
		if err == nil {
			c.publish(v)
			return v, nil
		}
		if isStop(err) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.suffer(err)
		if !backoff(ctx, n, c.cfg.MaxBackoff) {
			return nil, ctx.Err()
		}
	}
}
