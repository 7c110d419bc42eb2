package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of one run. They carry topology and table as constant labels and the task as a variable one.
type metrics struct {
	reg        prometheus.Registerer
	collectors []prometheus.Collector

	recordsWritten, recordsFiltered, filesSealed, bytesSealed *prometheus.CounterVec
	recordsRejected, rejectsAppended                          *prometheus.CounterVec
	filesCommitted, bytesCommitted, rowsCommitted             *prometheus.CounterVec
	commits, commitFailures, rewinds, writeFailures           *prometheus.CounterVec
	busySeconds                                               *prometheus.CounterVec
	attempts                                                  *prometheus.CounterVec
	commitSeconds, sealSeconds                                *prometheus.HistogramVec
	pendingFiles, outboxFiles                                 *prometheus.GaugeVec
	oldest, outboxOldest                                      *ages
}

// latencies are the buckets of commits and seals: 5 ms to 80 s.
var latencies = prometheus.ExponentialBuckets(0.005, 2, 15)

func newMetrics(reg prometheus.Registerer, topology, table string, s *state) (*metrics, error) {
	m := &metrics{}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "floe", Name: name, Help: help},
			append([]string{"task"}, labels...))
		m.collectors = append(m.collectors, c)
		return c
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "floe", Name: name, Help: help, Buckets: latencies}, []string{"task"})
		m.collectors = append(m.collectors, h)
		return h
	}
	m.recordsWritten = counter("records_written_total", "Records in sealed batches.")
	m.recordsFiltered = counter("records_filtered_total", "Records that yield no row by rule, in sealed batches.")
	m.recordsRejected = counter("records_rejected_total", "Records in sealed batches that go to the rejects table, by reason.", "code")
	m.rejectsAppended = counter("rejects_appended_total", "Rows that became visible in the rejects table.")
	m.filesSealed = counter("data_files_sealed_total", "Data files of sealed batches.")
	m.bytesSealed = counter("bytes_sealed_total", "Bytes of the data files of sealed batches.")
	m.writeFailures = counter("write_failures_total", "Open batches that were dropped because a file could not be written.")
	m.busySeconds = counter("write_seconds_total", "Time that tasks have spent on mapping records and writing them; sealing is not in it.")
	m.rewinds = counter("rewinds_total", "Times that a task went back to the table's positions.", "cause")
	m.filesCommitted = counter("data_files_committed_total", "Data files that became visible.")
	m.bytesCommitted = counter("bytes_committed_total", "Bytes of the data files that became visible.")
	m.rowsCommitted = counter("rows_committed_total", "Rows that became visible.")
	m.commits = counter("commits_total", "Group commits that landed.")
	m.commitFailures = counter("commit_failures_total", "Group commits that failed for good; their input is read again.")
	m.attempts = counter("commit_attempts_total", "Commit attempts by what became of them.", "outcome")
	m.commitSeconds = histogram("commit_duration_seconds", "From the first attempt of a group commit until it landed.")
	m.sealSeconds = histogram("seal_duration_seconds", "Closing the files of a batch.")
	m.pendingFiles = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "floe", Name: "pending_data_files",
		Help: "Data files of sealed batches that are not visible yet."}, []string{"task"})
	m.outboxFiles = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "floe", Name: "rejects_outbox_files",
		Help: "Files of committed rejects that are not in the rejects table yet."}, []string{"task"})
	m.oldest = newAges("floe_oldest_pending_age_seconds",
		"How long the oldest sealed batch has waited to become visible; the one to alert on.")
	m.outboxOldest = newAges("floe_rejects_outbox_age_seconds",
		"How long the oldest committed reject has waited to become visible in the rejects table.")
	m.collectors = append(m.collectors, m.pendingFiles, m.outboxFiles, m.oldest, m.outboxOldest, newStatusMetrics(s))
	return m, m.register(reg, topology, table)
}

// beginTask makes the series of a writer task that begin at zero: what goes wrong for the first time is then seen as an increase.
func (m *metrics) beginTask(task string) {
	m.writeFailures.WithLabelValues(task)
	for _, cause := range []string{causeStale, causeGap, causeRollback} {
		m.rewinds.WithLabelValues(task, cause)
	}
}

// beginCommitter is beginTask for a committer.
func (m *metrics) beginCommitter(task string) {
	m.commits.WithLabelValues(task)
	m.commitFailures.WithLabelValues(task)
	for _, outcome := range []string{"landed", "refused", "settled_landed", "superseded", "pinned_retry"} {
		m.attempts.WithLabelValues(task, outcome)
	}
}

func (m *metrics) register(reg prometheus.Registerer, topology, table string) error {
	if reg == nil {
		return nil
	}
	m.reg = prometheus.WrapRegistererWith(prometheus.Labels{"topology": topology, "table": table}, reg)
	for i, c := range m.collectors {
		if err := m.reg.Register(c); err != nil {
			m.collectors = m.collectors[:i]
			m.unregister()
			var twice prometheus.AlreadyRegisteredError
			if errors.As(err, &twice) {
				return fmt.Errorf("topology: another topology %q on table %s runs on the same metrics registry", topology, table)
			}
			return fmt.Errorf("topology: register metrics: %w", err)
		}
	}
	return nil
}

// unregister takes the metrics off the registry, so that another run can bring its own.
func (m *metrics) unregister() {
	if m == nil || m.reg == nil {
		return
	}
	for _, c := range m.collectors {
		m.reg.Unregister(c)
	}
}

// ages is a gauge of how long the oldest of something has waited. It is computed when it is read, so that it grows
// also while a commit hangs.
type ages struct {
	desc *prometheus.Desc
	mu   struct {
		sync.Mutex
		since map[string]time.Time
	}
}

func newAges(name, help string) *ages {
	a := &ages{desc: prometheus.NewDesc(name, help, []string{"task"}, nil)}
	a.mu.since = map[string]time.Time{}
	return a
}

func (a *ages) set(task string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.since[task] = since
}

// Describe is prometheus.Collector's.
func (a *ages) Describe(ch chan<- *prometheus.Desc) { ch <- a.desc }

// Collect is prometheus.Collector's.
func (a *ages) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for task, since := range a.mu.since {
		age := 0.0
		if !since.IsZero() {
			age = max(0, time.Since(since).Seconds())
		}
		ch <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, age, task)
	}
}

func tableName(tbl *table.Table) string {
	if tbl == nil {
		return ""
	}
	return strings.Join(slices.Clone(tbl.Identifier()), ".")
}
