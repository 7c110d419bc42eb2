package committer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

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
	// NoProperty keeps the positions in the snapshots' summaries alone, for a catalog that refuses table properties. It
	// costs safety: when other engines' commits and expiry have removed every snapshot of floe while it did not run, a
	// person must say where to go on.
	NoProperty bool
	// ExpireEvery is from how many appends one takes the branch's old snapshots off the table, in the same commit: those
	// that the table's properties history.expire.max-snapshot-age-ms (default 5 days) and min-snapshots-to-keep (1), or the
	// branch's own settings, let go. Never what another branch or a tag leads to, nothing where gc.enabled is false, nothing
	// whose removal would leave a data file without a snapshot, and no data file is deleted. The loader must be a Rider.
	// Zero: none does.
	ExpireEvery int
	// MaxPending bounds the descriptors that wait beside the group being committed: Submit blocks beyond it. Default 64.
	MaxPending int
	// Logger's default is slog.Default().
	Logger *slog.Logger
	// Rejects loads the table that rejects go to, unpartitioned, in any catalog. nil: a batch with rejects is refused.
	Rejects Loader
	// Observer is told what happens; nil for none.
	Observer Observer
	// Now is the clock that ages are measured with. Default time.Now.
	Now func() time.Time
}

// Observer is told of events; its methods are called from the committer's goroutine and must not block.
type Observer interface {
	// Committed: a group landed, also one that reported an error first.
	Committed(c Commit)
	// CommitFailed: a group failed for good; each descriptor in it is re-read or given up.
	CommitFailed(err error)
	// Outcome counts each attempt by kind: "landed", "refused", "settled_landed", "superseded", "pinned_retry".
	Outcome(kind string)
	// Pending: data files waiting, and since when the oldest does (zero: none).
	Pending(files int, oldest time.Time)
	// Trouble: the catalog or the table can't be reached or refuses; nil when that has passed.
	Trouble(err error)
	// RejectsAppended: files of rejects were appended to the rejects table. It and Outbox come from any goroutine.
	RejectsAppended(files int, rows, bytes int64)
	// Outbox: what waits for the rejects table, whenever it was looked at. It has not fallen behind as long as Err is nil.
	Outbox(o Outbox)
}

// Commit is a group that has landed. Rejects are not counted in it.
type Commit struct {
	// SnapshotID is the snapshot that holds it.
	SnapshotID int64
	// Files are its data files, with Rows rows and Bytes bytes.
	Files       int
	Rows, Bytes int64
	// Took is the time from its first attempt until it had landed.
	Took time.Duration
}

// Verdict says what became of a descriptor.
type Verdict int

const (
	// Landed says: its rows and positions are on the branch, by this commit or by an earlier attempt of it.
	Landed Verdict = iota + 1
	// AlreadyThere says: the table's positions had passed all its ranges; its files are not used.
	AlreadyThere
	// Reread says: forget it and read its partitions again from the table's positions, which Outcome gives.
	Reread
	// Failed says: it can't be committed and reading again will not help; Err says why. The topology stops.
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
	// Foreign is set on a Reread, and on an AlreadyThere, that another instance's commit under the same name caused.
	Foreign bool
	// Err is why, where more can be said.
	Err error
}

// Submission is a descriptor on its way to be committed.
type Submission struct {
	Descriptor *descriptor.Descriptor
	// Owner and Epoch tell whose it is: after a Reread everything of the same owner and epoch is forgotten without
	// another look, pending or arriving later, each with a Reread outcome. Without an owner it stands for itself.
	Owner string
	Epoch uint64
	// Done is called once, from the committer's goroutine; it must not block.
	Done func(Outcome)
}

// Committer is the single committer of one table for one topology.
type Committer struct {
	cfg    Config
	loader Loader
	wal    Log
	log    *slog.Logger
	obs    Observer

	// turn is held by whoever commits: Run for one group, Settle, Begin, Set.
	turn chan struct{}
	in   chan Submission
	// flush holds at most one request; more are the same request. So does unfinished, which wakes the finisher.
	flush, unfinished chan struct{}
	// finishing is held by whoever finishes outboxes, and guards shelfAppends. Who holds the turn may wait for it, not the
	// other way round.
	finishing    chan struct{}
	shelfAppends int
	// ended is closed when Run returns.
	ended   chan struct{}
	started atomic.Bool

	// trouble is guarded by turn, and so are appends and unexpired, those since manifests and snapshots were last looked at, and
	// keepSnapshots: the catalog has refused a commit that took some off.
	trouble            trouble
	appends, unexpired int
	keepSnapshots      bool

	// What follows belongs to Run's goroutine: what waits for a group, in order; the life of each owner that is to be read
	// again; how often in a row the catalog refused an owner's batches.
	pending   []*item
	forgotten map[string]uint64
	refusals  map[string]int

	mu struct {
		sync.Mutex
		table  *table.Table
		at     map[source.Partition]Progress
		warned map[string]bool
		// boxed is how many files the newest outbox names.
		boxed int
		// shelf is the rejects table as last seen; seen are commits whose rejects it was seen to hold.
		shelf *table.Table
		seen  map[uuid.UUID]bool
	}
}

// New makes a committer; it starts nothing. log may be nil: then nothing is noted before a commit, and a crash between
// writing files and committing them costs that work.
func New(cfg Config, l Loader, log Log) (*Committer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if l == nil {
		return nil, errors.New("committer: a Loader is needed")
	}
	if _, ok := l.(Rider); !ok && cfg.ExpireEvery > 0 {
		return nil, fmt.Errorf("committer: ExpireEvery needs a Loader that is a Rider; %T is none", l)
	}
	cfg.setDefaults()
	c := &Committer{
		cfg: cfg, loader: l, wal: log, obs: cfg.Observer,
		log:   cfg.Logger.With("topology", cfg.Topology, "branch", cfg.Branch),
		turn:  make(chan struct{}, 1),
		in:    make(chan Submission, cfg.MaxPending),
		flush: make(chan struct{}, 1), unfinished: make(chan struct{}, 1), finishing: make(chan struct{}, 1),
		ended: make(chan struct{}),

		forgotten: map[string]uint64{},
		refusals:  map[string]int{},
	}
	c.mu.warned, c.mu.seen = map[string]bool{}, map[uuid.UUID]bool{}
	if cfg.NoProperty {
		c.log.Warn("positions are kept in snapshot summaries alone; expiry that removes all of them makes the next start ask")
	}
	return c, nil
}

// Load loads the table and its positions. It must succeed once before anything else is called, and may be called again.
// A *StopError says that a person must decide (stop and ask).
func (c *Committer) Load(ctx context.Context) (Positions, error) {
	v, err := c.look(ctx)
	if err != nil {
		return Positions{}, err
	}
	c.publish(v)
	if v.stop != nil {
		return v.positions(), v.stop
	}
	return v.positions(), nil
}

// Table is the newest metadata that was seen. Any goroutine.
func (c *Committer) Table() *table.Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.table
}

// publish makes what v shows the newest that was seen.
func (c *Committer) publish(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publishLocked(v.tbl, v.at)
	if c.mu.boxed = boxFiles(v.outbox); c.mu.boxed > 0 {
		c.wakeFinisher()
		c.warnOutboxLocked()
	}
}

// warnOutboxLocked tells of rejects that nobody appends. Who only looks is not told: another process may be at it.
func (c *Committer) warnOutboxLocked() {
	if c.cfg.Rejects == nil && c.mu.boxed > 0 && c.started.Load() && !c.mu.warned[keyRejects] {
		c.mu.warned[keyRejects] = true
		c.log.Warn("an earlier run left rejects that are not in their table yet, and none is configured now; they wait until one is",
			"files", c.mu.boxed)
	}
}

// publishLocked keeps the newer one of two that were seen at the same time. Sequence numbers come first: clocks of those who
// commit may be far apart, and one that runs ahead would hide everything that follows.
func (c *Committer) publishLocked(tbl *table.Table, at map[source.Partition]Progress) {
	if c.mu.table != nil {
		old, now := c.mu.table.Metadata(), tbl.Metadata()
		a, b := old.LastSequenceNumber(), now.LastSequenceNumber()
		if a > b || a == b && old.LastUpdatedMillis() > now.LastUpdatedMillis() {
			return
		}
	}
	c.mu.table, c.mu.at = tbl, at
	c.warnOnceLocked(tbl)
}

// warnOnceLocked tells of settings on the table that floe does not follow.
func (c *Committer) warnOnceLocked(tbl *table.Table) {
	if n := tbl.Properties().GetInt(table.CommitNumRetriesKey, 0); n != 0 && !c.mu.warned[table.CommitNumRetriesKey] {
		c.mu.warned[table.CommitNumRetriesKey] = true
		c.log.Warn("table property is not followed: floe pins every attempt and retries by itself",
			"property", table.CommitNumRetriesKey, "value", n)
	}
}

// take waits for the turn to commit.
func (c *Committer) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Committer) give() { <-c.turn }

// Submit hands a descriptor over. It blocks while too many are pending (this holds the writer back), until ctx ends.
// Only while Run runs: ErrEnded says that it has returned, and the descriptor was not taken.
func (c *Committer) Submit(ctx context.Context, s Submission) error {
	if err := c.check(s); err != nil {
		return err
	}
	select {
	case <-c.ended:
		return ErrEnded
	default:
	}
	select {
	case c.in <- s:
		return nil
	case <-c.ended:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrEnded says that the committer's Run has returned.
var ErrEnded = errors.New("committer has ended")

// Flush asks Run to commit what is pending now, without waiting for the interval. It does not wait.
func (c *Committer) Flush() {
	select {
	case c.flush <- struct{}{}:
	default: // one is waiting already; it covers what was submitted before this call too
	}
}

// StopError says that floe can't know where it stands and a person must decide.
type StopError struct {
	Reason string
	Hint   string
}

func (e *StopError) Error() string { return e.Reason + ". " + e.Hint }
