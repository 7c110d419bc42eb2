package committer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

var errAway = errors.New("503 the rejects table is away")

func TestRejectsFollowTheirCommit(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{Instance: "me"}), newLog())
	one := p.bad("a", rng(0, 0, 10), rng(1, 0, 5))
	p.want(r.submit("w", 1, one), Landed)
	r.emptied()
	if got := p.rej.paths(); !slices.Equal(got, rejectPaths(one)) {
		t.Errorf("the rejects table has %v", got)
	}
	box := p.box("a")
	if len(box) != 1 || box[0].Seq != p.table().CurrentSnapshot().SequenceNumber || box[0].rows() != 2 {
		t.Fatalf("outbox %+v", box)
	}
	s := p.rej.table().CurrentSnapshot().Summary.Properties
	if s[keyCommitID] != box[0].Commit.String() || s[keyTopology] != "a" || s[keyInstance] != "me" {
		t.Errorf("summary %v", s)
	}
	if _, ok := p.rej.table().Properties()[table.DefaultNameMappingKey]; ok {
		t.Error("the append left a name mapping on the table")
	}
	p.want(r.submit("w", 1, p.batch("a", rng(0, 10, 12))), Landed)
	if box := p.box("a"); len(box) != 0 {
		t.Errorf("outbox after the next commit %+v", box)
	}
	pos, err := r.Load(context.Background())
	p.must(err)
	if g := pos.At[part(0)]; g != (Progress{Next: 12, Rows: 11, Rejects: 1, MaxTimestampMs: 1012}) {
		t.Errorf("progress %+v", g)
	}
	p.settledRejects("a", 0, 12, true)
	if r.obs.appended != 2 {
		t.Errorf("%d rejects counted", r.obs.appended)
	}
}

func TestRejectsWithoutATableAreRefused(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(Config{}, nil)
	if err := r.Submit(context.Background(), Submission{Descriptor: p.bad("a", rng(0, 0, 2))}); err == nil || !strings.Contains(err.Error(), "no rejects table") {
		t.Errorf("got %v", err)
	}
	miscounted := p.bad("a", rng(0, 0, 2))
	miscounted.Rejects.Rows++
	if err := checkInputs(miscounted); err == nil {
		t.Error("rejects that are not in a range were taken")
	}
}

// Rule LEAD: whatever the answer to the main commit says, nothing is in the rejects table before it landed.
func TestARejectNeverLeadsItsCommit(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	tries := 0
	p.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		p.must(r.finish(context.Background()))
		if got := p.rej.paths(); len(got) > 0 {
			t.Errorf("before the commit landed the rejects table has %v", got)
		}
		if tries++; tries < 3 {
			return nil, "", errGateway
		}
		return apply()
	})
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	r.emptied()
	p.settledRejects("a", 0, 10, true)
}

// lost answers an append without an answer after it was applied, or without applying it.
func (w *world) lost(times int, applied bool) {
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if times--; times < 0 {
			return apply()
		}
		if applied {
			if _, _, err := apply(); err != nil {
				return nil, "", err
			}
		}
		return nil, "", errGateway
	})
}

// Rule NO_LOOK.
func TestAnAppendWhoseAnswerWasLostIsNotMadeTwice(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprint("applied ", applied), func(t *testing.T) {
			p := newPair(t, nil)
			p.rej.lost(2, applied)
			r := p.start(p.with(Config{}), newLog())
			p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
			r.emptied()
			r.end()
			// One that remembers nothing finds the outbox as it is.
			p.must(p.committer(p.with(Config{}), nil).finishes())
			p.settledRejects("a", 0, 10, true)
		})
	}
}

// Rule APPEND_BLIND. The rejects table asks for retries, and the library then replays a refused append on top of what is there.
func TestTwoFinishersAppendARejectOnce(t *testing.T) {
	p := newPair(t, iceberg.Properties{table.CommitNumRetriesKey: "5", table.CommitMinRetryWaitMsKey: "1"})
	p.rej.away(errAway)
	one := p.start(p.with(Config{Instance: "one"}), newLog())
	p.seedShelf(one)
	two := p.committer(p.with(Config{Instance: "two"}), nil)
	p.rej.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		p.rej.cat.hook(nil)
		p.must(two.finishes())
		m, loc, err := apply()
		if err != nil {
			err = fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
		}
		return m, loc, err
	})
	p.rej.away(nil)
	p.want(one.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	one.emptied()
	p.settledRejects("a", 0, 10, true)
	if n := p.rej.commits(); n != 1 {
		t.Errorf("%d appends", n)
	}
}

// seedShelf lets a committer know the rejects table, so that only its appends fail afterwards.
func (p *pair) seedShelf(r *runner) {
	p.t.Helper()
	p.rej.away(nil)
	_, err := r.lookShelf(p.t.Context())
	p.must(err)
}

// Rule TAKE_OFF_UNSEEN: an append was sent, nobody knows what came of it, and the next commit goes on.
func TestTheOutboxKeepsWhatWasNotSeen(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.rej.lost(1_000_000, false)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	if r.told() == nil || len(p.box("a")) != 1 {
		t.Fatalf("outbox %+v", p.box("a"))
	}
	p.want(r.submit("w", 1, p.bad("a", rng(0, 10, 12))), Landed)
	if box := p.box("a"); len(box) != 2 {
		t.Errorf("outbox %+v", box)
	}
	r.end()
	p.rej.cat.hook(nil)
	p.must(p.committer(p.with(Config{}), nil).finishes())
	p.settledRejects("a", 0, 12, true)
}

// Rule NO_CARRY.
func TestEveryCommitCarriesTheOutbox(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	p.rej.away(errAway)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	has := func(what string) {
		t.Helper()
		if box := p.box("a"); len(box) != 1 || box[0].Files[0].Rows != 1 {
			t.Errorf("after %s the outbox is %+v", what, box)
		}
	}
	p.want(r.submit("w", 1, p.batch("a", rng(0, 10, 12))), Landed)
	has("a commit with rows")
	other := p.start(Config{Topology: "b"}, nil)
	p.want(other.submit("w", 1, p.batch("b", rng(0, 0, 3))), Landed)
	has("another topology's commit")
	_, err := r.Begin(context.Background(), map[source.Partition]source.Position{part(5): 0})
	p.must(err)
	has("first positions")
	_, err = r.Set(context.Background(), map[source.Partition]source.Position{part(5): 7})
	p.must(err)
	has("a person's positions")
	_, err = r.moveHeld(context.Background(), func(v *view) (map[source.Partition]Progress, error) { return progressOf(v), nil }, true)
	p.must(err)
	has("an empty commit")
	p.rej.away(nil)
	r.emptied()
	p.settledRejects("a", 0, 12, true)
}

// Positions that are in doubt do not take the outbox with them.
func TestDoubtLeavesTheOutbox(t *testing.T) {
	v := newValue()
	if err := errors.Join(v.set("a", someProgress()), v.setOutbox("a", anOutbox())); err != nil {
		t.Fatal(err)
	}
	v.doubt([]string{"a"})
	if box, err := v.outbox("a"); err != nil || len(box) != 2 {
		t.Errorf("%+v, %v", box, err)
	}
	if err := v.set("a", someProgress()); err != nil {
		t.Fatal(err)
	}
	if box, err := v.outbox("a"); err != nil || len(box) != 2 {
		t.Errorf("after a person's answer %+v, %v", box, err)
	}
	raw := unclearEntry([]byte(`{"cluster":"c","outbox":[{"commit":"x"}],"topics":{}}`))
	if string(raw) != `{"unclear":true,"outbox":[{"commit":"x"}]}` {
		t.Errorf("got %s", raw)
	}
	if raw := unclearEntry(nil); string(raw) != `{"unclear":true}` {
		t.Errorf("got %s", raw)
	}
}

// history makes a main table whose first commit with rejects is appended, and taken off the outbox by the next one; it gives
// the snapshot at which the outbox still names it.
func (p *pair) history(r *runner) int64 {
	p.t.Helper()
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	r.emptied()
	named := p.table().CurrentSnapshot().SnapshotID
	p.want(r.submit("w", 1, p.batch("a", rng(0, 10, 12))), Landed)
	r.end()
	return named
}

// Rule EXPIRED_IS_NOT_THERE.
func TestASearchThatEndsAtAnExpiredSnapshotIsNoNo(t *testing.T) {
	for _, c := range []struct {
		name    string
		foreign int
		loseLog bool
		clear   bool
	}{
		{"the property names the expired snapshot", 1, true, true},
		{"the metadata log tells of it", 2, false, true},
		{"nothing tells of it", 2, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, nil)
			named := p.history(p.start(p.with(Config{}), newLog()))
			for range c.foreign {
				p.rej.foreign()
			}
			p.rej.expire()
			if c.loseLog {
				p.rej.loseLog()
			}
			p.rollback(named)
			r := p.committer(p.with(Config{}), nil)
			err := r.finishes()
			if c.clear != (err == nil) || isStop(err) {
				t.Fatalf("got %v", err)
			}
			if !c.clear {
				if !strings.Contains(err.Error(), "can't be told") {
					t.Errorf("got %v", err)
				}
				p.must(r.AnswerRejects(t.Context(), true, nil))
				p.must(r.finishes())
			}
			if left := r.keptOutbox(p.viewed(r)); len(left) != 0 {
				t.Errorf("left in the outbox: %+v", left)
			}
			if got := p.rej.paths(); len(got) != 1 {
				t.Errorf("the rejects table has %v", got)
			}
		})
	}
}

func (p *pair) viewed(r *runner) *view {
	p.t.Helper()
	v, err := r.look(p.t.Context())
	p.must(err)
	return v
}

// A rejects table that was set back to before what the outbox names is not appended to by itself.
func TestARejectsTableThatWasSetBackIsAskedAbout(t *testing.T) {
	p := setBack(t)
	r := p.committer(p.with(Config{}), nil)
	if err := r.finishes(); err == nil || !strings.Contains(err.Error(), "set it back") {
		t.Fatalf("got %v", err)
	}
	p.must(r.AnswerRejects(t.Context(), false, nil))
	p.settledRejects("a", 0, 10, true)
	p.must(p.committer(p.with(Config{}), nil).finishes())
	p.settledRejects("a", 0, 10, true)
}

// A rejects table that was made anew while nothing waited for it is taken as it is now.
func TestRejectsForATableThatWasMadeAnewAreTaken(t *testing.T) {
	p := newPair(t, nil)
	r := p.start(p.with(Config{}), newLog())
	p.seedShelf(r)
	old := p.bad("a", rng(0, 0, 10))
	p.rej.create(nil)
	p.want(r.submit("w", 1, p.bad("a", rng(0, 0, 10))), Landed)
	p.want(r.submit("w", 1, old), AlreadyThere)
	r.emptied()
	p.settledRejects("a", 0, 10, true)
}
