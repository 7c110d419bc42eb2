package doctor

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says how much a finding matters.
type Severity string

const (
	// Error says that rows do not arrive, or are in danger.
	Error Severity = "error"
	// Warning says that it costs now, or will stop the stream later.
	Warning Severity = "warning"
	// Note is worth knowing.
	Note Severity = "note"
)

// Finding is one thing that is wrong.
type Finding struct {
	// ID is one of Kinds.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Where is a partition, a table, a property, a file or a folder.
	Where string `json:"where"`
	// What is a sentence, Do says what to do about it.
	What string `json:"what"`
	Do   string `json:"do"`
}

// Kind is what a finding may be about.
type Kind struct {
	ID       string
	Severity Severity
}

// Kinds are all findings that there are, in the order of a report.
func Kinds() []Kind { return slices.Clone(kinds) }

// The ids of the findings.
const (
	unclearPositions = "unclear-positions"
	positionGone     = "position-gone"
	positionBeyond   = "position-beyond"
	topicRecreated   = "topic-recreated"
	partitionMissing = "partition-missing"
	tableRefused     = "table-refused"
	twoInstances     = "two-instances"
	lagGrowing       = "lag-growing"
	rejectsWaiting   = "rejects-waiting"
	walOld           = "wal-old"
	walUnreadable    = "wal-unreadable"
	clockAhead       = "clock-ahead"
	smallFiles       = "small-files"
	manySnapshots    = "many-snapshots"
	manyManifests    = "many-manifests"
	largeMetadata    = "large-metadata"
	property         = "property"
	recordsAhead     = "records-ahead"
	metadataKept     = "metadata-kept"
	orphans          = "orphans"
	rejectsOpen      = "rejects-open"
	propertyIgnored  = "property-ignored"
)

var kinds = []Kind{
	{unclearPositions, Error}, {positionGone, Error}, {positionBeyond, Error}, {topicRecreated, Error}, {partitionMissing, Error},
	{tableRefused, Error}, {twoInstances, Error},
	{lagGrowing, Warning}, {rejectsWaiting, Warning}, {walOld, Warning}, {walUnreadable, Warning}, {clockAhead, Warning},
	{smallFiles, Warning}, {manySnapshots, Warning}, {manyManifests, Warning}, {largeMetadata, Warning}, {property, Warning},
	{recordsAhead, Note}, {metadataKept, Note}, {orphans, Note}, {rejectsOpen, Note}, {propertyIgnored, Note},
}

// Unchecked is something that could not be looked at, and why.
type Unchecked struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Report is what an examination gives, the gravest first.
type Report struct {
	Findings  []Finding   `json:"findings"`
	Unchecked []Unchecked `json:"unchecked"`
}

// Sound says that nothing was found but notes, and that everything was looked at.
func (r *Report) Sound() bool {
	return len(r.Unchecked) == 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Note })
}

// Count is how many findings are of a severity.
func (r *Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Skip notes that something could not be looked at.
func (r *Report) Skip(what, format string, args ...any) {
	r.Unchecked = append(r.Unchecked, Unchecked{what, fmt.Sprintf(format, args...)})
}

func (r *Report) add(id, where, what, do string) {
	i := place(id)
	r.Findings = append(r.Findings, Finding{ID: id, Severity: kinds[i].Severity, Where: where, What: what, Do: do})
}

func place(id string) int {
	return slices.IndexFunc(kinds, func(k Kind) bool { return k.ID == id })
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(place(a.ID), place(b.ID)) })
}
