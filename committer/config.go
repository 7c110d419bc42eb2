package committer

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// Validate refuses what New would refuse.
func (c *Config) Validate() error {
	if c.Topology == "" {
		return fmt.Errorf("committer: Topology is empty: it is the name that the table keeps the positions under")
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"Interval", c.Interval}, {"EmptyInterval", c.EmptyInterval}, {"Grace", c.Grace},
		{"AttemptTimeout", c.AttemptTimeout}, {"MaxBackoff", c.MaxBackoff},
	} {
		if d.v < 0 {
			return fmt.Errorf("committer: %s is %s: it can't be negative", d.name, d.v)
		}
	}
	for _, n := range []struct {
		name string
		v    int
	}{{"MaxDataFiles", c.MaxDataFiles}, {"MaxPending", c.MaxPending}, {"Task", c.Task}, {"ExpireEvery", c.ExpireEvery}} {
		if n.v < 0 {
			return fmt.Errorf("committer: %s is %d: it can't be negative", n.name, n.v)
		}
	}
	return nil
}

func (c *Config) setDefaults() {
	def(&c.Component, "committer")
	def(&c.Instance, uuid.NewString())
	def(&c.Branch, table.MainBranch)
	def(&c.MaxDataFiles, 1000)
	def(&c.MaxPending, 64)
	def(&c.EmptyInterval, time.Minute)
	def(&c.Grace, time.Hour)
	def(&c.AttemptTimeout, 30*time.Second)
	def(&c.MaxBackoff, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// check refuses a descriptor that no table could take.
func (c *Committer) check(s Submission) error {
	d := s.Descriptor
	if d == nil {
		return fmt.Errorf("committer: submission without a descriptor")
	}
	if d.Topology != c.cfg.Topology {
		return fmt.Errorf("committer: batch %s is of topology %q, this committer serves %q", d.ID, d.Topology, c.cfg.Topology)
	}
	if err := c.checkRejects(d); err != nil {
		return err
	}
	if len(d.Inputs) > 0 && len(rangesOf(d)) == 0 && len(d.Files)+len(rejectFiles(d)) > 0 {
		return fmt.Errorf("committer: batch %s has files, but all its ranges are empty", d.ID)
	}
	return checkInputs(d)
}

func checkInputs(d *descriptor.Descriptor) error {
	seen := make(map[source.Partition]bool, len(d.Inputs))
	var rejects int64
	for _, in := range d.Inputs {
		r := in.Range
		switch {
		case r.From < 0 || r.From > r.To:
			return fmt.Errorf("committer: batch %s: %s is no range", d.ID, r)
		case seen[r.Partition]:
			return fmt.Errorf("committer: batch %s: two ranges of %s", d.ID, r.Partition)
		case min(in.Rows, in.Rejects, in.Filtered, in.Skipped) < 0 || max(in.Rows, in.Rejects, in.Filtered, in.Skipped) > r.Len() ||
			uint64(in.Rows)+uint64(in.Rejects)+uint64(in.Filtered)+uint64(in.Skipped) != uint64(r.Len()):
			return fmt.Errorf("committer: batch %s: range %s has %d rows, %d rejects, %d filtered and %d skipped, which is not its length %d",
				d.ID, r, in.Rows, in.Rejects, in.Filtered, in.Skipped, r.Len())
		}
		seen[r.Partition] = true
		rejects += in.Rejects
	}
	if has := d.Rejects; len(d.Inputs) > 0 && (has == nil && rejects != 0 || has != nil && has.Rows != rejects) {
		return fmt.Errorf("committer: batch %s: its ranges have %d rejects, which are not the rows of its files of rejects", d.ID, rejects)
	}
	return nil
}

// rangesOf are the ranges that move a position.
func rangesOf(d *descriptor.Descriptor) []source.Range {
	out := make([]source.Range, 0, len(d.Inputs))
	for _, in := range d.Inputs {
		if in.Range.From < in.Range.To {
			out = append(out, in.Range)
		}
	}
	return out
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Committed(Commit)                  {}
func (nobody) CommitFailed(error)                {}
func (nobody) Outcome(string)                    {}
func (nobody) Pending(int, time.Time)            {}
func (nobody) Trouble(error)                     {}
func (nobody) RejectsAppended(int, int64, int64) {}
func (nobody) Outbox(Outbox)                     {}
