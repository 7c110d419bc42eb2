package kafka

import (
	"slices"
)

// abortedTxn is one entry of a fetch answer's list: from first on, what the producer wrote is aborted, until its marker.
type abortedTxn struct{ producer, first int64 }

// abortFilter tells which batches of a record set belong to aborted transactions. The list covers every aborted
// transaction that overlaps the set, also those that began before it.
type abortFilter struct {
	list   []abortedTxn // by first offset
	active []int64      // producers in the middle of an aborted transaction; few
}

func (f *abortFilter) reset(list []abortedTxn) {
	slices.SortStableFunc(list, func(a, b abortedTxn) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	f.list, f.active = list, f.active[:0]
}

// batch moves on to h and tells whether it is aborted.
func (f *abortFilter) batch(h *header) bool {
	for len(f.list) > 0 && f.list[0].first <= h.last {
		if p := f.list[0].producer; !slices.Contains(f.active, p) {
			f.active = append(f.active, p)
		}
		f.list = f.list[1:]
	}
	return h.attributes&attrTxn != 0 && slices.Contains(f.active, h.producer)
}

// ended notes an abort marker of the producer.
func (f *abortFilter) ended(producer int64) {
	if i := slices.Index(f.active, producer); i >= 0 {
		f.active = slices.Delete(f.active, i, i+1)
	}
}
