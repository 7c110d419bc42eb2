package committer

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// Loader loads the table afresh from the catalog: newest metadata, a cached FileIO that no batch's context binds.
type Loader interface {
	Load(ctx context.Context) (*table.Table, error)
}

// Log is the WAL. Package wal's Store is one; nil means none.
type Log interface {
	Put(ctx context.Context, tbl *table.Table, g *descriptor.Group) (path string, err error)
	List(ctx context.Context, tbl *table.Table) ([]descriptor.Entry, error)
	Delete(ctx context.Context, tbl *table.Table, path string) error
	SetAside(ctx context.Context, tbl *table.Table, path string) error
}

// Config of a committer. The zero value of every field but Topology is useful.
type Config struct {
	// Topology is the name whose positions are moved.
	Topology string
	// Component and Task are its place: in the WAL's path. Defaults "committer" and 0.
	Component string
	Task      int
	// Instance is this process. Default: a fresh UUID.
	Instance string
	// Branch is committed to. Default "main".
	Branch string
	// Interval gathers descriptors before a group commit; zero commits each group as soon as it can (what queued up
	// while the commit before ran is one group). MaxDataFiles commits earlier. Default of MaxDataFiles 1000.
	Interval     time.Duration
	MaxDataFiles int
	// EmptyInterval is how long positions that moved without rows may wait for a commit with rows. Default 1 minute.
	EmptyInterval time.Duration
	// Grace is the least age of a WAL entry whose files may be deleted. Default 1 hour.
	Grace time.Duration
	// AttemptTimeout bounds each request to the catalog. Default 30 s.
	AttemptTimeout time.Duration
	// MaxBackoff bounds the wait between attempts. Default 30 s.
	MaxBackoff time.Duration
	Logger     *slog.Logger
	// Observer is told what happens; nil for none.
	Observer Observer
	Now      func() time.Time
}

// Observer is told of events; its methods are called from the committer's goroutine and must not block.
type Observer interface {
	// Committed: a group landed (also one that reported an error first), after d from its first attempt.
	Committed(files int, rows, bytes int64, d time.Duration)
	// CommitFailed: a group failed for good; each descriptor in it is re-read or given up.
	CommitFailed(err error)
	// Outcome counts each attempt by kind: "landed", "refused", "settled_landed", "superseded", "pinned_retry".
	Outcome(kind string)
	// Pending: data files waiting, and since when the oldest does (zero: none).
	Pending(files int, oldest time.Time)
	// Trouble: the catalog or the table can't be reached or refuses; nil when that has passed.
	Trouble(err error)
}

// Verdict says what became of a descriptor.
type Verdict int

const (
	// Landed: its rows and positions are on the branch, by this commit or by an earlier attempt of it.
	Landed Verdict = iota + 1
	// AlreadyThere: the table's positions had passed all its ranges; its files are not used.
	AlreadyThere
	// Reread: forget it and read its partitions again from the table's positions, which Outcome gives.
	Reread
	// Failed: it can't be committed and reading again will not help; Err says why. The topology stops.
	Failed
)

// Outcome is the answer to a submission.
type Outcome struct {
	Verdict Verdict
	// SnapshotID is the snapshot that holds it, for Landed.
	SnapshotID int64
	// Positions are the table's, of the descriptor's partitions (for Reread: of every partition of the owner's pending
	// descriptors).
	Positions map[source.Partition]source.Position
	// Foreign is set on a Reread that another instance's commit under the same name caused.
	Foreign bool
	Err     error
}

// Submission is a descriptor on its way to be committed.
type Submission struct {
	Descriptor *descriptor.Descriptor
	// Owner and Epoch tell whose it is: after a Reread everything of the same owner and epoch is forgotten without
	// another look, pending or arriving later, each with a Reread outcome.
	Owner string
	Epoch uint64
	// Done is called once, from the committer's goroutine; it must not block.
	Done func(Outcome)
}

// Committer is the single committer of one table for one topology.
type Committer struct{}

// Validate refuses what New would refuse.
func (c *Config) Validate() error { panic("skeleton") }

// New makes a committer; it starts nothing.
func New(cfg Config, l Loader, log Log) (*Committer, error) { panic("skeleton") }

// Load loads the table and its positions. It must succeed once before anything else is called, and may be called again.
// A *StopError says that a person must decide (stop and ask).
func (c *Committer) Load(ctx context.Context) (Positions, error) { panic("skeleton") }

// Table is the newest metadata that was seen. Any goroutine.
func (c *Committer) Table() *table.Table { panic("skeleton") }

// Settle settles the WAL entries that cover ps (DESIGN section 8): landed ones are deleted, whole ones adopted, the rest
// abandoned. It is called when partitions have been assigned, before they are opened. nil settles all entries.
func (c *Committer) Settle(ctx context.Context, ps []source.Partition) error { panic("skeleton") }

// Begin records where partitions start that the table has no position for, with one pinned empty append. A partition
// that got a position meanwhile keeps that one. It returns the table's positions afterwards.
func (c *Committer) Begin(ctx context.Context, starts map[source.Partition]source.Position) (Positions, error) {
	panic("skeleton")
}

// Set writes positions as a person wants them (floe positions set): a pinned empty append, also on an empty table. It
// is the answer to every stop-and-ask. Partitions that are not named keep theirs.
func (c *Committer) Set(ctx context.Context, at map[source.Partition]source.Position) (Positions, error) {
	panic("skeleton")
}

// Submit hands a descriptor over. It blocks while too many are pending (this holds the writer back), until ctx ends.
// Only while Run runs.
func (c *Committer) Submit(ctx context.Context, s Submission) error { panic("skeleton") }

// Flush asks Run to commit what is pending now, without waiting for the interval. It does not wait.
func (c *Committer) Flush() { panic("skeleton") }

// Run gathers, commits and answers until ctx ends. What is pending then is answered with its outcome as far as known
// and otherwise not at all; a graceful end flushes and waits for the answers first.
func (c *Committer) Run(ctx context.Context) error { panic("skeleton") }

// StopError says that floe can't know where it stands and a person must decide.
type StopError struct {
	Reason string
	Hint   string
}

func (e *StopError) Error() string { return e.Reason + ". " + e.Hint }
