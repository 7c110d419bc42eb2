package committer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/protocol"
)

// Replay commits a replay of rejects: a batch without inputs whose files hold what fits the main table now, and whose rejects
// take the place of the files of the rejects table that it was made from. id is the commit's, which those rows say already.
// It is called after Load, in a committer that never runs.
//
// Landed says that the main table has it; the rejects table then has it too, or the error says why not yet: whoever
// finds the outbox finishes it, also a later Replay or Run. Reread says that somebody else has replayed or rewritten one of
// the files, or another replay is not finished: read the rejects table again.
func (c *Committer) Replay(ctx context.Context, id uuid.UUID, d *descriptor.Descriptor) (Outcome, error) {
	switch {
	case c.started.Load():
		return Outcome{}, errors.New("committer: Replay is for a committer that does not run")
	case c.cfg.Rejects == nil || d.Rejects == nil || len(d.Rejects.Replaces) == 0 || len(d.Inputs) > 0:
		return Outcome{}, fmt.Errorf("committer: batch %s is no replay of rejects", d.ID)
	case d.Topology != c.cfg.Topology || id == uuid.Nil:
		return Outcome{}, fmt.Errorf("committer: replay %s is of topology %q, under commit id %s; this committer serves %q", d.ID, d.Topology, id, c.cfg.Topology)
	}
	// What an earlier replay has left is finished first: while the outbox names it, no other may go on.
	unfinished := c.finish(ctx)
	if err := c.take(ctx); err != nil {
		return Outcome{}, err
	}
	defer c.give()
	var out Outcome
	g := &group{id: id, replay: true, items: []*item{{Submission: Submission{Descriptor: d, Done: func(o Outcome) { out = o }}}}}
	if err := c.commit(ctx, g); err != nil {
		return out, err
	}
	switch {
	case out.Verdict == Landed:
		return out, c.finish(ctx)
	case out.Err == nil:
		out.Err = unfinished
	}
	return out, nil
}

// replaceable sets a replay aside that may not be committed on v. The rejects table is read after v was.
func (c *Committer) replaceable(ctx context.Context, g *group, v *view) error {
	paths := g.items[0].Descriptor.Rejects.Replaces
	s, err := c.lookShelf(ctx)
	if err != nil {
		return err
	}
	there, err := c.live(ctx, s.tbl, paths)
	if err != nil {
		return err
	}
	var open []string
	for _, b := range c.keptOutbox(v) {
		open = append(open, b.Replaces...)
	}
	if protocol.Replaceable(open, func(path string) bool { return there[path] != nil }, paths) {
		return nil
	}
	g.stale, g.items = append(g.stale, g.items...), nil
	c.answerStale(g, v.at)
	return nil
}

// live gives those of the files that the rejects table holds.
func (c *Committer) live(ctx context.Context, tbl *table.Table, paths []string) (map[string]iceberg.DataFile, error) {
	out := map[string]iceberg.DataFile{}
	head := tbl.CurrentSnapshot()
	if head == nil {
		return out, nil
	}
	fio, err := tbl.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the rejects table's files: %w", err)
	}
	manifests, err := head.Manifests(fio)
	if err != nil {
		return nil, fmt.Errorf("read manifest list of snapshot %d of the rejects table: %w", head.SnapshotID, err)
	}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentData {
			continue
		}
		for e, err := range m.Entries(fio, true) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			if f := e.DataFile(); slices.Contains(paths, f.FilePath()) {
				out[f.FilePath()] = f
			}
		}
	}
	return out, nil
}

// replaced gives the files whose place a replay takes. That one is not live is no reason to append: its rows would be there
// twice, once as they were.
func (c *Committer) replaced(ctx context.Context, tbl *table.Table, b boxed) ([]iceberg.DataFile, error) {
	there, err := c.live(ctx, tbl, b.Replaces)
	if err != nil {
		return nil, err
	}
	out := make([]iceberg.DataFile, 0, len(b.Replaces))
	for _, path := range b.Replaces {
		if there[path] == nil {
			return nil, fmt.Errorf("replay %s is in the main table, and its rejects can't be marked as replayed: another engine has rewritten %s in rejects table %s meanwhile; "+
				"set that table back to the snapshot before", b.Commit, path, strings.Join(tbl.Identifier(), "."))
		}
		out = append(out, there[path])
	}
	return out, nil
}
