package committer

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/internal/tableio"
)

// Outbox is what main commits have passed and the rejects table is not known to hold yet.
type Outbox struct {
	// Files and Rows are how much that is; Oldest is when the oldest of it was passed, zero where nothing is.
	Files  int
	Rows   int64
	Oldest time.Time
	// Err is why it can't be appended; nil where it can, or there is nothing.
	Err error
}

// errOutboxFull is why the stream is held.
var errOutboxFull = fmt.Errorf("the rejects table is behind: %d files of rejects wait for it, and no more are taken", outboxRoom)

// rejectFiles are the files of a batch's rejects.
func rejectFiles(d *descriptor.Descriptor) []iceberg.DataFile {
	if d.Rejects == nil {
		return nil
	}
	return d.Rejects.Files
}

// files counts a batch's files of both tables.
func (it *item) files() int {
	return len(it.Descriptor.Files) + len(rejectFiles(it.Descriptor))
}

func (g *group) rejects() (out []*descriptor.Rejects) {
	for _, it := range g.items {
		if r := it.Descriptor.Rejects; r != nil {
			out = append(out, r)
		}
	}
	return out
}

// checkRejects refuses rejects that nobody could append.
func (c *Committer) checkRejects(d *descriptor.Descriptor) error {
	switch r := d.Rejects; {
	case r == nil:
		return nil
	case c.cfg.Rejects == nil:
		return fmt.Errorf("committer: batch %s has rejects, and there is no rejects table", d.ID)
	case len(r.Files) == 0:
		return fmt.Errorf("committer: batch %s has rejects in no file", d.ID)
	case len(r.Replaces) > 0:
		return fmt.Errorf("committer: batch %s is a replay of rejects: it is for Replay", d.ID)
	}
	return nil
}

// shelfTable is the rejects table as it was last seen; it is loaded where it never was.
func (c *Committer) shelfTable(ctx context.Context) (*table.Table, error) {
	c.mu.Lock()
	tbl := c.mu.shelf
	c.mu.Unlock()
	if tbl != nil {
		return tbl, nil
	}
	s, err := c.lookShelf(ctx)
	if err != nil {
		return nil, err
	}
	return s.tbl, nil
}

// shelfKnown sees to it that the rejects table was seen once before a group with rejects is judged, and that a batch which was
// written for another one than that is judged by what is there now.
func (c *Committer) shelfKnown(ctx context.Context, g *group) error {
	if len(g.rejects()) == 0 {
		return nil
	}
	_, err := c.shelfTable(ctx)
	for _, it := range g.items {
		if err == nil && c.fitsShelf(it.Descriptor) != nil {
			_, err = c.lookShelf(ctx)
			break
		}
	}
	return err
}

// fitsShelf refuses rejects that were written for another table than the one that is there.
func (c *Committer) fitsShelf(d *descriptor.Descriptor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Rejects == nil || c.mu.shelf == nil {
		return nil
	}
	m := c.mu.shelf.Metadata()
	if d.Rejects.TableUUID != m.TableUUID() {
		return fmt.Errorf("batch %s has rejects for table %s, the rejects table is %s", d.ID, d.Rejects.TableUUID, m.TableUUID())
	}
	for _, f := range d.Rejects.Files {
		if spec := m.PartitionSpecByID(int(f.SpecID())); spec == nil || !spec.IsUnpartitioned() {
			return fmt.Errorf("batch %s has rejects of spec %d, which the rejects table does not have without partitions", d.ID, f.SpecID())
		}
	}
	return nil
}

// missingOf gives the paths of those of a group's files, of both tables, that are not there with their size.
func (c *Committer) missingOf(ctx context.Context, tbl *table.Table, g *group) ([]string, error) {
	all, _, _ := g.files()
	gone, err := missing(ctx, tbl, all)
	if err != nil {
		return nil, err
	}
	var rejects []iceberg.DataFile
	for _, r := range g.rejects() {
		rejects = append(rejects, r.Files...)
	}
	if len(rejects) == 0 {
		return gone, nil
	}
	shelf, err := c.shelfTable(ctx)
	if err != nil {
		return nil, err
	}
	more, err := missing(ctx, shelf, rejects)
	return append(gone, more...), err
}

// makeRoom puts those batches of a group back that the outbox has no room for on v. Where nothing of the group may go on, the
// finisher's work is done here, and an error says why the stream is held: once the group was tried, or where its first
// batch has to wait.
func (c *Committer) makeRoom(ctx context.Context, g *group, v *view) error {
	for tried := false; ; tried = true {
		n := c.fitting(g, v)
		switch {
		case n == len(g.items) || g.replay:
			return nil
		case n > 0 && g.last == 0 && !g.adopted:
			c.pending = append(g.items[n:len(g.items):len(g.items)], c.pending...)
			g.items = g.items[:n:n]
			return nil
		case tried:
			return errOutboxFull
		}
		if err := c.finish(ctx); err != nil {
			return fmt.Errorf("%w: %w", errOutboxFull, err)
		}
	}
}

// fitting is how many of a group's batches, from the first, the outbox has room for.
func (c *Committer) fitting(g *group, v *view) int {
	files := make([]int, len(g.items))
	for i, it := range g.items {
		files[i] = len(rejectFiles(it.Descriptor))
	}
	return protocol.Fits(boxFiles(c.keptOutbox(v)), outboxRoom, files)
}

// wholeRejects reports whether the files of d's rejects are there with their sizes, and fit the rejects table.
func (c *Committer) wholeRejects(ctx context.Context, d *descriptor.Descriptor) (bool, error) {
	if d.Rejects == nil {
		return true, nil
	}
	if c.checkRejects(d) != nil {
		return false, nil
	}
	tbl, err := c.shelfTable(ctx)
	if err != nil {
		return false, err
	}
	if c.fitsShelf(d) != nil {
		return false, nil
	}
	gone, err := missing(ctx, tbl, d.Rejects.Files)
	return err == nil && len(gone) == 0, err
}

// removeRejects deletes the files of an abandoned batch's rejects. That its commit never happened is proved already; another
// one may have committed the batch under another id (see unused), so no outbox of a retained snapshot may name a file, nor
// any snapshot of the rejects table, which is looked at after the main table: a file goes from the one to the other.
func (c *Committer) removeRejects(ctx context.Context, v *view, d *descriptor.Descriptor) (int, error) {
	if d.Rejects == nil || c.cfg.Rejects == nil {
		return 0, nil
	}
	for _, f := range d.Rejects.Files {
		if namedInOutbox(v.tbl.Metadata(), f.FilePath()) {
			return 0, nil
		}
	}
	s, err := c.lookShelf(ctx)
	if err != nil {
		return 0, err
	}
	if s.tbl.Metadata().TableUUID() != d.Rejects.TableUUID {
		return 0, nil // another table's files are its own clean-up's
	}
	if ok, err := c.unused(ctx, s.tbl, d.Rejects.Files, d.SealedAt); !ok || err != nil {
		return 0, err
	}
	return removeFiles(ctx, s.tbl, d.Rejects.Files)
}

// namedInOutbox says that a positions value anywhere in the table may name a file: its last part is looked for, which is
// unique and needs no escapes.
func namedInOutbox(m table.Metadata, file string) bool {
	name := path.Base(file)
	for _, s := range tableio.Snapshots(m) {
		if s.Summary != nil && strings.Contains(s.Summary.Properties[keyPositions], name) {
			return true
		}
	}
	for k, p := range m.Properties() {
		if strings.HasPrefix(k, propertyPrefix) && strings.Contains(p, name) {
			return true
		}
	}
	return false
}
