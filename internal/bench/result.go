package bench

import (
	"slices"
	"time"
)

// Result is what a run has measured. It is the object that --json prints.
type Result struct {
	OK       bool   `json:"ok"`
	Workload string `json:"workload"`
	Records  int64  `json:"records"`
	// ValueBytes is the size of all values.
	ValueBytes int64 `json:"value_bytes"`
	// Seconds is from the start of the topology to the last visible row.
	Seconds          float64 `json:"seconds"`
	RecordsPerSecond float64 `json:"records_per_second"`
	// MBPerSecond counts values, in millions of bytes.
	MBPerSecond float64 `json:"mb_per_second"`
	// SteadyRecordsPerSecond is the rate between the first commit and the last, null where there were fewer than two.
	SteadyRecordsPerSecond *float64 `json:"steady_records_per_second"`
	// CPUNsPerRecord is this process's, BrokerCPUNsPerRecord the child's where that is the broker.
	CPUNsPerRecord       float64  `json:"cpu_ns_per_record"`
	BrokerCPUNsPerRecord *float64 `json:"broker_cpu_ns_per_record"`
	// GCCPUNsPerRecord is the garbage collector's part, as the runtime estimates it.
	GCCPUNsPerRecord        float64 `json:"gc_cpu_ns_per_record"`
	AllocsPerRecord         float64 `json:"allocs_per_record"`
	BytesAllocatedPerRecord float64 `json:"bytes_allocated_per_record"`
	// PeakRSSBytes is that of the process until the last row was visible, the warm-up included.
	PeakRSSBytes     int64   `json:"peak_rss_bytes"`
	Commits          int64   `json:"commits"`
	CommitFailures   int64   `json:"commit_failures"`
	CommitP50Seconds float64 `json:"commit_p50_seconds"`
	CommitP99Seconds float64 `json:"commit_p99_seconds"`
	FirstRowSeconds  float64 `json:"first_row_seconds"`
	DataFiles        int64   `json:"data_files"`
	FileBytesPerRow  float64 `json:"file_bytes_per_row"`
	// Check is what was found in the table.
	Check    Check    `json:"check"`
	Machine  Machine  `json:"machine"`
	Settings Settings `json:"settings"`
	// Dir is the folder that was kept.
	Dir string `json:"dir,omitempty"`
}

// account fills in what was measured between the start of the topology and its end.
func (r *Result) account(w *watcher, began time.Time, u usage) {
	n := float64(r.Settings.Records)
	r.Workload, r.Records = r.Settings.Workload, r.Settings.Records
	r.Seconds = w.last.last.Sub(began).Seconds()
	if r.Seconds > 0 {
		r.RecordsPerSecond, r.MBPerSecond = n/r.Seconds, float64(r.ValueBytes)/1e6/r.Seconds
	}
	if d := w.last.last.Sub(w.first.last).Seconds(); d > 0 {
		rate := float64(w.last.rows-w.first.rows) / d
		r.SteadyRecordsPerSecond = &rate
	}
	r.CPUNsPerRecord, r.GCCPUNsPerRecord = float64(u.cpu)/n, float64(u.gc)/n
	r.AllocsPerRecord, r.BytesAllocatedPerRecord = float64(u.allocs)/n, float64(u.bytes)/n
	r.Commits, r.CommitFailures = w.last.commits, w.last.failures
	r.CommitP50Seconds, r.CommitP99Seconds = quantile(w.took, 0.5), quantile(w.took, 0.99)
	r.FirstRowSeconds = w.first.last.Sub(began).Seconds()
	r.DataFiles, r.FileBytesPerRow = w.last.files, float64(w.last.bytes)/n
}

// quantile is the smallest of ds, in seconds, that a part q of them does not exceed.
func quantile(ds []time.Duration, q float64) float64 {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Clone(ds)
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(q*float64(len(ds))))].Seconds()
}
