package topology

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/writer"
)

func TestCatalogAwayHoldsTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 5000)
		cfg := g.config()
		top := g.topology(t, cfg)
		stop := start(top)
		pass(time.Millisecond)
		g.table.set(func() { g.table.away = true })
		pass(10 * time.Minute)
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
		pass(2 * time.Hour)
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
			pass(700 * time.Millisecond)
			p := g.part(int32(i % 4))
			from, to := a, b
			if i/4%2 == 1 {
				from, to = b, a
			}
			from.Revoke(p)
			if i%3 != 0 {
				pass(3 * time.Second) // otherwise the new owner comes before the old one has let go
			}
			to.Assign(p)
			g.fill(i%4, 20)
		}
		pass(10 * time.Minute)
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
		pass(time.Millisecond)
		g.table.set(func() { g.table.away = true })
		a.Revoke(g.part(0))
		pass(source.RevokeGrace + time.Second)
		g.table.set(func() { g.table.away = false })
		pass(time.Minute)
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

func TestAWriterThatNeverWorkedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(1, 60)
		top := g.topology(t, g.config())
		mk := top.parts.task
		top.parts.task = func(c writer.Config) (task, error) {
			ft, err := mk(c)
			ft.(*fakeTask).appendErr = func() error { return errors.New("no permission") }
			return ft, err
		}
		began := time.Now()
		err := top.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no permission") {
			t.Errorf("Run gave %v", err)
		}
		if d := time.Since(began); d < time.Minute || d > 3*time.Minute {
			t.Errorf("gave up after %s", d)
		}
	})
}

// TestManyBatchesThatAnotherHasCommittedAreOneOccasion: what was sealed before the first such answer came says nothing of a
// second deployment, however much it is.
func TestManyBatchesThatAnotherHasCommittedAreOneOccasion(t *testing.T) {
	g := newRig(1, 1)
	ranges := []source.Range{{Partition: g.part(0), From: 0, To: 1}}
	w := &worker{at: map[source.Partition]*track{g.part(0): {}}, bears: minForeign, sends: 100}
	for n := range w.sends {
		if w.crossed(answer{&flight{n: n + 1, ranges: ranges}, committer.Outcome{Verdict: committer.AlreadyThere, Foreign: true}}) {
			t.Fatalf("gave way at batch %d of one occasion", n+1)
		}
	}
	if w.foreign != 1 {
		t.Errorf("counted %d times", w.foreign)
	}
}
