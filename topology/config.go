package topology

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

// Config of a topology. Name, Source, Mapper and Table are required; the zero value of everything else is useful.
type Config struct {
	// Name is the topology's identity in the table: [A-Za-z0-9._-]{1,128}. Two deployments need two names.
	Name   string
	Source source.Source
	Mapper mapper.Factory
	// Table loads the table that is written.
	Table committer.Loader
	// Rejects loads the table that records go to which can't become rows; RejectsFrom makes it. Nil: the first such record stops
	// the topology.
	Rejects committer.Loader
	// RejectLimit stops the topology when too many records become rejects.
	RejectLimit RejectLimit

	Writer    WriterConfig
	Committer CommitterConfig
	// OneStage gives each writer task a committer of its own without a group interval: a snapshot per sealed batch.
	OneStage bool

	// Evolve is what the mapper was made with. Where it is on, the table's schema is changed as records ask for it, by commits
	// of their own between batches; Table must then be a SchemaChanger, as LoadFrom's is. Otherwise such records are bad.
	Evolve mapper.Evolution

	// Memory bounds what the topology holds, in bytes. Shares says what it is split into. Default 256 MiB.
	Memory int64
	// StartupTimeout is how long a catalog that is away at the start is waited for. Default 1 minute.
	StartupTimeout time.Duration
	// ShutdownTimeout bounds the graceful end: seal, commit, acknowledge. Default 30 s.
	ShutdownTimeout time.Duration
	// UntilCaughtUp ends Run when the table holds everything that the source had at the start, whoever reads it.
	UntilCaughtUp bool

	// Instance is this process. Default: a fresh UUID.
	Instance string
	// WAL overrides where the committer notes what it is about to commit. Default: below the table's location.
	WAL committer.Log
	// Logger defaults to discarding.
	Logger *slog.Logger
	// Registerer takes the metrics while Run runs; nil for none.
	Registerer prometheus.Registerer
}

// WriterConfig says how rows become files.
type WriterConfig struct {
	// Tasks is the number of writer tasks. Default 1.
	Tasks int
	// GroupBy are column names. Empty: a source partition belongs to one task, and tasks seal on their own. Otherwise
	// rows go by a hash of these columns to one of Tasks encoders behind one seal, so that each value is written by one.
	GroupBy []string
	// SealRecords, SealBytes and SealInterval close a batch, whichever is crossed first. SealRecords is not looked at
	// where it is zero. SealBytes zero is 128 MiB where SealRecords is zero too, and otherwise no bound. SealInterval is
	// the batch's age; zero is 30 s, so that a quiet stream is sealed as well, and a negative one is none.
	SealRecords  int64
	SealBytes    int64
	SealInterval time.Duration
	// MaxOpenFiles caps the open files over all tasks. Default 256.
	MaxOpenFiles int
}

// CommitterConfig says how sealed batches become visible.
type CommitterConfig struct {
	// Interval gathers sealed batches into one snapshot. Default 5 s; negative: commit as soon as possible.
	Interval time.Duration
	// MaxDataFiles commits earlier. Default 1000.
	MaxDataFiles int
	// EmptyInterval is how long positions that moved without rows wait for a commit with rows. Default 1 minute.
	EmptyInterval time.Duration
	// Grace is the least age of a WAL entry whose files may be deleted. Default 1 hour.
	Grace time.Duration
	// AttemptTimeout bounds each request to the catalog. Default 30 s.
	AttemptTimeout time.Duration
	// MaxBackoff bounds the wait between attempts. Default 30 s.
	MaxBackoff time.Duration
	// WALNamespace separates WAL folders. It does not make two deployments of one name safe.
	WALNamespace string
	// Branch is committed to. Default "main".
	Branch string
	// ExpireEvery is from how many appends one takes those snapshots off the table that its own properties let go: see
	// committer.Config. Zero: none does. Otherwise Table must be a committer.Rider, as LoadFrom's is.
	ExpireEvery int
	// CheckInterval is how often the table's positions are compared with what was committed, so that a table that was
	// rolled back is noticed on a quiet stream too. Default 30 s.
	CheckInterval time.Duration
}

const (
	defaultMemory          = 256 << 20
	defaultStartupTimeout  = time.Minute
	defaultShutdownTimeout = 30 * time.Second
	defaultInterval        = 5 * time.Second
	defaultCheckInterval   = 30 * time.Second
	defaultMaxOpenFiles    = 256
	minMemory              = 16 << 20
	maxTasks               = 1024
)

var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// setDefaults fills what was left at zero.
func (c *Config) setDefaults() {
	def(&c.Writer.Tasks, 1)
	def(&c.Writer.MaxOpenFiles, defaultMaxOpenFiles)
	def(&c.Committer.Interval, defaultInterval)
	def(&c.Committer.CheckInterval, defaultCheckInterval)
	def(&c.Memory, defaultMemory)
	def(&c.StartupTimeout, defaultStartupTimeout)
	def(&c.ShutdownTimeout, defaultShutdownTimeout)
	c.RejectLimit.setDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Validate says which field is wrong, what it holds and what would be right. New calls it.
func (c *Config) Validate() error {
	switch {
	case !validName.MatchString(c.Name) || strings.Trim(c.Name, ".") == "":
		return fmt.Errorf("topology: name %q: write 1 to 128 of the characters A-Z a-z 0-9 . _ -", c.Name)
	case c.Source == nil:
		return fmt.Errorf("topology: no source is set")
	case c.Mapper == nil:
		return fmt.Errorf("topology: no mapper is set")
	case c.Table == nil:
		return fmt.Errorf("topology: no table is set")
	case c.Committer.ExpireEvery > 0 && !isRider(c.Table):
		return fmt.Errorf("topology: expiring snapshots needs a table that is a committer.Rider, as LoadFrom's is; %T is none", c.Table)
	case c.Evolve.On() && !isChanger(c.Table):
		return fmt.Errorf("topology: evolution needs a table that is a topology.SchemaChanger, as LoadFrom's is; %T is none", c.Table)
	case c.Evolve.MaxColumns < 0:
		return fmt.Errorf("topology: evolution: at most %d columns: must not be negative", c.Evolve.MaxColumns)
	case c.UntilCaughtUp && !c.Source.Traits().Replayable:
		return fmt.Errorf("topology: until caught up needs a source with positions; %s has none", c.Source.Traits().Name)
	}
	if c.WAL == nil {
		if err := wal.CheckNamespace(c.Committer.WALNamespace); err != nil {
			return fmt.Errorf("topology: WAL %w", err)
		}
	}
	if err := c.RejectLimit.validate(); err != nil {
		return err
	}
	return c.validateNumbers()
}

func isChanger(l committer.Loader) bool {
	_, ok := l.(SchemaChanger)
	return ok
}

func isRider(l committer.Loader) bool {
	_, ok := l.(committer.Rider)
	return ok
}

func (c *Config) validateNumbers() error {
	if c.Writer.Tasks < 0 || c.Writer.Tasks > maxTasks {
		return fmt.Errorf("topology: writer tasks %d: write 1 to %d", c.Writer.Tasks, maxTasks)
	}
	if c.Memory != 0 && c.Memory < minMemory {
		return fmt.Errorf("topology: memory %d bytes: at least %d (16 MiB) are needed", c.Memory, minMemory)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"writer seal records", c.Writer.SealRecords},
		{"writer seal bytes", c.Writer.SealBytes},
		{"writer max open files", int64(c.Writer.MaxOpenFiles)},
		{"committer max data files", int64(c.Committer.MaxDataFiles)},
		{"committer expire every", int64(c.Committer.ExpireEvery)},
		{"committer empty interval", int64(c.Committer.EmptyInterval)},
		{"committer grace", int64(c.Committer.Grace)},
		{"committer attempt timeout", int64(c.Committer.AttemptTimeout)},
		{"committer max backoff", int64(c.Committer.MaxBackoff)},
		{"committer check interval", int64(c.Committer.CheckInterval)},
		{"startup timeout", int64(c.StartupTimeout)},
		{"shutdown timeout", int64(c.ShutdownTimeout)},
	} {
		if n.value < 0 {
			return fmt.Errorf("topology: %s %d: must not be negative", n.name, n.value)
		}
	}
	return nil
}
