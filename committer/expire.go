package committer

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

// expireMost is how many snapshots one append takes off: the list of each is deleted while the next commit waits.
const expireMost = 256

// Rider is a Loader whose tables can send more in a commit than their transaction holds. Config.ExpireEvery needs one:
// iceberg-go removes the snapshots of its own choice alone, those that positions need among them.
type Rider interface {
	Loader
	// With gives t as it is, except that each of its commits also sends these requirements and updates.
	With(t *table.Table, reqs []table.Requirement, updates []table.Update) *table.Table
}

// expiry is what an append takes off the table beside adding its files.
type expiry struct {
	ids  []int64
	reqs []table.Requirement
}

// expireDue gives the snapshots that this append takes off the table, where it is time for it. It is asked by one who holds
// the turn.
func (c *Committer) expireDue(tbl *table.Table) expiry {
	if c.cfg.ExpireEvery == 0 || c.keepSnapshots {
		return expiry{}
	}
	if c.unexpired++; c.unexpired < c.cfg.ExpireEvery {
		return expiry{}
	}
	c.unexpired = 0
	return expirable(tbl.Metadata(), c.cfg.Branch, c.cfg.Now())
}

// expirable chooses, oldest first, from the branch's line the snapshots that the table's properties, or the branch's own
// settings, let go. The append that takes them off holds the positions of every topology of its branch, so nothing needs
// what lies below it. Left alone are
//
//   - what another branch or a tag leads to: positions of other branches are found on their lines;
//   - what no branch leads to: a snapshot that was rolled back tells whose files may not be used again;
//   - the snapshot before one that did more than append: it alone still holds the files that this one took out, and who
//     removes it has to delete those too. Otherwise no data file loses its last snapshot;
//   - a snapshot that was cherry-picked from one that is still there: it alone tells that the other's files are in use;
//   - what is newer than one of the last two, so that the line has no gap: to an expiry that deletes files, a snapshot below
//     a gap looks like one that was rolled back, and the files it added, which the table still uses, like rubbish.
//
// The references are required to be where they were seen, as a catalog drops a reference whose snapshot is removed.
func expirable(m table.Metadata, branch string, now time.Time) expiry {
	props := m.Properties()
	if !props.GetBool(table.GCEnabledKey, table.GCEnabledDefault) {
		return expiry{}
	}
	snapshots := map[int64]table.Snapshot{}
	for _, s := range tableio.Snapshots(m) {
		snapshots[s.SnapshotID] = s
	}
	line := func(head int64) (out []table.Snapshot) {
		for s, ok := snapshots[head]; ok && len(out) <= len(snapshots); s, ok = snapshots[*s.ParentSnapshotID] {
			if out = append(out, s); s.ParentSnapshotID == nil {
				break
			}
		}
		return out
	}
	least := props.GetInt(table.MinSnapshotsToKeepKey, table.MinSnapshotsToKeepDefault)
	age := props.GetInt64(table.MaxSnapshotAgeMsKey, table.MaxSnapshotAgeMsDefault)
	var own []table.Snapshot
	needed := map[int64]bool{}
	var out expiry
	for name, ref := range m.Refs() {
		out.reqs = append(out.reqs, table.AssertRefSnapshotID(name, &ref.SnapshotID))
		switch {
		case name == branch:
			own = line(ref.SnapshotID)
			least, age = orElse(ref.MinSnapshotsToKeep, least), orElse(ref.MaxSnapshotAgeMs, age)
		case ref.SnapshotRefType == table.BranchRef:
			for _, s := range line(ref.SnapshotID) {
				needed[s.SnapshotID] = true
			}
		default:
			needed[ref.SnapshotID] = true
		}
	}
	least-- // the one to come is the newest
	kept := 0
	for kept < len(own) && (kept < max(least, 1) || now.UnixMilli()-own[kept].TimestampMs <= max(age, 0)) {
		kept++
	}
	for i := len(own) - 1; i >= kept && appended(own[i-1]) && !picked(own[i], snapshots) && len(out.ids) < expireMost; i-- {
		if !needed[own[i].SnapshotID] {
			out.ids = append(out.ids, own[i].SnapshotID)
		}
	}
	if len(out.ids) == 0 {
		return expiry{}
	}
	return out
}

func appended(s table.Snapshot) bool {
	return s.Summary != nil && s.Summary.Operation == table.OpAppend
}

func picked(s table.Snapshot, retained map[int64]table.Snapshot) bool {
	if s.Summary == nil {
		return false
	}
	id, err := strconv.ParseInt(s.Summary.Properties[keyPickedFrom], 10, 64)
	_, there := retained[id]
	return err == nil && there
}

func orElse[T any](p *T, v T) T {
	if p != nil {
		return *p
	}
	return v
}

// on gives the table whose commits do it too.
func (e expiry) on(l Loader, tbl *table.Table) *table.Table {
	r, ok := l.(Rider)
	if !ok || len(e.ids)+len(e.reqs) == 0 {
		return tbl
	}
	var updates []table.Update
	if len(e.ids) > 0 {
		updates = []table.Update{table.NewRemoveSnapshotsUpdate(e.ids, false)}
	}
	return r.With(tbl, e.reqs, updates)
}

// deleteLists deletes the manifest lists of the snapshots that are gone from now, the table as the commit left it. A list is
// its snapshot's alone; manifests and data files stay. Whatever remains is for the table's orphan clean-up.
func (c *Committer) deleteLists(ctx context.Context, was, now *table.Table, e expiry) {
	if len(e.ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.AttemptTimeout)
	defer cancel()
	fio, err := now.FS(ctx)
	if err != nil {
		return
	}
	named := map[string]bool{}
	for _, s := range tableio.Snapshots(now.Metadata()) {
		named[s.ManifestList] = true
	}
	left := 0
	for _, id := range e.ids {
		s := was.SnapshotByID(id)
		if s == nil || s.ManifestList == "" || named[s.ManifestList] || now.SnapshotByID(id) != nil {
			continue
		}
		if ctx.Err() != nil {
			left++
		} else if err := fio.Remove(s.ManifestList); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left++
		}
	}
	c.log.Debug("old snapshots expired", "snapshots", len(e.ids), "lists_left_behind", left)
}
