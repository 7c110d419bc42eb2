package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// Patient is what is known of a topology. What is not known is zero, and is not judged.
type Patient struct {
	Topology string
	// Branch is committed to; "main" where empty.
	Branch string
	// Table is the newest metadata.
	Table *table.Table
	// Looks are at the positions and the log, one or two, the earlier first. Where one failed it is not among them.
	Looks []Look
	// Subscribed says whether the topology reads a topic of that name.
	Subscribed func(topic string) bool
	// Period is how long a record may be on its way to the table: the longest age of a batch and the interval of commits.
	Period time.Duration
	// Expires says that floe takes old snapshots off the table.
	Expires bool
	// Entries are in the WAL; SetAside are files there that could not be read and were moved aside.
	Entries  []descriptor.Entry
	SetAside []string
	// Waiting is what the rejects table does not hold yet, OpenRejects how many wait in it for a replay, RejectsTable its name.
	Waiting      committer.Outbox
	OpenRejects  int64
	RejectsTable string
	// Orphans looks for data files that belong to nothing.
	Orphans bool
	// Now is when it was looked at.
	Now    time.Time
	Limits Limits
}

// Look is what one look showed.
type Look struct {
	At        time.Time
	Positions committer.Positions
	// Stop is set where the positions can't be told.
	Stop *committer.StopError
	// Bounds are what the log held just after; Reached is false where the broker did not tell.
	Bounds  []source.Bounds
	Reached bool
}

// Limits say from where on something is worth a finding.
type Limits struct {
	// SmallFiles is how many small files are too many, Small from which part of the target size on one is none.
	SmallFiles int
	Small      float64
	// RecentManifests is how many of the newest manifests are read for it.
	RecentManifests int
	Snapshots       int
	Manifests       int
	MetadataBytes   int64
	// WALAge and RejectsAge are ages that no entry and no reject on its way reaches while floe runs.
	WALAge, RejectsAge time.Duration
	// OrphanAge is from when on a file that belongs to nothing is not about to be committed any more.
	OrphanAge time.Duration
	// Ahead is by how much clocks may differ.
	Ahead time.Duration
	// Turns is how often a partition may come back to an instance that had lost it to another one, among the newest Steps commits.
	Turns, Steps int
}

// Defaults are the limits of floe doctor.
func Defaults() Limits {
	return Limits{
		SmallFiles: 100, Small: 1.0 / 8, RecentManifests: 50,
		Snapshots: 1000, Manifests: 400, MetadataBytes: 16 << 20,
		WALAge: time.Hour, RejectsAge: 10 * time.Minute, OrphanAge: 24 * time.Hour,
		Ahead: time.Minute, Turns: 3, Steps: 200,
	}
}

// Examine judges what is known. It reads manifests and lists the folders of data and metadata; that they can't be is among Unchecked.
func Examine(ctx context.Context, p Patient) *Report {
	r := &Report{Findings: []Finding{}, Unchecked: []Unchecked{}}
	p.stream(r)
	p.lag(r)
	p.rejects(r)
	p.wal(r)
	if p.Table != nil {
		p.instances(r)
		p.clocks(r)
		p.properties(r)
		p.maintenance(ctx, r)
		p.files(ctx, r)
		if p.Orphans {
			p.orphans(ctx, r)
		}
	}
	r.sort()
	return r
}

// name is the table's.
func (p *Patient) name() string { return strings.Join(p.Table.Identifier(), ".") }

func (p *Patient) branch() string {
	if p.Branch == "" {
		return table.MainBranch
	}
	return p.Branch
}
