package committer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/source"
)

func TestAFullOutboxHoldsTheStream(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	p.rej.away(errAway)
	for i := range source.Position(outboxRoom) {
		p.want(r.submit("w", 1, p.bad("a", rng(0, 2*i, 2*i+2))), Landed)
	}
	at := source.Position(2 * outboxRoom)
	held := r.submit("w", 1, p.bad("a", rng(0, at, at+2)))
	behind := r.submit("w", 1, p.batch("a", rng(0, at+2, at+4)))
	for !errors.Is(r.obs.lastTrouble(), errOutboxFull) {
		select {
		case <-r.obs.trouble:
		case o := <-held:
			t.Fatalf("a batch beyond the room was taken: %+v", o)
		}
	}
	if n := boxFiles(p.box("a")); n != outboxRoom {
		t.Errorf("%d files in the outbox", n)
	}
	select {
	case o := <-held:
		t.Errorf("outcome %+v", o)
	case o := <-behind:
		t.Errorf("outcome %+v", o)
	default:
	}
	p.rej.away(nil)
	p.want(held, Landed)
	p.want(behind, Landed)
	r.emptied()
	r.end()
	p.settledRejects("a", 0, int(at)+4, true)
}

func (r *recorder) lastTrouble() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// A batch with more files than the outbox holds goes alone into an empty one.
func TestABatchOfMoreRejectsThanTheOutboxHoldsIsCommitted(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{Interval: time.Hour}), newLog())
	big := p.bad("a", rng(0, 10, 12))
	for range outboxRoom {
		p.nr++
		big.Rejects.Files = append(big.Rejects.Files, p.write(p.rej.dir, "more", 0))
		big.Rejects.Bytes += 4
	}
	first := r.submit("w", 1, p.bad("a", rng(0, 0, 10)))
	second := r.submit("w", 1, big)
	r.Flush()
	p.want(first, Landed)
	p.want(second, Landed)
	r.emptied()
	r.end()
	if got := len(p.rej.paths()); got != outboxRoom+2 {
		t.Errorf("%d files", got)
	}
}

func TestARejectsFileThatIsGoneStopsTheTopology(t *testing.T) {
	p := newPair(t, nil)
	r := p.committer(p.with(Config{}), newLog())
	_, err := r.Load(t.Context())
	p.must(err)
	_, err = r.Begin(t.Context(), map[source.Partition]source.Position{part(0): 0})
	p.must(err)
	p.seedShelf(r)
	p.rej.away(errAway)
	r.run()
	d := p.bad("a", rng(0, 0, 10))
	p.want(r.submit("w", 1, d), Landed)
	p.must(os.Remove(d.Rejects.Files[0].FilePath()))
	p.rej.away(nil)
	err = <-r.done
	r.done <- nil
	if !isStop(err) || !strings.Contains(err.Error(), "is gone or torn") {
		t.Errorf("got %v", err)
	}
}

// What the storage lost before the commit is written again instead.
func TestARejectsFileThatIsLostBeforeTheCommitIsReadAgain(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	d := p.bad("a", rng(0, 0, 10))
	p.must(os.Remove(d.Rejects.Files[0].FilePath()))
	p.want(r.submit("w", 1, d), Reread)
	p.want(r.submit("w", 2, p.bad("a", rng(0, 0, 10))), Landed)
	r.emptied()
	p.settledRejects("a", 0, 10, true)
}

func TestARejectsTableMadeAgainStops(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	p.rej.away(errAway)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	r.end()
	p.rej.away(nil)
	p.rej.create(nil)
	if err := p.committer(p.with(Config{}), nil).finishes(); !isStop(err) || !strings.Contains(err.Error(), "another one") {
		t.Errorf("got %v", err)
	}
}

// A source without positions has an outbox all the same.
func TestRejectsOfASourceWithoutPositions(t *testing.T) {
	p := newPair(t, nil)
	r := p.committer(p.with(Config{}), newLog())
	_, err := r.Load(t.Context())
	p.must(err)
	r.run()
	for range 2 {
		d := p.bad("a")
		p.want(r.submit("w", 1, d), Landed)
		r.emptied()
		if got := p.rej.paths(); !slices.Contains(got, d.Rejects.Files[0].FilePath()) {
			t.Errorf("the rejects table has %v", got)
		}
	}
	if box := p.box("a"); len(box) != 1 {
		t.Errorf("outbox %+v", box)
	}
}

// A graceful end waits for the rejects of its last commit.
func TestTheEndOfARunFinishesTheOutbox(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	p.must(r.Finish(t.Context()))
	p.settledRejects("a", 0, 10, true)
}

// A passing trouble does not leave a run's last rejects to the next start; one that lasts is returned when the time is over.
func TestTheEndOfARunTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, nil)
		r := p.start(p.with(Config{MaxBackoff: 10 * time.Second}), newLog())
		p.seedShelf(r)
		p.rej.away(errAway)
		p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Finish(ctx); !errors.Is(err, errAway) {
			t.Errorf("while the table is away: %v", err)
		}
		time.AfterFunc(time.Minute, func() { p.rej.away(nil) })
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		p.must(r.Finish(ctx))
		p.settledRejects("a", 0, 10, true)
		r.end()
	})
}

// What only a person can answer is not waited for.
func TestTheEndOfARunDoesNotWaitForAPerson(t *testing.T) {
	p := setBack(t)
	if err := p.loaded().Finish(t.Context()); !errors.Is(err, errUnclearShelf) {
		t.Errorf("got %v", err)
	}
}

// Without a rejects table what waits stays, and only who commits is told: who looks (floe positions show, say) may do so beside
// a run that is at it.
func TestOnlyWhoCommitsSaysThatRejectsWait(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	p.rej.away(errAway)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	r.end()
	for _, c := range []struct {
		topology  string
		run, told bool
	}{{"a", false, false}, {"b", true, false}, {"a", true, true}} {
		var log bytes.Buffer
		r := p.committer(Config{Topology: c.topology}, nil)
		r.log = slog.New(slog.NewTextHandler(&log, nil))
		for range 2 {
			_, err := r.Load(t.Context())
			p.must(err)
		}
		if c.run {
			r.run()
			r.end()
		}
		if n := strings.Count(log.String(), "left rejects"); (n == 1) != c.told || n > 1 {
			t.Errorf("topology %s, run %v: told %d times:\n%s", c.topology, c.run, n, &log)
		}
	}
}
