package committer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// settled waits until nothing moves, and says whether an outcome is there.
func answered(ch <-chan Outcome) bool {
	synctest.Wait()
	return len(ch) > 0
}

func TestTheGroupIsCommittedWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		r := w.start(Config{Interval: 5 * time.Second, EmptyInterval: time.Minute, MaxDataFiles: 3}, newLog())
		a, b := r.submit("w", 1, w.batch("a", rng(0, 0, 1))), r.submit("w", 1, w.batch("a", rng(0, 1, 2)))
		pass(4 * time.Second)
		if answered(a) {
			t.Error("committed before the interval")
		}
		pass(time.Second)
		if w.want(a, Landed).SnapshotID != w.want(b, Landed).SnapshotID {
			t.Error("two commits")
		}

		// As many files as a group may have do not wait.
		var last <-chan Outcome
		for i := range source.Position(3) {
			last = r.submit("w", 1, w.batch("a", rng(0, 2+i, 3+i)))
		}
		if !answered(last) {
			t.Error("a full group waits")
		}

		// Nor does a flush, and it takes along what has no files.
		e := r.submit("w", 1, w.empty("a", rng(1, 0, 9)))
		c := r.submit("w", 1, w.batch("a", rng(0, 5, 6)))
		r.Flush()
		if !answered(c) || !answered(e) {
			t.Error("flush did not commit")
		}

		// Positions alone wait for rows, but not for ever.
		e = r.submit("w", 1, w.empty("a", rng(1, 9, 10)))
		pass(59 * time.Second)
		if answered(e) {
			t.Error("an empty append before its time")
		}
		pass(time.Second)
		if !answered(e) {
			t.Error("positions that moved without rows are not recorded")
		}
		r.end()
	})
}

func TestTheCatalogIsAwayForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		r := w.start(Config{MaxPending: 2, MaxBackoff: 30 * time.Second}, newLog())
		w.away(errors.New("connection refused"))
		var outs []<-chan Outcome
		blocked := 0
		for i := range source.Position(10) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			done := make(chan Outcome, 1)
			d := w.batch("a", rng(0, i, i+1))
			err := r.Submit(ctx, Submission{Descriptor: d, Owner: "w", Done: func(o Outcome) { done <- o }})
			cancel()
			if err != nil {
				blocked++
				break
			}
			outs = append(outs, done)
		}
		if blocked == 0 || len(outs) > 6 {
			t.Errorf("%d taken while the catalog is away: the source is not held", len(outs))
		}
		pass(10 * time.Minute)
		synctest.Wait()
		for i, o := range outs {
			if len(o) != 0 {
				t.Fatalf("batch %d answered with %+v", i, <-o)
			}
		}
		r.obs.mu.Lock()
		if r.obs.troubles < 10 || r.obs.last == nil {
			t.Errorf("%d troubles told, last %v", r.obs.troubles, r.obs.last)
		}
		r.obs.mu.Unlock()
		w.away(nil)
		pass(time.Minute)
		for _, o := range outs {
			w.want(o, Landed)
		}
		w.once("a", 0, len(outs))
		synctest.Wait()
		if r.obs.last != nil {
			t.Error("nobody was told that the trouble has passed")
		}
		r.end()
	})
}

func TestAfterARereadEverythingOfThatLifeIsForgotten(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{Interval: time.Hour}, newLog())
	gap := r.submit("w0", 1, w.batch("a", rng(0, 5, 10)))
	next := r.submit("w0", 1, w.batch("a", rng(1, 0, 10)))
	other := r.submit("w1", 1, w.batch("a", rng(1, 0, 3)))
	r.Flush()
	o := w.want(gap, Reread)
	if o.Positions[part(0)] != 0 || o.Positions[part(1)] != 3 {
		t.Errorf("positions %+v", o.Positions)
	}
	w.want(next, Reread)
	w.want(other, Landed)
	w.want(r.submit("w0", 1, w.batch("a", rng(0, 0, 10))), Reread)
	fresh := r.submit("w0", 2, w.batch("a", rng(0, 0, 10)))
	r.Flush()
	w.want(fresh, Landed)
}

func TestWithoutAnOwnerEachBatchStandsForItself(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{Interval: time.Hour}, newLog())
	gap, ok := r.submit("", 0, w.batch("a", rng(0, 5, 10))), r.submit("", 0, w.batch("a", rng(1, 0, 10)))
	r.Flush()
	w.want(gap, Reread)
	w.want(ok, Landed)
}

// The end of a run while a commit is on its way does not make its outcome unknown.
func TestACommitThatWasSentIsAnsweredAtTheEnd(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	sent, release := make(chan struct{}), make(chan struct{})
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		close(sent)
		<-release
		return apply()
	})
	ch := r.submit("w", 1, w.batch("a", rng(0, 0, 10)))
	<-sent
	r.stop()
	close(release)
	w.want(ch, Landed)
	if err := <-r.done; err != nil {
		t.Errorf("Run ended with %v", err)
	}
	r.stop = nil
}

func TestABusyNeighbourCannotBuryThePositions(t *testing.T) {
	t.Run("by many commits", func(t *testing.T) {
		w := newWorld(t, iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "8"})
		r := w.start(Config{}, newLog())
		w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
		r.end()
		beat := func() int {
			n := w.cat.commits
			w.must(r.heartbeat(context.Background()))
			return w.cat.commits - n
		}
		for range 3 {
			pass(2 * time.Millisecond) // the log's times are in milliseconds
			w.foreign()
		}
		if n := beat(); n != 0 {
			t.Errorf("%d heartbeats while the log is deep enough", n)
		}
		for range 3 {
			pass(2 * time.Millisecond)
			w.foreign()
		}
		if n := beat(); n != 1 {
			t.Errorf("%d heartbeats", n)
		}
		if n := beat(); n != 0 {
			t.Errorf("%d more heartbeats", n)
		}
		pos, err := r.Load(context.Background())
		w.must(err)
		if pos.At[part(0)].Next != 10 || pos.SnapshotID != w.table().CurrentSnapshot().SnapshotID {
			t.Errorf("positions %+v", pos)
		}
	})
	t.Run("by age", func(t *testing.T) {
		w := newWorld(t, iceberg.Properties{table.MaxSnapshotAgeMsKey: strconv.Itoa(1000 * 3600)})
		now := time.Now()
		r := w.committer(Config{Now: func() time.Time { return now }}, nil)
		_, err := r.Load(context.Background())
		w.must(err)
		_, err = r.Begin(context.Background(), map[source.Partition]source.Position{part(0): 0})
		w.must(err)
		n := w.cat.commits
		w.must(r.heartbeat(context.Background()))
		now = now.Add(31 * time.Minute)
		w.must(r.heartbeat(context.Background()))
		if w.cat.commits != n+1 {
			t.Errorf("%d heartbeats", w.cat.commits-n)
		}
	})
	t.Run("a running one looks by itself", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "4"})
			r := w.start(Config{EmptyInterval: 10 * time.Second}, nil)
			for range 3 {
				pass(time.Second)
				w.foreign()
			}
			n := w.commits()
			pass(30 * time.Second)
			synctest.Wait()
			if got := w.commits() - n; got != 1 {
				t.Errorf("%d heartbeats", got)
			}
			r.end()
		})
	})
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"no topology": {}, "negative interval": {Topology: "a", Interval: -1}, "negative files": {Topology: "a", MaxDataFiles: -1},
	} {
		if _, err := New(c, nil, nil); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := New(Config{Topology: "a"}, nil, nil); err == nil {
		t.Error("no loader: taken")
	}
	w := newWorld(t, nil)
	c, err := New(Config{Topology: "a", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, w, nil)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.must(c.Run(ctx))
	if c.Run(ctx) == nil {
		t.Error("Run twice")
	}
	if c.Table() != nil {
		t.Error("a table before Load")
	}
}

// A commit by somebody whose clock is ahead by an hour does not hide what is committed after it.
func TestWhatIsNewestIsNotToldByClocks(t *testing.T) {
	w := newWorld(t, nil)
	w.foreign()
	c, err := New(Config{Topology: "a"}, w, nil)
	w.must(err)
	if _, err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ahead := w.table()
	w.foreign()
	now := w.table()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.table = table.New(ident, late{ahead.Metadata()}, ahead.MetadataLocation(), ahead.FS, nil)
	c.publishLocked(now, nil)
	if c.mu.table != now {
		t.Error("the metadata of a clock that is ahead stayed the newest")
	}
	c.publishLocked(ahead, nil)
	if c.mu.table != now {
		t.Error("older metadata took the place of newer")
	}
}

type late struct{ table.Metadata }

func (l late) LastUpdatedMillis() int64 {
	return l.Metadata.LastUpdatedMillis() + time.Hour.Milliseconds()
}

// pass lets the clock of a synctest bubble go on by d.
func pass(d time.Duration) { <-time.After(d) }
