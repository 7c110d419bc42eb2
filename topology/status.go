package topology

import (
	"fmt"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/mapper"
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
	// Started is when Run was called.
	Started *time.Time `json:"started,omitempty"`
	Table   string     `json:"table,omitempty"`
	// Snapshots is how many the table's metadata lists.
	Snapshots int `json:"snapshots,omitempty"`
	// RejectsTable takes the records that can't become rows; empty: the first stops the topology.
	RejectsTable string `json:"rejects_table,omitempty"`
	Phase        Phase  `json:"phase"`
	// Ready says that records flow, or would; NotReady says why not.
	Ready    bool     `json:"ready"`
	NotReady []string `json:"not_ready,omitempty"`

	// Source is nil for a stage.
	Source     *SourceStatus     `json:"source,omitempty"`
	Tasks      []TaskStatus      `json:"tasks,omitempty"`
	Committers []CommitterStatus `json:"committers,omitempty"`
	Partitions []PartitionStatus `json:"partitions,omitempty"`
	// Commits are the last ones that landed, the newest first.
	Commits []CommitStatus `json:"commits,omitempty"`
	WAL     *WALStatus     `json:"wal,omitempty"`
	// Rejects counts the records of this run that went to the rejects table, in sealed batches, by what makes them rejects.
	Rejects map[mapper.Code]int64 `json:"rejects,omitempty"`
	// FilteredBy counts the records that each rule of a filter has left out in this run; those read again count again. A topology does
	// not know the rules of its mapper: floe run fills them in.
	FilteredBy map[string]int64 `json:"filtered_by,omitempty"`

	// Troubles last at this moment, and are tried against.
	Troubles []TroubleStatus `json:"troubles,omitempty"`
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
	OpenRows int64 `json:"open_rows"`
	// OpenRejects are its records that can't become rows.
	OpenRejects int64      `json:"open_rejects,omitempty"`
	OpenBytes   int64      `json:"open_bytes"`
	OpenFiles   int        `json:"open_files"`
	OpenSince   *time.Time `json:"open_since,omitempty"`
	// InFlight counts sealed batches whose answer is awaited.
	InFlight int    `json:"in_flight"`
	Epoch    uint64 `json:"epoch"`
	// Sealed is what this run has sealed.
	Sealed SealedStatus `json:"sealed"`
}

// SealedStatus counts sealed batches and what is in them, whatever became of them.
type SealedStatus struct {
	Batches int64 `json:"batches"`
	Rows    int64 `json:"rows"`
	// Rejects and Filtered are records that became no rows.
	Rejects  int64 `json:"rejects"`
	Filtered int64 `json:"filtered"`
	Files    int64 `json:"files"`
	Bytes    int64 `json:"bytes"`
	// Last is when the last one was sealed, which took LastSeconds.
	Last        *time.Time `json:"last,omitempty"`
	LastSeconds float64    `json:"last_seconds,omitempty"`
}

// CommitStatus is a commit that landed.
type CommitStatus struct {
	Committer string `json:"committer"`
	// SnapshotID is a string in JSON: many programs can't hold its digits otherwise.
	SnapshotID int64     `json:"snapshot_id,string"`
	At         time.Time `json:"at"`
	Files      int       `json:"files"`
	Rows       int64     `json:"rows"`
	Bytes      int64     `json:"bytes"`
	// Seconds is the time from its first attempt until it had landed.
	Seconds float64 `json:"seconds"`
}

// TroubleStatus is something that does not work now.
type TroubleStatus struct {
	// Part is what it concerns: a task, a committer, the source.
	Part  string `json:"part"`
	Error string `json:"error"`
	// Hint is what a person can do about it; empty where floe can only wait, or the error says it.
	Hint  string    `json:"hint,omitempty"`
	Since time.Time `json:"since"`
}

// CommitterStatus is a committer.
type CommitterStatus struct {
	Committer string `json:"committer"`
	// Phase is "idle", "pending" (batches wait for their commit, or are in one) or "held up" (commits don't go through).
	Phase string `json:"phase"`
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
	// Attempts are counted by what became of them: see committer.Observer.
	Attempts map[string]int64 `json:"attempts,omitempty"`
	// Rejects counts the rows that this committer made visible in the rejects table. OutboxFiles are the files of rejects that are
	// committed and not there yet, with OutboxRows rows, the oldest since OutboxSince.
	Rejects     int64      `json:"rejects,omitempty"`
	OutboxFiles int        `json:"outbox_files,omitempty"`
	OutboxRows  int64      `json:"outbox_rows,omitempty"`
	OutboxSince *time.Time `json:"outbox_since,omitempty"`
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
	// End is where the partition's records ended when the source was last heard of it, and LagRecords how far behind it the table is.
	// LagSeconds is the age of the newest record that this run has committed, or of the first that it has read where it has committed
	// none; 0 where there is nothing left to commit. They are absent where they are not known.
	End        *source.Position `json:"end,omitempty"`
	LagRecords *int64           `json:"lag_records,omitempty"`
	LagSeconds *float64         `json:"lag_seconds,omitempty"`
	// Stopped says why the partition is not read on.
	Stopped string `json:"stopped,omitempty"`

	// time is that of the record by which LagSeconds is measured, in ms since the epoch; 0 where none is known.
	time int64
}

// state is what Status shows. The parts publish into it; nothing is decided by it but what Run returns for partitions
// that were stopped.
type state struct {
	topology, instance string
	// intake is nil for a stage, wal where there is none.
	intake *intake
	wal    *walLog

	mu struct {
		sync.Mutex
		table     string
		rejectsTo string
		rejects   map[mapper.Code]int64
		phase     Phase
		troubles  map[string]trouble
		// tableNow gives the table as it was seen last, nil before it was loaded.
		tableNow func() *table.Table
		started  time.Time
		// commits are the last ones, the oldest first.
		commits    []CommitStatus
		stopped    map[source.Partition]error
		tasks      map[int]TaskStatus
		partitions map[int]map[source.Partition]PartitionStatus
		committers map[int]CommitterStatus
		lastErr    error
		lastErrAt  time.Time
	}
}

// trouble is a passing failure and since when it has lasted.
type trouble struct {
	err   error
	since time.Time
}

// keptCommits is how many commits the status shows.
const keptCommits = 20

func newState(topology, instance string) *state {
	s := &state{topology: topology, instance: instance}
	s.mu.phase = PhaseNew
	s.mu.troubles = map[string]trouble{}
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
	if s.mu.started.IsZero() {
		s.mu.started = time.Now()
	}
}

// setTable gives the table's name and how it is looked at.
func (s *state) setTable(name string, now func() *table.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.table, s.mu.tableNow = name, now
}

func (s *state) setRejectsTable(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rejectsTo = name
}

// addRejects counts rejects of a sealed batch.
func (s *state) addRejects(byCode map[mapper.Code]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.rejects == nil {
		s.mu.rejects = map[mapper.Code]int64{}
	}
	for code, n := range byCode {
		s.mu.rejects[code] += n
	}
}

// setTrouble notes a passing failure of one part; nil says that it has passed. It reports whether that is news.
func (s *state) setTrouble(part string, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, lasts := s.mu.troubles[part]
	if err == nil {
		delete(s.mu.troubles, part)
		return lasts
	}
	now := time.Now()
	if !lasts {
		was.since = now
	}
	s.mu.troubles[part] = trouble{err, was.since}
	s.mu.lastErr, s.mu.lastErrAt = err, now
	return !lasts || was.err.Error() != err.Error()
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

// addCommit notes a commit that landed.
func (s *state) addCommit(c CommitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.commits) == keptCommits {
		s.mu.commits = s.mu.commits[1:]
	}
	s.mu.commits = append(s.mu.commits, c)
}
