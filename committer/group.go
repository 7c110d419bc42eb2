package committer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/source"
)

// item is a descriptor on its way.
type item struct {
	Submission
	ranges []source.Range
	since  time.Time
}

func (it *item) owner() protocol.Owner { return protocol.Owner{Name: it.Owner, Epoch: it.Epoch} }

// group is what one commit id stands for. Nothing is ever added to it: an earlier attempt may be what lands.
type group struct {
	id    uuid.UUID
	items []*item
	// stale are items that are read again. They are answered when the rest is through, with the positions it leaves.
	stale []*item
	// foreign says that another instance of the topology moved the positions.
	foreign bool
	// first is when the first attempt began.
	first time.Time
	// entry is its WAL entry; noted is how many items it names, 0 for none yet.
	entry string
	noted int
	// replay says that it is one batch that takes the place of rejects.
	replay bool
	// adopted says that it is an entry of an earlier life: it is not written again, and its files are looked at first.
	adopted bool
	// since is the table's last sequence number before the first attempt, or less.
	since int64
	// last is what the last attempt's answer said, err its words, on the metadata it was made on.
	last protocol.Answer
	err  error
	on   string
	// refusals counts the refusals in a row, on whatever metadata.
	refusals int
	// lookedAt is when its files were last looked at; lost says which one was not there, nil where all were.
	lookedAt time.Time
	lost     error
	// unsure says that an attempt's outcome was unknown: it may have landed long before that is seen.
	unsure bool
}

// maxRefusals is how often in a row an attempt may be refused, each time on metadata that had changed by the next look,
// before the refusal counts: on a table that others commit to all the time none is ever made on what is newest.
const maxRefusals = 10

// commit carries a group to its end: each item answered, or ctx over. It holds the turn. A *StopError means that nothing
// can be committed until a person has decided; every item has then failed with it.
func (c *Committer) commit(ctx context.Context, g *group) error {
	for n := 0; ; n++ {
		v, err := c.seek(ctx)
		if err == nil && v.stop != nil && (g.positioned() || g.replay) {
			err = v.stop
		}
		if err != nil {
			if isStop(err) {
				c.fail(g, err)
			}
			return err
		}
		if done, err := c.settled(ctx, g, v); done {
			return err
		}
		err = c.shelfKnown(ctx, g)
		if err == nil {
			if !c.sortOut(g, v) {
				return nil
			}
			err = c.ready(ctx, g, v)
		}
		switch {
		case isStop(err):
			c.fail(g, err)
			return err
		case err != nil:
			// Held by the rejects table, say, for days: the positions and the outbox must not be buried meanwhile.
			if rerr := c.renew(ctx, v); rerr != nil {
				c.fail(g, rerr)
				return rerr
			}
			c.suffer(err)
		case len(g.items) == 0:
			return nil
		default:
			if done, err := c.attempt(ctx, g, v); done {
				return err
			}
		}
		limit := c.cfg.MaxBackoff
		if g.last == protocol.Moved {
			limit = min(limit, movedBackoff)
		}
		if !backoff(ctx, n, limit) {
			return ctx.Err()
		}
	}
}

// settled looks, after an attempt that was not confirmed, for what became of it. It reports whether the group is at its
// end.
func (c *Committer) settled(ctx context.Context, g *group, v *view) (bool, error) {
	if g.last == 0 && !g.adopted {
		return false, nil
	}
	a := g.last
	if a == protocol.Refused && g.on != v.tbl.MetadataLocation() && g.refusals < maxRefusals {
		// What was refused was stale: a server may call that a bad request. Only a refusal of what is newest counts.
		a = protocol.Moved
	}
	seen := v.hist.See(g.id.String(), g.since)
	switch protocol.AfterLook(a, seen) {
	case protocol.Settled:
		c.obs.Outcome("settled_landed")
		g.unsure = true
		return true, c.landed(ctx, g, v.tbl, seen.Snapshot, v.at)
	case protocol.Never:
		c.log.Warn("commit landed and was rolled back, or may have been and has expired; its records are read again", "commit_id", g.id)
		g.stale, g.items = append(g.stale, g.items...), nil
		c.answerStale(g, v.at)
	case protocol.GiveBack:
		c.refused(g, v)
	default:
		if a == protocol.Unknown {
			c.obs.Outcome("pinned_retry")
		}
		return false, nil
	}
	return true, nil
}

// sortOut judges each item on what the table holds now, answers those that are there, and sets aside those that must be
// read again. It reports whether any is left to commit.
func (c *Committer) sortOut(g *group, v *view) bool {
	batches := make([]protocol.Batch, len(g.items))
	for i, it := range g.items {
		batches[i] = protocol.Batch{Ranges: it.ranges, Owner: it.owner()}
	}
	var unfit []*item
	fates, _ := protocol.JudgeGroup(v.next(), batches, func(i int) bool {
		err := errors.Join(fits(v.tbl, g.items[i].Descriptor), c.fitsShelf(g.items[i].Descriptor))
		if err != nil {
			unfit = append(unfit, g.items[i])
			g.err = err
		}
		return err == nil
	})
	var keep []*item
	for i, it := range g.items {
		switch fates[i] {
		case protocol.Commit:
			keep = append(keep, it)
		case protocol.AlreadyThere:
			if g.last != 0 {
				c.obs.Outcome("superseded")
			}
			c.answer(it, Outcome{Verdict: AlreadyThere, Positions: pick(v.at, it.ranges), Foreign: c.movedByAnother(v, it)})
		default:
			g.foreign = g.foreign || c.movedByAnother(v, it)
			g.stale = append(g.stale, it)
		}
	}
	for _, it := range unfit {
		if g.adopted {
			break
		}
		if c.refusals[it.Owner]++; c.refusals[it.Owner] > 1 {
			g.stale = drop(g.stale, it)
			c.giveUp(it, g.err)
		}
	}
	g.items = keep
	if len(keep) == 0 {
		if g.lost == nil {
			c.relieve()
		}
		c.answerStale(g, v.at)
	}
	return len(keep) > 0
}

// movedByAnother says that a second instance under the same name took this item's records.
func (c *Committer) movedByAnother(v *view, it *item) bool {
	if v.found.Topology != c.cfg.Topology || v.found.Instance == c.cfg.Instance {
		return false
	}
	for _, r := range it.ranges {
		if g, ok := v.at[r.Partition]; ok && g.Next > r.From {
			return true
		}
	}
	return false
}

// ready does what must be done before an attempt: the files are looked at, and the WAL entry is written. An entry that
// can't be written is warned of; the table is the truth, and the entry only saves work.
func (c *Committer) ready(ctx context.Context, g *group, v *view) error {
	if err := c.makeRoom(ctx, g, v); err != nil {
		return err
	}
	if g.replay {
		if err := c.replaceable(ctx, g, v); err != nil || len(g.items) == 0 {
			return err
		}
	}
	if c.cfg.Now().Sub(g.lookedAt) >= lookAgain {
		if err := c.lookAt(ctx, g, v); err != nil {
			return err
		}
	}
	if len(g.items) > 0 {
		c.note(ctx, g, v)
	}
	return nil
}

// lookAt sets aside the batches whose files are not there with their sizes: a storage may lose or tear what it said was
// written, a clean-up may have taken it, and a process can be stopped for hours and go on. A snapshot that names a file
// that is gone can't be read at all, and a look costs little beside having written the file.
func (c *Committer) lookAt(ctx context.Context, g *group, v *view) error {
	gone, err := c.missingOf(ctx, v.tbl, g)
	if err != nil {
		return err
	}
	g.lookedAt = c.cfg.Now()
	if len(gone) == 0 {
		return nil
	}
	g.lost = fmt.Errorf("data file %s is gone or torn; its records are read again", gone[0])
	c.suffer(g.lost)
	var keep []*item
	lost := map[protocol.Owner]bool{}
	for _, it := range g.items {
		torn := func(f iceberg.DataFile) bool { return slices.Contains(gone, f.FilePath()) }
		if slices.ContainsFunc(it.Descriptor.Files, torn) || slices.ContainsFunc(rejectFiles(it.Descriptor), torn) || lost[it.owner()] {
			g.stale = append(g.stale, it)
			lost[it.owner()] = it.Owner != ""
			continue
		}
		keep = append(keep, it)
	}
	// What is left may have stood on what is lost: judge it again.
	g.items = keep
	c.sortOut(g, v)
	return nil
}

// note writes the group's WAL entry, again where the group has shrunk.
func (c *Committer) note(ctx context.Context, g *group, v *view) {
	if c.wal == nil || g.adopted || g.noted == len(g.items) || !g.hasFiles() {
		return
	}
	at := c.after(g, v)
	e := &descriptor.Group{
		CommitID: g.id, Topology: c.cfg.Topology, Instance: c.cfg.Instance, Component: c.cfg.Component, Task: c.cfg.Task,
		TableUUID: v.uuid, Branch: c.cfg.Branch, BaseSnapshot: v.hist.Head, CreatedAt: c.cfg.Now(),
	}
	for p, after := range at {
		if before := v.at[p]; before.Next != after.Next {
			e.Moves = append(e.Moves, source.Range{Partition: p, From: before.Next, To: after.Next})
		}
	}
	for _, it := range g.items {
		e.Descriptors = append(e.Descriptors, it.Descriptor)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.AttemptTimeout)
	defer cancel()
	path, err := c.wal.Put(ctx, v.tbl, e)
	if err != nil {
		c.walTrouble("WAL entry can't be written; the commit goes on without", err)
		return
	}
	g.entry, g.noted = path, len(g.items)
}

// attempt asks the catalog once. It reports whether the group is at its end.
func (c *Committer) attempt(ctx context.Context, g *group, v *view) (bool, error) {
	if g.first.IsZero() {
		g.first = c.cfg.Now()
		if !g.adopted {
			g.since = v.hist.Last
		}
	}
	ch := change{id: g.id, at: c.after(g, v), rejects: g.rejects(), merge: g.last == 0 && c.mergeDue(ctx, v.tbl)}
	if g.last == 0 {
		ch.expire = c.expireDue(v.tbl)
	}
	for _, it := range g.items {
		ch.files = append(ch.files, it.Descriptor.Files...)
	}
	tbl, a, err := c.apply(ctx, v, ch)
	if a == protocol.NotSent {
		c.suffer(err)
		return false, nil
	}
	still := g.last == protocol.Moved && g.on == v.tbl.MetadataLocation()
	g.last, g.err, g.on = a, err, v.tbl.MetadataLocation()
	if g.refusals++; a != protocol.Refused {
		g.refusals = 0
	}
	switch a {
	case protocol.Landed:
		c.obs.Outcome("landed")
		at := ch.at
		if at == nil {
			at = v.at
		}
		c.mu.Lock()
		c.publishLocked(tbl, at)
		c.mu.Unlock()
		if len(ch.rejects) > 0 {
			c.wakeFinisher()
		}
		err := c.landed(ctx, g, tbl, tbl.SnapshotByName(c.cfg.Branch).SnapshotID, at)
		c.deleteLists(ctx, v.tbl, tbl, ch.expire)
		return true, err
	case protocol.Moved:
		c.obs.Outcome("refused")
		if still {
			c.suffer(fmt.Errorf("commit: %w: %w", errNotMoved, err))
		}
	case protocol.Refused:
		c.obs.Outcome("refused")
		c.suffer(fmt.Errorf("commit is refused: %w", err))
		if len(ch.expire.ids) > 0 {
			c.keepSnapshots = true
			c.log.Warn("the catalog refused a commit that takes old snapshots off the table; from now on all are left to the table's maintenance", "error", err)
		}
	default:
		g.unsure = true
		c.suffer(fmt.Errorf("commit: %w", err))
	}
	return false, nil
}

// after are the positions that the group's commit leaves; nil where none of it has any.
func (c *Committer) after(g *group, v *view) map[source.Partition]Progress {
	if !g.positioned() {
		return nil
	}
	at := maps.Clone(v.at)
	for _, it := range g.items {
		for _, in := range it.Descriptor.Inputs {
			if in.Range.From < in.Range.To {
				at[in.Range.Partition] = at[in.Range.Partition].advance(in)
			}
		}
	}
	return at
}

func (g *group) positioned() bool {
	for _, it := range g.items {
		if len(it.ranges) > 0 {
			return true
		}
	}
	return false
}

func (g *group) hasFiles() bool {
	for _, it := range g.items {
		if it.files() > 0 {
			return true
		}
	}
	return false
}

func (g *group) files() (out []iceberg.DataFile, rows, bytes int64) {
	for _, it := range g.items {
		out = append(out, it.Descriptor.Files...)
		rows += it.Descriptor.Rows
		bytes += it.Descriptor.Bytes
	}
	return out, rows, bytes
}

func isStop(err error) bool {
	var s *StopError
	return errors.As(err, &s)
}
