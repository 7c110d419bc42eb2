package proof

import (
	"fmt"
	"strings"
)

// Truth is what was produced: the records that must become rows, each named by partition and position. Its methods may be
// called from any goroutine and always give the same answers.
type Truth interface {
	// End is the position behind the last thing in the partition; 0 where nothing was produced.
	End(partition int32) int64
	// Payload is what the row of the record at a position holds. It is false where no row is to come of it: a tombstone, a
	// gap, a transaction's marker, an aborted record.
	Payload(partition int32, position int64) (payload string, row bool)
}

// Kind is a way in which a table can be wrong.
type Kind string

// The kinds. Each finding names the snapshot that did it.
const (
	// Lost: a position moved past a record whose row is not there.
	Lost Kind = "lost"
	// Doubled: a row was added that was there already, or twice at once.
	Doubled Kind = "doubled"
	// Altered: a row holds something else than its record did.
	Altered Kind = "altered"
	// Foreign: a row of a record that was never produced, or that is none to become a row.
	Foreign Kind = "foreign"
	// Early: a row lies at or beyond the positions of the snapshot that holds it.
	Early Kind = "early"
	// Vanished: a snapshot that is not an append dropped a row that was there.
	Vanished Kind = "vanished"
	// Backward: a position is lower than the parent's, or is gone.
	Backward Kind = "backward"
	// Dangling: a data file that a snapshot names is not there, or can't be read.
	Dangling Kind = "dangling"
	// Miscounted: the rows that a snapshot adds are right, and the counts in its positions (rejects, filtered, skipped) say that
	// there are more or fewer.
	Miscounted Kind = "miscounted"
	// Behind: at the head, a position has not reached the end of what was produced.
	Behind Kind = "behind"
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind      Kind
	Partition int32
	Position  int64
	// Snapshot is the oldest retained snapshot of the branch that shows it.
	Snapshot int64
	// Detail says more, in words. It may hold payloads: these are test data.
	Detail string
}

func (f Finding) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: partition %d, position %d, snapshot %d %s", f.Kind, f.Partition, f.Position, f.Snapshot, f.Detail))
}

// Options say what to check.
type Options struct {
	// Topologies that write the table, each reading all of Truth: the table holds each row once for each of them.
	// Required.
	Topologies []string
	// Topic is the one that Truth speaks of; others in the positions are not looked at. Required.
	Topic string
	// Partitions is how many it has. Required.
	Partitions int
	// Branch defaults to main.
	Branch string
	// Whole demands that the head's positions have reached the ends of Truth.
	Whole bool
	// SetByHand says that a person may have set positions (floe positions set): an empty snapshot after which a partition
	// starts anew at its next position. What such a one skips is not Lost, what it makes floe read again is not Doubled, and
	// rows below a partition's start that the oldest snapshot brings are not judged. Without it such a snapshot is judged as
	// any other: it is Backward, or what it skipped is Lost.
	SetByHand bool
	// Cache keeps the rows of data files for the next check of the same table. nil reads each file again.
	Cache *Cache
}

// Report is what a check found.
type Report struct {
	// Snapshots on the branch that were checked, and Rows at its head.
	Snapshots int
	Rows      int64
	// Rejects are the rows of a rejects table that was checked, too.
	Rejects int64
	// SetByHand is how many positions a person has set, where Options allow it.
	SetByHand int
	// Count is how often each kind was found; Findings are the first hundred of them, oldest snapshot first.
	Count    map[Kind]int
	Findings []Finding
}

// Add takes another report in; its rows are rejects.
func (r *Report) Add(more *Report) {
	r.Rejects += more.Rows
	for k, n := range more.Count {
		r.Count[k] += n
	}
	r.Findings = append(r.Findings, more.Findings...)
}

// Err is nil where nothing was found.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	lines := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		lines[i] = f.String()
	}
	return fmt.Errorf("%s\n\t%s", r, strings.Join(lines, "\n\t"))
}

// String is one line: "4711 rows in 12 snapshots: 0 lost, 0 doubled, 0 altered", and what else was found.
func (r *Report) String() string {
	s := fmt.Sprintf("%d rows in %d snapshots: %d lost, %d doubled, %d altered", r.Rows, r.Snapshots, r.Count[Lost], r.Count[Doubled], r.Count[Altered])
	if r.Rejects > 0 {
		s = strings.Replace(s, " rows in", fmt.Sprintf(" rows and %d rejects in", r.Rejects), 1)
	}
	for _, k := range []Kind{Foreign, Early, Vanished, Backward, Dangling, Miscounted, Behind} {
		if n := r.Count[k]; n > 0 {
			s += fmt.Sprintf(", %d %s", n, k)
		}
	}
	return s
}
