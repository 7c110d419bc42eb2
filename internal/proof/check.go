package proof

import (
	"context"
	"fmt"
	"maps"
	"slices"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Keys of a snapshot's summary that floe writes.
const (
	keyCommitID  = "storm.iceberg.commit-id"
	keyTopology  = "storm.iceberg.topology"
	keyPositions = "storm.iceberg.positions"
)

// maxSaid bounds how many rows are remembered that are wrong; beyond it a compaction makes them be counted again.
const maxSaid = 1 << 17

// maxFindings is how many findings a report holds; the rest are counted.
const maxFindings = 100

// Check reads the table and the history of its branch, and compares them with what was produced. An error says that it could
// not be checked (the catalog is away, an unknown format); what is wrong with the table is in the report.
//
// It goes from the oldest retained snapshot of the branch to the head. The oldest must hold exactly the rows below its
// positions; each later one must change the rows by exactly what its positions moved, so that by induction every snapshot is
// right. Each data file is read once when a snapshot adds it and once when one drops it. Memory is a few bytes for each
// record that one snapshot adds or drops.
func Check(ctx context.Context, tbl *table.Table, truth Truth, o Options) (*Report, error) {
	if len(o.Topologies) == 0 || o.Topic == "" || o.Partitions <= 0 {
		return nil, fmt.Errorf("check %v: Topologies, Topic and Partitions are required", tbl.Identifier())
	}
	if o.Branch == "" {
		o.Branch = table.MainBranch
	}
	fio, err := tbl.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the table's files: %w", err)
	}
	c := &checker{tbl: tbl, truth: truth, o: o, fio: fio, live: newLive(o.Cache), at: standing{},
		columns: columnsOf(tbl.Schema()), said: map[Finding]bool{}, report: &Report{Count: map[Kind]int{}}}
	if err := c.run(ctx); err != nil {
		return nil, fmt.Errorf("check %v: %w", tbl.Identifier(), err)
	}
	return c.report, nil
}

type checker struct {
	tbl     *table.Table
	truth   Truth
	o       Options
	fio     iceio.IO
	columns columns
	live    *live
	// at is where each topology stands at the snapshot that was checked last.
	at standing
	// said are rows that were reported already: a compaction brings them again.
	said map[Finding]bool
	// found counts all findings.
	found  int
	report *Report
}

func (c *checker) run(ctx context.Context) error {
	history := c.history()
	for i, s := range history {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.check(ctx, s, i == 0); err != nil {
			return fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
		}
		c.report.Snapshots++
	}
	if c.o.Whole {
		c.whole()
	}
	return nil
}

// history is the branch's retained snapshots, oldest first.
func (c *checker) history() []*table.Snapshot {
	byID := map[int64]*table.Snapshot{}
	all := c.tbl.Metadata().Snapshots()
	for i := range all {
		byID[all[i].SnapshotID] = &all[i]
	}
	var out []*table.Snapshot
	for s := c.tbl.SnapshotByName(c.o.Branch); s != nil; {
		out = append(out, s)
		if s.ParentSnapshotID == nil {
			break
		}
		s = byID[*s.ParentSnapshotID]
	}
	slices.Reverse(out)
	return out
}

// check compares one snapshot with the one before it.
func (c *checker) check(ctx context.Context, s *table.Snapshot, oldest bool) error {
	before := c.found
	d, err := c.live.move(c.fio, s)
	if err != nil {
		return err
	}
	for _, p := range d.gone {
		c.find(Finding{Kind: Dangling, Snapshot: s.SnapshotID, Detail: p + " is not there"})
	}
	if d.unknown {
		return nil // the next snapshot is compared with the one before this
	}
	for _, p := range d.deletes {
		c.find(Finding{Kind: Vanished, Snapshot: s.SnapshotID, Detail: "rows that the delete file " + p + " hides"})
	}
	t := newTally()
	if err := c.rows(ctx, s, d, t); err != nil {
		return err
	}
	next, err := c.positions(s, oldest)
	if err != nil {
		return err
	}
	if next == nil && oldest {
		next = c.guess(t)
	}
	m := c.moves(s, next, oldest, len(d.added) == 0)
	for part, spans := range m.rows {
		for _, r := range spans {
			t.expect(part, r)
		}
	}
	c.judge(s, t, m)
	if c.found == before {
		c.count(s, t, m)
	}
	if m.next != nil {
		c.at = m.next
	}
	return nil
}

// rows counts what the snapshot's files add and drop.
func (c *checker) rows(ctx context.Context, s *table.Snapshot, d delta, t *tally) error {
	for _, f := range d.added {
		n, err := c.readFile(ctx, f, func(r row) {
			if c.known(s, f, r) {
				t.row(r, 1)
			}
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isDangling(err):
			c.find(Finding{Kind: Dangling, Snapshot: s.SnapshotID, Detail: err.Error()})
		case err != nil:
			return err
		case n != f.Rows:
			c.find(Finding{Kind: Dangling, Snapshot: s.SnapshotID, Detail: fmt.Sprintf("%s holds %d rows, its manifest says %d", f.Path, n, f.Rows)})
		}
		c.report.Rows += n
	}
	for _, f := range d.removed {
		n, err := c.readFile(ctx, f, func(r row) {
			if _, is := c.produced(r); is {
				t.row(r, -1)
			}
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !isDangling(err): // one that is missing was said when it was added
			return err
		}
		c.report.Rows -= n
	}
	return nil
}

// produced gives the payload of a row's record; false where no row is to come of it.
func (c *checker) produced(r row) (string, bool) {
	if r.null || r.part < 0 || int(r.part) >= c.o.Partitions || r.off < 0 || r.off >= c.truth.End(r.part) {
		return "", false
	}
	return c.truth.Payload(r.part, r.off)
}

// known checks a row against its record, and reports whether there is one.
func (c *checker) known(s *table.Snapshot, f File, r row) bool {
	want, is := c.produced(r)
	switch {
	case !is:
		c.once(Finding{Kind: Foreign, Partition: r.part, Position: r.off, Snapshot: s.SnapshotID, Detail: "in " + f.Path})
	case r.payload != want:
		c.once(Finding{Kind: Altered, Partition: r.part, Position: r.off, Snapshot: s.SnapshotID,
			Detail: fmt.Sprintf("holds %.80q, was %.80q, in %s", r.payload, want, f.Path)})
	}
	return is
}

// judge turns what is left of the tally into findings.
func (c *checker) judge(s *table.Snapshot, t *tally, m moves) {
	t.each(func(part int32, off int64, n int) {
		f := Finding{Partition: part, Position: off, Snapshot: s.SnapshotID}
		asked := m.asked(part, off)
		switch {
		case n < 0 && asked:
			if _, is := c.truth.Payload(part, off); !is {
				return
			}
			f.Kind = Lost
		case n < 0:
			f.Kind = Vanished
		case m.unjudged(part, off):
			return
		case off >= m.limit(part):
			f.Kind = Early
		default:
			f.Kind = Doubled
		}
		f.Detail = fmt.Sprintf("%+d by %s", n, who(s))
		c.find(f)
	})
}

// count compares the rows that a snapshot adds with what its positions count.
func (c *checker) count(s *table.Snapshot, t *tally, m moves) {
	for _, id := range slices.Sorted(maps.Keys(m.counted)) {
		if got, want := t.rows[id], m.counted[id]; got != want {
			c.find(Finding{Kind: Miscounted, Partition: id, Position: m.limit(id), Snapshot: s.SnapshotID,
				Detail: fmt.Sprintf("%d rows, the counts say %d, by %s", got, want, who(s))})
		}
	}
}

// who names the maker of a snapshot.
func who(s *table.Snapshot) string {
	if s.Summary == nil {
		return "a snapshot without a summary"
	}
	if name, ok := s.Summary.Properties[keyTopology]; ok {
		return fmt.Sprintf("%s of topology %s", s.Summary.Operation, name)
	}
	return fmt.Sprintf("%s of another engine", s.Summary.Operation)
}

func (c *checker) whole() {
	var head int64
	if s := c.tbl.SnapshotByName(c.o.Branch); s != nil {
		head = s.SnapshotID
	}
	for _, name := range slices.Sorted(slices.Values(c.o.Topologies)) {
		for id := range int32(c.o.Partitions) {
			end := c.truth.End(id)
			switch next := c.at[name][id].next; {
			case next < end:
				c.find(Finding{Kind: Behind, Partition: id, Position: next, Snapshot: head, Detail: fmt.Sprintf("%s: the end is %d", name, end)})
			case next > end:
				c.find(Finding{Kind: Early, Partition: id, Position: next, Snapshot: head, Detail: fmt.Sprintf("%s: the end is only %d", name, end)})
			}
		}
	}
}

// once reports a row where it shows first.
func (c *checker) once(f Finding) {
	key := Finding{Kind: f.Kind, Partition: f.Partition, Position: f.Position}
	if c.said[key] {
		return
	}
	if len(c.said) < maxSaid {
		c.said[key] = true
	}
	c.find(f)
}

func (c *checker) find(f Finding) {
	c.found++
	c.report.Count[f.Kind]++
	if len(c.report.Findings) < maxFindings {
		c.report.Findings = append(c.report.Findings, f)
	}
}

// standing is where topologies stand: by name, then by partition.
type standing map[string]map[int32]place

func (s standing) clone() standing {
	out := make(standing, len(s))
	for name, at := range s {
		out[name] = maps.Clone(at)
	}
	return out
}
