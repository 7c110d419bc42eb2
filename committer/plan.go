package committer

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/source"
)

// Fates of WAL entries, and of the batches in them.
const (
	// FateDelete: the commit landed, the entry is not needed any more.
	FateDelete = "delete"
	// FateAdopt: what joins up is committed under the entry's own commit id. Of a batch: it is committed.
	FateAdopt = "adopt"
	// FateLeave: it stays for a later start.
	FateLeave = "leave"
	// FateAbandon: the entry is deleted, and with it the files of those of its batches that are FateDelete.
	FateAbandon = "abandon"
	// FateSetAside: it can't be read, and is moved out of the way.
	FateSetAside = "set aside"
	// FateKeep, of a batch alone: its files stay for orphan clean-up.
	FateKeep = "keep"
)

// EntryPlan is what a start that is given all partitions would do with a WAL entry, as the table is now.
type EntryPlan struct {
	Entry descriptor.Entry
	// Age since it was written.
	Age time.Duration
	// Fate is one of the fates above, empty where a person must decide before.
	Fate string
	// Batches are the fates of the entry's descriptors, in order; none for FateDelete and FateSetAside.
	Batches []string
}

// PlanEntries lists the WAL entries of the topology, oldest first, with what Settle would do with each. It changes nothing. With a
// *StopError, which Settle would give, the entries come without their fates.
func (c *Committer) PlanEntries(ctx context.Context) ([]EntryPlan, error) {
	if c.wal == nil {
		return nil, errors.New("committer: there is no WAL")
	}
	v, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := c.listEntries(ctx, v.tbl)
	if err != nil {
		return nil, err
	}
	plans := make([]EntryPlan, len(entries))
	for i, e := range entries {
		plans[i] = EntryPlan{Entry: e, Age: c.ageOf(e)}
	}
	if v.stop != nil {
		return plans, v.stop
	}
	return plans, c.plan(ctx, v, plans)
}

// plan goes round as Settle does: one entry that is adopted may make another contiguous.
func (c *Committer) plan(ctx context.Context, v *view, plans []EntryPlan) error {
	at := maps.Clone(v.next())
	for again := true; again; {
		again = false
		for i := range plans {
			p := &plans[i]
			if p.Fate != "" && p.Fate != FateLeave {
				continue
			}
			if err := c.planOne(ctx, v, at, p); err != nil {
				return err
			}
			again = again || p.Fate == FateAdopt
		}
	}
	return nil
}

// planOne judges one entry and moves at over what it would commit.
func (c *Committer) planOne(ctx context.Context, v *view, at protocol.Positions, p *EntryPlan) error {
	e := p.Entry
	if e.Group == nil && !descriptor.Damaged(e.Err) || e.Group != nil && !c.mine(e.Group) {
		p.Fate = FateLeave
		return nil
	}
	facts, err := c.facts(ctx, v, e)
	if err != nil {
		return err
	}
	fate, batches := c.judge(v, e, facts, at)
	p.Fate, p.Batches = fate.String(), nil
	for i, b := range batches {
		p.Batches = append(p.Batches, map[protocol.BatchFate]string{protocol.BatchAdopt: FateAdopt, protocol.BatchDelete: FateDelete,
			protocol.BatchKeep: FateKeep, protocol.BatchWait: FateLeave}[b])
		if b == protocol.BatchAdopt {
			for _, r := range rangesOf(e.Group.Descriptors[i]) {
				at[r.Partition] = r.To
			}
		}
	}
	return nil
}

// judge gives an entry's fate where the topology's positions are at.
func (c *Committer) judge(v *view, e descriptor.Entry, facts protocol.Entry, at protocol.Positions) (protocol.EntryFate, []protocol.BatchFate) {
	return protocol.JudgeEntry(facts, at, func(rs []source.Range) bool {
		return protocol.Low(v.hist, v.hist.Since(e.Group.BaseSnapshot), rs, v.positionsIn(c.cfg.Topology))
	})
}

// ageOf is the time since an entry was written.
func (c *Committer) ageOf(e descriptor.Entry) time.Duration {
	written := e.ModifiedAt
	if e.Group != nil && e.Group.CreatedAt.After(written) {
		written = e.Group.CreatedAt
	}
	return c.cfg.Now().Sub(written)
}
