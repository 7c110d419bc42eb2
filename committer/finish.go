package committer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/internal/tableio"
)

// errNotAppended says that the rejects table moved on: it is looked at again.
var errNotAppended = errors.New("the rejects table moved on")

// otherShelfError says that the outbox names what was written for another table than the rejects table.
type otherShelfError struct{ *StopError }

func (e otherShelfError) Unwrap() error { return e.StopError }

// errUnclearShelf says that a person must find out whether the rejects table holds something.
var errUnclearShelf = errors.New("it can't be told")

// wake tells the finisher that the table's outbox may name what the rejects table does not hold yet.
func (c *Committer) wakeFinisher() {
	select {
	case c.unfinished <- struct{}{}:
	default:
	}
}

// Finish appends to the rejects table what the newest outbox names, so that a graceful end leaves nothing to the next start: call
// it when the last batch was answered, and before Run's context ends. Run's finisher works at the same time or before it.
// Trouble is tried again until ctx ends, and the last of it is returned; what a person must answer is returned at once.
func (c *Committer) Finish(ctx context.Context) error {
	var trouble error
	for tries := 0; ; tries++ {
		err := c.finish(ctx)
		switch {
		case err == nil || isStop(err) || errors.Is(err, errUnclearShelf):
			return err
		case ctx.Err() == nil || trouble == nil:
			trouble = err
		}
		if retry.Sleep(ctx, pause(tries, c.cfg.MaxBackoff)) != nil {
			return trouble
		}
	}
}

// startFinisher starts the finisher, whose *StopError comes over the channel. end stops it and waits for a request that is on
// its way.
func (c *Committer) startFinisher(ctx context.Context) (finished <-chan error, end func()) {
	if c.cfg.Rejects == nil {
		return nil, func() {}
	}
	fctx, stop := context.WithCancel(ctx)
	ch, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		if err := c.finisher(fctx); err != nil {
			ch <- err
		}
	}()
	return ch, func() {
		stop()
		<-done
	}
}

// finisher empties the outbox whenever it is woken, until ctx ends. Trouble is told of and tried again; a *StopError is
// returned. What is unclear to it is looked at again with each beat: a person may have mended it.
func (c *Committer) finisher(ctx context.Context) error {
	again := time.NewTimer(0)
	defer again.Stop()
	for tries := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-c.unfinished:
		case <-again.C:
		}
		err := c.finish(ctx)
		switch {
		case isStop(err):
			return err
		case err == nil || ctx.Err() != nil:
			tries = 0
		default:
			tries++
			again.Reset(pause(tries-1, c.cfg.MaxBackoff))
		}
	}
}

// finish appends what the newest outbox that was seen names and the rejects table does not hold, and remembers what it
// holds. It may be called from any goroutine. Whatever a request was answered, what the table shows decides: an append whose
// answer was lost is looked for before it is made again, pinned to the head that was searched, so that a late first
// request and the second can't both land.
func (c *Committer) finish(ctx context.Context) error {
	if c.cfg.Rejects == nil {
		return nil
	}
	letGo, err := c.holdShelf(ctx)
	if err != nil {
		return err
	}
	defer letGo()
	if c.Table() == nil {
		return nil
	}
	err = c.finishHeld(ctx)
	for n := 0; errors.Is(err, errNotAppended) && n < maxRefusals && ctx.Err() == nil; n++ {
		err = c.finishHeld(ctx)
	}
	return err
}

// holdShelf waits until nobody else here works on the rejects table, and keeps others from it until letGo is called.
func (c *Committer) holdShelf(ctx context.Context) (letGo func(), err error) {
	select {
	case c.finishing <- struct{}{}:
		return func() { <-c.finishing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Committer) finishHeld(ctx context.Context) error {
	v, err := c.viewOf(ctx, c.Table())
	if err != nil {
		return err
	}
	err = c.empty(ctx, v)
	left := c.keptOutbox(v)
	o := waitingIn(left)
	o.Err = err
	if errors.Is(err, errNotAppended) {
		o.Err = nil
	}
	c.obs.Outbox(o)
	c.forgetSeen(v.outbox)
	return err
}

// empty makes the rejects table hold all that v's outbox names: in one append, but for replays, each of which takes the
// place of files of its own.
func (c *Committer) empty(ctx context.Context, v *view) error {
	todo := c.keptOutbox(v)
	if len(todo) == 0 {
		return nil
	}
	s, err := c.lookShelf(ctx)
	if err != nil {
		return err
	}
	var plain, replays []boxed
	var unclear, other error
	for _, b := range todo {
		held, err := c.holds(ctx, s, v.uuid, b)
		switch {
		case err != nil:
			return err
		case held == protocol.There:
			c.sawThere(b)
		case b.Table != s.tbl.Metadata().TableUUID():
			other = otherShelf(s.tbl, b)
		case held == protocol.NotThere && len(b.Replaces) > 0:
			replays = append(replays, b)
		case held == protocol.NotThere:
			plain = append(plain, b)
		default:
			unclear = c.unclearShelf(s.tbl, b, held)
		}
	}
	switch {
	case len(plain) > 0:
		err = c.putOnShelf(ctx, v, s, plain)
	case len(replays) > 0:
		err = c.putOnShelf(ctx, v, s, replays[:1])
	}
	if err == nil && len(plain)+len(replays) > 1 && len(replays) > 0 {
		return c.empty(ctx, v) // on the head that was just made
	}
	switch {
	case err != nil:
		return err
	case other != nil:
		return other
	}
	return unclear
}

// putOnShelf appends entries in one snapshot, or makes the one that is a replay take its files' place.
func (c *Committer) putOnShelf(ctx context.Context, v *view, s *shelf, entries []boxed) error {
	files, err := c.shelved(ctx, s.tbl, entries)
	if err != nil {
		return err
	}
	return c.commitShelf(ctx, v, s, entries, files, 0)
}

// commitShelf makes a snapshot that says that the rejects table holds entries, with files, pinned to the head that s shows. since,
// if not 0, is from where on the new value lists all.
func (c *Committer) commitShelf(ctx context.Context, v *view, s *shelf, entries []boxed, files []iceberg.DataFile, since int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.AttemptTimeout)
	defer cancel()
	held, err := parseShelf(s.hist.Newest())
	if err != nil {
		return c.badShelf(s.tbl, err)
	}
	held.Lost = held.Lost || s.lost && s.hist.Newest() == ""
	var tx *table.Transaction
	if err = c.behind(s.tbl.Metadata()); err == nil {
		tx, err = c.stageShelf(ctx, v, s, held, entries, files, since)
	}
	if err != nil {
		return fmt.Errorf("prepare the append to rejects table %s: %w", strings.Join(s.tbl.Identifier(), "."), err)
	}
	tbl, err := tx.Commit(ctx)
	if err == nil && !showsOnShelf(tbl, entries) {
		err = errNotShown
	}
	if err != nil {
		if tableio.AnswerOf(err) == protocol.Moved {
			return fmt.Errorf("%w: %w", errNotAppended, tableio.Told(err))
		}
		return fmt.Errorf("append to rejects table %s: %w", strings.Join(s.tbl.Identifier(), "."), tableio.Told(err))
	}
	c.mu.Lock()
	c.mu.shelf = tbl
	c.mu.Unlock()
	for _, b := range entries {
		c.sawThere(b)
		if len(files) == 0 {
			continue
		}
		var bytes int64
		for _, f := range b.Files {
			bytes += f.Bytes
		}
		c.obs.RejectsAppended(len(b.Files), b.rows(), bytes)
	}
	return nil
}

// stageShelf builds the transaction.
func (c *Committer) stageShelf(ctx context.Context, v *view, s *shelf, held *shelfValue, entries []boxed, files []iceberg.DataFile, since int64) (*table.Transaction, error) {
	tx := s.tbl.NewTransaction()
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return nil, err
	}
	said, err := compact(held.with(v.uuid, c.cfg.Topology, entries, since, listedInSummary))
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(entries))
	for i, b := range entries {
		ids[i] = b.Commit.String()
	}
	summary := iceberg.Properties{
		keyCommitID: strings.Join(ids, ","), keyTopology: c.cfg.Topology, keyInstance: c.cfg.Instance, keyRejects: said,
	}
	switch {
	case len(files) == 0:
		err = appendTo(ctx, tx, change{}, summary)
	case len(entries[0].Replaces) > 0:
		var old []iceberg.DataFile
		if old, err = c.replaced(ctx, s.tbl, entries[0]); err == nil {
			err = tx.ReplaceDataFilesWithDataFiles(ctx, old, files, summary, table.WithoutAutoNameMapping())
		}
	default:
		err = appendTo(ctx, tx, change{files: files, merge: c.shelfMergeDue(s.tbl)}, summary)
	}
	if err != nil {
		return nil, err
	}
	return tx, c.shelfProperty(tx, held.with(v.uuid, c.cfg.Topology, entries, since, listedInProperty))
}

// shelfMergeDue says whether this append is to merge manifests, as mergeDue does for the main table.
func (c *Committer) shelfMergeDue(tbl *table.Table) bool {
	props := tbl.Properties()
	if !props.GetBool(table.ManifestMergeEnabledKey, table.ManifestMergeEnabledDefault) || tbl.Metadata().Version() != 2 {
		return false
	}
	c.shelfAppends++
	return c.shelfAppends%mergeEvery == 0
}

// shelved gives the entries' files, which must all be there, and fit the table.
func (c *Committer) shelved(ctx context.Context, tbl *table.Table, entries []boxed) (files []iceberg.DataFile, err error) {
	name := strings.Join(tbl.Identifier(), ".")
	for _, b := range entries {
		own, err := b.dataFiles()
		if err != nil {
			return nil, err
		}
		for _, f := range own {
			if spec := tbl.Metadata().PartitionSpecByID(int(f.SpecID())); spec == nil || !spec.IsUnpartitioned() {
				return nil, &StopError{
					Reason: fmt.Sprintf("rejects table %s has no spec %d without partitions any more, and rejects of commit %s were written against it", name, f.SpecID(), b.Commit),
					Hint:   "floe writes rejects to a table that is not partitioned; set it back to what it was",
				}
			}
		}
		files = append(files, own...)
	}
	gone, err := missing(ctx, tbl, files)
	if err != nil {
		return nil, err
	}
	if len(gone) > 0 {
		return nil, &StopError{
			Reason: fmt.Sprintf("rejects table %s: file %s, which the main table's outbox names, is gone or torn: somebody deleted it before it was appended", name, gone[0]),
			Hint: "bring the file back, or roll the main table's branch back to before the commit that names it; its records are then read again. " +
				"Give your orphan clean-up a longer age",
		}
	}
	return files, nil
}

func showsOnShelf(tbl *table.Table, entries []boxed) bool {
	for s := tbl.CurrentSnapshot(); s != nil; s = tbl.SnapshotByID(*s.ParentSnapshotID) {
		if s.Summary != nil && strings.Contains(s.Summary.Properties[keyCommitID], entries[0].Commit.String()) {
			return true
		}
		if s.ParentSnapshotID == nil {
			break
		}
	}
	return false
}

// sawThere remembers that an entry may be taken off the outbox.
func (c *Committer) sawThere(b boxed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.seen[b.Commit] = true
}

// forgetSeen keeps in mind only what the newest outbox names.
func (c *Committer) forgetSeen(box []boxed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.seen) <= outboxRoom {
		return
	}
	kept := map[uuid.UUID]bool{}
	for _, b := range box {
		if c.mu.seen[b.Commit] {
			kept[b.Commit] = true
		}
	}
	c.mu.seen = kept
}

// otherShelf words what a person must decide.
func otherShelf(tbl *table.Table, b boxed) error {
	return otherShelfError{&StopError{
		Reason: fmt.Sprintf("rejects table %s is another one now: its UUID is %s, and commit %s of the main table left %d rejects for %s",
			strings.Join(tbl.Identifier(), "."), tbl.Metadata().TableUUID(), b.Commit, b.rows(), b.Table),
		Hint: "if that table is still there, configure it again; otherwise `floe rejects settle` (Committer.AnswerRejects in the library) copies them to this one, " +
			"or takes your word that they are elsewhere or given up",
	}}
}

// unclearShelf words what a person must find out.
func (c *Committer) unclearShelf(tbl *table.Table, b boxed, held protocol.Holding) error {
	why := "the snapshots that would tell have expired"
	if held == protocol.SetBack {
		why = "it did, and somebody set it back to before that"
	}
	return fmt.Errorf("rejects table %s: %w whether it holds the %d rejects of commit %s of topology %q: %s. "+
		"Look for one of its files (%s) or for its rows in the table, set the table forward to where they are, or say what is so with `floe rejects settle` (Committer.AnswerRejects in the library)",
		strings.Join(tbl.Identifier(), "."), errUnclearShelf, b.rows(), b.Commit, c.cfg.Topology, why, b.Files[0].Path)
}

// pause is how long to wait before try n, without jitter: the finisher is alone.
func pause(n int, limit time.Duration) time.Duration {
	if n > 20 {
		return limit
	}
	return min(limit, firstBackoff<<n)
}
