package committer

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

const (
	// proofSkew is how far clocks of the processes that write and commit may be apart.
	proofSkew = 24 * time.Hour
	// proofReads bounds the manifests and manifest lists that are read to prove one entry's files unused.
	proofReads = 2000
)

// unused reports whether no retained snapshot, on whatever branch, names one of the files. The walk that proves that a WAL
// entry's commit never happened is about its commit id on this branch; the files can be live all the same.
//
// Where descriptors travel between processes, one that was noted by a committer that died can be delivered again and
// committed by another under another id:
//
//	P1 notes d1 under id 1 and dies; it can't be adopted yet, since d0 before it is missing
//	P2 gets d0, then d1, and commits both under id 2
//	an hour later the table has passed d1, and id 1 is nowhere
//
// And another branch, or a snapshot that somebody cherry-picked, can carry on what a snapshot of floe has added that is gone
// itself:
//
//	P1 notes d1 under id 1, commits it as S and dies; a branch is made at S, and main is rolled back
//	somebody commits to that branch on top of S, and S expires: id 1 is nowhere, and the branch's head names d1's file
//
// So everything is read that was made since the files were: manifest lists of all snapshots as young as they are, and of the
// manifests in them those that no older snapshot can have. Where that is too much, the answer is no.
func (c *Committer) unused(ctx context.Context, tbl *table.Table, files []iceberg.DataFile, since time.Time) (bool, error) {
	fio, err := tbl.FS(ctx)
	if err != nil {
		return false, fmt.Errorf("open the table's files: %w", err)
	}
	p := proof{fio: fio, paths: make(map[string]bool, len(files)), read: map[string]bool{}}
	for _, f := range files {
		p.paths[f.FilePath()] = true
	}
	old := func(s table.Snapshot) bool { return time.UnixMilli(s.TimestampMs).Before(since.Add(-proofSkew)) }
	for _, s := range tbl.Metadata().Snapshots() {
		if old(s) {
			p.floor = max(p.floor, s.SequenceNumber)
		}
	}
	for _, s := range tbl.Metadata().Snapshots() {
		if old(s) {
			continue
		}
		p.floor = min(p.floor, s.SequenceNumber-1) // clocks that are further apart than that
	}
	for _, s := range tbl.Metadata().Snapshots() {
		if old(s) {
			continue
		}
		if named, err := p.namedBy(ctx, s); named || err != nil {
			return false, err
		}
	}
	return true, nil
}

// proof is the search for files in what snapshots name.
type proof struct {
	fio   iceio.IO
	paths map[string]bool
	// floor is a sequence number up to which every manifest is older than the files.
	floor int64
	// read are the manifests that have been.
	read  map[string]bool
	reads int
}

// namedBy reports whether s names one of the files, or whether that is too much to read.
func (p *proof) namedBy(ctx context.Context, s table.Snapshot) (bool, error) {
	if p.reads++; p.reads > proofReads {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	manifests, err := s.Manifests(p.fio)
	if err != nil {
		return false, fmt.Errorf("read manifest list of snapshot %d: %w", s.SnapshotID, err)
	}
	for _, m := range manifests {
		if p.read[m.FilePath()] || m.SequenceNum() > 0 && m.SequenceNum() <= p.floor {
			continue
		}
		p.read[m.FilePath()] = true
		if p.reads++; p.reads > proofReads {
			return true, nil
		}
		for e, err := range m.Entries(p.fio, false) {
			if err != nil {
				return false, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			if p.paths[e.DataFile().FilePath()] {
				return true, nil
			}
		}
	}
	return false, nil
}
