package writer

import (
	"fmt"
	"time"

	"github.com/stormfloe/floe/mapper"
)

// Config of a writer task. The zero value of every field but Topology and Mapper is useful.
type Config struct {
	// Topology is the name whose positions the descriptors move.
	Topology string
	// Name is the task's name in logs, metrics and descriptors. Default "writer/0".
	Name string
	// Mapper makes the mapper for a schema.
	Mapper mapper.Factory
	// SealRecords, SealBytes and SealInterval close the batch, whichever is crossed first. SealRecords is not looked at
	// where it is zero. SealBytes counts the files as written so far plus what is still buffered; zero is 128 MiB where
	// SealRecords is zero too, and otherwise no bound. SealInterval is the batch's age; zero is 30 s, so that a quiet
	// stream is sealed as well, and a negative one is none.
	SealRecords  int64
	SealBytes    int64
	SealInterval time.Duration
	// MaxOpenFiles caps the files open at once (per task); beyond it the largest is closed early. A partition whose rows
	// still wait in memory has none open. Default 256.
	MaxOpenFiles int
	// MaxBufferedBytes caps what the task holds in memory; beyond it the largest partition is written out. Default 64 MiB.
	MaxBufferedBytes int64
	// GroupBy are column names: rows go by a hash of them to one of Parallel encoders inside the task, so that each value
	// is written by one (Storm's fields grouping). A member of a struct is named struct.member. Empty: one encoder.
	GroupBy []string
	// Parallel is the number of encoders where GroupBy is set; it is not used otherwise. Default 1, at most 256.
	Parallel int
	// Rejects is set where records that can't become rows go to a table of their own, the one that UseRejects gives, and the
	// batch goes on; otherwise Append stops at the first.
	Rejects bool
	// Judge is asked before each reject is taken, and told of what was taken since: good records (rows, and those that are
	// filtered), and the reject, nil where there is none. Where it gives an error for one, Append stops with it before that
	// reject. It is called from the task's goroutine. Nil: everything is taken. Without Rejects it is not called.
	Judge func(good int, reject *mapper.BadRecordError) error
	// Unpositioned is set for sources without positions: descriptors then have no inputs.
	Unpositioned bool
	// Evolve has Append give an *EvolveError for a record that asks for another schema. Otherwise such a record is bad.
	Evolve bool
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

const (
	defaultSealBytes    = 128 << 20
	defaultSealInterval = 30 * time.Second
	defaultOpenFiles    = 256
	defaultBuffered     = 64 << 20
	// minBuffered is below what a single Parquet encoder needs.
	minBuffered = 1 << 20
	maxParallel = 256
	// maxBatchFiles seals a batch of a table that is partitioned too finely: a descriptor with more files could hardly
	// travel.
	maxBatchFiles = 10_000
)

// Validate refuses what New would refuse.
func (c *Config) Validate() error {
	switch {
	case c.Topology == "":
		return fmt.Errorf("writer: Topology is empty: give the topology's name")
	case c.Mapper == nil:
		return fmt.Errorf("writer: Mapper is nil: give the factory of the record format")
	case c.SealRecords < 0:
		return fmt.Errorf("writer: SealRecords is %d: write 0 (not set) or a positive number", c.SealRecords)
	case c.SealBytes < 0:
		return fmt.Errorf("writer: SealBytes is %d: write 0 (not set) or a positive number", c.SealBytes)
	case c.MaxOpenFiles < 0:
		return fmt.Errorf("writer: MaxOpenFiles is %d: write 0 (the default, %d) or a positive number", c.MaxOpenFiles, defaultOpenFiles)
	case c.MaxBufferedBytes < 0 || c.MaxBufferedBytes > 0 && c.MaxBufferedBytes < minBuffered:
		return fmt.Errorf("writer: MaxBufferedBytes is %d: write 0 (the default, %d) or at least %d", c.MaxBufferedBytes, defaultBuffered, minBuffered)
	case c.Parallel < 0 || c.Parallel > maxParallel:
		return fmt.Errorf("writer: Parallel is %d: write 0 (the default, 1) to %d", c.Parallel, maxParallel)
	}
	seen := map[string]bool{}
	for _, name := range c.GroupBy {
		if name == "" || seen[name] {
			return fmt.Errorf("writer: GroupBy has the column %q empty or twice: name each column once", name)
		}
		seen[name] = true
	}
	return nil
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "writer/0"
	}
	if c.SealRecords == 0 && c.SealBytes == 0 {
		c.SealBytes = defaultSealBytes
	}
	if c.SealInterval == 0 {
		c.SealInterval = defaultSealInterval
	}
	if c.MaxOpenFiles == 0 {
		c.MaxOpenFiles = defaultOpenFiles
	}
	if c.MaxBufferedBytes == 0 {
		c.MaxBufferedBytes = defaultBuffered
	}
	if c.Parallel == 0 || len(c.GroupBy) == 0 {
		c.Parallel = 1
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}
