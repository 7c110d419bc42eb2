package harness_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
)

// TestServicesThatAreAwayForAnHour lets what floe writes to fail for an hour while records come in: the source is held, what waits
// is bounded, nobody asks without a pause, and when the hour is over everything goes on by itself.
func TestServicesThatAreAwayForAnHour(t *testing.T) {
	for name, o := range map[string]outage{
		"the catalog":            {func(p fault.Point) bool { return p.Op == fault.OpLoad || p.Op == fault.OpCommit }, false},
		"the store":              {func(p fault.Point) bool { return strings.Contains(p.Target, "://") }, false},
		"the folder of the data": {func(p fault.Point) bool { return strings.Contains(p.Target, dataFiles) }, false},
		"both":                   {func(fault.Point) bool { return true }, false},
		// Nothing depends on the WAL but the work after a crash.
		"the folder of the WAL": {func(p fault.Point) bool { return strings.Contains(p.Target, walEntries) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { awayForAnHour(t, o) })
		})
	}
}

// outage says what fails, and whether floe goes on without it.
type outage struct {
	of     func(fault.Point) bool
	goesOn bool
}

func awayForAnHour(t *testing.T, o outage) {
	var down atomic.Bool
	var asked atomic.Int64
	plan := fault.New(func(p fault.Point) fault.Action {
		if p.Phase != fault.Before || !down.Load() || !o.of(p) {
			return fault.Continue
		}
		asked.Add(1)
		return fault.Fail(harness.ErrAway)
	})
	w := harness.New(t, harness.Shape{Partitions: 3, Rejects: true})
	w.Produce(30)
	cfg := w.Config(plan)
	cfg.Writer.Tasks = 2
	cfg.Committer.Interval, cfg.Committer.MaxBackoff, cfg.Committer.CheckInterval = time.Second, 0, 0 // what they are by default
	top, stop := harness.Start(t, cfg)
	harness.Until(t, "the beginning", caughtUp(w, "orders"))

	down.Store(true)
	for range 60 {
		w.Produce(60)
		<-time.After(time.Minute) // of the bubble's clock
	}
	st := top.Status()
	if o.goesOn {
		if !st.Ready || !caughtUp(w, "orders")() {
			t.Errorf("it does not go on: %q", st.NotReady)
		}
	} else if st.Ready || !strings.Contains(strings.Join(st.NotReady, " "), "connection refused") {
		t.Errorf("after an hour it says ready=%v, %q", st.Ready, st.NotReady)
	}
	for _, task := range st.Tasks {
		if task.InFlight > 64 {
			t.Errorf("%s has %d batches in flight", task.Task, task.InFlight)
		}
	}
	t.Logf("asked %d times in an hour", asked.Load())
	if asked.Load() < 30 || asked.Load() > 7200 {
		t.Errorf("it asked %d times in an hour", asked.Load())
	}

	down.Store(false)
	harness.Until(t, "the rest", caughtUp(w, "orders"))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.Check(t)
}
