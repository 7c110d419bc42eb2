package committer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
)

// The sequences of events here each need one rule of the protocol. test/mutants takes the rule away and sees them fail.

// One instance sealed records of two partitions in one batch; meanwhile another one, which took over the first of them,
// commits its records. Committing the batch would double ten rows, dropping it would lose five.
func TestABatchOfWhichAPartIsThereIsReadAgain(t *testing.T) {
	w := newWorld(t, nil)
	one, two := w.start(Config{Instance: "one"}, newLog()), w.start(Config{Instance: "two"}, newLog())
	w.want(two.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
	o := w.want(one.submit("w", 1, w.batch("a", rng(0, 0, 10), rng(1, 0, 5))), Reread)
	if o.Positions[part(0)] != 10 || o.Positions[part(1)] != 0 {
		t.Errorf("outcome %+v", o)
	}
	w.once("a", 0, 10)
	w.once("a", 1, 0)
}

// oldEntry notes batches as a committer that died long ago on the present head would have left them.
func (w *world) oldEntry(log *memLog, ds ...*descriptor.Descriptor) {
	w.t.Helper()
	tbl := w.table()
	g := &descriptor.Group{
		CommitID: uuid.New(), Topology: "a", Instance: "dead", Component: "committer", Branch: "main",
		TableUUID: tbl.Metadata().TableUUID(), CreatedAt: time.Now().Add(-2 * time.Hour), Descriptors: ds,
	}
	if s := tbl.CurrentSnapshot(); s != nil {
		g.BaseSnapshot = &s.SnapshotID
	}
	_, err := log.Put(context.Background(), tbl, g)
	w.must(err)
}

func (w *world) isThere(d *descriptor.Descriptor) bool {
	w.t.Helper()
	_, err := os.Stat(d.Files[0].FilePath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return err == nil
}

// The head has left the base that an entry names, so that its request can't land any more. But what it names has not been
// passed: whoever holds the batch may still commit it on another base.
func TestFilesAreNotDeletedBecauseTheHeadHasMoved(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	behind := w.batch("a", rng(0, 5, 10))
	w.oldEntry(log, behind)
	w.foreign()
	r.settle()
	if !w.isThere(behind) || log.len() != 1 {
		t.Fatalf("the file is there: %v, %d entries", w.isThere(behind), log.len())
	}
	// Its turn comes.
	w.life(nil).commitAll(w.batch("a", rng(0, 0, 5)))
	if pos := r.settle(); pos.At[part(0)].Next != 10 {
		t.Errorf("positions %+v", pos.At)
	}
	w.once("a", 0, 10)
}

// The table has passed one batch of an entry, and not the other one.
func TestFilesAreNotDeletedByAnotherBatchsRange(t *testing.T) {
	w, log := newWorld(t, nil), newLog()
	r := w.life(log)
	passed, behind := w.batch("a", rng(0, 0, 10)), w.batch("a", rng(1, 5, 8))
	w.oldEntry(log, passed, behind)
	w.life(nil).commitAll(w.batch("a", rng(0, 0, 10)))
	r.settle()
	if w.isThere(passed) || !w.isThere(behind) {
		t.Errorf("the file that was passed is there: %v, the other one: %v", w.isThere(passed), w.isThere(behind))
	}
	w.life(nil).commitAll(w.batch("a", rng(1, 0, 5)))
	if pos := r.settle(); pos.At[part(1)].Next != 8 {
		t.Errorf("positions %+v", pos.At)
	}
	w.once("a", 1, 8)
}

// A table may ask for retries, and the library then replays a refused append on top of whatever is there now, contiguous or
// not. Here another instance has committed the same records meanwhile.
func TestAStaleRequestIsNotReplayed(t *testing.T) {
	w := newWorld(t, iceberg.Properties{table.CommitNumRetriesKey: "5", table.CommitMinRetryWaitMsKey: "1"})
	one, two := w.start(Config{Instance: "one"}, newLog()), w.start(Config{Instance: "two"}, newLog())
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		w.cat.hook(nil)
		w.want(two.submit("w", 1, w.batch("a", rng(0, 0, 10))), Landed)
		m, loc, err := apply()
		if err != nil {
			err = fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
		}
		return m, loc, err
	})
	w.want(one.submit("w", 1, w.batch("a", rng(0, 0, 10))), AlreadyThere)
	w.once("a", 0, 10)
}
