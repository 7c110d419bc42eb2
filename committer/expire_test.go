package committer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/source"
)

// With makes world a Rider.
func (w *world) With(t *table.Table, reqs []table.Requirement, ups []table.Update) *table.Table {
	return table.New(ident, t.Metadata(), t.MetadataLocation(), t.FS, riding{w.cat, reqs, ups})
}

type riding struct {
	*memCat
	reqs []table.Requirement
	ups  []table.Update
}

func (r riding) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, ups []table.Update) (table.Metadata, string, error) {
	return r.memCat.CommitTable(ctx, id, slices.Concat(reqs, r.reqs), slices.Concat(ups, r.ups))
}

// every is how many appends there are to an expiry.
const every = 16

// inAWeek is a clock by which everything that the table holds is old.
func inAWeek() time.Time { return time.Now().Add(7 * 24 * time.Hour) }

// snapshots are the retained snapshots, oldest first.
func (w *world) snapshots() (ids []int64) {
	for _, s := range w.table().Metadata().Snapshots() {
		ids = append(ids, s.SnapshotID)
	}
	return ids
}

// TestOldSnapshotsLeaveTheTableWithAnAppend follows a table over several expiries: no commit of their own, no row and no
// position lost, and the lists of what is gone are gone.
func TestOldSnapshotsLeaveTheTableWithAnAppend(t *testing.T) {
	const n = 3*every + 5
	w := newWorld(t, iceberg.Properties{table.MinSnapshotsToKeepKey: "3"})
	r := w.start(Config{ExpireEvery: every, Now: inAWeek}, newLog())
	lists := map[string]bool{}
	for i := range source.Position(n) {
		w.want(r.submit("w", 1, w.batch("a", rng(0, i, i+1))), Landed)
		lists[w.table().CurrentSnapshot().ManifestList] = true
	}
	r.end()
	if got := len(w.snapshots()); got != 3+5 {
		t.Errorf("%d snapshots are left", got)
	}
	if got := w.commits(); got != n+1 { // the first positions are a commit too
		t.Errorf("%d commits for %d appends", got, n)
	}
	for _, s := range w.table().Metadata().Snapshots() {
		delete(lists, s.ManifestList)
		if _, err := os.Stat(s.ManifestList); err != nil {
			t.Errorf("snapshot %d: %v", s.SnapshotID, err)
		}
	}
	for path := range lists {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", path, err)
		}
	}
	w.once("a", 0, n)
	pos, err := w.committer(Config{}, nil).Load(t.Context())
	w.must(err)
	if pos.At[part(0)].Next != n {
		t.Errorf("position %d", pos.At[part(0)].Next)
	}
}

func TestSnapshotsAreKeptUnlessItIsSwitchedOn(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{Now: inAWeek}, nil)
	for i := range source.Position(every + 1) {
		w.want(r.submit("w", 1, w.batch("a", rng(0, i, i+1))), Landed)
	}
	if got := len(w.snapshots()); got != every+2 {
		t.Errorf("%d snapshots are left", got)
	}
}

// TestWhatMayExpire has ten appends, the last of which is the head, and what stands in the way.
func TestWhatMayExpire(t *testing.T) {
	ref := func(name string, id int64, kind table.RefType) table.Update {
		return table.NewSetSnapshotRefUpdate(name, id, kind, -1, -1, -1)
	}
	for name, c := range map[string]struct {
		props iceberg.Properties
		// do changes the table of the first n snapshots.
		after int
		do    func(w *world, at []int64)
		now   func() time.Time
		// want are the indices of what may expire.
		want []int
	}{
		"all but the head":       {want: []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		"none is old":            {now: time.Now},
		"the table keeps some":   {props: iceberg.Properties{table.MinSnapshotsToKeepKey: "8"}, want: []int{0, 1, 2}},
		"the table keeps longer": {props: iceberg.Properties{table.MaxSnapshotAgeMsKey: "864000000"}},
		"nothing may be deleted": {props: iceberg.Properties{table.GCEnabledKey: "false"}},
		"the branch keeps some": {after: 10, want: []int{0, 1, 2, 3}, do: func(w *world, at []int64) {
			w.apply(table.NewSetSnapshotRefUpdate("main", at[9], table.BranchRef, -1, -1, 7))
		}},
		"the branch keeps longer": {after: 10, do: func(w *world, at []int64) {
			w.apply(table.NewSetSnapshotRefUpdate("main", at[9], table.BranchRef, -1, 864000000, -1))
		}},
		"a tag": {after: 10, want: []int{0, 1, 2, 4, 5, 6, 7, 8}, do: func(w *world, at []int64) {
			w.apply(ref("v1", at[3], table.TagRef))
		}},
		"another branch's line": {after: 10, want: []int{4, 5, 6, 7, 8}, do: func(w *world, at []int64) {
			w.apply(ref("audit", at[3], table.BranchRef))
		}},
		"what was rolled back": {after: 5, want: []int{0, 1, 5, 6, 7, 8}, do: func(w *world, at []int64) {
			w.apply(ref("main", at[1], table.BranchRef)) // 2 to 4 are another line's
			w.foreign()
		}},
		"what was cherry-picked": {after: 5, want: []int{0, 1}, do: func(w *world, at []int64) {
			w.apply(ref("main", at[1], table.BranchRef))
			w.update(func(tx *table.Transaction) error {
				return tx.AddFiles(context.Background(), nil, iceberg.Properties{keyPickedFrom: fmt.Sprint(at[3])}, true)
			})
		}},
		"what was written anew": {after: 5, want: []int{0, 1, 2, 3}, do: func(w *world, _ []int64) {
			w.update(func(tx *table.Transaction) error {
				_, err := tx.RewriteManifests(context.Background())
				return err
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.props)
			for i := range 10 {
				if i == c.after && c.do != nil {
					c.do(w, w.snapshots())
				}
				if len(w.snapshots()) < 10 {
					w.add()
				}
			}
			if c.after == 10 {
				c.do(w, w.snapshots())
			}
			now := inAWeek
			if c.now != nil {
				now = c.now
			}
			got := expirable(w.table().Metadata(), "main", now())
			at := w.snapshots()
			var gone []int
			for _, id := range got.ids {
				gone = append(gone, slices.Index(at, id))
			}
			slices.Sort(gone)
			if !slices.Equal(gone, c.want) {
				t.Errorf("%v of %d may expire, want %v", gone, len(at), c.want)
			}
			if len(gone) > 0 && len(got.reqs) != len(maps.Collect(w.table().Metadata().Refs())) {
				t.Errorf("%d requirements", len(got.reqs))
			}
		})
	}
}

// add appends a file of another engine.
func (w *world) add() {
	d := w.batch("x", rng(0, 0, 1))
	w.update(func(tx *table.Transaction) error {
		return tx.NewRowDelta(nil).AddRows(d.Files...).Commit(context.Background())
	})
}

// TestAnExpiryThatTheCatalogRefusesIsGivenUp goes on without: the stream does not stop for it.
func TestAnExpiryThatTheCatalogRefusesIsGivenUp(t *testing.T) {
	w := newWorld(t, nil)
	w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
		for _, u := range w.cat.last {
			if u.Action() == table.UpdateRemoveSnapshots {
				return nil, "", errorResponse{statusCode: 400}
			}
		}
		return apply()
	})
	r := w.start(Config{ExpireEvery: every, Now: inAWeek}, newLog())
	life, reread := uint64(1), 0
	for i := source.Position(0); i < 3*every; {
		switch o := <-r.submit("w", life, w.batch("a", rng(0, i, i+1))); o.Verdict {
		case Landed:
			i++
		case Reread:
			life++
			reread++
		default:
			t.Fatalf("%+v", o)
		}
	}
	if got := len(w.snapshots()); reread != 1 || got != 3*every+1 {
		t.Errorf("refused %d times, %d snapshots", reread, got)
	}
	w.once("a", 0, 3*every)
}

// TestATagThatMovesMeanwhileIsNotLost: the request that takes its snapshot off the table was made before it.
func TestATagThatMovesMeanwhileIsNotLost(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(Config{ExpireEvery: every, Now: inAWeek}, newLog())
	var first int64
	for i := range source.Position(2 * every) {
		if i == 1 {
			first = w.snapshots()[0]
			w.apply(table.NewSetSnapshotRefUpdate("v1", w.table().CurrentSnapshot().SnapshotID, table.TagRef, -1, -1, -1))
		}
		w.cat.hook(func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
			if slices.ContainsFunc(w.cat.last, func(u table.Update) bool { return u.Action() == table.UpdateRemoveSnapshots }) && first != 0 {
				w.apply(table.NewSetSnapshotRefUpdate("v1", first, table.TagRef, -1, -1, -1))
				first = 0
			}
			return apply()
		})
		w.want(r.submit("w", 1, w.batch("a", rng(0, i, i+1))), Landed)
	}
	s := w.table().SnapshotByName("v1")
	if first != 0 || s == nil || s.ParentSnapshotID != nil {
		t.Errorf("the tag leads to %v", s)
	}
	w.once("a", 0, 2*every)
}

func TestExpiryNeedsARider(t *testing.T) {
	w := newWorld(t, nil)
	_, err := New(Config{Topology: "a", ExpireEvery: every}, w.cat, nil)
	if err == nil || !strings.Contains(err.Error(), "Rider") {
		t.Errorf("got %v", err)
	}
}
