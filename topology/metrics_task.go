package topology

import (
	"time"

	"github.com/stormfloe/floe/descriptor"
)

// The methods below are called from writer tasks, once a batch at most.

func (m *metrics) sealed(task string, d *descriptor.Descriptor, filtered int64, took time.Duration) {
	m.recordsWritten.WithLabelValues(task).Add(float64(d.Rows))
	m.recordsFiltered.WithLabelValues(task).Add(float64(filtered))
	m.filesSealed.WithLabelValues(task).Add(float64(len(d.Files)))
	m.bytesSealed.WithLabelValues(task).Add(float64(d.Bytes))
	m.sealSeconds.WithLabelValues(task).Observe(took.Seconds())
}

func (m *metrics) writeFailed(task string) { m.writeFailures.WithLabelValues(task).Inc() }

func (m *metrics) rewound(task, cause string) { m.rewinds.WithLabelValues(task, cause).Inc() }
