package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// Catalog keeps one table in memory and its metadata files in a file system, so that the metadata log can be read. It
// does compare-and-swap by the requirements of a request, as iceberg-go's SQL catalog does. Any goroutine.
type Catalog struct {
	catalog.Catalog // nil: what is not implemented here is not used
	files           *iceio.MemFS
	ident           table.Identifier

	mu struct {
		sync.Mutex
		meta    table.Metadata
		loc     string
		version int
		away    error
		commits int
		changed func()
		past    *past
	}
}

// newCatalog makes a catalog that holds one table.
func newCatalog(files *iceio.MemFS, ident table.Identifier, meta table.Metadata) (*Catalog, error) {
	c := &Catalog{files: files, ident: ident}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.putLocked(meta)
}

// SetAway makes every request fail with err, until it is called with nil.
func (c *Catalog) SetAway(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.away = err
}

// OnChange has f called after each change of the table. f must return at once and not call the catalog.
func (c *Catalog) OnChange(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.changed = f
}

// remember has every snapshot noted in p.
func (c *Catalog) remember(p *past) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.past = p
}

// Commits counts requests that were applied.
func (c *Catalog) Commits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.commits
}

// LoadTable gives the one table.
func (c *Catalog) LoadTable(ctx context.Context, _ table.Identifier) (*table.Table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.away != nil {
		return nil, c.mu.away
	}
	return c.at(c.mu.meta, c.mu.loc), nil
}

func (c *Catalog) at(meta table.Metadata, loc string) *table.Table {
	return table.New(c.ident, meta, loc, func(context.Context) (iceio.IO, error) { return c.files, nil }, c)
}

// CommitTable applies updates where the requirements hold.
func (c *Catalog) CommitTable(ctx context.Context, _ table.Identifier, reqs []table.Requirement,
	updates []table.Update) (table.Metadata, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.away != nil {
		return nil, "", c.mu.away
	}
	for _, r := range reqs {
		if err := r.Validate(c.mu.meta); err != nil {
			return nil, "", err
		}
	}
	if err := c.applyLocked(updates...); err != nil {
		return nil, "", err
	}
	c.mu.commits++
	return c.mu.meta, c.mu.loc, nil
}

func (c *Catalog) applyLocked(updates ...table.Update) error {
	meta, err := table.UpdateTableMetadata(c.mu.meta, updates, c.mu.loc)
	if err != nil {
		return err
	}
	return c.putLocked(meta)
}

func (c *Catalog) putLocked(meta table.Metadata) error {
	loc := fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", meta.Location(), c.mu.version, uuid.NewString())
	b, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	if err := c.files.WriteFile(loc, b); err != nil {
		return err
	}
	c.mu.meta, c.mu.loc = meta, loc
	c.mu.version++
	if c.mu.past != nil {
		c.mu.past.note(meta)
	}
	if c.mu.changed != nil {
		c.mu.changed()
	}
	return nil
}

// Apply changes the table as another engine or a person would, without a requirement.
func (c *Catalog) Apply(updates ...table.Update) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applyLocked(updates...)
}

// Rollback sets main to the snapshot that lies n before the head.
func (c *Catalog) Rollback(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.mu.meta.CurrentSnapshot()
	for range n {
		if s == nil || s.ParentSnapshotID == nil {
			return errors.New("harness: there are not that many snapshots")
		}
		s = c.mu.meta.SnapshotByID(*s.ParentSnapshotID)
	}
	if s == nil {
		return errors.New("harness: there are not that many snapshots")
	}
	return c.applyLocked(table.NewSetSnapshotRefUpdate(table.MainBranch, s.SnapshotID, table.BranchRef, -1, -1, -1))
}

// Expire removes every snapshot but the head of main.
func (c *Catalog) Expire() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := c.mu.meta.CurrentSnapshot()
	var ids []int64
	for _, s := range c.mu.meta.Snapshots() {
		if s.SnapshotID != head.SnapshotID {
			ids = append(ids, s.SnapshotID)
		}
	}
	return c.applyLocked(table.NewRemoveSnapshotsUpdate(ids, false))
}

// ExpireUnnamed removes every snapshot that is not the head of a branch or a tag.
func (c *Catalog) ExpireUnnamed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	named := map[int64]bool{}
	for _, ref := range c.mu.meta.Refs() {
		named[ref.SnapshotID] = true
	}
	var ids []int64
	for _, s := range c.mu.meta.Snapshots() {
		if !named[s.SnapshotID] {
			ids = append(ids, s.SnapshotID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.applyLocked(table.NewRemoveSnapshotsUpdate(ids, false))
}

// Head is the snapshot of a branch, 0 for none.
func (c *Catalog) Head(branch string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, ref := range c.mu.meta.Refs() {
		if name == branch {
			return ref.SnapshotID
		}
	}
	return 0
}

// SetRef points a branch (table.BranchRef) or a tag (table.TagRef) at a snapshot; snapshot 0 removes it.
func (c *Catalog) SetRef(name string, snapshot int64, kind table.RefType) error {
	if snapshot == 0 {
		return c.Apply(table.NewRemoveSnapshotRefUpdate(name))
	}
	return c.Apply(table.NewSetSnapshotRefUpdate(name, snapshot, kind, -1, -1, -1))
}

// MetadataLocation is where the newest metadata lies.
func (c *Catalog) MetadataLocation() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.loc
}

// Replace commits what another engine's compaction does, as far as floe sees it: a snapshot with the same rows, without
// floe's keys.
func (c *Catalog) Replace() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := c.mu.meta.CurrentSnapshot()
	next := *head
	next.SnapshotID = head.SnapshotID ^ 0x5a5a5a5a
	next.ParentSnapshotID = &head.SnapshotID
	next.SequenceNumber = c.mu.meta.LastSequenceNumber() + 1
	next.TimestampMs = max(time.Now().UnixMilli(), c.mu.meta.LastUpdatedMillis())
	next.Summary = &table.Summary{Operation: table.OpReplace}
	return c.applyLocked(table.NewAddSnapshotUpdate(&next),
		table.NewSetSnapshotRefUpdate(table.MainBranch, next.SnapshotID, table.BranchRef, -1, -1, -1))
}

// Recreate drops the table and makes it again at the same place, empty, with another UUID.
func (c *Catalog) Recreate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sp := c.mu.meta.PartitionSpec()
	props := iceberg.Properties{}
	for k, v := range c.mu.meta.Properties() {
		if !strings.HasPrefix(k, "storm.") {
			props[k] = v
		}
	}
	meta, err := table.NewMetadata(c.mu.meta.CurrentSchema(), &sp, table.UnsortedSortOrder, c.mu.meta.Location(), props)
	if err != nil {
		return err
	}
	return c.putLocked(meta)
}

// Metadata is the table's newest.
func (c *Catalog) Metadata() table.Metadata {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.meta
}
