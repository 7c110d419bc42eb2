package topology

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeriesPartitions is up to how many owned partitions each has series of its own. Beyond it there are the sums only, and Status.
const maxSeriesPartitions = 1000

// statusMetrics are those that are looked up when they are asked for, rather than kept.
type statusMetrics struct {
	state *state
	descs []*prometheus.Desc

	ready, snapshots, lastCommit                     *prometheus.Desc
	partitions, lagRecords, lagSeconds               *prometheus.Desc
	partLagRecords, partLagSeconds, partPosition     *prometheus.Desc
	records, bytes, fetches, fetchedBytes            *prometheus.Desc
	rebalances, queued                               *prometheus.Desc
	openFiles, buffered, openRecords, inFlight       *prometheus.Desc
	walEntries, walOldest, walFailures, walCorrupted *prometheus.Desc
}

func newStatusMetrics(s *state) *statusMetrics {
	m := &statusMetrics{state: s}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc("floe_"+name, help, labels, nil)
		m.descs = append(m.descs, d)
		return d
	}
	m.ready = desc("ready", "1 where records flow, or would; /readyz says why not.")
	m.snapshots = desc("table_snapshots", "Snapshots that the table's metadata lists.")
	m.lastCommit = desc("last_commit_timestamp_seconds", "When the last commit landed, in seconds since the epoch.", "task")
	m.partitions = desc("source_partitions", "Partitions that are owned, or are not read on, by state.", "state")
	m.lagRecords = desc("source_lag_records", "How far the table is behind the ends of all owned partitions.")
	m.lagSeconds = desc("source_lag_seconds", "The largest of floe_partition_lag_seconds.")
	m.partLagRecords = desc("partition_lag_records", "How far the table is behind the partition's end.", "topic", "partition")
	m.partLagSeconds = desc("partition_lag_seconds",
		"The age of the newest record committed, where there is more to commit; 0 where there is not.", "topic", "partition")
	m.partPosition = desc("partition_position",
		"The next offset by what was reached: read, sealed, committed, and end where the records end.", "topic", "partition", "at")
	m.records = desc("records_read_total", "Records that the source has delivered; those read again count again.")
	m.bytes = desc("read_bytes_total", "Bytes of the batches that the source has delivered, decompressed, as they lie in memory.")
	m.fetches = desc("fetches_total", "Requests that brokers have answered.")
	m.fetchedBytes = desc("fetched_bytes_total", "Bytes of records as brokers have sent them, compressed.")
	m.rebalances = desc("rebalances_total", "Times that the source has assigned partitions.")
	m.queued = desc("queued_bytes", "Bytes of delivered batches that no task has finished.")
	m.openFiles = desc("open_files", "Files of the open batch.", "task")
	m.buffered = desc("buffered_bytes", "Bytes that the open batch holds in memory.", "task")
	m.openRecords = desc("open_records", "Records in the open batch, rows and rejects.", "task")
	m.inFlight = desc("batches_in_flight", "Sealed batches whose commit is awaited.", "task")
	m.walEntries = desc("wal_entries", "Entries in the write-ahead log, as far as this process knows.")
	m.walOldest = desc("wal_oldest_entry_age_seconds", "Age of the oldest of them, 0 where there is none.")
	m.walFailures = desc("wal_failures_total", "Entries or lists of the write-ahead log that could not be written, read or deleted.")
	m.walCorrupted = desc("wal_set_aside_total", "Entries of the write-ahead log that were set aside because they can't be read.")
	return m
}

// Describe is prometheus.Collector's.
func (m *statusMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range m.descs {
		ch <- d
	}
}

// emit sends values; labels are made valid, so that it can't fail.
type emit chan<- prometheus.Metric

func (e emit) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "�")
	}
	e <- prometheus.MustNewConstMetric(d, kind, v, labels...)
}

func (e emit) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.send(d, prometheus.GaugeValue, v, labels)
}

func (e emit) counter(d *prometheus.Desc, v int64) {
	e.send(d, prometheus.CounterValue, float64(v), nil)
}

// Collect is prometheus.Collector's.
func (m *statusMetrics) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	st, to := m.state.snapshot(now), emit(ch)
	ready := 0.0
	if st.Ready {
		ready = 1
	}
	to.gauge(m.ready, ready)
	to.gauge(m.snapshots, float64(st.Snapshots))
	for _, c := range st.Committers {
		if c.LastCommit != nil {
			to.gauge(m.lastCommit, float64(c.LastCommit.UnixMilli())/1e3, c.Committer)
		}
	}
	for _, t := range st.Tasks {
		to.gauge(m.openFiles, float64(t.OpenFiles), t.Task)
		to.gauge(m.buffered, float64(t.OpenBytes), t.Task)
		to.gauge(m.openRecords, float64(t.OpenRows+t.OpenRejects), t.Task)
		to.gauge(m.inFlight, float64(t.InFlight), t.Task)
	}
	m.source(to, st.Source)
	m.parts(to, st.Partitions)
	m.wal(to, st.WAL, now)
}

func (m *statusMetrics) source(to emit, s *SourceStatus) {
	if s == nil {
		return
	}
	to.gauge(m.partitions, float64(s.Partitions), "owned")
	to.gauge(m.partitions, float64(s.Stopped), "stopped")
	to.gauge(m.lagRecords, float64(s.LagRecords))
	to.gauge(m.lagSeconds, s.LagSeconds)
	to.counter(m.records, s.Records)
	to.counter(m.bytes, s.Bytes)
	to.counter(m.fetches, s.Fetches)
	to.counter(m.fetchedBytes, s.FetchedBytes)
	to.counter(m.rebalances, s.Assignments)
	to.gauge(m.queued, float64(s.QueuedBytes))
}

// parts sends those of each owned partition, of which no two have the same topic and number.
func (m *statusMetrics) parts(to emit, ps []PartitionStatus) {
	type name struct {
		topic string
		id    int32
	}
	own := map[name]PartitionStatus{}
	for _, p := range ps {
		if p.Task != "" {
			own[name{strings.ToValidUTF8(p.Topic, "�"), p.Partition}] = p
		}
	}
	if len(own) > maxSeriesPartitions {
		return
	}
	for n, p := range own {
		id := strconv.Itoa(int(n.id))
		at := func(what string, pos int64) { to.gauge(m.partPosition, float64(pos), n.topic, id, what) }
		at("read", int64(p.Read))
		at("sealed", int64(p.Sealed))
		at("committed", int64(p.Committed))
		if p.End != nil {
			at("end", int64(*p.End))
			to.gauge(m.partLagRecords, float64(*p.LagRecords), n.topic, id)
		}
		if p.LagSeconds != nil {
			to.gauge(m.partLagSeconds, *p.LagSeconds, n.topic, id)
		}
	}
}

func (m *statusMetrics) wal(to emit, w *WALStatus, now time.Time) {
	if w == nil {
		return
	}
	age := 0.0
	if w.Oldest != nil {
		age = max(0, now.Sub(*w.Oldest).Seconds())
	}
	to.gauge(m.walEntries, float64(w.Entries))
	to.gauge(m.walOldest, age)
	to.counter(m.walFailures, w.Failures)
	to.counter(m.walCorrupted, w.SetAside)
}
