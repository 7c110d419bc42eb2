package harness_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// every makes the crash tests stop at each step instead of a sample of them.
var every = flag.Bool("every", false, "crash at every step instead of a sample")

type variant struct {
	tasks    int
	oneStage bool
	groupBy  []string
	by       []string
}

func (v variant) String() string {
	return fmt.Sprintf("tasks=%d,onestage=%v,group=%v,by=%v", v.tasks, v.oneStage, v.groupBy, v.by)
}

func (v variant) apply(cfg topology.Config) topology.Config {
	cfg.Writer.Tasks, cfg.Writer.GroupBy, cfg.OneStage = v.tasks, v.groupBy, v.oneStage
	return cfg
}

var variants = []variant{
	{tasks: 1},
	{tasks: 1, by: []string{"region"}},
	{tasks: 3},
	{tasks: 1, oneStage: true},
	{tasks: 3, oneStage: true, by: []string{"region"}},
	{tasks: 3, groupBy: []string{"region"}, by: []string{"region"}},
}

func TestPlainRun(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: v.by})
			w.Produce(90)
			plan := fault.New(nil)
			if err := w.Live(t, v.apply(w.Config(plan)), plan); err != nil {
				t.Fatal(err)
			}
			w.Check(t)
			t.Logf("%d steps, %d commits", plan.N(), w.Catalog.Commits())
		})
	}
}

// TestCrashAtEveryStep kills a life at step k around an external effect, lets the next one go on, and compares.
func TestCrashAtEveryStep(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			count := fault.New(nil)
			w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: v.by})
			w.Produce(60)
			if err := w.Live(t, v.apply(w.Config(count)), count); err != nil {
				t.Fatal(err)
			}
			for k := 1 + rand.IntN(stride(count.N())); k <= count.N(); k += stride(count.N()) {
				crashAt(t, v, k)
			}
		})
	}
}

// stride samples about 20 steps of n, fewer in short mode, or takes all.
func stride(n int) int {
	switch {
	case *every:
		return 1
	case testing.Short():
		return max(1, n/6)
	}
	return max(1, n/20)
}

func crashAt(t *testing.T, v variant, k int) {
	t.Helper()
	w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: v.by})
	w.Produce(60)
	plan := fault.New(fault.At(k, fault.Crash))
	err := w.Live(t, v.apply(w.Config(plan)), plan)
	if plan.Crashed() && !errors.Is(err, topology.ErrKilled) && !errors.Is(err, fault.ErrCrashed) {
		t.Fatalf("step %d: the killed life gave %v", k, err)
	}
	w.CheckOf(t, "orders")
	w.Produce(20)
	w.CatchUp(t, v.apply(w.Config(nil)))
	w.Check(t)
	if t.Failed() {
		trace := plan.Trace()
		t.Fatalf("crash at step %d, %v", k, trace[min(k, len(trace))-1])
	}
}
