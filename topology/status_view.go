package topology

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// snapshot gives the status as it is now.
func (s *state) snapshot(now time.Time) Status {
	src, ends := s.intake.status()
	out, tableNow := s.parts(now, src, ends)
	if s.wal != nil {
		out.WAL = s.wal.status()
	}
	if tableNow != nil {
		if tbl := tableNow(); tbl != nil {
			out.Snapshots = len(tbl.Metadata().Snapshots())
		}
	}
	return out
}

// parts is what the parts have published, and how to look at the table.
func (s *state) parts(now time.Time, src *SourceStatus, ends map[source.Partition]source.Position) (Status, func() *table.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Status{Topology: s.topology, Instance: s.instance, Table: s.mu.table, Phase: s.mu.phase,
		RejectsTable: s.mu.rejectsTo, Rejects: maps.Clone(s.mu.rejects), Source: src}
	if !s.mu.started.IsZero() {
		at := s.mu.started
		out.Started = &at
	}
	for _, i := range slices.Sorted(maps.Keys(s.mu.tasks)) {
		out.Tasks = append(out.Tasks, s.mu.tasks[i])
	}
	for _, i := range slices.Sorted(maps.Keys(s.mu.committers)) {
		out.Committers = append(out.Committers, s.committerLocked(i))
	}
	out.Partitions = s.partitionsLocked(now, src, ends)
	out.Commits = slices.Clone(s.mu.commits)
	slices.Reverse(out.Commits)
	for _, part := range slices.Sorted(maps.Keys(s.mu.troubles)) {
		t := s.mu.troubles[part]
		out.Troubles = append(out.Troubles, TroubleStatus{Part: part, Error: t.err.Error(), Hint: hint(t.err), Since: t.since})
	}
	out.NotReady = s.whyNotLocked()
	out.Ready = len(out.NotReady) == 0
	if s.mu.lastErr != nil {
		at := s.mu.lastErrAt
		out.LastError, out.LastErrorAt, out.Hint = s.mu.lastErr.Error(), &at, hint(s.mu.lastErr)
	}
	return out, s.mu.tableNow
}

func (s *state) committerLocked(i int) CommitterStatus {
	c := s.mu.committers[i]
	c.Attempts = maps.Clone(c.Attempts)
	c.Phase = "idle"
	if c.OldestPending != nil {
		c.Phase = "pending"
	}
	if _, held := s.mu.troubles[c.Committer]; held {
		c.Phase = "held up"
	}
	return c
}

func (s *state) partitionsLocked(now time.Time, src *SourceStatus, ends map[source.Partition]source.Position) []PartitionStatus {
	all := map[source.Partition]PartitionStatus{}
	for _, ps := range s.mu.partitions {
		maps.Copy(all, ps)
	}
	for p, err := range s.mu.stopped {
		st := all[p]
		st.Topic, st.Partition, st.Stopped = p.Topic, p.ID, err.Error()
		all[p] = st
	}
	var out []PartitionStatus
	for _, p := range sortedPartitions(all) {
		st := all[p]
		if end, known := ends[p]; known && st.Task != "" {
			st.lag(end, now)
		}
		if src != nil {
			src.sum(&st)
		}
		out = append(out, st)
	}
	return out
}

func (s *state) whyNotLocked() []string {
	var why []string
	if s.mu.phase != PhaseRunning {
		why = append(why, "the topology is "+string(s.mu.phase))
	}
	for _, part := range slices.Sorted(maps.Keys(s.mu.troubles)) {
		why = append(why, part+": "+s.mu.troubles[part].err.Error())
	}
	for _, p := range sortedPartitions(s.mu.stopped) {
		why = append(why, "partition "+p.String()+" is stopped: "+s.mu.stopped[p].Error())
	}
	return why
}

// hint says what a person can do about err, empty where the error says it all.
func hint(err error) string {
	var stop *committer.StopError
	if errors.As(err, &stop) {
		return stop.Hint
	}
	var pos *source.PositionError
	if errors.As(err, &pos) {
		return "set the position with `floe positions set` to go on with what is there"
	}
	return ""
}

func sortedPartitions[V any](m map[source.Partition]V) []source.Partition {
	return slices.SortedFunc(maps.Keys(m), comparePartitions)
}

func comparePartitions(a, b source.Partition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	if a.ID != b.ID {
		return int(a.ID) - int(b.ID)
	}
	if c := strings.Compare(a.Incarnation, b.Incarnation); c != 0 {
		return c
	}
	return strings.Compare(a.Cluster, b.Cluster)
}
