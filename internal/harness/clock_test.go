package harness_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/harness"
)

// TestATableWhoseLastCommitLiesInTheFuture has somebody commit by a clock that is ahead by an hour, or floe's own step back by one:
// Iceberg refuses snapshots that are older than the last one. Nothing is lost, floe says what it waits for, and goes on when
// its clock is there.
func TestATableWhoseLastCommitLiesInTheFuture(t *testing.T) {
	for name, of := range map[string]func(*harness.World) *harness.Catalog{
		"the table":         func(w *harness.World) *harness.Catalog { return w.Catalog },
		"the rejects table": func(w *harness.World) *harness.Catalog { return w.Rejects },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { anHourAhead(t, of) })
		})
	}
}

func anHourAhead(t *testing.T, of func(*harness.World) *harness.Catalog) {
	w := harness.New(t, harness.Shape{Partitions: 3, Rejects: true})
	w.Produce(30)
	cfg := w.Config(nil)
	cfg.Committer.MaxBackoff = 0 // as it is by default
	top, stop := harness.Start(t, cfg)
	harness.Until(t, "the beginning", caughtUp(w, "orders"))
	if err := of(w).ClockAhead(time.Hour); err != nil {
		t.Fatal(err)
	}
	w.Produce(1500)
	<-time.After(50 * time.Minute)
	st := top.Status()
	if said := strings.Join(st.NotReady, " "); st.Ready || !strings.Contains(said, "ahead of this machine's clock") {
		t.Errorf("ready=%v, it says %q", st.Ready, said)
	}
	<-time.After(10 * time.Minute)
	harness.Until(t, "the rest", caughtUp(w, "orders"))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.Check(t)
}
