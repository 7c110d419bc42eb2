package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/writer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type noLoader struct{}

func (noLoader) Load(context.Context) (*table.Table, error) { return nil, errors.New("not used") }

// rig is a topology on fakes around a real memory source.
type rig struct {
	log   *memory.Log
	table *fakeTable
	mu    sync.Mutex
	sinks []*fakeSink
	tasks []*fakeTask
}

func newRig(partitions, records int) *rig {
	g := &rig{log: memory.NewLog(), table: newFakeTable()}
	g.log.CreateTopic("t", partitions)
	for p := range partitions {
		g.fill(p, records)
	}
	return g
}

func (g *rig) fill(p, n int) {
	for range n {
		g.log.AppendValues("t", int32(p), []byte("x"))
	}
}

func (g *rig) config() Config {
	return Config{
		Name: "test", Source: g.log.Source(memory.Options{BatchRecords: 7, Poison: true}), Table: noLoader{},
		Mapper: func(*mapper.Schema) (mapper.Mapper, error) { return nil, errors.New("not used") },
		Writer: WriterConfig{SealRecords: 10, SealInterval: 10 * time.Second},
	}
}

func (g *rig) topology(t *testing.T, cfg Config) *Topology {
	t.Helper()
	top, err := newUnchecked(cfg)
	if err != nil {
		t.Fatal(err)
	}
	top.parts = parts{
		task: func(c writer.Config) (task, error) {
			ft := newFakeTask(c)
			g.mu.Lock()
			defer g.mu.Unlock()
			g.tasks = append(g.tasks, ft)
			return ft, nil
		},
		sink: func(c committer.Config, _ committer.Loader, _ committer.Log) (sink, error) {
			s := newFakeSink(c, g.table)
			g.mu.Lock()
			defer g.mu.Unlock()
			g.sinks = append(g.sinks, s)
			return s, nil
		},
		check: func(*table.Table) error { return nil },
	}
	return top
}

// ends is where every partition of the log ends.
func (g *rig) ends() map[source.Partition]source.Position {
	out := map[source.Partition]source.Position{}
	for _, b := range g.log.Bounds() {
		out[b.Partition] = b.Last
	}
	return out
}

func (g *rig) part(id int32) source.Partition {
	p, _ := g.log.Partition("t", id)
	return p
}

// start runs top in the background and gives how to end it.
func start(top *Topology) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- top.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

func TestEveryRecordOnceAndAcked(t *testing.T) {
	for _, one := range []bool{false, true} {
		for _, tasks := range []int{1, 3} {
			t.Run(fmt.Sprintf("onestage=%v tasks=%d", one, tasks), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(5, 103)
					cfg := g.config()
					cfg.OneStage, cfg.Writer.Tasks = one, tasks
					top := g.topology(t, cfg)
					stop := start(top)
					time.Sleep(time.Minute)
					if err := g.table.check(g.ends()); err != nil {
						t.Error(err)
					}
					for p, to := range g.ends() {
						if got := g.log.Acked(p); got != to {
							t.Errorf("%s acked to %d, want %d", p, got, to)
						}
					}
					if st := top.Status(); !st.Ready {
						t.Errorf("not ready: %v", st.NotReady)
					}
					if err := stop(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func TestGracefulEndCommitsWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(3, 5)
		cfg := g.config()
		cfg.Writer.SealRecords, cfg.Writer.SealInterval = 1000, time.Hour
		stop := start(g.topology(t, cfg))
		time.Sleep(time.Second)
		if n := g.table.snapshots(); n != 1 {
			t.Fatalf("%d snapshots before the end, want the first positions alone", n)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if got := g.log.Acked(g.part(0)); got != 5 {
			t.Errorf("acked to %d, want 5", got)
		}
	})
}

func TestKillCommitsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 5)
		cfg := g.config()
		cfg.Writer.SealInterval = time.Hour
		top := g.topology(t, cfg)
		stop := start(top)
		time.Sleep(time.Second)
		top.Kill()
		if err := stop(); !errors.Is(err, ErrKilled) {
			t.Errorf("Run gave %v, want ErrKilled", err)
		}
		if g.table.snapshots() != 1 {
			t.Error("something was committed after Kill")
		}
	})
}

func TestUntilCaughtUpEndsWithoutWaitingForTheSealInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(4, 33)
		g.log.Skip("t", 1, 4) // an aborted tail
		g.log.CreateTopic("empty", 2)
		cfg := g.config()
		cfg.UntilCaughtUp, cfg.Writer.SealInterval = true, time.Hour
		cfg.Committer.Interval = time.Hour
		began := time.Now()
		if err := g.topology(t, cfg).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %s", d)
		}
		for p, to := range g.ends() {
			if got := g.table.positions().At[p].Next; got != to {
				t.Errorf("%s: table at %d, want %d", p, got, to)
			}
		}
	})
}

func TestUntilCaughtUpCountsWhatOthersCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 50)
		one, two := g.config(), g.config()
		a := g.log.Source(memory.Options{Manual: true})
		b := g.log.Source(memory.Options{Manual: true})
		a.Assign(g.part(0))
		b.Assign(g.part(1))
		one.Source, two.Source = a, b
		one.UntilCaughtUp, two.UntilCaughtUp = true, true
		ends := make(chan error, 2)
		for _, cfg := range []Config{one, two} {
			top := g.topology(t, cfg)
			go func() { ends <- top.Run(t.Context()) }()
		}
		for range 2 {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
	})
}

func TestRollbackBringsRowsBack(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		t.Run(fmt.Sprintf("quiet=%v", quiet), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(3, 100)
				cfg := g.config()
				cfg.Writer.Tasks = 2
				stop := start(g.topology(t, cfg))
				time.Sleep(time.Minute)
				g.table.rollback(g.table.snapshots() / 2)
				if !quiet {
					g.fill(1, 30)
				}
				time.Sleep(2 * time.Minute)
				if err := g.table.check(g.ends()); err != nil {
					t.Error(err)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestBadRecordStopsAfterWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 23)
		g.log.AppendValues("t", 1, []byte("bad"))
		g.fill(1, 10)
		g.fill(0, 10)
		cfg := g.config()
		cfg.Writer.SealRecords, cfg.Writer.SealInterval = 1000, time.Hour
		cfg.Committer.Interval = time.Hour
		err := g.topology(t, cfg).Run(t.Context())
		var bad *writer.BadRecord
		if !errors.As(err, &bad) || bad.Position != 23 {
			t.Fatalf("Run gave %v", err)
		}
		for _, word := range []string{"topic t", "partition 1", "offset 23", `column "id"`, "not a number"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("the error does not say %q: %v", word, err)
			}
		}
		at := g.table.positions().At
		if at[g.part(1)].Next != 23 {
			t.Errorf("partition 1 stands at %d, want right before the bad record", at[g.part(1)].Next)
		}
		if err := g.table.check(map[source.Partition]source.Position{
			g.part(0): at[g.part(0)].Next, g.part(1): 23}); err != nil {
			t.Error(err)
		}
	})
}

func TestWriteFailuresRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(3, 60)
		cfg := g.config()
		cfg.Writer.Tasks = 2
		top := g.topology(t, cfg)
		make := top.parts.task
		var fails atomic.Int32
		top.parts.task = func(c writer.Config) (task, error) {
			ft, err := make(c)
			n := 0
			fail := func() error {
				if n++; n%3 == 2 && fails.Add(1) <= 12 {
					return errors.New("disk full")
				}
				return nil
			}
			ft.(*fakeTask).appendErr, ft.(*fakeTask).sealErr = fail, fail
			return ft, err
		}
		stop := start(top)
		time.Sleep(300 * time.Millisecond)
		if st := top.Status(); st.Ready || !strings.Contains(st.LastError, "disk full") {
			t.Errorf("ready=%v, last error %q", st.Ready, st.LastError)
		}
		time.Sleep(5 * time.Minute)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if st := top.Status(); !st.Ready {
			t.Errorf("not ready: %v", st.NotReady)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestCatalogAwayHoldsTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 5000)
		cfg := g.config()
		top := g.topology(t, cfg)
		stop := start(top)
		time.Sleep(time.Millisecond)
		g.table.set(func() { g.table.away = true })
		time.Sleep(10 * time.Minute)
		st := top.Status()
		// What may be on its way: sealed batches in flight, the open batch, the queue.
		read := st.Partitions[0].Read - st.Partitions[0].Committed
		if read > source.Position((maxInFlight+1)*10+queueLength*7+7) {
			t.Errorf("%d records were read beyond what is committed", read)
		}
		if st.Tasks[0].InFlight > maxInFlight {
			t.Errorf("%d in flight", st.Tasks[0].InFlight)
		}
		g.table.set(func() { g.table.away = false })
		time.Sleep(2 * time.Hour)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRebalanceBetweenReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(4, 200)
		one, two := g.config(), g.config()
		a := g.log.Source(memory.Options{Manual: true, BatchRecords: 3})
		b := g.log.Source(memory.Options{Manual: true, BatchRecords: 3})
		one.Source, two.Source = a, b
		one.Writer.Tasks = 2
		one.Committer.Interval, two.Committer.Interval = time.Second, time.Second
		for p := range int32(4) {
			a.Assign(g.part(p))
		}
		stopA, stopB := start(g.topology(t, one)), start(g.topology(t, two))
		for i := range 12 {
			time.Sleep(700 * time.Millisecond)
			p := g.part(int32(i % 4))
			from, to := a, b
			if i/4%2 == 1 {
				from, to = b, a
			}
			from.Revoke(p)
			if i%3 != 0 {
				time.Sleep(3 * time.Second) // otherwise the new owner comes before the old one has let go
			}
			to.Assign(p)
			g.fill(i%4, 20)
		}
		time.Sleep(10 * time.Minute)
		if err := g.table.check(g.ends()); err != nil {
			t.Error(err)
		}
		if err := stopA(); err != nil {
			t.Error(err)
		}
		if err := stopB(); err != nil {
			t.Error(err)
		}
	})
}

func TestRevokedPartitionIsNotAckedAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 20)
		cfg := g.config()
		a := g.log.Source(memory.Options{Manual: true})
		a.Assign(g.part(0), g.part(1))
		cfg.Source = a
		top := g.topology(t, cfg)
		stop := start(top)
		time.Sleep(time.Millisecond)
		g.table.set(func() { g.table.away = true })
		a.Revoke(g.part(0))
		time.Sleep(source.RevokeGrace + time.Second)
		g.table.set(func() { g.table.away = false })
		time.Sleep(time.Minute)
		if got := g.log.Acked(g.part(0)); got != 0 {
			t.Errorf("the lost partition was acked to %d", got)
		}
		if got := g.log.Acked(g.part(1)); got != 20 {
			t.Errorf("the kept partition was acked to %d, want 20", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTwoDeploymentsUnderOneNameStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 50)
		top := g.topology(t, g.config())
		mk := top.parts.sink
		top.parts.sink = func(c committer.Config, l committer.Loader, w committer.Log) (sink, error) {
			s, err := mk(c, l, w)
			s.(*fakeSink).meddle = func(*descriptor.Descriptor) *committer.Outcome {
				return &committer.Outcome{Verdict: committer.Reread, Foreign: true}
			}
			return s, err
		}
		err := top.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Two deployments") {
			t.Errorf("Run gave %v", err)
		}
	})
}

func TestFailedDescriptorStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 50)
		top := g.topology(t, g.config())
		mk := top.parts.sink
		top.parts.sink = func(c committer.Config, l committer.Loader, w committer.Log) (sink, error) {
			s, err := mk(c, l, w)
			s.(*fakeSink).meddle = func(*descriptor.Descriptor) *committer.Outcome {
				return &committer.Outcome{Verdict: committer.Failed, Err: errors.New("forbidden: no such permission")}
			}
			return s, err
		}
		err := top.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no such permission") {
			t.Errorf("Run gave %v", err)
		}
	})
}

func TestAnotherIncarnationStopsItsPartitionsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 50)
		cfg := g.config()
		stop := start(g.topology(t, cfg))
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		g.log.Recreate("t", 2)
		g.fill(0, 10)
		g.log.CreateTopic("other", 1)
		g.log.AppendValues("other", 0, []byte("x"))
		cfg = g.config()
		cfg.UntilCaughtUp = true
		top := g.topology(t, cfg)
		err := top.Run(t.Context())
		var pe *source.PositionError
		if !errors.As(err, &pe) || pe.Wanted != 50 || !strings.Contains(pe.Reason, "incarnation") {
			t.Fatalf("Run gave %v", err)
		}
		p, _ := g.log.Partition("other", 0)
		if got := g.table.positions().At[p].Next; got != 1 {
			t.Errorf("the other topic stands at %d, want 1", got)
		}
		if _, there := g.table.positions().At[g.part(0)]; there {
			t.Error("the new incarnation got a position by itself")
		}
	})
}

func TestFirstPositions(t *testing.T) {
	p := func(topic string, id int32) source.Partition { return source.Partition{Topic: topic, ID: id} }
	at := func(ps ...source.Partition) committer.Positions {
		out := committer.Positions{At: map[source.Partition]committer.Progress{}}
		for _, q := range ps {
			out.Known = true
			out.At[q] = committer.Progress{}
		}
		return out
	}
	for name, tc := range map[string]struct {
		now       committer.Positions
		p         source.Partition
		discovers bool
		want      source.Origin
	}{
		"fresh start":                      {at(), p("a", 0), false, source.OriginConfigured},
		"fresh start with a pattern":       {at(), p("a", 0), true, source.OriginConfigured},
		"a partition added later":          {at(p("a", 0)), p("a", 1), false, source.OriginFirst},
		"a topic added to the list":        {at(p("a", 0)), p("b", 0), false, source.OriginConfigured},
		"a topic found by a pattern later": {at(p("a", 0)), p("b", 0), true, source.OriginFirst},
	} {
		t.Run(name, func(t *testing.T) {
			if got := origin(tc.now, tc.p, source.Traits{Discovers: tc.discovers}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFirstPositionsAreRecordedForAllPartitionsBeforeAnythingIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(4, 10)
		cfg := g.config()
		a := g.log.Source(memory.Options{Manual: true, Start: memory.StartLatest})
		a.Assign(g.part(2))
		cfg.Source = a
		top := g.topology(t, cfg)
		stop := start(top)
		time.Sleep(time.Second)
		top.Kill()
		_ = stop()
		g.fill(0, 5)
		g.fill(2, 5)
		// A second life, or a replica that owns the others, starts where the first one decided.
		for p, pr := range g.table.positions().At {
			if pr.Next != 10 {
				t.Errorf("%s starts at %d, want 10", p, pr.Next)
			}
		}
		if n := len(g.table.positions().At); n != 4 || g.table.begins != 1 {
			t.Errorf("%d partitions have a position after %d empty appends", n, g.table.begins)
		}
	})
}

func TestStartWaitsForTheCatalogThenGivesUp(t *testing.T) {
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprintf("back=%v", back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(1, 5)
				g.table.loadErr = errors.New("connection refused")
				top := g.topology(t, g.config())
				done := make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				go func() { done <- top.Run(ctx) }()
				if back {
					time.Sleep(30 * time.Second)
					g.table.set(func() { g.table.loadErr = nil })
					time.Sleep(time.Minute)
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
					return
				}
				err := <-done
				if err == nil || !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("Run gave %v", err)
				}
				if d := time.Since(began); d > time.Minute || d < 40*time.Second {
					t.Errorf("gave up after %s", d)
				}
			})
		})
	}
}

func TestStopErrorIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 5)
		g.table.loadErr = &committer.StopError{Reason: "rolled back to before the first commit", Hint: "set positions"}
		top := g.topology(t, g.config())
		began := time.Now()
		err := top.Run(t.Context())
		var stop *committer.StopError
		if !errors.As(err, &stop) || time.Since(began) > 0 {
			t.Errorf("Run gave %v after %s", err, time.Since(began))
		}
		if st := top.Status(); st.Hint != "set positions" {
			t.Errorf("hint %q", st.Hint)
		}
	})
}

func TestSourceWithoutPositionsIsDeliveredAtLeastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 100)
		cfg := g.config()
		cfg.Source = g.log.Source(memory.Options{Unreplayable: true, BatchRecords: 7, Poison: true})
		cfg.Writer.Tasks = 3
		top := g.topology(t, cfg)
		mk := top.parts.sink
		n := 0
		top.parts.sink = func(c committer.Config, l committer.Loader, w committer.Log) (sink, error) {
			s, err := mk(c, l, w)
			s.(*fakeSink).meddle = func(*descriptor.Descriptor) *committer.Outcome {
				if n++; n%5 == 4 && n < 40 {
					return &committer.Outcome{Verdict: committer.Reread}
				}
				return nil
			}
			return s, err
		}
		stop := start(top)
		time.Sleep(10 * time.Minute)
		for p, to := range g.ends() {
			if got := g.log.Acked(p); got != to {
				t.Errorf("%s acked to %d, want %d", p, got, to)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStatusIsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 10)
		top := g.topology(t, g.config())
		if st := top.Status(); st.Phase != PhaseNew || st.Ready {
			t.Errorf("before Run: %+v", st)
		}
		stop := start(top)
		time.Sleep(time.Minute)
		b, err := json.Marshal(top.Status())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{`"phase":"running"`, `"ready":true`, `"topic":"t"`, `"committed":10`} {
			if !strings.Contains(string(b), word) {
				t.Errorf("%s is missing in %s", word, b)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
