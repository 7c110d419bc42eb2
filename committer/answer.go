package committer

import (
	"context"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/source"
)

// landed answers a group whose commit id is on the branch. at are the table's positions now. An item that they do not
// cover was not in the attempt that landed (an earlier life's entry that was adopted in part, say): it is read again. A
// *StopError says that the snapshot names what is gone; every item has then failed with it.
func (c *Committer) landed(ctx context.Context, g *group, tbl *table.Table, snapshot int64, at map[source.Partition]Progress) error {
	next := make(protocol.Positions, len(at))
	for p, x := range at {
		next[p] = x.Next
	}
	var held []*item
	for _, it := range g.items {
		if !protocol.Held(next, it.ranges) {
			g.stale = append(g.stale, it)
			continue
		}
		held = append(held, it)
	}
	g.items = held
	if g.first.IsZero() {
		g.first = c.cfg.Now()
	}
	files, rows, bytes := g.files()
	var unseen error
	if c.late(g) {
		if unseen = c.intact(ctx, tbl, files, snapshot); isStop(unseen) {
			c.fail(g, unseen)
			return unseen
		}
	}
	c.obs.Committed(Commit{SnapshotID: snapshot, Files: len(files), Rows: rows, Bytes: bytes, Took: c.cfg.Now().Sub(g.first)})
	if unseen != nil {
		c.log.Warn("files of a commit that landed late can't be looked at; its WAL entry stays until they are", "error", unseen)
	} else {
		c.forgetEntry(ctx, tbl, g)
	}
	c.relieve()
	for _, it := range held {
		if !g.adopted {
			delete(c.refusals, it.Owner)
		}
		c.answer(it, Outcome{Verdict: Landed, SnapshotID: snapshot, Positions: pick(at, it.ranges)})
	}
	c.answerStale(g, at)
	return nil
}

// forgetEntry deletes the WAL entry of a group that landed.
func (c *Committer) forgetEntry(ctx context.Context, tbl *table.Table, g *group) {
	if c.wal == nil || g.entry == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.AttemptTimeout)
	defer cancel()
	if err := c.wal.Delete(ctx, tbl, g.entry); err != nil {
		c.walTrouble("WAL entry of a commit that landed can't be deleted; it is when its partitions are assigned next", err)
	}
}

// walTrouble warns: losing the WAL loses work, and nothing else.
func (c *Committer) walTrouble(what string, err error) {
	c.log.Warn("WAL is in trouble", "what", what, "error", err)
	c.obs.Trouble(err)
	if c.trouble.since.IsZero() {
		c.trouble.since = c.cfg.Now()
	}
}

// refused gives back a group that the catalog refused on the newest metadata, for a reason that waiting won't mend. The
// writers start over on that metadata, once; a writer whose batch is refused again has failed, with the catalog's words.
func (c *Committer) refused(g *group, v *view) {
	items := g.items
	g.items = nil
	if g.adopted {
		return // the entry stays, and its records are read again
	}
	counted := map[string]bool{}
	for _, it := range items {
		if !counted[it.Owner] {
			counted[it.Owner] = true
			c.refusals[it.Owner]++
		}
		if c.refusals[it.Owner] > 1 {
			c.giveUp(it, g.err)
		} else {
			g.stale = append(g.stale, it)
		}
	}
	c.log.Warn("commit was refused; its records are read again once", "commit_id", g.id, "error", g.err)
	c.obs.CommitFailed(g.err)
	c.answerStale(g, v.at)
}

// giveUp answers an item that can't be committed at all.
func (c *Committer) giveUp(it *item, err error) {
	c.forget(it)
	c.answer(it, Outcome{Verdict: Failed, Err: err})
}

// fail answers all of a group that nothing can be done about without a person.
func (c *Committer) fail(g *group, err error) {
	c.obs.CommitFailed(err)
	c.obs.Trouble(err)
	for _, it := range append(g.items, g.stale...) {
		c.answer(it, Outcome{Verdict: Failed, Err: err})
	}
	g.items, g.stale = nil, nil
}

// answerStale tells the owners of what is read again, and of everything else of theirs that is pending, where to go on.
func (c *Committer) answerStale(g *group, at map[source.Partition]Progress) {
	if len(g.stale) == 0 {
		return
	}
	all := g.stale
	g.stale = nil
	if g.adopted {
		return // nobody waits for an answer, and what is pending belongs to Run
	}
	for _, it := range all {
		c.forget(it)
	}
	var rest []*item
	for _, it := range c.pending {
		if c.isForgotten(it) {
			all = append(all, it)
		} else {
			rest = append(rest, it)
		}
	}
	c.pending = rest
	ranges := map[protocol.Owner][]source.Range{}
	for _, it := range all {
		if it.Owner != "" {
			ranges[it.owner()] = append(ranges[it.owner()], it.ranges...)
		}
	}
	for _, it := range all {
		rs := it.ranges
		if it.Owner != "" {
			rs = ranges[it.owner()]
		}
		c.answer(it, Outcome{Verdict: Reread, Positions: pick(at, rs), Foreign: g.foreign, Err: g.lost})
	}
}

func (c *Committer) answer(it *item, o Outcome) {
	if it.Done != nil {
		it.Done(o)
	}
}

// forget remembers that everything of an owner's life is to be read again.
func (c *Committer) forget(it *item) {
	if it.Owner != "" {
		c.forgotten[it.Owner] = it.Epoch
	}
}

func (c *Committer) isForgotten(it *item) bool {
	epoch, ok := c.forgotten[it.Owner]
	return ok && epoch == it.Epoch
}

// pick gives the table's positions of the partitions of ranges; one that the table does not have is left out.
func pick(at map[source.Partition]Progress, ranges []source.Range) map[source.Partition]source.Position {
	out := make(map[source.Partition]source.Position, len(ranges))
	for _, r := range ranges {
		if g, ok := at[r.Partition]; ok {
			out[r.Partition] = g.Next
		}
	}
	return out
}

func drop(items []*item, it *item) []*item {
	var out []*item
	for _, x := range items {
		if x != it {
			out = append(out, x)
		}
	}
	return out
}
