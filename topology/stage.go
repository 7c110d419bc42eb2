package topology

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

// Stages are floe inside somebody else's pipeline: the engine brings the records and drives the stages; they seal,
// commit, and call back.
//
// Without positions (StageConfig.Positioned is false) delivery is at least once: a record's callback is called with nil
// when the record is in the table, with an error when it may not be, and the engine brings it again. A record that is
// brought again after a commit whose answer was lost is in the table twice.
//
// With positions delivery is exactly once. Each record comes with its partition and position, in order; before the first
// one the engine asks the stage where to start (Begin), and after ErrRewound it asks again. The table decides: what it
// has is not taken a second time.

var (
	// ErrRewound says that the table stands elsewhere than the stage expected (another instance, a rollback), or that the
	// open batch was lost. With positions: call Begin and bring the records from there. Without: bring the records again.
	ErrRewound = errors.New("topology: what was taken over is not in the table, bring it again")
	// ErrStageEnded says that the stage has ended before the record was in the table.
	ErrStageEnded = errors.New("topology: the stage has ended")
)

// StageConfig of a stage. Name and Table are required, and Mapper where records are written.
type StageConfig struct {
	// Name is the topology's identity in the table, the same for all its stages: [A-Za-z0-9._-]{1,128}.
	Name string
	// Task numbers the stage among those of its kind: 0, 1, …. It is in file names, metrics and the WAL's path.
	Task   int
	Table  committer.Loader
	Mapper mapper.Factory
	// Rejects and RejectLimit are those of Config. A committer stage needs Rejects where a writer stage of its topology has it.
	Rejects     committer.Loader
	RejectLimit RejectLimit
	// Positioned: records come with partition and position.
	Positioned bool

	// Writer: Tasks are the encoders of GroupBy; without grouping a stage has one.
	Writer    WriterConfig
	Committer CommitterConfig
	// Memory bounds what the stage buffers, as for a topology: five sixteenths of it are for open files. Default 256 MiB.
	Memory int64
	// StartupTimeout is how long a catalog that is away at the start is waited for. Default 1 minute.
	StartupTimeout time.Duration
	// ShutdownTimeout bounds the graceful end. Default 30 s.
	ShutdownTimeout time.Duration

	// Instance is this process. Default: a fresh UUID.
	Instance string
	// WAL overrides where commits are noted. Default: below the table's location.
	WAL committer.Log
	// Logger defaults to discarding; Registerer takes the metrics while Run runs, nil for none.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// config is the stage's configuration as a topology's.
func (c StageConfig) config() Config {
	return Config{Name: c.Name, Source: embedded{c.Positioned}, Mapper: c.Mapper, Table: c.Table, Writer: c.Writer,
		Rejects: c.Rejects, RejectLimit: c.RejectLimit, Committer: c.Committer, Memory: c.Memory, StartupTimeout: c.StartupTimeout, ShutdownTimeout: c.ShutdownTimeout,
		Instance: c.Instance, WAL: c.WAL, Logger: c.Logger, Registerer: c.Registerer}
}

// embedded stands where a topology has its source.
type embedded struct{ positioned bool }

func (e embedded) Traits() source.Traits {
	return source.Traits{Name: "embedded", Replayable: e.positioned}
}
func (embedded) Run(context.Context, source.Handler) error           { return nil }
func (embedded) Partitions(context.Context) ([]source.Bounds, error) { return nil, nil }
func (embedded) Reopen(source.Partition, source.Position)            {}
func (embedded) Ack(context.Context, []source.Range)                 {}
func (embedded) Start(_ context.Context, _ source.Partition, _ source.Origin) (source.Position, error) {
	return 0, nil
}

// stage is what all stages have: a view of the table, and where they report to.
type stage struct {
	*report
	cfg     Config
	sink    sink
	rejects *rejectsTable
	// ready is closed when the stage takes calls; ended when Run has returned.
	ready, ended chan struct{}
}

// newStage makes a stage's committer; a writer's is only asked for the table and its positions and never run.
func newStage(sc StageConfig, component string, interval time.Duration) (*stage, error) {
	cfg := sc.config()
	if cfg.Mapper == nil && component == "committer" {
		cfg.Mapper = func(*mapper.Schema) (mapper.Mapper, error) {
			return nil, errors.New("topology: a committer maps nothing")
		}
	}
	t, err := newUnchecked(cfg)
	if err != nil {
		return nil, err
	}
	cfg = t.cfg
	if cfg.WAL == nil {
		cfg.WAL = wal.New(cfg.Committer.WALNamespace, cfg.Name)
	}
	cc := cfg.committer(0)
	cc.Component, cc.Task, cc.Interval = component, sc.Task, interval
	s := &stage{
		report: &report{log: cfg.Logger.With("topology", cfg.Name, "stage", fmt.Sprintf("%s/%d", component, sc.Task)),
			state: newState(cfg.Name, cfg.Instance)},
		cfg: cfg, rejects: newRejectsTable(&cfg), ready: make(chan struct{}), ended: make(chan struct{}),
	}
	s.state.wal = newWALLog(cfg.WAL)
	cc.Observer = newObserver(s.report, cc)
	c, err := committer.New(cc, cfg.Table, s.state.wal)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	s.sink = c
	return s, nil
}

// load waits for the table and makes the metrics.
func (s *stage) load(ctx context.Context) error {
	s.state.setPhase(PhaseStarting)
	err := s.wait(ctx, s.cfg.StartupTimeout, "load the table", func() error { _, err := s.sink.Load(ctx); return err })
	if err != nil {
		return err
	}
	tbl := s.sink.Table()
	wc := s.cfg.writer(0)
	if err := wc.CheckTable(tbl); err != nil {
		return err
	}
	if s.rejects != nil {
		load := func() error { return s.rejects.load(ctx, tbl) }
		if err := s.wait(ctx, s.cfg.StartupTimeout, "load the rejects table", load); err != nil {
			return err
		}
		s.state.setRejectsTable(s.rejects.name())
	}
	name := tableName(tbl)
	s.state.setTable(name, s.sink.Table)
	if s.met, err = newMetrics(s.cfg.Registerer, s.cfg.Name, name, s.state); err != nil {
		return err
	}
	return nil
}

// open lets callers in.
func (s *stage) open() {
	s.state.setPhase(PhaseRunning)
	close(s.ready)
}

// up waits until the stage takes calls.
func (s *stage) up(ctx context.Context) error {
	select {
	case <-s.ended:
		return ErrStageEnded
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ready:
	}
	select {
	case <-s.ended:
		return ErrStageEnded
	default:
		return nil
	}
}

func (s *stage) end() {
	close(s.ended)
	s.met.unregister()
	s.state.setPhase(PhaseEnded)
}

// Status says what the stage is doing.
func (s *stage) Status() Status { return s.state.snapshot(time.Now()) }

// Positions are the table's: where each partition goes on that it knows. It waits until Run has loaded the table.
func (s *stage) Positions(ctx context.Context) (map[source.Partition]source.Position, error) {
	if err := s.up(ctx); err != nil {
		return nil, err
	}
	ps, err := s.sink.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the table: %w", err)
	}
	return nextOf(ps), nil
}

// Begin records, in one empty append, where partitions start that the table has no position for, and gives where each
// of starts goes on: a partition that has a position keeps it. Call it before the first record of a partition: otherwise
// what came between a crash before the first commit and the next start can be missed.
func (s *stage) Begin(ctx context.Context, starts map[source.Partition]source.Position) (map[source.Partition]source.Position, error) {
	if err := s.up(ctx); err != nil {
		return nil, err
	}
	if err := s.sink.Settle(ctx, sortedPartitions(starts)); err != nil {
		return nil, fmt.Errorf("settle the WAL: %w", err)
	}
	ps, err := s.sink.Begin(ctx, starts)
	if err != nil {
		return nil, fmt.Errorf("record where %d partitions start: %w", len(starts), err)
	}
	at := map[source.Partition]source.Position{}
	for p := range starts {
		pr, there := ps.At[p]
		if !there {
			return nil, fmt.Errorf("the table has no position of %s although it was just recorded", p)
		}
		at[p] = pr.Next
	}
	return at, nil
}

func nextOf(ps committer.Positions) map[source.Partition]source.Position {
	at := make(map[source.Partition]source.Position, len(ps.At))
	for p, pr := range ps.At {
		at[p] = pr.Next
	}
	return at
}
