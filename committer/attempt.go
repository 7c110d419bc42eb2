package committer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

// change is what one commit makes of the table.
type change struct {
	id    uuid.UUID
	files []iceberg.DataFile
	// rejects are what it passes beside them: the outbox names their files.
	rejects []*descriptor.Rejects
	// at are the topology's positions afterwards; nil leaves them as they are (a source without positions).
	at map[source.Partition]Progress
	// merge says that manifests may be merged.
	merge bool
	// expire are the snapshots that it takes off the table.
	expire expiry
}

// apply makes one attempt on the very snapshot that v shows: one transaction with the files, the summary and the property,
// pinned to the branch's head and the table's UUID. The answer is what the reply says by itself. The request has a
// deadline of its own: the end of a run does not turn a commit that was sent into one whose outcome is unknown.
func (c *Committer) apply(ctx context.Context, v *view, ch change) (*table.Table, protocol.Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.AttemptTimeout)
	defer cancel()
	if err := c.behind(v.tbl.Metadata()); err != nil {
		return nil, protocol.NotSent, err
	}
	tx, err := c.stage(ctx, v, ch)
	if err != nil {
		return nil, protocol.NotSent, fmt.Errorf("prepare commit: %w", err)
	}
	tbl, err := tx.Commit(ctx)
	if err == nil && !c.shows(tbl, ch.id) {
		return nil, protocol.Unknown, errNotShown
	}
	return tbl, tableio.AnswerOf(err), tableio.Told(err)
}

// clockTolerance is by how much Iceberg lets a snapshot be older than what was there before it.
const clockTolerance = time.Minute

// behind says that this machine's clock is behind the last change of the table by more than a snapshot may be. The writers of
// manifests find out too late: they have been written by then.
func (c *Committer) behind(m table.Metadata) error {
	last := time.UnixMilli(m.LastUpdatedMillis())
	if by := last.Sub(c.cfg.Now()); by > clockTolerance {
		return fmt.Errorf("the table was last changed at %s, which is %s ahead of this machine's clock, and Iceberg takes no snapshot from before that: "+
			"set the clocks of those who write the table; commits wait until then, or until the clock is there", last.UTC().Format(time.RFC3339), by.Round(time.Second))
	}
	return nil
}

// errNotShown is a yes that is none. A gateway that answers a commit with a redirect (from http to https, say) makes the
// client ask for the table instead, and what it gets reads like the answer to the commit; a cache can do the same.
var errNotShown = errors.New("the catalog answered with a table that does not hold the commit; " +
	"write its own address, the one that a redirect leads to, and let no cache stand before it")

// errNotMoved is a conflict that the table does not bear out, a second time: a cache gives the looks an old table, or what
// answers is not the catalog. It is not waited out in silence.
var errNotMoved = errors.New("the catalog refuses it as if the table had moved on, and each look shows the same table; " +
	"does a cache stand before the catalog, or has a process that was killed left a lock on the table?")

// shows says whether the branch, as the answer to a commit gives it, holds the commit: at its head, or below what others
// have committed since.
func (c *Committer) shows(tbl *table.Table, id uuid.UUID) bool {
	last := int64(math.MaxInt64)
	for s := tbl.SnapshotByName(c.cfg.Branch); s != nil; s = tbl.SnapshotByID(*s.ParentSnapshotID) {
		switch {
		case s.Summary != nil && s.Summary.Properties[keyCommitID] == id.String():
			return true
		case s.ParentSnapshotID == nil || s.SequenceNumber >= last:
			return false // the root, or a line that runs in a circle
		}
		last = s.SequenceNumber
	}
	return false
}

// stage builds the transaction; it writes manifests but does not ask the catalog for anything.
func (c *Committer) stage(ctx context.Context, v *view, ch change) (*table.Transaction, error) {
	if len(ch.files) > 0 {
		// What was looked at must hold when the files come: a change of the schema leaves the branch's head alone.
		ch.expire.reqs = append(slices.Clip(ch.expire.reqs), table.AssertCurrentSchemaID(v.tbl.Schema().ID))
	}
	tx, err := ch.expire.on(c.loader, v.tbl).NewTransactionOnBranchWithError(c.cfg.Branch)
	if err != nil {
		return nil, err
	}
	// Without the pin, commit.retry.num-retries on the table makes the library replay a stale append on top of whatever
	// moved the head.
	if err := tx.AssertRefSnapshotID(c.cfg.Branch); err != nil {
		return nil, err
	}
	val := v.value.clone()
	val.doubt(without(v.found.Doubts, c.cfg.Topology))
	if ch.at != nil {
		if err := val.set(c.cfg.Topology, ch.at); err != nil {
			return nil, err
		}
	}
	if err := c.stageOutbox(v, val, ch); err != nil {
		return nil, err
	}
	summary, err := c.summary(val, ch)
	if err != nil {
		return nil, err
	}
	if err := appendTo(ctx, tx, ch, summary); err != nil {
		return nil, err
	}
	if err := c.sequenced(tx, v, ch); err != nil {
		return nil, err
	}
	if summary[keyPositions] == "" || c.cfg.NoProperty {
		return tx, nil
	}
	id, err := stagedID(tx, c.cfg.Branch)
	if err != nil {
		return nil, err
	}
	property, err := val.encode(id)
	if err != nil {
		return nil, err
	}
	return tx, tx.SetProperties(iceberg.Properties{propertyPrefix + c.cfg.Branch: property})
}

// stageOutbox carries the outbox of v forward, without what was seen in the rejects table, and adds what ch passes. Rejects
// follow the main table: this commit is the first that tells of them.
func (c *Committer) stageOutbox(v *view, val *value, ch change) error {
	box := c.keptOutbox(v)
	if b, ok := pack(ch.id, v.hist.Last+1, c.cfg.Now(), ch.rejects); ok {
		box = append(box, b)
	}
	if len(box) == 0 && len(v.outbox) == 0 {
		return nil
	}
	return val.setOutbox(c.cfg.Topology, box)
}

// sequenced refuses a snapshot that has another sequence number than its outbox says.
func (c *Committer) sequenced(tx *table.Transaction, v *view, ch change) error {
	if len(ch.rejects) == 0 {
		return nil
	}
	st, err := tx.StagedTable()
	if err != nil {
		return err
	}
	if s := st.SnapshotByName(c.cfg.Branch); s == nil || s.SequenceNumber != v.hist.Last+1 {
		return fmt.Errorf("the snapshot on branch %q has another sequence number than %d", c.cfg.Branch, v.hist.Last+1)
	}
	return nil
}

func (c *Committer) summary(val *value, ch change) (iceberg.Properties, error) {
	props := iceberg.Properties{
		keyCommitID: ch.id.String(),
		keyTopology: c.cfg.Topology,
		keyInstance: c.cfg.Instance,
	}
	if ch.at == nil && len(val.topologies) == 0 {
		return props, nil // nothing anywhere has positions
	}
	s, err := val.encode(0)
	if err != nil {
		return nil, err
	}
	props[keyPositions] = s
	if t, ok := validThrough(ch.at); ok {
		props[keyValidThrough] = strconv.FormatInt(t, 10)
	}
	return props, nil
}

// validThrough is the record time up to which every partition is complete: the lowest of the highest times seen. As long
// as a partition has shown no time, nothing can be said.
func validThrough(at map[source.Partition]Progress) (low int64, ok bool) {
	for _, g := range at {
		if g.MaxTimestampMs < 0 {
			return 0, false
		}
		if !ok || g.MaxTimestampMs < low {
			low, ok = g.MaxTimestampMs, true
		}
	}
	return low, ok
}

// appendTo stages a fast append: files of any registered spec, a manifest for each spec, no look at what is there, unless
// manifests are to be merged.
func appendTo(ctx context.Context, tx *table.Transaction, ch change, summary iceberg.Properties) error {
	if len(ch.files) > 0 && ch.merge {
		// Without these two it would read every manifest and set a name mapping.
		if tx.AddDataFiles(ctx, ch.files, summary, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping()) == nil {
			return nil
		}
		// Merging can wait. Nothing is staged by a call that fails.
	}
	if len(ch.files) > 0 {
		return tx.NewRowDelta(summary).AddRows(ch.files...).Commit(ctx)
	}
	// The library's only empty append also sets a name mapping, which is not ours to set: take it away again.
	base, err := tx.StagedTable()
	if err != nil {
		return err
	}
	_, mapped := base.Properties()[table.DefaultNameMappingKey]
	if err := tx.AddFiles(ctx, nil, summary, true); err != nil {
		return err
	}
	if mapped {
		return nil
	}
	return tx.RemoveProperties([]string{table.DefaultNameMappingKey})
}

// stagedID is the id of the snapshot that the transaction will make.
func stagedID(tx *table.Transaction, branch string) (int64, error) {
	st, err := tx.StagedTable()
	if err != nil {
		return 0, err
	}
	s := st.SnapshotByName(branch)
	if s == nil {
		return 0, fmt.Errorf("the append made no snapshot on branch %q", branch)
	}
	return s.SnapshotID, nil
}

func without(names []string, name string) []string {
	var out []string
	for _, n := range names {
		if n != name {
			out = append(out, n)
		}
	}
	return out
}
