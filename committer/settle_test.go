package committer

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// entryOf notes a group as a committer that died would have left it.
func (w *world) entryOf(log *memLog, age time.Duration, ds ...*descriptor.Descriptor) *descriptor.Group {
	w.t.Helper()
	g := &descriptor.Group{
		CommitID: uuid.New(), Topology: "a", Instance: "dead", Component: "committer", Branch: "main",
		TableUUID: w.table().Metadata().TableUUID(), CreatedAt: time.Now().Add(-age), Descriptors: ds,
	}
	_, err := log.Put(context.Background(), w.table(), g)
	w.must(err)
	return g
}

// life is a committer that has loaded, with partitions 0 and 1 begun at 0, and does not run.
func (w *world) life(log Log) *runner {
	w.t.Helper()
	r := w.committer(Config{Grace: time.Hour}, log)
	_, err := r.Load(context.Background())
	w.must(err)
	_, err = r.Begin(context.Background(), map[source.Partition]source.Position{part(0): 0, part(1): 0})
	w.must(err)
	return r
}

func (r *runner) settle() Positions {
	r.w.t.Helper()
	r.w.must(r.Settle(context.Background(), []source.Partition{part(0), part(1)}))
	pos, err := r.Load(context.Background())
	r.w.must(err)
	return pos
}

func TestACrashBetweenNoteAndCommitIsAdopted(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.start(Config{}, log)
	stopped := make(chan struct{})
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		r.stop()
		close(stopped)
		return nil, "", errGateway
	})
	r.submit("w", 1, w.batch("a", rng(0, 0, 10), rng(1, 0, 3)))
	<-stopped
	r.end()
	w.cat.hook(nil)
	if log.len() != 1 {
		t.Fatalf("%d entries", log.len())
	}
	pos := w.life(log).settle()
	if pos.At[part(0)].Next != 10 || pos.At[part(1)].Next != 3 || log.len() != 0 {
		t.Errorf("positions %+v, %d entries", pos.At, log.len())
	}
	w.once("a", 0, 10)
	w.once("a", 1, 3)
}

func TestACrashBetweenCommitAndDeleteLeavesNothingToDo(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.start(Config{}, log)
	applied := make(chan struct{})
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		r.stop()
		_, _, err := apply()
		w.must(err)
		close(applied)
		return nil, "", errGateway
	})
	r.submit("w", 1, w.batch("a", rng(0, 0, 10)))
	<-applied
	r.end()
	w.cat.hook(nil)
	commits := w.cat.commits
	two := w.life(log)
	if pos := two.settle(); pos.At[part(0)].Next != 10 || log.len() != 0 || w.cat.commits != commits {
		t.Errorf("positions %+v, %d entries, %d commits", pos.At, log.len(), w.cat.commits-commits)
	}
	w.once("a", 0, 10)
}

func TestEntriesAreAdoptedInWhateverOrderTheyJoinUp(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	w.entryOf(log, 3*time.Minute, w.batch("a", rng(0, 10, 20)))
	w.entryOf(log, 2*time.Minute, w.batch("a", rng(0, 0, 5)), w.batch("a", rng(0, 5, 10)))
	if pos := r.settle(); pos.At[part(0)].Next != 20 || log.len() != 0 {
		t.Errorf("positions %+v, %d entries", pos.At, log.len())
	}
	w.once("a", 0, 20)
}

func TestAnEntryIsAdoptedAsFarAsItIsWhole(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	gone, cut := w.batch("a", rng(0, 5, 10)), w.batch("a", rng(1, 4, 8))
	w.entryOf(log, time.Minute, w.batch("a", rng(0, 0, 5)), gone, w.batch("a", rng(0, 10, 15)), w.batch("a", rng(1, 0, 4)), cut)
	w.must(os.Remove(gone.Files[0].FilePath()))
	w.must(os.WriteFile(cut.Files[0].FilePath(), []byte("ro"), 0o644))
	pos := r.settle()
	if pos.At[part(0)].Next != 5 || pos.At[part(1)].Next != 4 {
		t.Errorf("positions %+v", pos.At)
	}
	w.once("a", 0, 5)
	w.once("a", 1, 4)
}

// A zombie's request holds the whole group; the next life adopted a part of it under the same commit id. Finding the id on
// the branch must not make the zombie take the rest for landed.
func TestFindingTheCommitIDDoesNotVouchForWhatIsNotThere(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	zombie := w.start(Config{Interval: time.Hour}, log)
	lost := w.batch("a", rng(1, 0, 8))
	n := 0
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		if n++; n > 1 {
			return apply()
		}
		w.cat.hook(nil)
		w.must(os.Rename(lost.Files[0].FilePath(), lost.Files[0].FilePath()+".away"))
		w.life(log).settle()
		return apply()
	})
	a, b := zombie.submit("w0", 1, w.batch("a", rng(0, 0, 10))), zombie.submit("w1", 1, lost)
	zombie.Flush()
	w.want(a, Landed)
	if o := w.want(b, Reread); o.Positions[part(1)] != 0 {
		t.Errorf("outcome %+v", o)
	}
	w.once("a", 0, 10)
}

func TestFilesAreDeletedByProofAlone(t *testing.T) {
	for _, c := range []struct {
		name    string
		age     time.Duration
		before  func(w *world, r *runner)
		deleted bool
		entries int
	}{
		{"passed, walked, old", 2 * time.Hour, func(w *world, r *runner) { w.life(nil).commitAll(w.batch("a", rng(0, 0, 7))) }, true, 0},
		{"young", time.Minute, func(w *world, r *runner) { w.life(nil).commitAll(w.batch("a", rng(0, 0, 7))) }, false, 1},
		{"not passed, because a file is gone", 2 * time.Hour, func(w *world, r *runner) {}, false, 1},
		{"the walk is broken", 2 * time.Hour, func(w *world, r *runner) {
			w.life(nil).commitAll(w.batch("a", rng(0, 0, 7)))
			w.expire()
		}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, log := newWorld(t, nil), newLog()
			r := w.life(log)
			gone, left := w.batch("a", rng(1, 0, 1)), w.batch("a", rng(0, 0, 10))
			ds := []*descriptor.Descriptor{left}
			if c.name == "not passed, because a file is gone" {
				w.must(os.Remove(gone.Files[0].FilePath()))
				ds = []*descriptor.Descriptor{gone}
			}
			c.before(w, r)
			w.entryOf(log, c.age, ds...)
			r.settle()
			_, err := os.Stat(left.Files[0].FilePath())
			if errors.Is(err, os.ErrNotExist) != c.deleted || log.len() != c.entries {
				t.Errorf("file: %v, %d entries, want %d", err, log.len(), c.entries)
			}
			w.paths()
		})
	}
}

// commitAll runs the committer for these descriptors and ends it.
func (r *runner) commitAll(ds ...*descriptor.Descriptor) {
	r.w.t.Helper()
	r.run()
	for _, d := range ds {
		r.w.want(r.submit("w", 1, d), Landed)
	}
	r.end()
}

// A descriptor that travels between processes was noted by one that died, delivered again, and committed under another id.
func TestFilesThatWereCommittedUnderAnotherIDAreNotDeleted(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	d := w.batch("a", rng(0, 0, 10))
	w.entryOf(log, 2*time.Hour, d)
	w.life(nil).commitAll(d, w.batch("a", rng(0, 10, 12)))
	r.settle()
	if log.len() != 0 {
		t.Errorf("%d entries", log.len())
	}
	w.once("a", 0, 12)
}

func TestOnlyFilesUnderTheTableAreDeleted(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	d := w.batch("a", rng(0, 0, 10))
	outside := w.dir + "/precious.parquet"
	w.must(os.WriteFile(outside, []byte("rows"), 0o644))
	d.Files = append(d.Files, w.file(outside))
	w.life(nil).commitAll(w.batch("a", rng(0, 0, 10)))
	w.entryOf(log, 2*time.Hour, d)
	r.settle()
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestEntriesThatAreNotThisOnesAreLeft(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	b := w.entryOf(log, time.Minute, w.batch("a", rng(0, 0, 10)))
	b.Branch = "audit"
	_, err := log.Put(context.Background(), nil, b)
	w.must(err)
	w.entryOf(log, time.Minute, w.batch("a", rng(5, 0, 10)))
	w.entryOf(log, time.Minute, w.batch("a"))
	commits := w.cat.commits
	r.settle()
	if log.len() != 3 || w.cat.commits != commits {
		t.Errorf("%d entries, %d commits", log.len(), w.cat.commits-commits)
	}
}

func TestAnEntryThatCannotBeReadNeverStopsAStart(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	log.entries["torn.json"] = descriptor.Entry{Path: "torn.json", Err: descriptor.ErrChecksum}
	w.entryOf(log, time.Minute, w.batch("a", rng(0, 0, 10)))
	if pos := r.settle(); pos.At[part(0)].Next != 10 || len(log.aside) != 1 || log.len() != 0 {
		t.Errorf("positions %+v, aside %v", pos.At, log.aside)
	}
}

func TestAnEntryOfARolledBackCommitIsNotAdopted(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	base := w.table().CurrentSnapshot().SnapshotID
	d := w.batch("a", rng(0, 0, 10))
	g := w.entryOf(log, 2*time.Hour, d)
	v, err := r.look(context.Background())
	w.must(err)
	grp := &group{id: g.CommitID, noted: 1, items: []*item{{Submission: Submission{Descriptor: d}, ranges: rangesOf(d)}}}
	w.must(r.commit(context.Background(), grp))
	_ = v
	w.rollback(base)
	if pos := r.settle(); pos.At[part(0)].Next != 0 {
		t.Errorf("positions %+v", pos.At)
	}
	if _, err := os.Stat(d.Files[0].FilePath()); err != nil {
		t.Error("the file of a retained snapshot was deleted")
	}
}

func TestEntriesWithoutPositionsAreSettledWhoeverIsAssigned(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		left int
	}{"young": {0, 1}, "old": {2 * time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			w, log := newWorld(t, nil), newLog()
			d := w.batch("a")
			w.entryOf(log, c.age, d)
			w.life(log).settle()
			if log.len() != c.left {
				t.Errorf("%d entries are left, want %d", log.len(), c.left)
			}
			if ok, err := whole(context.Background(), w.table(), d); err != nil || !ok {
				t.Errorf("the files are whole: %v, %v", ok, err)
			}
		})
	}
}
