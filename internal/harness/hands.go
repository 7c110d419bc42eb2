package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/source"
)

// What other engines, their maintenance and people do to the table. Each is one commit of somebody else, made on the head of
// the moment; what has no meaning there (nothing to compact, say) does nothing.

// Compact reads the live data files of main and writes them anew, one for each partition, as other engines' compaction does: a
// replace snapshot without floe's keys.
func (w *World) Compact(ctx context.Context) error {
	tbl, err := w.Catalog.LoadTable(ctx, w.ident)
	if err != nil || tbl.CurrentSnapshot() == nil {
		return err
	}
	tasks, err := tbl.Scan().PlanFiles(ctx)
	if err != nil {
		return fmt.Errorf("plan compaction: %w", err)
	}
	by := map[string]table.CompactionTaskGroup{}
	for _, t := range tasks {
		k := fmt.Sprint(t.File.SpecID(), t.File.Partition())
		g := by[k]
		g.PartitionKey, g.Tasks, g.TotalSizeBytes = k, append(g.Tasks, t), g.TotalSizeBytes+t.File.FileSizeBytes()
		by[k] = g
	}
	var groups []table.CompactionTaskGroup
	for _, g := range by {
		if len(g.Tasks) > 1 {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	tx := tbl.NewTransaction()
	if _, err := tx.RewriteDataFiles(ctx, groups, table.RewriteDataFilesOptions{}); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	if _, err = tx.Commit(ctx); moved(err) {
		return w.Compact(ctx)
	}
	return err
}

// moved says that floe was faster: other engines, too, then begin anew.
func moved(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "requirement failed")
}

// ExpireAndDelete removes every snapshot that no branch or tag names, and then, as other engines do, the files that only those
// could reach, and metadata files that have left the log.
func (w *World) ExpireAndDelete() error {
	before, err := w.reachable(w.Catalog.Metadata())
	if err != nil {
		return err
	}
	if err := w.Catalog.ExpireUnnamed(); err != nil {
		return err
	}
	after, err := w.reachable(w.Catalog.Metadata())
	if err != nil {
		return err
	}
	for path := range before {
		if !after[path] {
			err = errors.Join(err, w.Files.Remove(path))
		}
	}
	return errors.Join(err, w.sweep(func(path string) bool { return strings.HasSuffix(path, ".metadata.json") && !after[path] }))
}

// Orphans deletes everything under the table's location that no retained snapshot and no entry of the metadata log names, of
// whatever age: WAL entries, sealed files, and manifests of requests that are on their way.
func (w *World) Orphans() error {
	named, err := w.reachable(w.Catalog.Metadata())
	if err != nil {
		return err
	}
	return w.sweep(func(path string) bool { return !named[path] })
}

// sweep removes the files of the table that f wants gone.
func (w *World) sweep(f func(path string) bool) error {
	var paths []string
	err := w.Files.WalkDir(w.Catalog.Metadata().Location(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && f(path) {
			paths = append(paths, path)
		}
		return err
	})
	for _, p := range paths {
		err = errors.Join(err, w.Files.Remove(p))
	}
	return err
}

// reachable are the files that metadata names: its log and itself, and of all its snapshots lists, manifests and live data
// files.
func (w *World) reachable(m table.Metadata) (map[string]bool, error) {
	out := map[string]bool{w.Catalog.MetadataLocation(): true}
	for e := range m.PreviousFiles() {
		out[e.MetadataFile] = true
	}
	for _, s := range m.Snapshots() {
		out[s.ManifestList] = true
		manifests, err := s.Manifests(w.Files)
		if err != nil {
			return nil, fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
		}
		for _, mf := range manifests {
			out[mf.FilePath()] = true
			for e, err := range mf.Entries(w.Files, true) {
				if err != nil {
					return nil, fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
				}
				out[e.DataFile().FilePath()] = true
			}
		}
	}
	return out, nil
}

// Append adds a snapshot of another engine, without rows.
func (w *World) Append(ctx context.Context) error {
	return w.change(ctx, func(tx *table.Transaction) error { return tx.AddFiles(ctx, nil, nil, true) })
}

// SetProperties sets table properties; an empty value removes one.
func (w *World) SetProperties(ctx context.Context, props iceberg.Properties) error {
	return w.change(ctx, func(tx *table.Transaction) error {
		for k, v := range props {
			if v != "" {
				if err := tx.SetProperties(iceberg.Properties{k: v}); err != nil {
					return err
				}
			} else if err := tx.RemoveProperties([]string{k}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *World) change(ctx context.Context, f func(*table.Transaction) error) error {
	tbl, err := w.Catalog.LoadTable(ctx, w.ident)
	if err != nil {
		return err
	}
	tx := tbl.NewTransaction()
	if err := f(tx); err != nil {
		return err
	}
	if _, err = tx.Commit(ctx); moved(err) {
		return w.change(ctx, f)
	}
	return err
}

// CherryPick brings the rows that a snapshot added onto main, as other engines do it: a new append of its files, which names
// where they come from and has none of its other keys.
func (w *World) CherryPick(ctx context.Context, id int64) error {
	s := w.Catalog.Metadata().SnapshotByID(id)
	if s == nil {
		return fmt.Errorf("harness: there is no snapshot %d", id)
	}
	manifests, err := s.Manifests(w.Files)
	if err != nil {
		return err
	}
	var files []iceberg.DataFile
	for _, m := range manifests {
		if m.SnapshotID() != id {
			continue
		}
		for e, err := range m.Entries(w.Files, true) {
			if err != nil {
				return err
			}
			if e.SnapshotID() == id { // a merged manifest also names files of earlier snapshots
				files = append(files, e.DataFile())
			}
		}
	}
	return w.change(ctx, func(tx *table.Transaction) error {
		return tx.NewRowDelta(iceberg.Properties{"source-snapshot-id": fmt.Sprint(id)}).AddRows(files...).Commit(ctx)
	})
}

// FirstProperty is the value that a table property had when it was first set, as far as the metadata log tells; the one it has
// now where it tells nothing.
func (w *World) FirstProperty(name string) (string, error) {
	m := w.Catalog.Metadata()
	for e := range m.PreviousFiles() {
		b, err := w.readFile(e.MetadataFile)
		if err != nil {
			return "", err
		}
		old, err := table.ParseMetadataBytes(b)
		if err != nil {
			return "", err
		}
		if v := old.Properties()[name]; v != "" {
			return v, nil
		}
	}
	return m.Properties()[name], nil
}

// SetPositions is a person's answer to a topology that stops and asks (floe positions set).
func (w *World) SetPositions(ctx context.Context, topology string, at map[source.Partition]source.Position) error {
	c, err := committer.New(committer.Config{Topology: topology, Logger: slog.New(slog.DiscardHandler)}, w.Loader(fault.New(nil)), nil)
	if err != nil {
		return err
	}
	var stop *committer.StopError
	if _, err := c.Load(ctx); err != nil && !errors.As(err, &stop) {
		return err
	}
	_, err = c.Set(ctx, at)
	return err
}

// PositionsAt are a topology's positions as a snapshot carries them, by its id in decimal.
func (w *World) PositionsAt(snapshot, topology string) (map[source.Partition]source.Position, error) {
	id, err := strconv.ParseInt(snapshot, 10, 64)
	if err != nil {
		return nil, err
	}
	m := w.Catalog.Metadata()
	meta, err := table.UpdateTableMetadata(m, []table.Update{
		table.NewRemovePropertiesUpdate([]string{"storm.iceberg.positions.main"}),
		table.NewSetSnapshotRefUpdate(table.MainBranch, id, table.BranchRef, -1, -1, -1)}, w.Catalog.MetadataLocation())
	if err != nil {
		return nil, err
	}
	c, err := committer.New(committer.Config{Topology: topology}, fixed{w.Catalog.at(meta, w.Catalog.MetadataLocation())}, nil)
	if err != nil {
		return nil, err
	}
	ps, err := c.Load(context.Background())
	out := map[source.Partition]source.Position{}
	for p, pr := range ps.At {
		out[p] = pr.Next
	}
	return out, err
}

// Knows says that a snapshot on a branch was made by a topology.
func (w *World) Knows(branch, topology string) bool {
	m := w.Catalog.Metadata()
	for s := m.SnapshotByID(w.Catalog.Head(branch)); s != nil; s = m.SnapshotByID(*s.ParentSnapshotID) {
		if s.Summary.Properties["storm.iceberg.topology"] == topology {
			return true
		}
		if s.ParentSnapshotID == nil {
			break
		}
	}
	return false
}

// ClockAhead makes the table one whose last commit was made by somebody whose clock is ahead by so much.
func (c *Catalog) ClockAhead(by time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := json.Marshal(c.mu.meta)
	if err != nil {
		return err
	}
	was := strconv.FormatInt(c.mu.meta.LastUpdatedMillis(), 10)
	meta, err := table.ParseMetadataBytes(bytes.ReplaceAll(b, []byte(was), strconv.AppendInt(nil, c.mu.meta.LastUpdatedMillis()+by.Milliseconds(), 10)))
	if err != nil {
		return err
	}
	return c.putLocked(meta)
}
