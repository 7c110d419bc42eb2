package committer

import (
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

// Step is one commit of a topology, as its snapshot tells of it.
type Step struct {
	SnapshotID int64
	// At is the snapshot's time, Instance the process that committed.
	At       time.Time
	Instance string
	// Next is the next position of each partition after it.
	Next map[source.Partition]source.Position
}

// Steps gives the newest commits of a topology on a branch, newest first, n at most, as far as their snapshots are there. An
// empty branch is main. An error says that the positions of one can't be read.
func Steps(m table.Metadata, branch, topology string, n int) ([]Step, error) {
	if branch == "" {
		branch = table.MainBranch
	}
	snapshots := map[int64]*table.Snapshot{}
	all := tableio.Snapshots(m)
	for i := range all {
		snapshots[all[i].SnapshotID] = &all[i]
	}
	var out []Step
	head := m.SnapshotByName(branch)
	if head == nil {
		return nil, nil
	}
	// Hostile metadata may go round in circles.
	for s, left := snapshots[head.SnapshotID], len(all); s != nil && left > 0 && len(out) < n; left-- {
		if s.Summary != nil && s.Summary.Properties[keyTopology] == topology {
			step, err := stepOf(s, topology)
			if err != nil {
				return nil, fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
			}
			out = append(out, step)
		}
		if s.ParentSnapshotID == nil {
			break
		}
		s = snapshots[*s.ParentSnapshotID]
	}
	return out, nil
}

func stepOf(s *table.Snapshot, topology string) (Step, error) {
	p := s.Summary.Properties
	out := Step{SnapshotID: s.SnapshotID, At: time.UnixMilli(s.TimestampMs), Instance: p[keyInstance], Next: map[source.Partition]source.Position{}}
	v, err := parseValue(p[keyPositions])
	if err != nil {
		return out, err
	}
	at, err := v.progress(topology)
	for q, g := range at {
		out.Next[q] = g.Next
	}
	return out, err
}
