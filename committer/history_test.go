package committer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

func TestARollbackRewindsTheStream(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	first := w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
	w.rollback(first.SnapshotID)
	o := w.want(r.submit("w", 1, w.batch("a", rng(0, 20, 30))), Reread)
	if o.Foreign || o.Positions[part(0)] != 10 {
		t.Errorf("outcome %+v", o)
	}
	w.want(r.submit("w", 2, w.batch("a", rng(0, 10, 30))), Landed)
	w.once("a", 0, 30)
}

// A commit whose answer was lost landed and was rolled back before the look: the expiry of that snapshot may delete its
// files, so they are never used again.
func TestFilesOfARolledBackCommitAreNotUsedAgain(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	base := w.table().CurrentSnapshot().SnapshotID
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		m, loc, err := apply()
		if n++; n == 1 {
			w.rollback(base)
			return nil, "", errGateway
		}
		return m, loc, err
	})
	o := w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Reread)
	if o.Positions[part(0)] != 0 {
		t.Errorf("outcome %+v", o)
	}
	w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
}

func TestWhatAPersonMustDecideStopsTheCommitter(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
		want string
	}{
		{"the branch is set back to before the first commit", func(w *world) {
			w.rollback(w.table().Metadata().Snapshots()[0].SnapshotID)
		}, "before the topology's first commit"},
		{"a commit of the topology is cherry-picked", func(w *world) {
			s := w.table().CurrentSnapshot()
			w.rollback(*s.ParentSnapshotID)
			w.update(func(tx *table.Transaction) error {
				return tx.AddFiles(context.Background(), nil, iceberg.Properties{keyPickedFrom: fmt.Sprint(s.SnapshotID)}, true)
			})
		}, "cherry-picked"},
		{"everything that told is gone", func(w *world) {
			w.rollback(w.table().Metadata().Snapshots()[2].SnapshotID)
			w.foreign()
			w.expire()
			w.loseLog()
		}, "has expired"},
		{"the table was dropped and made again", func(w *world) { w.create(nil) }, "another one now"},
		{"a newer floe wrote the positions", func(w *world) {
			w.update(func(tx *table.Transaction) error {
				return tx.AddFiles(context.Background(), nil, iceberg.Properties{keyPositions: `{"v":9}`}, true)
			})
		}, "version 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.foreign()
			r := w.start(Config{}, newLog())
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
			w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
			next := w.batch("a", rng(0, 20, 30))
			c.do(w)
			before := w.table().MetadataLocation()
			o := w.want(r.submit("w", 1, next), Failed)
			var stop *StopError
			if !errors.As(o.Err, &stop) || !strings.Contains(stop.Reason, c.want) || stop.Hint == "" {
				t.Errorf("outcome %v", o.Err)
			}
			if err := <-r.done; !errors.As(err, &stop) {
				t.Errorf("Run ended with %v", err)
			}
			r.stop()
			r.stop = nil
			if w.table().MetadataLocation() != before {
				t.Error("something was committed")
			}
			if err := r.Submit(context.Background(), Submission{Descriptor: next}); !errors.Is(err, ErrEnded) {
				t.Errorf("a submission after the end: %v", err)
			}
		})
	}
}

func TestAPersonsAnswerIsWritten(t *testing.T) {
	w := newWorld(t, nil)
	w.foreign()
	r := w.start(Config{}, newLog())
	w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	r.end()
	w.rollback(w.table().Metadata().Snapshots()[0].SnapshotID)
	two := w.committer(Config{}, newLog())
	var stop *StopError
	if _, err := two.Load(context.Background()); !errors.As(err, &stop) {
		t.Fatalf("load: %v", err)
	}
	if err := two.Settle(context.Background(), nil); !errors.As(err, &stop) {
		t.Fatalf("settle: %v", err)
	}
	if _, err := two.Begin(context.Background(), map[source.Partition]source.Position{part(0): 0}); !errors.As(err, &stop) {
		t.Fatalf("begin: %v", err)
	}
	pos, err := two.Set(context.Background(), map[source.Partition]source.Position{part(0): 3, part(1): 0})
	w.must(err)
	if !pos.Known || pos.At[part(0)].Next != 3 {
		t.Errorf("positions %+v", pos)
	}
	two.run()
	w.want(two.submit("w", 1, w.batch("a", rng(0, 3, 10))), Landed)
}

// Without the mark, the person's answer for one topology would hide from the other that it must ask: it would start over.
func TestAnAnswerForOneTopologyLeavesTheOthersQuestionOpen(t *testing.T) {
	w := newWorld(t, nil)
	w.foreign()
	for _, name := range []string{"a", "b"} {
		r := w.start(Config{Topology: name}, newLog())
		w.want(r.submit("w", 1, w.batch(name, rng(0, 0, 10))), Landed)
		r.end()
	}
	w.rollback(w.table().Metadata().Snapshots()[0].SnapshotID)
	a := w.committer(Config{Topology: "a"}, nil)
	_, err := a.Set(context.Background(), map[source.Partition]source.Position{part(0): 0})
	w.must(err)
	a.run()
	w.want(a.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	b := w.committer(Config{Topology: "b"}, nil)
	var stop *StopError
	if _, err := b.Load(context.Background()); !errors.As(err, &stop) || !strings.Contains(stop.Reason, "unclear") {
		t.Errorf("topology b: %v", err)
	}
}

func TestPositionsSurviveExpiryAndOtherEngines(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
	}{
		{"the property names the expired parent", func(w *world) { w.foreign(); w.expire() }},
		{"the property alone tells", func(w *world) { w.foreign(); w.expire(); w.loseLog() }},
		{"the metadata log tells", func(w *world) { w.foreign(); w.foreign(); w.foreign(); w.expire() }},
		{"the log tells, of what a rollback left", func(w *world) {
			t := w.table()
			w.want(w.start(Config{}, nil).submit("x", 1, w.batch("a", rng(0, 10, 15))), Landed)
			w.rollback(t.CurrentSnapshot().SnapshotID)
			w.foreign()
			w.expire()
		}},
		{"every snapshot left is another engine's replace", func(w *world) {
			w.update(func(tx *table.Transaction) error {
				_, err := tx.RewriteManifests(context.Background())
				return err
			})
			w.foreign()
			w.expire()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := w.start(Config{}, newLog())
			w.want(r.submit("w", 1, w.batch("a", rng(0, 0, 5))), Landed)
			w.want(r.submit("w", 1, w.batch("a", rng(0, 5, 10))), Landed)
			c.do(w)
			two := w.committer(Config{}, nil)
			pos, err := two.Load(context.Background())
			w.must(err)
			if pos.At[part(0)].Next != 10 {
				t.Errorf("position %d", pos.At[part(0)].Next)
			}
			w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
			w.once("a", 0, 20)
		})
	}
}
