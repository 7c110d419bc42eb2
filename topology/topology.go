package topology

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
	"github.com/stormfloe/floe/writer"
)

// ErrKilled is what Run returns after Kill: what was in flight is read again at the next start.
var ErrKilled = errors.New("topology: ended at once, without a graceful end; the next start goes on from the table's positions")

// Topology is one pipeline. New makes it, Run runs it once.
type Topology struct {
	cfg     Config
	parts   parts
	state   *state
	kill    chan struct{}
	killed  sync.Once
	started atomic.Bool
	// end ends the run at once; nil until there is something to end.
	end atomic.Pointer[func()]
}

// task is what a worker needs of a *writer.Task. It is called from the worker's goroutine alone.
type task interface {
	Use(tbl *table.Table)
	UseRejects(tbl *table.Table)
	Open(ctx context.Context, at map[source.Partition]source.Position)
	Append(ctx context.Context, b *source.Batch) (done bool, err error)
	Due(now time.Time) bool
	Deadline() time.Time
	Seal(ctx context.Context) (*descriptor.Descriptor, error)
	Discard(ctx context.Context)
	Stats() writer.Stats
	RejectsByCode() map[mapper.Code]int64
	Close() error
}

// sink is what the topology needs of a *committer.Committer. Load, Table, Settle and Begin are called while Run runs.
type sink interface {
	Load(ctx context.Context) (committer.Positions, error)
	Table() *table.Table
	Settle(ctx context.Context, ps []source.Partition) error
	Begin(ctx context.Context, starts map[source.Partition]source.Position) (committer.Positions, error)
	Submit(ctx context.Context, s committer.Submission) error
	Flush()
	Finish(ctx context.Context) error
	Run(ctx context.Context) error
}

// parts makes the parts; tests put others in their place.
type parts struct {
	task  func(writer.Config) (task, error)
	sink  func(committer.Config, committer.Loader, committer.Log) (sink, error)
	check func(*table.Table) error
}

func realParts(check func(*table.Table) error) parts {
	return parts{
		task: func(c writer.Config) (task, error) { return writer.New(c) },
		sink: func(c committer.Config, l committer.Loader, w committer.Log) (sink, error) {
			return committer.New(c, l, w)
		},
		check: check,
	}
}

// New validates cfg and everything made from it. It starts nothing and reaches for nothing.
func New(cfg Config) (*Topology, error) {
	t, err := newUnchecked(cfg)
	if err != nil {
		return nil, err
	}
	for i := range t.cfg.tasks() {
		wc := t.cfg.writer(i)
		if err := wc.Validate(); err != nil {
			return nil, fmt.Errorf("topology: %w", err)
		}
		cc := t.cfg.committer(i)
		if err := cc.Validate(); err != nil {
			return nil, fmt.Errorf("topology: %w", err)
		}
	}
	if t.cfg.WAL == nil {
		t.cfg.WAL = wal.New(t.cfg.Committer.WALNamespace, t.cfg.Name)
	}
	t.state.wal = newWALLog(t.cfg.WAL)
	t.cfg.WAL = t.state.wal
	return t, nil
}

// newUnchecked is New without asking the parts.
func newUnchecked(cfg Config) (*Topology, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	if cfg.Instance == "" {
		cfg.Instance = uuid.NewString()
	}
	wc := cfg.writer(0)
	st := newState(cfg.Name, cfg.Instance)
	st.intake = newIntake(cfg.Source)
	return &Topology{
		cfg:   cfg,
		parts: realParts(wc.CheckTable),
		state: st,
		kill:  make(chan struct{}),
	}, nil
}

// Run runs the pipeline until ctx ends, until it has caught up where that is asked for, or until something fails that
// waiting will not mend. Then it ends gracefully: open batches are sealed, committed and acknowledged within the
// shutdown timeout. It returns nil if nothing failed and no partition was stopped. It may be called once.
func (t *Topology) Run(ctx context.Context) error {
	if t.started.Swap(true) {
		return errors.New("topology: Run was called before; make another one with New")
	}
	return newRun(t).run(ctx)
}

// Kill ends Run at once, without sealing or committing what is open. Nothing is lost: the next start reads it again.
// When Kill has returned, nothing new is committed, also if the context of Run ends right behind it; rejects of what has been
// committed may still be appended to their table.
func (t *Topology) Kill() {
	t.killed.Do(func() {
		close(t.kill)
		if end := t.end.Load(); end != nil {
			(*end)()
		}
	})
}

// Status says what the topology is doing. Any goroutine, also before and after Run.
func (t *Topology) Status() Status { return t.state.snapshot(time.Now()) }

// tasks is the number of worker goroutines: with grouping by fields one, whose encoders are the tasks.
func (c *Config) tasks() int {
	if len(c.Writer.GroupBy) > 0 {
		return 1
	}
	return c.Writer.Tasks
}

// writer is the configuration of worker i.
func (c *Config) writer(i int) writer.Config {
	n := c.tasks()
	return writer.Config{
		Topology:         c.Name,
		Name:             fmt.Sprintf("writer/%d", i),
		Mapper:           c.Mapper,
		SealRecords:      c.Writer.SealRecords,
		SealBytes:        c.Writer.SealBytes,
		SealInterval:     c.Writer.SealInterval,
		MaxOpenFiles:     max(1, c.Writer.MaxOpenFiles/n),
		MaxBufferedBytes: max(1<<20, MemoryShares(c.Memory).OpenFiles/int64(n)),
		GroupBy:          c.Writer.GroupBy,
		Parallel:         c.Writer.Tasks,
		Unpositioned:     !c.Source.Traits().Replayable,
		Evolve:           c.Evolve.On(),
	}
}

// committer is the configuration of committer i: the only one, or the one of worker i in a one-stage sink.
func (c *Config) committer(i int) committer.Config {
	cc := committer.Config{
		Topology:       c.Name,
		Component:      "committer",
		Instance:       c.Instance,
		Branch:         c.Committer.Branch,
		Interval:       max(0, c.Committer.Interval),
		MaxDataFiles:   c.Committer.MaxDataFiles,
		EmptyInterval:  c.Committer.EmptyInterval,
		Grace:          c.Committer.Grace,
		AttemptTimeout: c.Committer.AttemptTimeout,
		MaxBackoff:     c.Committer.MaxBackoff,
		Rejects:        c.Rejects,
		Logger:         c.Logger,

		ExpireEvery: c.Committer.ExpireEvery,
	}
	if c.OneStage {
		cc.Component, cc.Task, cc.Interval = "sink", i, 0
	}
	return cc
}

// committers is the number of committers.
func (c *Config) committers() int {
	if c.OneStage {
		return c.tasks()
	}
	return 1
}
