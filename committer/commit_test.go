package committer

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

type reply = func() (table.Metadata, string, error)

// An answer that is lost after the commit was applied: writing again would double the rows, dropping it would be right
// by luck.
func TestLostAnswerIsFoundOnTheBranch(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.start(Config{}, log)
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := apply()
		if n++; n == 1 {
			return nil, "", errGateway
		}
		return m, loc, err
	})
	o := w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	if o.SnapshotID != w.table().CurrentSnapshot().SnapshotID {
		t.Errorf("snapshot %d is not the head", o.SnapshotID)
	}
	w.once("a", 0, 10)
	if r.obs.count("settled_landed") != 1 || log.len() != 0 {
		t.Errorf("outcomes %v, %d entries", r.obs.outcomes, log.len())
	}
}

func TestAnErrorThatWasNotAppliedIsTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if n++; n < 4 {
			return nil, "", errGateway
		}
		return apply()
	})
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
	if r.obs.count("pinned_retry") != 3 || r.obs.last != nil {
		t.Errorf("outcomes %v, trouble %v", r.obs.outcomes, r.obs.last)
	}
}

// The first request is answered with an error, nothing is seen of it, the same files are sent again; then the first one
// is applied. Pinned to one head, the two can't both land.
func TestALateFirstAttemptAndItsRetryDoNotBothLand(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	var late reply
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		switch n++; n {
		case 1:
			late = apply
			return nil, "", errGateway
		case 2:
			if _, _, err := late(); err != nil {
				t.Errorf("late request: %v", err)
			}
		}
		return apply()
	})
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 12))), Landed)
	w.once("a", 0, 12)
	if r.obs.count("refused") != 1 || r.obs.count("settled_landed") != 1 {
		t.Errorf("outcomes %v", r.obs.outcomes)
	}
}

func TestAMovedHeadIsNoTrouble(t *testing.T) {
	for _, retries := range []string{"", "5"} {
		t.Run("commit.retry.num-retries="+retries, func(t *testing.T) {
			props := iceberg.Properties{}
			if retries != "" {
				props[table.CommitNumRetriesKey], props[table.CommitMinRetryWaitMsKey] = retries, "1"
			}
			w := newWorld(t, props)
			r := w.start(Config{}, newLog())
			moves := 7
			w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
				if moves--; moves >= 0 {
					w.cat.hook(nil)
					w.foreign()
					m, loc, err := apply()
					w.cat.hook(w.movesLeft(&moves))
					return m, loc, err
				}
				return apply()
			})
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
			w.once("a", 0, 10)
			if r.obs.troubles != 0 || r.obs.count("refused") < 7 {
				t.Errorf("outcomes %v, troubles %d", r.obs.outcomes, r.obs.troubles)
			}
		})
	}
}

// movesLeft is a hook that lets another engine commit before each request, as often as n says.
func (w *world) movesLeft(n *int) func(func() (table.Metadata, string, error)) (table.Metadata, string, error) {
	var hook func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error)
	hook = func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if *n--; *n >= 0 {
			w.cat.hook(nil)
			w.foreign()
			m, loc, err := apply()
			w.cat.hook(hook)
			return m, loc, err
		}
		return apply()
	}
	return hook
}

// Two instances under one name read the same records: one gets them in, the other learns of it and changes nothing.
func TestAZombieIsHarmless(t *testing.T) {
	w := newWorld(t, nil)
	one, two := w.start(Config{Instance: "one"}, newLog()), w.start(Config{Instance: "two"}, newLog())
	w.want(one.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(two.submit("w", 1, w.batch("a", rng(0, 0, 10))), AlreadyThere)
	o := w.want(two.submit("w", 1, w.batch("a", rng(0, 5, 15))), Reread)
	if !o.Foreign || o.Positions[part(0)] != 10 {
		t.Errorf("outcome %+v", o)
	}
	w.want(two.submit("w", 2, w.batch("a", rng(0, 10, 15))), Landed)
	w.once("a", 0, 15)
}

func TestTopologiesOfOneTableNeitherLoseNorDouble(t *testing.T) {
	w := newWorld(t, nil)
	const n = 12
	var wg sync.WaitGroup
	names := []string{"a", "b", "c"}
	runners := map[string]*runner{}
	batches := map[string][]Submission{}
	for _, name := range names {
		runners[name] = w.start(Config{Topology: name}, newLog())
		for i := range source.Position(n) {
			batches[name] = append(batches[name], Submission{Owner: "w", Descriptor: w.batch(name, rng(0, i, i+1))})
		}
	}
	for _, name := range names {
		wg.Go(func() {
			for _, s := range batches[name] {
				done := make(chan Outcome, 1)
				s.Done = func(o Outcome) { done <- o }
				if err := runners[name].Submit(context.Background(), s); err != nil {
					t.Error(err)
					return
				}
				if o := <-done; o.Verdict != Landed {
					t.Errorf("topology %s: %+v", name, o)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		w.once(name, 0, n)
		pos, err := runners[name].Load(context.Background())
		w.must(err)
		if pos.At[part(0)].Next != n {
			t.Errorf("topology %s: position %d", name, pos.At[part(0)].Next)
		}
	}
}

// TestABatchThatAnotherOfItsGroupWouldCoverIsNotAcknowledgedWithIt: a batch from before a rewind joins up again, because the
// branch was set forward, and one from after it lies in the same group. Until the group has landed the table holds neither.
func TestABatchThatAnotherOfItsGroupWouldCoverIsNotAcknowledgedWithIt(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{Interval: time.Hour, MaxDataFiles: 2}, newLog())
	before := r.submit("w", 1, w.batch("a", rng(0, 0, 5), rng(1, 0, 1)))
	after := make(chan Outcome, 1)
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		select {
		case o := <-after:
			t.Errorf("it was answered with %d before the commit", o.Verdict)
		default:
		}
		return apply()
	})
	w.must(r.Submit(t.Context(), Submission{
		Descriptor: w.batch("a", rng(0, 0, 3)), Owner: "w", Epoch: 2, Done: func(o Outcome) { after <- o },
	}))
	w.want(before, Landed)
	if o := w.want(after, Reread); o.Positions[part(0)] != 5 {
		t.Errorf("it is read again from %v", o.Positions)
	}
	w.once("a", 0, 5)
}
