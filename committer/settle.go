package committer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/source"
)

// Settle settles the WAL entries that cover ps: landed ones are deleted, whole ones adopted, the rest abandoned. It is
// called when partitions have been assigned, before they are opened. nil settles all entries.
//
// Two that settle the same entry do no harm, nor does one whose owner is alive: whatever is committed, is committed under
// the entry's own commit id, and only where the positions join up. Trouble with the WAL itself is warned of and is no
// error: the table is the truth. An error is the end of ctx, or a *StopError.
func (c *Committer) Settle(ctx context.Context, ps []source.Partition) error {
	if c.wal == nil {
		return nil
	}
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.give()
	v, err := c.seek(ctx)
	if err == nil && v.stop != nil {
		err = v.stop
	}
	if err != nil {
		return err
	}
	defer c.relieve()
	entries, err := c.listEntries(ctx, v.tbl)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.walTrouble("WAL can't be listed; the start goes on without it, and what an earlier life left is read again", err)
		return nil
	}
	var left []descriptor.Entry
	for _, e := range entries {
		switch {
		case e.Group == nil && !descriptor.Damaged(e.Err):
			// Storage that can't be read now, or a newer floe's entry: nothing is wrong with it. What it names is read again
			// unless a later start adopts it.
			c.walTrouble("WAL entry can't be looked at and is left as it is", e.Err)
		case e.Group == nil || c.mine(e.Group) && covers(e.Group, ps):
			left = append(left, e)
		}
	}
	// One that is adopted may make another contiguous: go round until none is.
	for again := true; again && len(left) > 0; {
		again = false
		var later []descriptor.Entry
		for _, e := range left {
			fate, err := c.settleEntry(ctx, e)
			if err != nil {
				return err
			}
			switch fate {
			case protocol.Adopt:
				again = true
			case protocol.Leave:
				later = append(later, e)
			}
		}
		left = later
	}
	return nil
}

func (c *Committer) listEntries(ctx context.Context, tbl *table.Table) ([]descriptor.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.AttemptTimeout)
	defer cancel()
	return c.wal.List(ctx, tbl)
}

// mine says that an entry is of this topology on this branch; another one settles its own.
func (c *Committer) mine(g *descriptor.Group) bool {
	return g.Topology == c.cfg.Topology && g.Branch == c.cfg.Branch
}

// covers says that an entry has a range in one of ps, or batches without positions, which nobody else would come for. nil
// covers everything.
func covers(g *descriptor.Group, ps []source.Partition) bool {
	if ps == nil {
		return true
	}
	for _, d := range g.Descriptors {
		rs := rangesOf(d)
		if len(rs) == 0 {
			return true
		}
		for _, r := range rs {
			if slices.Contains(ps, r.Partition) {
				return true
			}
		}
	}
	return false
}

// settleEntry looks at the table, gives an entry its fate and carries it out. Adopt says that it has landed.
func (c *Committer) settleEntry(ctx context.Context, e descriptor.Entry) (protocol.EntryFate, error) {
	v, err := c.seek(ctx)
	if err == nil && v.stop != nil {
		err = v.stop
	}
	if err != nil {
		return 0, err
	}
	facts, err := c.facts(ctx, v, e)
	if err != nil {
		return 0, err
	}
	fate, fates := c.judge(v, e, facts, v.next())
	log := c.log.With("entry", e.Path)
	switch fate {
	case protocol.SetAside:
		log.Warn("WAL entry can't be read and is set aside; what it names is read again", "error", e.Err)
		c.walDo(ctx, "set aside", func(ctx context.Context) error { return c.wal.SetAside(ctx, v.tbl, e.Path) })
	case protocol.Delete:
		err := c.intact(ctx, v.tbl, filesOf(e.Group), facts.Seen.Snapshot)
		if isStop(err) {
			return 0, err
		}
		if err != nil {
			c.walTrouble("files of a commit that landed can't be looked at; its WAL entry is left until they can", err)
			return protocol.Leave, ctx.Err()
		}
		c.walDo(ctx, "delete", func(ctx context.Context) error { return c.wal.Delete(ctx, v.tbl, e.Path) })
	case protocol.Adopt:
		return c.adopt(ctx, v, e, fates)
	default:
		c.abandon(ctx, v, e, fate, fates)
	}
	return fate, nil
}

func filesOf(g *descriptor.Group) (files []iceberg.DataFile) {
	for _, d := range g.Descriptors {
		files = append(files, d.Files...)
	}
	return files
}

// facts gathers what decides about an entry. A file that nobody could look at counts as not there: the batch is then
// read again, and nothing is deleted on that ground. An entry that is sound but names another table, or a schema or spec
// that this one does not have, is readable: its batches do not fit, so none is adopted.
func (c *Committer) facts(ctx context.Context, v *view, e descriptor.Entry) (protocol.Entry, error) {
	if e.Group == nil || descriptor.Damaged(e.Err) {
		return protocol.Entry{}, nil
	}
	g := e.Group
	f := protocol.Entry{
		Readable: true, SameTable: g.TableUUID == v.uuid,
		Seen: v.hist.See(g.CommitID.String(), v.hist.Since(g.BaseSnapshot)), Age: c.ageOf(e), Grace: c.cfg.Grace,
	}
	for _, d := range g.Descriptors {
		f.Batches = append(f.Batches, protocol.EntryBatch{Ranges: rangesOf(d), Whole: func() bool {
			// With any error some descriptors have lost their files in reading: none is taken for whole.
			if e.Err != nil || fits(v.tbl, d) != nil || checkInputs(d) != nil {
				return false
			}
			ok, err := whole(ctx, v.tbl, d)
			if ok && err == nil {
				ok, err = c.wholeRejects(ctx, d)
			}
			if err != nil {
				c.log.Warn("files of a WAL entry can't be looked at; its records are read again", "entry", e.Path, "error", err)
			}
			return ok && err == nil
		}})
	}
	return f, ctx.Err()
}

// adopt commits the batches of an entry that join up, under its own commit id.
func (c *Committer) adopt(ctx context.Context, v *view, e descriptor.Entry, fates []protocol.BatchFate) (protocol.EntryFate, error) {
	g := &group{id: e.Group.CommitID, entry: e.Path, adopted: true, since: v.hist.Since(e.Group.BaseSnapshot)}
	for i, d := range e.Group.Descriptors {
		if fates[i] == protocol.BatchAdopt {
			g.items = append(g.items, &item{Submission: Submission{Descriptor: d}, ranges: rangesOf(d), since: time.Now()})
		}
	}
	landed := false
	for _, it := range g.items {
		it.Done = func(o Outcome) { landed = landed || o.Verdict == Landed }
	}
	n := len(g.items)
	if err := c.commit(ctx, g); err != nil {
		return 0, err
	}
	if !landed {
		return protocol.Leave, nil
	}
	c.log.Info("WAL entry of an earlier life was adopted", "entry", e.Path, "batches", n, "of", len(e.Group.Descriptors))
	return protocol.Adopt, nil
}

// abandon deletes the files that are proved useless, and the entry where nothing more can be learned from it.
func (c *Committer) abandon(ctx context.Context, v *view, e descriptor.Entry, fate protocol.EntryFate, fates []protocol.BatchFate) {
	deleted, failed := 0, false
	for i, f := range fates {
		if f != protocol.BatchDelete {
			continue
		}
		d := e.Group.Descriptors[i]
		n := 0
		ok, err := c.unused(ctx, v.tbl, d.Files, d.SealedAt)
		if ok {
			n, err = removeFiles(ctx, v.tbl, d.Files)
			m, rerr := c.removeRejects(ctx, v, d)
			n, err = n+m, errors.Join(err, rerr)
		}
		deleted += n
		if err != nil {
			failed = true
			c.log.Warn("data files of an abandoned batch can't be deleted; it is tried again when its partitions are assigned next",
				"entry", e.Path, "error", err)
		}
	}
	if fate == protocol.Leave || failed {
		c.log.Debug("WAL entry is left for later", "entry", e.Path, "files_deleted", deleted)
		return
	}
	c.log.Info("WAL entry of an earlier life was abandoned; its records are read again", "entry", e.Path, "files_deleted", deleted)
	c.walDo(ctx, "delete", func(ctx context.Context) error { return c.wal.Delete(ctx, v.tbl, e.Path) })
}

func (c *Committer) walDo(ctx context.Context, what string, f func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.AttemptTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		c.walTrouble(fmt.Sprintf("WAL entry: %s failed; it is tried again when its partitions are assigned next", what), err)
	}
}

// positionsIn reads a topology's next positions out of a value; false where they can't be told.
func (v *view) positionsIn(topology string) func(string) (protocol.Positions, bool) {
	return func(s string) (protocol.Positions, bool) {
		val, err := parseValue(s)
		if err != nil {
			return nil, false
		}
		at, err := val.progress(topology)
		if err != nil || at == nil && val.topologies[topology] != nil {
			return nil, false
		}
		out := make(protocol.Positions, len(at))
		for p, g := range at {
			out[p] = g.Next
		}
		return out, true
	}
}
