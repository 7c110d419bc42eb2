package committer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

// lookAgain is how long a look at a group's files is good for: an attempt that begins later looks again.
const lookAgain = time.Minute

// late says that a group's files lay about, or may have, for long before they landed: other engines' orphan clean-up may
// have taken them after they were last looked at.
func (c *Committer) late(g *group) bool {
	if g.adopted || g.unsure {
		return true
	}
	for _, it := range g.items {
		if c.cfg.Now().Sub(it.Descriptor.SealedAt) > c.cfg.Grace/2 {
			return true
		}
	}
	return false
}

// intact looks, after a commit has landed late, whether the table names something of it that is not there. A *StopError
// says that it does; any other error that nobody could look.
//
//	floe looks at F; it is there
//	a clean-up whose age is too short lists F, which no snapshot names
//	the commit that names F lands
//	the clean-up deletes F
//
// Between the look and the swap nobody can exclude that. What is gone from a snapshot that others have rewritten since is no
// harm: only what the head names counts. Nor is what is gone since tbl was loaded because the commit was rolled back, and has
// expired: nobody is asked about a table that is no longer like that.
func (c *Committer) intact(ctx context.Context, tbl *table.Table, files []iceberg.DataFile, snapshot int64) error {
	for {
		err := c.intactIn(ctx, tbl, files, snapshot)
		if !isStop(err) {
			return err
		}
		lctx, cancel := context.WithTimeout(ctx, c.cfg.AttemptTimeout)
		now, lerr := c.loader.Load(lctx)
		cancel()
		switch {
		case lerr != nil:
			return lerr
		case now.MetadataLocation() == tbl.MetadataLocation():
			return err
		}
		tbl = now
	}
}

// intactIn is intact in the table as it was loaded.
func (c *Committer) intactIn(ctx context.Context, tbl *table.Table, files []iceberg.DataFile, snapshot int64) error {
	gone, err := missing(ctx, tbl, files)
	if err != nil {
		return err
	}
	lost := make(map[string]bool, len(gone))
	for _, path := range gone {
		lost[path] = true
	}
	head, s := tbl.SnapshotByName(c.cfg.Branch), tbl.SnapshotByID(snapshot)
	if head == nil || s == nil {
		return nil // it has expired, or was rolled back: the positions tell
	}
	fio, err := tbl.FS(ctx)
	if err != nil {
		return fmt.Errorf("open the table's files: %w", err)
	}
	manifests, err := head.Manifests(fio)
	if err != nil {
		return c.torn(tbl, s, fio, head.ManifestList, err)
	}
	for _, m := range manifests {
		// Its own manifests in any case; others, which a rewrite may have made of them, only to find what is gone.
		if m.SnapshotID() != snapshot && (len(lost) == 0 || m.SequenceNum() < s.SequenceNumber) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for e, err := range m.Entries(fio, true) {
			if err != nil {
				return c.torn(tbl, s, fio, m.FilePath(), err)
			}
			if lost[e.DataFile().FilePath()] {
				return c.dangling(tbl, s, e.DataFile().FilePath(), len(lost))
			}
		}
	}
	return nil
}

// torn tells a metadata file that is gone from one that can't be read now.
func (c *Committer) torn(tbl *table.Table, s *table.Snapshot, fio iceio.IO, path string, err error) error {
	if _, exists, serr := tableio.Stat(fio, path); errors.Is(err, fs.ErrNotExist) || serr == nil && !exists {
		return c.dangling(tbl, s, path, 1)
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// dangling words what a person must do when a snapshot of floe names what is not there.
func (c *Committer) dangling(tbl *table.Table, s *table.Snapshot, path string, n int) *StopError {
	more := ""
	if n > 1 {
		more = fmt.Sprintf(" and %d more", n-1)
	}
	back := "the snapshot before it"
	if s.ParentSnapshotID != nil {
		back = fmt.Sprintf("snapshot %d, its parent", *s.ParentSnapshotID)
	}
	return &StopError{
		Reason: fmt.Sprintf("table %s, branch %s: snapshot %d of this topology names %s%s, which is gone: somebody deleted it before it was committed",
			strings.Join(tbl.Identifier(), "."), c.cfg.Branch, s.SnapshotID, path, more),
		Hint: fmt.Sprintf("bring the file back, or roll the branch back to %s (what was committed since goes with it), then start again: "+
			"positions follow the branch, and the records are read again. Give your orphan clean-up a longer age", back),
	}
}
