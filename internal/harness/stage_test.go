package harness_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
	"github.com/stormfloe/floe/writer"
)

func stageConfig(w *harness.World, plan *fault.Plan, positioned bool) topology.StageConfig {
	return topology.StageConfig{
		Name: "orders", Table: w.Loader(plan), Rejects: w.RejectsLoader(plan), Mapper: mapper.NewJSON(mapper.JSONOptions{}), Positioned: positioned,
		Writer: topology.WriterConfig{SealRecords: 7, SealInterval: 20 * time.Millisecond},
		Committer: topology.CommitterConfig{Interval: -1, CheckInterval: time.Second, AttemptTimeout: 5 * time.Second,
			MaxBackoff: 50 * time.Millisecond},
	}
}

// runner runs stages and ends them, or kills what they reach, in the order given.
func runStage(t *testing.T, run func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	stop = func() (err error) {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// stageWriter is what an engine drives.
type stageWriter interface {
	Begin(context.Context, map[source.Partition]source.Position) (map[source.Partition]source.Position, error)
	WriteBatch(context.Context, *source.Batch, func(error)) error
	Flush(context.Context) error
}

// feed is the engine: it brings everything in the world's log, from where the stage says, and again after ErrRewound,
// until all of it is acknowledged.
func feed(ctx context.Context, w *harness.World, s stageWriter) error {
	for ctx.Err() == nil {
		starts := map[source.Partition]source.Position{}
		for _, b := range w.Log.Bounds() {
			starts[b.Partition] = b.First
		}
		at, err := s.Begin(ctx, starts)
		if err != nil {
			return err
		}
		err = feedOnce(ctx, w, s, at)
		if err == nil || !errors.Is(err, topology.ErrRewound) {
			return err
		}
	}
	return ctx.Err()
}

func feedOnce(ctx context.Context, w *harness.World, s stageWriter, at map[source.Partition]source.Position) error {
	acks := make(chan error, 1000)
	n := 0
	src := &replay{at: at, deliver: func(b *source.Batch) error {
		n++
		return s.WriteBatch(ctx, b, func(err error) { acks <- err })
	}}
	if err := src.run(ctx, w.Log); err != nil {
		return err
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	for range n {
		select {
		case err := <-acks:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// replay reads a log through a memory source as an engine would.
type replay struct {
	at      map[source.Partition]source.Position
	deliver func(*source.Batch) error
	left    map[source.Partition]source.Position
	stop    context.CancelFunc
	err     error
}

func (r *replay) run(ctx context.Context, log *memory.Log) error {
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	r.left = map[source.Partition]source.Position{}
	for _, b := range log.Bounds() {
		if r.at[b.Partition] < b.Last {
			r.left[b.Partition] = b.Last
		}
	}
	if len(r.left) == 0 {
		return nil
	}
	if err := log.Source(memory.Options{BatchRecords: 3, Poison: true}).Run(ctx, r); err != nil {
		return err
	}
	return r.err
}

func (r *replay) Assigned(context.Context, []source.Partition) (map[source.Partition]source.Position, error) {
	return r.at, nil
}
func (r *replay) Revoked(context.Context, []source.Partition) {}
func (r *replay) Failed(source.Partition, error)              {}
func (r *replay) Trouble(error)                               {}
func (r *replay) Deliver(_ context.Context, b *source.Batch) error {
	defer b.Release()
	if err := r.deliver(b); err != nil {
		r.err = err
		r.stop()
		return nil
	}
	if b.Range.To >= r.left[b.Range.Partition] {
		delete(r.left, b.Range.Partition)
	}
	if len(r.left) == 0 {
		r.stop()
	}
	return nil
}

func TestSinkStageWithPositionsIsExactlyOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(60)
		for range 2 {
			s, err := topology.NewSink(stageConfig(w, fault.New(nil), true))
			if err != nil {
				t.Fatal(err)
			}
			stop := runStage(t, s.Run)
			if err := feed(t.Context(), w, s); err != nil {
				t.Fatal(err)
			}
			w.Check(t)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			w.Produce(20)
		}
	})
}

func TestSplitStagesTravelAsBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: []string{"region"}})
		w.Produce(80)
		c, err := topology.NewCommitterStage(stageConfig(w, fault.New(nil), true))
		if err != nil {
			t.Fatal(err)
		}
		s, err := topology.NewWriterStage(stageConfig(w, fault.New(nil), true), c.Commit)
		if err != nil {
			t.Fatal(err)
		}
		stopC, stopW := runStage(t, c.Run), runStage(t, s.Run)
		if err := feed(t.Context(), w, s); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
		if err := errors.Join(stopW(), stopC()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStageGoesOnAfterTheTableWasRolledBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		s, err := topology.NewSink(stageConfig(w, fault.New(nil), true))
		if err != nil {
			t.Fatal(err)
		}
		stop := runStage(t, s.Run)
		for range 2 { // each time one commit at least
			w.Produce(30)
			if err := feed(t.Context(), w, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Catalog.Rollback(2); err != nil {
			t.Fatal(err)
		}
		w.Produce(10)
		if err := feed(t.Context(), w, s); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStageWithoutPositionsAcksWhatIsInTheTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		s, err := topology.NewSink(stageConfig(w, fault.New(nil), false))
		if err != nil {
			t.Fatal(err)
		}
		stop := runStage(t, s.Run)
		const n = 50
		acks := make(chan error, n)
		for i := range n {
			rec := &source.Record{Value: fmt.Appendf(nil, `{"part":0,"off":%d,"region":"r","payload":"p%d"}`, i, i)}
			if err := s.Write(t.Context(), rec, func(err error) { acks <- err }); err != nil {
				t.Fatal(err)
			}
		}
		for range n {
			if err := <-acks; err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Rows(t); got != n {
			t.Errorf("%d rows, want %d", got, n)
		}
		bad := &source.Record{Value: []byte(`{"part":0,"off":"x"}`)}
		var br *writer.BadRecord
		if err := s.Write(t.Context(), bad, nil); !errors.As(err, &br) {
			t.Errorf("a bad record gave %v", err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), bad, nil); !errors.Is(err, topology.ErrStageEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestStageNacksWhatItCouldNotCommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		cfg := stageConfig(w, fault.New(nil), false)
		cfg.ShutdownTimeout = 50 * time.Millisecond
		s, err := topology.NewWriterStage(cfg, func(_ context.Context, _ []byte, committed func(error)) error {
			committed(errors.New("the bus is down"))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := runStage(t, s.Run)
		acks := make(chan error, 1)
		rec := &source.Record{Value: []byte(`{"part":0,"off":1,"region":"r","payload":"p"}`)}
		if err := s.Write(t.Context(), rec, func(err error) { acks <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-acks; !errors.Is(err, topology.ErrRewound) {
			t.Errorf("ack gave %v", err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Where the first records are bad the configuration is wrong: nothing of what it made of them is committed.
func TestStageCommitsNothingOfAWrongConfiguration(t *testing.T) {
	for _, positioned := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			w := harness.New(t, harness.Shape{Partitions: 1, Rejects: true})
			cfg := stageConfig(w, fault.New(nil), positioned)
			cfg.Writer.SealRecords, cfg.Writer.SealInterval = 1000, time.Hour
			cfg.RejectLimit = topology.RejectLimit{Share: 0.5, Of: 10}
			s, err := topology.NewSink(cfg)
			if err != nil {
				t.Fatal(err)
			}
			stop := runStage(t, s.Run)
			part, _ := w.Log.Partition(harness.Topic, 0)
			if positioned {
				if _, err := s.Begin(t.Context(), map[source.Partition]source.Position{part: 0}); err != nil {
					t.Fatal(err)
				}
			}
			acks := make(chan error, 10)
			var last error
			for i := range 7 {
				rec := &source.Record{Position: source.Position(i), Value: []byte(`{"part":0,"off":"x"}`)}
				if i == 0 {
					rec.Value = []byte(`{"part":0,"off":1,"region":"r","payload":"p"}`)
				}
				ack := func(err error) { acks <- err }
				if positioned {
					last = s.WriteAt(t.Context(), part, rec, ack)
				} else {
					last = s.Write(t.Context(), rec, ack)
				}
			}
			if _, ok := errors.AsType[*writer.JudgedError](last); !ok {
				t.Errorf("the last write gave %v", last)
			}
			for range 6 {
				if err := <-acks; !errors.Is(err, topology.ErrRewound) {
					t.Errorf("ack gave %v", err)
				}
			}
			if err := stop(); err != nil && !errors.Is(err, topology.ErrRewound) {
				t.Error(err)
			}
			if n := w.Rows(t); n != 0 || len(w.Rejects.Metadata().Snapshots()) != 0 {
				t.Errorf("%d rows, %d snapshots of the rejects table", n, len(w.Rejects.Metadata().Snapshots()))
			}
		})
	}
}
