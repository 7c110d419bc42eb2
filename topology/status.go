package topology

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// Phase is what a topology is doing, in one word.
type Phase string

// The phases of a topology, in order.
const (
	PhaseNew      Phase = "new"
	PhaseStarting Phase = "starting" // loading the table, waiting for the catalog
	PhaseRunning  Phase = "running"
	PhaseStopping Phase = "stopping" // sealing and committing what is open
	PhaseEnded    Phase = "ended"
)

// Status is a snapshot of a topology, for people and programs.
type Status struct {
	Topology string `json:"topology"`
	Instance string `json:"instance"`
	Table    string `json:"table,omitempty"`
	Phase    Phase  `json:"phase"`
	// Ready says that records flow, or would; NotReady says why not.
	Ready    bool     `json:"ready"`
	NotReady []string `json:"not_ready,omitempty"`

	Tasks      []TaskStatus      `json:"tasks,omitempty"`
	Committers []CommitterStatus `json:"committers,omitempty"`
	Partitions []PartitionStatus `json:"partitions,omitempty"`

	// LastError is the last thing that went wrong, also if it has passed, and Hint what to do about it.
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`
	Hint        string     `json:"hint,omitempty"`
}

// TaskStatus is a writer task.
type TaskStatus struct {
	Task string `json:"task"`
	// Phase is "idle", "writing", "waiting" (for its sealed batches to be committed), "fetching" (what the mapper needs, such
	// as a schema), "rewinding", "backing off" or "stopped".
	Phase string `json:"phase"`
	// OpenRows, OpenBytes and OpenFiles are those of the open batch, which began at OpenSince.
	OpenRows  int64      `json:"open_rows"`
	OpenBytes int64      `json:"open_bytes"`
	OpenFiles int        `json:"open_files"`
	OpenSince *time.Time `json:"open_since,omitempty"`
	// InFlight counts sealed batches whose answer is awaited.
	InFlight int    `json:"in_flight"`
	Epoch    uint64 `json:"epoch"`
}

// CommitterStatus is a committer.
type CommitterStatus struct {
	Committer string `json:"committer"`
	// PendingFiles wait to be committed, the oldest since OldestPending.
	PendingFiles  int        `json:"pending_files"`
	OldestPending *time.Time `json:"oldest_pending,omitempty"`
	LastCommit    *time.Time `json:"last_commit,omitempty"`
	// LastCommitSeconds is how long the last commit took, from its first attempt until it landed.
	LastCommitSeconds float64 `json:"last_commit_seconds,omitempty"`
	Commits           int64   `json:"commits"`
	Rows              int64   `json:"rows"`
	Files             int64   `json:"files"`
	Bytes             int64   `json:"bytes"`
	Failures          int64   `json:"failures"`
}

// PartitionStatus is an owned partition, or one that was stopped.
type PartitionStatus struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Task      string `json:"task,omitempty"`
	// Read, Sealed and Committed are next positions: what was taken over, what is in a sealed batch, what the table
	// holds as far as this process has seen.
	Read      source.Position `json:"read"`
	Sealed    source.Position `json:"sealed"`
	Committed source.Position `json:"committed"`
	// Stopped says why the partition is not read on.
	Stopped string `json:"stopped,omitempty"`
}

// state is what Status shows. The parts publish into it; nothing is decided by it but what Run returns for partitions
// that were stopped.
type state struct {
	topology, instance string

	mu struct {
		sync.Mutex
		table      string
		phase      Phase
		troubles   map[string]error
		stopped    map[source.Partition]error
		tasks      map[int]TaskStatus
		partitions map[int]map[source.Partition]PartitionStatus
		committers map[int]CommitterStatus
		lastErr    error
		lastErrAt  time.Time
	}
}

func newState(topology, instance string) *state {
	s := &state{topology: topology, instance: instance}
	s.mu.phase = PhaseNew
	s.mu.troubles = map[string]error{}
	s.mu.stopped = map[source.Partition]error{}
	s.mu.tasks = map[int]TaskStatus{}
	s.mu.partitions = map[int]map[source.Partition]PartitionStatus{}
	s.mu.committers = map[int]CommitterStatus{}
	return s
}

func (s *state) setPhase(p Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.phase = p
}

func (s *state) setTable(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.table = name
}

// setTrouble notes a passing failure of one part; nil says that it has passed. It reports whether that is news.
func (s *state) setTrouble(part string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.mu.troubles[part]
	if err == nil {
		delete(s.mu.troubles, part)
		return was != nil
	}
	s.mu.troubles[part] = err
	s.mu.lastErr, s.mu.lastErrAt = err, time.Now()
	return was == nil || was.Error() != err.Error()
}

func (s *state) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lastErr, s.mu.lastErrAt = err, time.Now()
}

// stop notes that p is not read on. reopened takes it back.
func (s *state) stop(p source.Partition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.stopped[p] = err
	s.mu.lastErr, s.mu.lastErrAt = err, time.Now()
}

func (s *state) reopened(p source.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.stopped, p)
}

func (s *state) isStopped(p source.Partition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stopped[p] != nil
}

// stoppedPartitions is the error of a run that left partitions behind, nil where it left none.
func (s *state) stoppedPartitions() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.stopped) == 0 {
		return nil
	}
	// The first one stands for all: a topic that was made anew stops hundreds, for one reason.
	first := s.mu.stopped[sortedPartitions(s.mu.stopped)[0]]
	if n := len(s.mu.stopped) - 1; n > 0 {
		return fmt.Errorf("topology: %d partitions were stopped, the first: %w", n+1, first)
	}
	return first
}

// setTask publishes what a worker is doing. The map is the caller's to give away.
func (s *state) setTask(i int, t TaskStatus, ps map[source.Partition]PartitionStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.tasks[i] = t
	s.mu.partitions[i] = ps
}

func (s *state) updateCommitter(i int, f func(*CommitterStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mu.committers[i]
	f(&c)
	s.mu.committers[i] = c
}

func (s *state) snapshot(now time.Time) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Status{Topology: s.topology, Instance: s.instance, Table: s.mu.table, Phase: s.mu.phase}
	for _, i := range slices.Sorted(maps.Keys(s.mu.tasks)) {
		out.Tasks = append(out.Tasks, s.mu.tasks[i])
	}
	for _, i := range slices.Sorted(maps.Keys(s.mu.committers)) {
		out.Committers = append(out.Committers, s.mu.committers[i])
	}
	out.Partitions = s.partitionsLocked()
	out.NotReady = s.whyNotLocked()
	out.Ready = len(out.NotReady) == 0
	if s.mu.lastErr != nil {
		at := s.mu.lastErrAt
		out.LastError, out.LastErrorAt, out.Hint = s.mu.lastErr.Error(), &at, hint(s.mu.lastErr)
	}
	return out
}

func (s *state) partitionsLocked() []PartitionStatus {
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
		out = append(out, all[p])
	}
	return out
}

func (s *state) whyNotLocked() []string {
	var why []string
	if s.mu.phase != PhaseRunning {
		why = append(why, "the topology is "+string(s.mu.phase))
	}
	for _, part := range slices.Sorted(maps.Keys(s.mu.troubles)) {
		why = append(why, part+": "+s.mu.troubles[part].Error())
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
