package committer

import (
	"context"
	"testing"
)

// TestFilesOfACommitThatWasRolledBackMeanwhileAreNotMissed: between a load and the look at a late commit's files the commit is
// rolled back, it expires, and the clean-up takes its files. No person can do anything about that, or has to.
func TestFilesOfACommitThatWasRolledBackMeanwhileAreNotMissed(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{}, newLog())
	parent := w.table().CurrentSnapshot().SnapshotID
	d := w.batch("a", rng(0, 0, 10))
	w.want(r.submit("w", 1, d), Landed)
	seen := w.table()
	w.rollback(parent)
	w.expire()
	w.remove(d)
	c, err := New(Config{Topology: "a"}, w, nil)
	w.must(err)
	if err := c.intact(context.Background(), seen, d.Files, seen.CurrentSnapshot().SnapshotID); err != nil {
		t.Error(err)
	}
}
