package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
	"github.com/stormfloe/floe/writer"
)

// addColumn gives the table another optional column.
func addColumn(t *testing.T, w *harness.World, name string) {
	t.Helper()
	m := w.Catalog.Metadata()
	id := m.LastColumnID() + 1
	fields := append(m.CurrentSchema().Fields(), iceberg.NestedField{ID: id, Name: name, Type: iceberg.PrimitiveTypes.Int64})
	setSchema(t, w, fields)
}

// dropColumn takes the last column away.
func dropColumn(t *testing.T, w *harness.World) {
	t.Helper()
	fields := w.Catalog.Metadata().CurrentSchema().Fields()
	setSchema(t, w, fields[:len(fields)-1])
}

func setSchema(t *testing.T, w *harness.World, fields []iceberg.NestedField) {
	t.Helper()
	id := 0
	for _, s := range w.Catalog.Metadata().Schemas() {
		id = max(id, s.ID+1)
	}
	if err := w.Catalog.Apply(table.NewAddSchemaUpdate(iceberg.NewSchema(id, fields...)), table.NewSetCurrentSchemaUpdate(-1)); err != nil {
		t.Fatal(err)
	}
}

// setSpec partitions the table by a column, or not at all.
func setSpec(t *testing.T, w *harness.World, column string) {
	t.Helper()
	m := w.Catalog.Metadata()
	spec := iceberg.NewPartitionSpecID(len(m.PartitionSpecs()) + 10)
	if column != "" {
		f, _ := m.CurrentSchema().FindFieldByName(column)
		spec = iceberg.NewPartitionSpecID(spec.ID(), iceberg.PartitionField{SourceIDs: []int{f.ID}, FieldID: 2000 + spec.ID(),
			Name: fmt.Sprintf("%s_%d", column, spec.ID()), Transform: iceberg.IdentityTransform{}})
	}
	if err := w.Catalog.Apply(table.NewAddPartitionSpecUpdate(&spec, false), table.NewSetDefaultSpecUpdate(-1)); err != nil {
		t.Fatal(err)
	}
}

// TestTableEvolvesWhileRunning changes schema and spec between batches, under topologies of all kinds.
func TestTableEvolvesWhileRunning(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: v.by})
				_, stop := harness.Start(t, v.apply(w.Config(nil)))
				steps := []func(){
					func() { addColumn(t, w, "extra") },
					func() { setSpec(t, w, "part") },
					func() { dropColumn(t, w) },
					func() { setSpec(t, w, "") },
					func() { addColumn(t, w, "extra") },
				}
				for i, step := range steps {
					w.Produce(30)
					if i%2 == 0 {
						harness.Until(t, "what was produced before", caughtUp(w, "orders"))
					}
					step()
				}
				w.Produce(30)
				harness.Until(t, "the rest", caughtUp(w, "orders"))
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				w.Check(t)
			})
		})
	}
}

// TestWALOfAnOlderSchemaIsAdopted kills a life between its WAL entry and its commit, and changes the table before the next.
func TestWALOfAnOlderSchemaIsAdopted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for nth := 2; nth <= 3; nth++ {
			w := harness.New(t, harness.Shape{Partitions: 2, PartitionBy: []string{"region"}})
			w.Produce(40)
			plan := fault.New(fault.On(fault.OpCommit, fault.Before, nth, fault.Crash))
			_ = w.Live(t, w.Config(plan), plan)
			addColumn(t, w, "extra")
			setSpec(t, w, "part")
			w.Produce(10)
			cfg := w.Config(nil)
			var said bytes.Buffer
			cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
			w.CatchUp(t, cfg)
			w.Check(t)
			// On a slow machine two commits may have taken it all, and the third never came.
			if plan.Crashed() && !strings.Contains(said.String(), "was adopted") {
				t.Errorf("commit %d: nothing was adopted:\n%s", nth, said.String())
			}
		}
	})
}

// TestTwoReplicasBeginABranch lets two replicas make the branch, and the first positions on it, at once.
func TestTwoReplicasBeginABranch(t *testing.T) {
	for _, filled := range []bool{false, true} {
		t.Run(fmt.Sprintf("filled=%v", filled), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := harness.New(t, harness.Shape{Partitions: 4})
				w.Produce(40)
				names := []string{"orders"}
				if filled {
					other := w.Config(nil)
					other.Name = "other"
					w.CatchUp(t, other)
					names = append(names, other.Name)
				}
				main := w.Catalog.Metadata().CurrentSnapshot()
				w.Produce(40)
				a := w.Log.Source(memory.Options{Manual: true, BatchRecords: 3})
				b := w.Log.Source(memory.Options{Manual: true, BatchRecords: 3})
				for i, bo := range w.Log.Bounds() {
					[]*memory.Source{a, b}[i%2].Assign(bo.Partition)
				}
				var errs [2]error
				var wg sync.WaitGroup
				for i, src := range []source.Source{a, b} {
					cfg := w.ConfigOn(nil, src)
					cfg.Committer.Branch = "audit"
					wg.Go(func() { errs[i] = w.Live(t, cfg, fault.New(nil)) })
				}
				wg.Wait()
				if err := errors.Join(errs[:]...); err != nil {
					t.Fatal(err)
				}
				// What is on the branch becomes main, and is checked there.
				var head int64
				for name, ref := range w.Catalog.Metadata().Refs() {
					if name == "audit" {
						head = ref.SnapshotID
					}
				}
				if now := w.Catalog.Metadata().CurrentSnapshot(); (now == nil) != (main == nil) || now != nil && now.SnapshotID != main.SnapshotID {
					t.Error("main has moved")
				}
				if err := w.Catalog.Apply(table.NewSetSnapshotRefUpdate(table.MainBranch, head, table.BranchRef, -1, -1, -1)); err != nil {
					t.Fatal(err)
				}
				w.CheckOf(t, names...)
				if !caughtUp(w, "orders")() {
					t.Error("the branch does not hold everything")
				}
			})
		})
	}
}

// TestReplicasCatchUpTogether ends both of two replicas when the table holds what was there, whoever owned it.
func TestReplicasCatchUpTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 4})
		w.Produce(120)
		a := w.Log.Source(memory.Options{Manual: true, BatchRecords: 3})
		b := w.Log.Source(memory.Options{Manual: true, BatchRecords: 3})
		for i, bo := range w.Log.Bounds() {
			[]*memory.Source{a, a, a, b}[i].Assign(bo.Partition)
		}
		var errs [2]error
		var wg sync.WaitGroup
		for i, src := range []source.Source{a, b} {
			cfg := w.ConfigOn(nil, src)
			cfg.Writer.SealRecords, cfg.Writer.SealInterval = 1000, time.Hour
			cfg.Committer.Interval = time.Hour
			wg.Go(func() { errs[i] = w.Live(t, cfg, fault.New(nil)) })
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
	})
}

func TestTableMadeAgainStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(40)
		cfg := w.Config(nil)
		cfg.Committer.CheckInterval = 20 * time.Millisecond
		top, err := topology.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- top.Run(t.Context()) }()
		harness.Until(t, "the first rows", caughtUp(w, "orders"))
		if err := w.Catalog.Recreate(); err != nil {
			t.Fatal(err)
		}
		w.Produce(10)
		if err := <-done; err == nil || !strings.Contains(err.Error(), "dropped and made again") {
			t.Errorf("Run gave %v", err)
		}
		if n := w.Rows(t); n != 0 {
			t.Errorf("the new table has %d rows", n)
		}
	})
}

// TestPartitionThatLostItsHeadStopsAlone lets retention take what was not read while the catalog was away.
func TestPartitionThatLostItsHeadStopsAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 3})
		w.Produce(30)
		cfg := w.Config(nil)
		cfg.Writer.Tasks = 2
		top, stop := harness.Start(t, cfg)
		harness.Until(t, "the beginning", caughtUp(w, "orders"))
		w.Catalog.SetAway(harness.ErrAway)
		w.Produce(6000)
		harness.Until(t, "the source to be held", func() bool {
			st := top.Status()
			return st.Tasks[0].Phase == "waiting" || st.Tasks[1].Phase == "waiting"
		})
		first := w.Log.Bounds()[0]
		w.Log.Truncate(harness.Topic, first.Partition.ID, first.Last)
		w.Catalog.SetAway(nil)
		harness.Until(t, "the others", func() bool {
			at, err := w.Positions("orders")
			bs := w.Log.Bounds()
			return err == nil && at[bs[1].Partition] == bs[1].Last && at[bs[2].Partition] == bs[2].Last
		})
		var pe *source.PositionError
		if err := stop(); !errors.As(err, &pe) || pe.Partition != first.Partition || pe.First != first.Last {
			t.Errorf("Run gave %v", err)
		}
		w.CheckOf(t, "orders")
	})
}

func TestGroupingByAnUnknownColumnFailsAtTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		cfg := w.Config(nil)
		cfg.Writer.GroupBy = []string{"no_such_column"}
		if err := w.Live(t, cfg, fault.New(nil)); err == nil || !strings.Contains(err.Error(), "no_such_column") {
			t.Errorf("Run gave %v", err)
		}
		sc := stageConfig(w, fault.New(nil), true)
		sc.Writer.GroupBy = cfg.Writer.GroupBy
		s, err := topology.NewSink(sc)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no_such_column") {
			t.Errorf("the stage gave %v", err)
		}
	})
}

// TestStageTakesABatchThatIsUsedAgain brings every batch in the same struct, as an engine without garbage does, a bad
// record among them.
func TestStageTakesABatchThatIsUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		s, err := topology.NewSink(stageConfig(w, fault.New(nil), false))
		if err != nil {
			t.Fatal(err)
		}
		stop := runStage(t, s.Run)
		rec := func(i int) source.Record {
			return source.Record{Value: fmt.Appendf(nil, `{"part":0,"off":%d,"region":"r","payload":"p%d"}`, i, i)}
		}
		acks := make(chan error, 10)
		ack := func(err error) { acks <- err }
		var b source.Batch
		b.Records = []source.Record{rec(0), rec(1), {Value: []byte(`{"part":0,"off":"x"}`)}}
		var bad *writer.BadRecord
		if err := s.WriteBatch(t.Context(), &b, ack); !errors.As(err, &bad) {
			t.Fatalf("a bad record gave %v", err)
		}
		b.Records = []source.Record{rec(2), rec(3), rec(4)}
		if err := s.WriteBatch(t.Context(), &b, ack); err != nil {
			t.Fatal(err)
		}
		if err := <-acks; err != nil {
			t.Fatal(err)
		}
		if got := w.Rows(t); got != 5 {
			t.Errorf("%d rows, want 5", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCommitAnswersOnce ends a committer stage while many wait for it: each gets an error or its callback, never both, never
// neither.
func TestCommitAnswersOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{})
		var sealed []byte
		ws, err := topology.NewWriterStage(stageConfig(w, fault.New(nil), false), func(_ context.Context, b []byte, done func(error)) error {
			sealed = b
			done(nil)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stopW := runStage(t, ws.Run)
		if err := ws.Write(t.Context(), &source.Record{Value: []byte(`{"part":0,"off":1,"payload":"p"}`)}, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(ws.Flush(t.Context()), stopW()); err != nil {
			t.Fatal(err)
		}
		cfg := stageConfig(w, fault.New(nil), false)
		cfg.ShutdownTimeout = 20 * time.Millisecond
		c, err := topology.NewCommitterStage(cfg)
		if err != nil {
			t.Fatal(err)
		}
		stop := runStage(t, c.Run)
		if _, err := c.Positions(t.Context()); err != nil { // it is up
			t.Fatal(err)
		}
		w.Catalog.SetAway(harness.ErrAway)
		const n = 300
		var mu sync.Mutex
		got := make([]int, n)
		note := func(i int) {
			mu.Lock()
			defer mu.Unlock()
			got[i]++
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if err := c.Commit(t.Context(), sealed, func(error) { note(i) }); err != nil {
					note(i)
				}
			})
		}
		harness.Until(t, "trouble", func() bool { return !c.Status().Ready })
		_ = stop() // not everything could be committed
		wg.Wait()
		for i, times := range got {
			if times != 1 {
				t.Errorf("batch %d was answered %d times", i, times)
			}
		}
	})
}
