package topology

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
)

// CommitterStage makes sealed batches visible, those of any number of writer stages in one snapshot. One of them serves a
// table for a topology; a second one does no harm and is of no use. Methods may be called from any goroutine.
type CommitterStage struct {
	*stage
	flying inFlight
}

// NewCommitterStage makes a stage. It starts nothing.
func NewCommitterStage(cfg StageConfig) (*CommitterStage, error) {
	interval := cfg.Committer.Interval
	if interval == 0 {
		interval = defaultInterval
	}
	s, err := newStage(cfg, "committer", max(0, interval))
	if err != nil {
		return nil, err
	}
	return &CommitterStage{stage: s}, nil
}

// Run loads the table, settles what an earlier life left, and commits until ctx ends. Then it commits what it has, within
// the shutdown timeout, and returns. Callbacks that are not answered then get ErrStageEnded.
func (c *CommitterStage) Run(ctx context.Context) error {
	defer c.end()
	return c.commitUntil(ctx, func(ctx context.Context) { <-ctx.Done() })
}

// commitUntil runs the committer until last returns, and then gracefully to its end. last gets a context that ends with
// ctx, or when the committer has failed.
func (c *CommitterStage) commitUntil(ctx context.Context, last func(context.Context)) error {
	err := c.load(ctx)
	if err == nil && !c.cfg.Source.Traits().Replayable {
		// With positions, Begin settles what covers them.
		err = c.sink.Settle(ctx, nil)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	c.open() // not before it is certain that the committer will run, and answer
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer c.flying.abandon(ErrStageEnded)
	defer end()
	working, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	failed := make(chan struct{})
	g.Go(func() error {
		defer close(failed)
		return c.sink.Run(life)
	})
	waited := make(chan struct{})
	g.Go(func() error {
		defer close(waited)
		last(working)
		return nil
	})
	select {
	case <-failed:
		stop()
		<-waited
		return g.Wait()
	case <-waited:
	}
	c.state.setPhase(PhaseStopping)
	late, cancel := context.WithTimeout(life, c.cfg.ShutdownTimeout)
	defer cancel()
	c.sink.Flush()
	whole := c.flying.wait(late)
	if ferr := c.sink.Finish(late); ferr != nil && whole {
		c.log.Warn(rejectsWait, "error", ferr)
	}
	end()
	err = g.Wait()
	if err == nil && !whole {
		err = fmt.Errorf("topology: sealed batches were not committed within %s; they are to be brought again", c.cfg.ShutdownTimeout)
	}
	return err
}

// Commit takes the bytes of a sealed batch. It waits while too many are pending. done is called once, with nil when the
// batch is in the table, with ErrRewound where its records have to be read again, or with what is wrong with it for good;
// it must neither block nor call the stage. After an error of Commit itself done is not called.
func (c *CommitterStage) Commit(ctx context.Context, sealed []byte, done func(error)) error {
	if err := c.up(ctx); err != nil {
		return err
	}
	d, err := descriptor.Decode(sealed, c.sink.Table().Metadata())
	if errors.Is(err, descriptor.ErrUnknownSchema) || errors.Is(err, descriptor.ErrUnknownSpec) {
		// The writer has seen newer metadata.
		if _, lerr := c.sink.Load(ctx); lerr != nil {
			return fmt.Errorf("load the table: %w", lerr)
		}
		d, err = descriptor.Decode(sealed, c.sink.Table().Metadata())
	}
	if err != nil {
		return fmt.Errorf("take a sealed batch: %w", err)
	}
	return c.submit(ctx, d, done)
}

// submit hands a descriptor over. It stands for itself: the stage doesn't know which others its writer would take back.
func (c *CommitterStage) submit(ctx context.Context, d *descriptor.Descriptor, done func(error)) error {
	p := newPending(done)
	p.part()
	p.all()
	b := c.flying.add(callbacks{p})
	err := c.sink.Submit(ctx, committer.Submission{Descriptor: d, Done: func(o committer.Outcome) {
		c.flying.answer(b, outcomeError(o))
	}})
	if err != nil && c.flying.withdraw(b) {
		return fmt.Errorf("submit a sealed batch: %w", err)
	}
	return nil // or done was called: the stage ended meanwhile
}

func outcomeError(o committer.Outcome) error {
	switch o.Verdict {
	case committer.Landed, committer.AlreadyThere:
		return nil
	case committer.Reread:
		if o.Err != nil {
			return fmt.Errorf("%w: %w", ErrRewound, o.Err)
		}
		return ErrRewound
	}
	if o.Err != nil {
		return o.Err
	}
	return errors.New("topology: a sealed batch can't be committed")
}
