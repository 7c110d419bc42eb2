package topology

import (
	"time"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
)

// The methods below are called from writer tasks, once a batch at most.

// batchSealed tells metrics and status of a sealed batch, whose rejects are counted by their codes.
func (r *report) batchSealed(task string, to *rejectsTable, d *descriptor.Descriptor, rejects map[mapper.Code]int64, took time.Duration) {
	r.met.sealed(task, d, took)
	if d.Rejects == nil {
		return
	}
	to.used.Store(true)
	r.state.addRejects(rejects)
	for code, n := range rejects {
		r.met.recordsRejected.WithLabelValues(task, string(code)).Add(float64(n))
	}
}

func (m *metrics) sealed(task string, d *descriptor.Descriptor, took time.Duration) {
	var filtered int64
	for _, in := range d.Inputs {
		filtered += in.Filtered
	}
	m.recordsWritten.WithLabelValues(task).Add(float64(d.Rows))
	m.recordsFiltered.WithLabelValues(task).Add(float64(filtered))
	m.filesSealed.WithLabelValues(task).Add(float64(len(d.Files)))
	m.bytesSealed.WithLabelValues(task).Add(float64(d.Bytes))
	m.sealSeconds.WithLabelValues(task).Observe(took.Seconds())
}

// add counts a batch that has just been sealed.
func (s *SealedStatus) add(d *descriptor.Descriptor, took time.Duration) {
	now := time.Now()
	s.Batches++
	s.Rows += d.Rows
	s.Files += int64(len(d.Files))
	s.Bytes += d.Bytes
	for _, in := range d.Inputs {
		s.Rejects += in.Rejects
		s.Filtered += in.Filtered
	}
	s.Last, s.LastSeconds = &now, took.Seconds()
}

// wrote counts the time that a task has taken for a batch of the source, or a part of one.
func (m *metrics) wrote(task string, took time.Duration) {
	m.busySeconds.WithLabelValues(task).Add(took.Seconds())
}

func (m *metrics) writeFailed(task string) { m.writeFailures.WithLabelValues(task).Inc() }

// Why a task goes back to the table's positions.
const (
	causeStale    = "stale"    // a sealed batch does not join up with them
	causeGap      = "gap"      // a batch of the source does not join up
	causeRollback = "rollback" // they were set back
)

func (m *metrics) rewound(task, cause string) { m.rewinds.WithLabelValues(task, cause).Inc() }

// filesOf counts a batch's files of both tables.
func filesOf(d *descriptor.Descriptor) int {
	n := len(d.Files)
	if d.Rejects != nil {
		n += len(d.Rejects.Files)
	}
	return n
}
