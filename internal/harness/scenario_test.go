package harness_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
	"github.com/stormfloe/floe/writer"
)

// caughtUp says that the table has come to the log's ends.
func caughtUp(w *harness.World, name string) func() bool {
	return func() bool {
		at, err := w.Positions(name)
		if err != nil {
			return false
		}
		for _, b := range w.Log.Bounds() {
			if at[b.Partition] < b.Last {
				return false
			}
		}
		return true
	}
}

// TestFailedRequests makes every effect fail once, without and with having been applied; the process goes on.
func TestFailedRequests(t *testing.T) {
	for _, v := range variants[:4] {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				count := fault.New(nil)
				w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: v.by})
				w.Produce(60)
				if err := w.Live(t, v.apply(w.Config(count)), count); err != nil {
					t.Fatal(err)
				}
				by := max(3, stride(count.N(), 5))
				for k := 1 + random(t).IntN(by); k <= count.N(); k += by {
					w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: v.by})
					w.Produce(60)
					plan := fault.New(fault.At(k, fault.Fail(fault.ErrInjected)))
					if err := w.Live(t, v.apply(w.Config(plan)), plan); err != nil {
						t.Fatalf("step %d, %v: %v", k, plan.Trace()[k-1], err)
					}
					w.Check(t)
					if t.Failed() {
						t.Fatalf("failure at step %d, %v", k, plan.Trace()[k-1])
					}
				}
			})
		})
	}
}

func TestFlakyStorageRecovers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: []string{"region"}})
		w.Produce(200)
		n := 0
		plan := fault.New(func(p fault.Point) fault.Action {
			if p.Op == fault.OpCreate || p.Op == fault.OpWrite || p.Op == fault.OpClose {
				if n++; n%9 == 4 && n < 200 {
					return fault.Fail(fault.ErrInjected)
				}
			}
			return fault.Continue
		})
		cfg := w.Config(plan)
		cfg.Writer.Tasks = 2
		if err := w.Live(t, cfg, plan); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
	})
}

func TestTwoTopologiesOnOneTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 3})
		w.Produce(150)
		a, b := w.Config(nil), w.Config(nil)
		b.Name = "copy"
		b.Writer.Tasks = 2
		_, stopA := harness.Start(t, a)
		_, stopB := harness.Start(t, b)
		w.Produce(100)
		harness.Until(t, "orders", caughtUp(w, "orders"))
		harness.Until(t, "copy", caughtUp(w, "copy"))
		if err := errors.Join(stopA(), stopB()); err != nil {
			t.Fatal(err)
		}
		w.CheckOf(t, "orders", "copy")
	})
}

func TestRollbackWhileRunning(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		t.Run(fmt.Sprintf("quiet=%v", quiet), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := harness.New(t, harness.Shape{Partitions: 3})
				w.Produce(90)
				cfg := w.Config(nil)
				cfg.Writer.Tasks = 2
				cfg.Committer.CheckInterval = 50 * time.Millisecond
				_, stop := harness.Start(t, cfg)
				harness.Until(t, "the first time", caughtUp(w, "orders"))
				if err := w.Catalog.Rollback(2); err != nil {
					t.Fatal(err)
				}
				if !quiet {
					w.Produce(30)
				}
				harness.Until(t, "the second time", caughtUp(w, "orders"))
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				w.Check(t)
			})
		})
	}
}

func TestRollbackWhileDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 3})
		w.Produce(90)
		w.CatchUp(t, w.Config(nil))
		if err := w.Catalog.Rollback(2); err != nil {
			t.Fatal(err)
		}
		w.Produce(10)
		w.CatchUp(t, w.Config(nil))
		w.Check(t)
	})
}

// TestExpiredHistory keeps nothing but the head, which may be another engine's compaction without our keys.
func TestExpiredHistory(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted=%v", compacted), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := harness.New(t, harness.Shape{Partitions: 3})
				for range 3 {
					w.Produce(40)
					w.CatchUp(t, w.Config(nil))
					if compacted {
						if err := w.Catalog.Replace(); err != nil {
							t.Fatal(err)
						}
					}
					if err := w.Catalog.Expire(); err != nil {
						t.Fatal(err)
					}
				}
				w.Produce(10)
				w.CatchUp(t, w.Config(nil))
				w.Check(t)
			})
		})
	}
}

// TestStartLatestLosesNothing kills the first life before its first commit with rows: what was produced after the first
// start is there.
func TestStartLatestLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Log.AppendValues(harness.Topic, 0, []byte("before the first start"), []byte("and not even JSON"))
		latest := func(plan *fault.Plan) topology.Config {
			return w.ConfigOn(plan, w.Log.Source(memory.Options{Start: memory.StartLatest, BatchRecords: 5}))
		}
		// The second commit would be the first one with rows.
		plan := fault.New(fault.On(fault.OpCommit, fault.Before, 2, fault.Crash))
		cfg := latest(plan)
		top, err := topology.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- top.Run(t.Context()) }()
		harness.Until(t, "the first positions", func() bool { return w.Catalog.Commits() == 1 })
		w.Produce(30)
		<-plan.Died()
		top.Kill()
		if err := <-done; err == nil {
			t.Fatal("the life survived its death")
		}
		w.Produce(10)
		w.CatchUp(t, latest(nil))
		w.Check(t)
	})
}

func TestCatalogAwayForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 3})
		w.Produce(30)
		cfg := w.Config(nil)
		cfg.Writer.Tasks = 2
		top, stop := harness.Start(t, cfg)
		harness.Until(t, "the beginning", caughtUp(w, "orders"))
		w.Catalog.SetAway(harness.ErrAway)
		w.Produce(3000)
		harness.Until(t, "trouble", func() bool {
			st := top.Status()
			return !st.Ready && strings.Contains(strings.Join(st.NotReady, " "), "connection refused")
		})
		harness.Until(t, "the source to be held", func() bool {
			st := top.Status()
			return st.Tasks[0].Phase == "waiting" || st.Tasks[1].Phase == "waiting"
		})
		for _, task := range top.Status().Tasks {
			if task.InFlight > 64 {
				t.Errorf("%s has %d batches in flight", task.Task, task.InFlight)
			}
		}
		w.Catalog.SetAway(nil)
		harness.Until(t, "the rest", caughtUp(w, "orders"))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
	})
}

func TestReplicasRebalance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 4})
		w.Produce(40)
		a := w.Log.Source(memory.Options{Manual: true, BatchRecords: 3})
		b := w.Log.Source(memory.Options{Manual: true, BatchRecords: 3})
		var ps []source.Partition
		for _, bo := range w.Log.Bounds() {
			ps = append(ps, bo.Partition)
			a.Assign(bo.Partition)
		}
		cfgA, cfgB := w.ConfigOn(nil, a), w.ConfigOn(nil, b)
		cfgA.Writer.Tasks = 2
		_, stopA := harness.Start(t, cfgA)
		_, stopB := harness.Start(t, cfgB)
		for i := range 16 {
			p := ps[i%4]
			from, to := a, b
			if i/4%2 == 1 {
				from, to = b, a
			}
			before := w.Catalog.Commits()
			w.Produce(12)
			from.Revoke(p)
			to.Assign(p)
			harness.Until(t, "a commit", func() bool { return w.Catalog.Commits() > before })
		}
		harness.Until(t, "the rest", caughtUp(w, "orders"))
		if err := errors.Join(stopA(), stopB()); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
	})
}

func TestBadRecordStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(30)
		at := w.ProduceBad(1)
		w.Produce(20)
		cfg := w.Config(nil)
		cfg.Writer.SealRecords, cfg.Writer.SealInterval = 1000, time.Hour
		err := w.Live(t, cfg, fault.New(nil))
		var bad *writer.BadRecord
		if !errors.As(err, &bad) || bad.Position != at {
			t.Fatalf("Run gave %v", err)
		}
		for _, word := range []string{"topic orders", "partition 1", fmt.Sprintf("offset %d", at), `column "off"`} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is missing in: %v", word, err)
			}
		}
		pos, err := w.Positions("orders")
		if err != nil {
			t.Fatal(err)
		}
		for p, next := range pos {
			if p.ID == 1 && next != at {
				t.Errorf("the table stands at %d, want right before the bad record at %d", next, at)
			}
		}
		w.CheckOf(t, "orders")
	})
}

func TestLostWALAndLostAcksCostNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(40)
		plan := fault.New(fault.On(fault.OpCommit, fault.After, 3, fault.Crash))
		_ = w.Live(t, w.Config(plan), plan)
		if err := w.RemoveWAL(); err != nil {
			t.Fatal(err)
		}
		w.Produce(10)
		w.CatchUp(t, w.Config(nil))
		w.Check(t)
	})
}
