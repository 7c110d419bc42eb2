package committer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

type answerHook = func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error)

// before has f done once, between the staging of the next request and its swap.
func (w *world) before(f func()) {
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		w.cat.hook(nil)
		f()
		return apply()
	})
}

func (w *world) remove(d *descriptor.Descriptor) {
	for _, f := range d.Files {
		w.must(os.Remove(f.FilePath()))
	}
}

func TestAFileThatTheStorageLostOrToreIsWrittenAgain(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"lost": os.Remove,
		"torn": func(path string) error { return os.WriteFile(path, []byte("ro"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := w.start(Config{}, newLog())
			good, d := w.batch("a", rng(1, 0, 3)), w.batch("a", rng(0, 0, 10))
			w.must(harm(d.Files[0].FilePath()))
			other := r.submit("v", 1, good)
			o := w.want(r.submit("w", 1, d), Reread)
			if o.Err == nil || !strings.Contains(o.Err.Error(), d.Files[0].FilePath()) || o.Positions[part(0)] != 0 {
				t.Errorf("outcome %+v", o)
			}
			if r.obs.troubles == 0 {
				t.Error("nobody was told")
			}
			w.want(other, Landed)
			w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Landed)
			w.once("a", 0, 10)
			w.once("a", 1, 3)
		})
	}
}

// TestAFileIsLookedAtAgainBeforeALaterAttempt takes a file while its request is refused again and again.
func TestAFileIsLookedAtAgainBeforeALaterAttempt(t *testing.T) {
	w := newWorld(t, nil)
	now := time.Now()
	r := w.start(Config{Now: func() time.Time { return now }}, newLog())
	d := w.batch("a", rng(0, 0, 10))
	w.cat.hook(func(func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		w.cat.hook(nil)
		w.remove(d)
		now = now.Add(2 * lookAgain)
		return nil, "", errGateway // it never arrives
	})
	w.want(r.submit("w", 1, d), Reread)
	w.want(r.submit("w", 2, w.batch("a", rng(0, 0, 10))), Landed)
	w.once("a", 0, 10)
}

// TestAFileTakenBetweenLookAndSwapStopsALateCommit: what nobody can exclude is noticed, and mended by a rollback.
func TestAFileTakenBetweenLookAndSwapStopsALateCommit(t *testing.T) {
	for _, c := range []struct {
		name   string
		sealed time.Duration
		hook   func(w *world, d *descriptor.Descriptor) answerHook
	}{
		{"sealed long ago", 45 * time.Minute, nil},
		{"unknown answer", 0, func(w *world, d *descriptor.Descriptor) answerHook {
			return func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
				w.cat.hook(nil)
				w.remove(d)
				_, _, err := apply()
				w.must(err)
				return nil, "", errGateway
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := w.start(Config{}, newLog())
			parent := w.table().CurrentSnapshot().SnapshotID
			d := w.batch("a", rng(0, 0, 10))
			d.SealedAt = time.Now().Add(-c.sealed)
			if c.hook != nil {
				w.cat.hook(c.hook(w, d))
			} else {
				w.before(func() { w.remove(d) })
			}
			o := w.want(r.submit("w", 1, d), Failed)
			w.stops(o.Err, d.Files[0].FilePath(), parent)
			if err := <-r.done; !isStop(err) {
				t.Errorf("Run gave %v", err)
			}
			r.stop = nil
			w.rollback(parent)
			w.life(nil).commitAll(w.batch("a", rng(0, 0, 10)))
			w.once("a", 0, 10)
		})
	}
}

// stops fails unless err is a *StopError that names what is gone, the head, and its parent.
func (w *world) stops(err error, path string, parent int64) {
	w.t.Helper()
	head := w.table().CurrentSnapshot().SnapshotID
	for _, word := range []string{path, fmt.Sprintf("snapshot %d of", head), fmt.Sprintf("snapshot %d, its parent", parent)} {
		if !isStop(err) || !strings.Contains(err.Error(), word) {
			w.t.Fatalf("%q is missing in %v", word, err)
		}
	}
}

// TestAnEntryThatLandedWithoutItsFileStopsEveryStart until somebody has mended the table.
func TestAnEntryThatLandedWithoutItsFileStopsEveryStart(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	parent := w.table().CurrentSnapshot().SnapshotID
	d := w.batch("a", rng(0, 0, 10))
	w.entryOf(log, time.Minute, d)
	w.before(func() { w.remove(d) })
	w.stops(r.Settle(context.Background(), nil), d.Files[0].FilePath(), parent) // while it is adopted
	w.stops(r.Settle(context.Background(), nil), d.Files[0].FilePath(), parent) // when it is found landed
	w.rollback(parent)
	if pos := r.settle(); pos.At[part(0)].Next != 0 {
		t.Errorf("positions %+v", pos.At)
	}
	w.life(log).commitAll(w.batch("a", rng(0, 0, 10)))
	w.once("a", 0, 10)
}

// TestMetadataFilesTakenBeforeTheSwapStopALateCommit: a clean-up takes a request's manifests, too.
func TestMetadataFilesTakenBeforeTheSwapStopALateCommit(t *testing.T) {
	for _, pattern := range []string{"snap-*.avro", "*-m[0-9]*.avro"} {
		t.Run(pattern, func(t *testing.T) {
			w := newWorld(t, nil)
			r := w.start(Config{}, newLog())
			parent := w.table().CurrentSnapshot().SnapshotID
			had := w.globbed(pattern)
			taken := ""
			d := w.batch("a", rng(0, 0, 10))
			d.SealedAt = time.Now().Add(-time.Hour)
			w.before(func() {
				for path := range w.globbed(pattern) {
					if !had[path] {
						taken = path
						w.must(os.Remove(path))
					}
				}
			})
			o := w.want(r.submit("w", 1, d), Failed)
			w.stops(o.Err, taken, parent)
			<-r.done
			r.stop = nil
		})
	}
}

func (w *world) globbed(pattern string) map[string]bool {
	paths, err := filepath.Glob(w.dir + "/t/metadata/" + pattern)
	w.must(err)
	out := map[string]bool{}
	for _, p := range paths {
		out[p] = true
	}
	return out
}

// TestAFileThatWasCompactedAwayIsNoHarm lets a commit land, be rewritten and cleaned up before its answer is lost.
func TestAFileThatWasCompactedAwayIsNoHarm(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	d := w.batch("a", rng(0, 0, 10))
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		w.cat.hook(nil)
		_, _, err := apply()
		w.must(err)
		w.rewrite(d)
		return nil, "", errGateway
	})
	w.want(r.submit("w", 1, d), Landed)
	w.want(r.submit("w", 1, w.batch("a", rng(0, 10, 20))), Landed)
	w.once("a", 0, 20)
}

// rewrite is another engine's compaction of d's file, which also deletes it.
func (w *world) rewrite(d *descriptor.Descriptor) {
	w.t.Helper()
	path := strings.Replace(d.Files[0].FilePath(), ".parquet", "-rewritten.parquet", 1)
	w.must(os.Rename(d.Files[0].FilePath(), path))
	w.update(func(tx *table.Transaction) error {
		return tx.NewRewrite(nil).DeleteFile(d.Files[0]).AddDataFile(w.file(path)).Commit(context.Background())
	})
}

// TestFilesThatAnotherBranchNamesAreNotDeleted: a commit landed, its process died before it deleted its entry, somebody made
// a branch and rolled main back. Later the commit's own snapshot expires; the branch's head still names the file.
func TestFilesThatAnotherBranchNamesAreNotDeleted(t *testing.T) {
	for _, how := range []string{"branch", "rewritten manifest", "cherry-pick"} {
		t.Run(how, func(t *testing.T) {
			w, log := newWorld(t, nil), newLog()
			r := w.life(log)
			base := w.table().CurrentSnapshot().SnapshotID
			d := w.batch("a", rng(0, 0, 10))
			g := w.entryOf(log, 2*time.Hour, d)
			w.must(r.commit(context.Background(), &group{id: g.CommitID, noted: 1, items: []*item{{Submission: Submission{Descriptor: d}, ranges: rangesOf(d)}}}))
			landed := w.table().CurrentSnapshot().SnapshotID
			if how == "rewritten manifest" {
				// The file as another engine's snapshot has it: a manifest of its own, without floe's keys.
				w.rollback(base)
				w.update(func(tx *table.Transaction) error {
					return tx.NewRowDelta(nil).AddRows(d.Files...).Commit(context.Background())
				})
			} else {
				w.foreign()
			}
			w.apply(table.NewSetSnapshotRefUpdate("audit", w.table().CurrentSnapshot().SnapshotID, table.BranchRef, -1, -1, -1))
			w.rollback(base)
			w.apply(table.NewRemoveSnapshotsUpdate([]int64{landed}, false))
			if how == "cherry-pick" {
				w.update(func(tx *table.Transaction) error {
					return tx.NewRowDelta(map[string]string{keyPickedFrom: fmt.Sprint(landed)}).AddRows(d.Files...).Commit(context.Background())
				})
				w.apply(table.NewRemoveSnapshotRefUpdate("audit"))
			}
			// The records come again, and a person answers where floe asks.
			two := w.committer(Config{Grace: time.Hour}, nil)
			if _, err := two.Load(context.Background()); isStop(err) {
				_, err = two.Set(context.Background(), map[source.Partition]source.Position{part(0): 0, part(1): 0})
				w.must(err)
			} else {
				w.must(err)
			}
			two.commitAll(w.batch("a", rng(0, 0, 7)), w.batch("a", rng(0, 7, 12)))
			w.life(log).settle()
			if _, err := os.Stat(d.Files[0].FilePath()); errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file that the table names was deleted")
			}
			w.readable()
		})
	}
}

// readable fails where a retained snapshot names what is not there.
func (w *world) readable() {
	w.t.Helper()
	for _, s := range w.table().Metadata().Snapshots() {
		ms, err := s.Manifests(iceio.LocalFS{})
		w.must(err)
		for _, m := range ms {
			for e, err := range m.Entries(iceio.LocalFS{}, true) {
				w.must(err)
				if _, err := os.Stat(e.DataFile().FilePath()); err != nil {
					w.t.Errorf("snapshot %d names what is gone: %v", s.SnapshotID, err)
				}
			}
		}
	}
}
