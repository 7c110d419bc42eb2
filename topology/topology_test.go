package topology

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"

	"github.com/stormfloe/floe/committer"
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

func (g *rig) topology(t testing.TB, cfg Config) *Topology {
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
					pass(time.Minute)
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
		pass(time.Second)
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
		pass(time.Second)
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

// Rejects that are not in their table are told of: a run that was to catch up hasn't, another one has ended well.
func TestRejectsThatAreLeftBehindAreTold(t *testing.T) {
	for _, until := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(1, 10)
			g.table.finishErr = errors.New("no such bucket")
			cfg := g.config()
			cfg.UntilCaughtUp = until
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Minute, cancel)
			if err := g.topology(t, cfg).Run(ctx); errors.Is(err, g.table.finishErr) != until {
				t.Errorf("until caught up %v: %v", until, err)
			}
		})
	}
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
				pass(time.Minute)
				g.table.rollback(g.table.snapshots() / 2)
				if !quiet {
					g.fill(1, 30)
				}
				pass(2 * time.Minute)
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

func TestADiskThatIsFullEndsTheTopologyAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(2, 60)
		cfg := g.config()
		top := g.topology(t, cfg)
		mk := top.parts.task
		top.parts.task = func(c writer.Config) (task, error) {
			ft, err := mk(c)
			n := 0
			ft.(*fakeTask).sealErr = func() error {
				if n++; n < 3 {
					return nil
				}
				return fmt.Errorf("write data file: %w", &fs.PathError{Op: "write", Path: "x.parquet", Err: syscall.ENOSPC})
			}
			return ft, err
		}
		began := time.Now()
		if err := top.Run(t.Context()); !errors.Is(err, syscall.ENOSPC) || time.Since(began) > time.Minute {
			t.Errorf("%v, after %s", err, time.Since(began))
		}
		again := start(g.topology(t, g.config()))
		pass(5 * time.Minute)
		if err := errors.Join(g.table.check(g.ends()), again()); err != nil {
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
		pass(300 * time.Millisecond)
		if st := top.Status(); st.Ready || !strings.Contains(st.LastError, "disk full") {
			t.Errorf("ready=%v, last error %q", st.Ready, st.LastError)
		}
		pass(5 * time.Minute)
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
