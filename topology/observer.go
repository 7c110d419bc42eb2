package topology

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/retry"
)

// report is where the parts of a topology or of a stage tell what happens. met is nil until the table's name is known.
type report struct {
	log   *slog.Logger
	state *state
	met   *metrics
}

// observer turns a committer's events into metrics and status.
type observer struct {
	*report
	i    int
	task string
}

func newObserver(r *report, cc committer.Config) *observer {
	o := &observer{report: r, i: cc.Task, task: fmt.Sprintf("%s/%d", cc.Component, cc.Task)}
	r.state.updateCommitter(o.i, func(c *CommitterStatus) { c.Committer = o.task })
	return o
}

func (o *observer) Committed(x committer.Commit) {
	if m := o.met; m != nil {
		m.commits.WithLabelValues(o.task).Inc()
		m.filesCommitted.WithLabelValues(o.task).Add(float64(x.Files))
		m.rowsCommitted.WithLabelValues(o.task).Add(float64(x.Rows))
		m.bytesCommitted.WithLabelValues(o.task).Add(float64(x.Bytes))
		m.commitSeconds.WithLabelValues(o.task).Observe(x.Took.Seconds())
	}
	now := time.Now()
	o.state.updateCommitter(o.i, func(c *CommitterStatus) {
		c.LastCommit, c.LastCommitSeconds = &now, x.Took.Seconds()
		c.Commits++
		c.Rows += x.Rows
		c.Files += int64(x.Files)
		c.Bytes += x.Bytes
	})
	o.state.addCommit(CommitStatus{Committer: o.task, SnapshotID: x.SnapshotID, At: now,
		Files: x.Files, Rows: x.Rows, Bytes: x.Bytes, Seconds: x.Took.Seconds()})
	o.state.setTrouble(o.task, nil)
}

func (o *observer) CommitFailed(err error) {
	if m := o.met; m != nil {
		m.commitFailures.WithLabelValues(o.task).Inc()
	}
	o.state.updateCommitter(o.i, func(c *CommitterStatus) { c.Failures++ })
	o.state.setError(err)
}

func (o *observer) Outcome(kind string) {
	if m := o.met; m != nil {
		m.attempts.WithLabelValues(o.task, kind).Inc()
	}
	o.state.updateCommitter(o.i, func(c *CommitterStatus) {
		if c.Attempts == nil {
			c.Attempts = map[string]int64{}
		}
		c.Attempts[kind]++
	})
}

func (o *observer) Pending(files int, oldest time.Time) {
	if m := o.met; m != nil {
		m.pendingFiles.WithLabelValues(o.task).Set(float64(files))
		m.oldest.set(o.task, oldest)
	}
	o.state.updateCommitter(o.i, func(c *CommitterStatus) {
		c.PendingFiles, c.OldestPending = files, nil
		if !oldest.IsZero() {
			c.OldestPending = &oldest
		}
	})
}

func (o *observer) Trouble(err error) { o.trouble(o.task, err) }

func (o *observer) RejectsAppended(_ int, rows, _ int64) {
	if m := o.met; m != nil {
		m.rejectsAppended.WithLabelValues(o.task).Add(float64(rows))
	}
	o.state.updateCommitter(o.i, func(c *CommitterStatus) { c.Rejects += rows })
}

// Outbox also tells of a rejects table that can't be written: the stream goes on as long as the outbox has room.
func (o *observer) Outbox(x committer.Outbox) {
	if m := o.met; m != nil {
		m.outboxFiles.WithLabelValues(o.task).Set(float64(x.Files))
		m.outboxOldest.set(o.task, x.Oldest)
	}
	o.state.updateCommitter(o.i, func(c *CommitterStatus) {
		c.OutboxFiles, c.OutboxRows, c.OutboxSince = x.Files, x.Rows, nil
		if !x.Oldest.IsZero() {
			c.OutboxSince = &x.Oldest
		}
	})
	o.trouble(o.task+" rejects", x.Err)
}

// trouble notes and logs a passing failure of a part, or with nil its end; the same one is logged once.
func (r *report) trouble(part string, err error) {
	if !r.state.setTrouble(part, err) {
		return
	}
	if err == nil {
		r.log.Info("trouble has passed", "part", part)
		return
	}
	r.log.Warn("trouble", "part", part, "error", err)
}

// wait tries f until it succeeds, timeout has passed, or its error is one that waiting will not mend. The error is f's own,
// which says what was being done; what is for the log.
func (r *report) wait(ctx context.Context, timeout time.Duration, what string, f func() error) error {
	deadline := time.Now().Add(timeout)
	for n := 0; ; n++ {
		err := f()
		if err == nil {
			r.state.setTrouble("startup", nil)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d := backoff(n)
		if isFinal(err) || time.Now().Add(d).After(deadline) {
			return err
		}
		r.state.setTrouble("startup", err)
		r.log.Warn("waiting at the start", "what", what, "error", err)
		if retry.Sleep(ctx, d) != nil {
			return ctx.Err()
		}
	}
}
