package committer

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Run gathers, commits and answers until ctx ends, and appends rejects to their table. What is pending then is answered with
// its outcome as far as known and otherwise not at all; a graceful end flushes, waits for the answers and calls Finish first. It is called once. A *StopError that
// it returns says that a person must decide; everything pending has then failed with it.
func (c *Committer) Run(ctx context.Context) error {
	if !c.started.CompareAndSwap(false, true) {
		return errors.New("committer: Run is called twice")
	}
	defer close(c.ended)
	c.mu.Lock()
	c.warnOutboxLocked() // what Load has found
	c.mu.Unlock()
	finished, end := c.startFinisher(ctx)
	defer end()
	timer := time.NewTimer(c.beat())
	defer timer.Stop()
	lastBeat := time.Now()
	for {
		timer.Reset(c.untilDue(lastBeat))
		flush := false
		select {
		case <-ctx.Done():
			return nil
		case s := <-c.in:
			c.arrive(s)
		case <-c.flush:
			flush = true
		case <-timer.C:
		case err := <-finished:
			c.obs.Trouble(err)
			c.failPending(err)
			return err
		}
		c.drain(flush)
		err := c.commitDue(ctx, flush)
		if err == nil && time.Since(lastBeat) >= c.beat() {
			lastBeat = time.Now()
			err = c.heartbeat(ctx)
		}
		c.tellPending()
		if isStop(err) {
			c.failPending(err)
			return err
		}
	}
}

// arrive takes a submission in, or sends it back where its owner has been told to read again.
func (c *Committer) arrive(s Submission) {
	it := &item{Submission: s, ranges: rangesOf(s.Descriptor), since: time.Now()}
	if c.isForgotten(it) {
		c.mu.Lock()
		at := pick(c.mu.at, it.ranges)
		c.mu.Unlock()
		c.answer(it, Outcome{Verdict: Reread, Positions: at})
		return
	}
	c.pending = append(c.pending, it)
}

// drain takes in what has queued up: up to one group, or all of it on a flush, which covers everything submitted before.
func (c *Committer) drain(all bool) {
	for n := len(c.in); n > 0 && (all || c.files() < c.cfg.MaxDataFiles && len(c.pending) < c.cfg.MaxPending); n-- {
		select {
		case s := <-c.in:
			c.arrive(s)
		default:
			return
		}
	}
}

// files counts the data files pending.
func (c *Committer) files() (n int) {
	for _, it := range c.pending {
		n += it.files()
	}
	return n
}

// oldest are the times since which the oldest descriptor with files, and the oldest of all, have been pending.
func (c *Committer) oldest() (withFiles, all time.Time) {
	for _, it := range c.pending {
		if all.IsZero() {
			all = it.since
		}
		if it.files() > 0 {
			return it.since, all
		}
	}
	return withFiles, all
}

// due is when the next group is to be committed; false where nothing waits.
func (c *Committer) due() (time.Time, bool) {
	withFiles, all := c.oldest()
	switch {
	case all.IsZero():
		return time.Time{}, false
	case c.files() >= c.cfg.MaxDataFiles, len(c.pending) >= c.cfg.MaxPending:
		return all, true
	case withFiles.IsZero():
		return all.Add(c.cfg.EmptyInterval), true
	}
	at := withFiles.Add(c.cfg.Interval)
	if e := all.Add(c.cfg.EmptyInterval); e.Before(at) {
		at = e
	}
	return at, true
}

func (c *Committer) untilDue(lastBeat time.Time) time.Duration {
	wait := time.Until(lastBeat.Add(c.beat()))
	if at, ok := c.due(); ok {
		wait = min(wait, time.Until(at))
	}
	return max(wait, 0)
}

// commitDue commits what is due, group by group.
func (c *Committer) commitDue(ctx context.Context, flush bool) error {
	for ctx.Err() == nil {
		at, ok := c.due()
		if !ok || !flush && time.Until(at) > 0 {
			return nil
		}
		c.tellPending()
		g := c.gather()
		if err := c.take(ctx); err != nil {
			c.pending = append(g.items, c.pending...)
			return err
		}
		err := c.commit(ctx, g)
		c.give()
		if err != nil {
			return err
		}
		c.drain(false)
	}
	return nil
}

// gather takes the next group off what is pending: in order, up to the number of files. An owner whose last batch was
// refused gets groups of its own, so that it does not take the others down with it.
func (c *Committer) gather() *group {
	g := &group{id: uuid.New()}
	var rest []*item
	n := 0
	for _, it := range c.pending {
		full := len(g.items) > 0 && n+it.files() > c.cfg.MaxDataFiles
		alone := len(g.items) > 0 && g.items[0].Owner != it.Owner &&
			(c.refusals[it.Owner] > 0 || c.refusals[g.items[0].Owner] > 0)
		if full || alone {
			rest = append(rest, it)
			if full {
				n = c.cfg.MaxDataFiles + 1 // nothing overtakes
			}
			continue
		}
		n += it.files()
		g.items = append(g.items, it)
	}
	c.pending = rest
	return g
}

func (c *Committer) tellPending() {
	_, all := c.oldest()
	c.obs.Pending(c.files(), all)
}

// failPending answers everything that waits when a person must decide.
func (c *Committer) failPending(err error) {
	c.drain(true)
	for _, it := range c.pending {
		c.answer(it, Outcome{Verdict: Failed, Err: err})
	}
	c.pending = nil
}
