package writer

import (
	"cmp"
	"sort"

	"github.com/stormfloe/floe/source"
)

// progress is how far the open batch has come in one partition: [from, next), and what became of the records in it.
type progress struct {
	from, next              source.Position
	rows, rejects, filtered int64
	maxMs                   int64
}

func newProgress(at source.Position) *progress { return &progress{from: at, next: at, maxMs: -1} }

// rewind forgets the open batch.
func (pr *progress) rewind() { *pr = *newProgress(pr.from) }

// advance begins the next batch where this one ends.
func (pr *progress) advance() { *pr = *newProgress(pr.next) }

// took counts records, of which the given number became rows.
func (pr *progress) took(recs []source.Record, rows int) {
	pr.rows += int64(rows)
	pr.filtered += int64(len(recs) - rows)
	for i := range recs {
		pr.maxMs = max(pr.maxMs, recs[i].TimestampMs)
	}
}

// rejected counts a record that became a reject.
func (pr *progress) rejected(rec *source.Record) {
	pr.rejects++
	pr.maxMs = max(pr.maxMs, rec.TimestampMs)
}

// firstAt is the index of the first record at or behind pos.
func firstAt(recs []source.Record, pos source.Position) int {
	return sort.Search(len(recs), func(i int) bool { return recs[i].Position >= pos })
}

func comparePartitions(a, b source.Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Incarnation, b.Incarnation))
}
