package committer

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
)

const (
	// proofSkew is how far clocks of the processes that write and commit may be apart.
	proofSkew = 24 * time.Hour
	// proofReads bounds the manifest lists that are read to prove one entry's files unused.
	proofReads = 2000
)

// unused reports whether no retained snapshot has added one of the files. The walk that proves that a WAL entry's commit
// never happened is about its commit id; but where descriptors travel between processes, one that was noted by a committer
// that died can be delivered again and committed by another under another id, and its files are then live:
//
//	P1 notes d1 under id 1 and dies; it can't be adopted yet, since d0 before it is missing
//	P2 gets d0, then d1, and commits both under id 2
//	an hour later the table has passed d1, and id 1 is nowhere
//
// Only snapshots of floe can have added them, each in manifests of its own. Where that is too much to read, the answer is
// no.
func (c *Committer) unused(ctx context.Context, v *view, files []iceberg.DataFile, since time.Time) (bool, error) {
	paths := make(map[string]bool, len(files))
	for _, f := range files {
		paths[f.FilePath()] = true
	}
	fio, err := v.tbl.FS(ctx)
	if err != nil {
		return false, fmt.Errorf("open the table's files: %w", err)
	}
	reads := 0
	for _, s := range v.tbl.Metadata().Snapshots() {
		if s.Summary == nil || s.Summary.Properties[keyCommitID] == "" || time.UnixMilli(s.TimestampMs).Before(since.Add(-proofSkew)) {
			continue
		}
		if reads++; reads > proofReads {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		manifests, err := s.Manifests(fio)
		if err != nil {
			return false, fmt.Errorf("read manifest list of snapshot %d: %w", s.SnapshotID, err)
		}
		for _, m := range manifests {
			if m.SnapshotID() != s.SnapshotID {
				continue
			}
			for e, err := range m.Entries(fio, false) {
				if err != nil {
					return false, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
				}
				if paths[e.DataFile().FilePath()] {
					return false, nil
				}
			}
		}
	}
	return true, nil
}
