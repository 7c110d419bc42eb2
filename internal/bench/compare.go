package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// Ratio is one figure of two runs.
type Ratio struct {
	Name string `json:"name"`
	// Before is the earlier run's, Now this one's, Ratio Now over Before; null where Before is 0.
	Before float64  `json:"before"`
	Now    float64  `json:"now"`
	Ratio  *float64 `json:"ratio"`
	// MoreIsBetter says which way is the good one.
	MoreIsBetter bool `json:"more_is_better"`
}

// Comparison is this run beside an earlier one.
type Comparison struct {
	Ratios []Ratio `json:"ratios"`
	// Differ are the settings, and what of the machine, that the runs do not share: their ratios say something about these.
	Differ []string `json:"differ"`
}

// Load reads a result that --json has printed.
func Load(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read an earlier result: %w", err)
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil || r.Records == 0 {
		return nil, fmt.Errorf("%s is not what floe bench --json prints", path)
	}
	return &r, nil
}

// Compare sets now beside before.
func Compare(now, before *Result) Comparison {
	c := Comparison{Ratios: []Ratio{}, Differ: []string{}}
	add := func(name string, b, n float64, more bool) {
		r := Ratio{Name: name, Before: b, Now: n, MoreIsBetter: more}
		if b != 0 {
			q := n / b
			r.Ratio = &q
		}
		c.Ratios = append(c.Ratios, r)
	}
	add("records_per_second", before.RecordsPerSecond, now.RecordsPerSecond, true)
	add("cpu_ns_per_record", before.CPUNsPerRecord, now.CPUNsPerRecord, false)
	add("gc_cpu_ns_per_record", before.GCCPUNsPerRecord, now.GCCPUNsPerRecord, false)
	add("allocs_per_record", before.AllocsPerRecord, now.AllocsPerRecord, false)
	add("bytes_allocated_per_record", before.BytesAllocatedPerRecord, now.BytesAllocatedPerRecord, false)
	add("peak_rss_bytes", float64(before.PeakRSSBytes), float64(now.PeakRSSBytes), false)
	add("commit_p50_seconds", before.CommitP50Seconds, now.CommitP50Seconds, false)
	add("commit_p99_seconds", before.CommitP99Seconds, now.CommitP99Seconds, false)
	add("first_row_seconds", before.FirstRowSeconds, now.FirstRowSeconds, false)
	add("file_bytes_per_row", before.FileBytesPerRow, now.FileBytesPerRow, false)
	c.differ(before.Settings, now.Settings)
	c.differ(before.Machine, now.Machine)
	return c
}

// differ notes the fields of two structs of one type that are not the same.
func (c *Comparison) differ(before, now any) {
	b, n := reflect.ValueOf(before), reflect.ValueOf(now)
	for i := range b.NumField() {
		if x, y := b.Field(i).Interface(), n.Field(i).Interface(); x != y {
			name, _, _ := strings.Cut(b.Type().Field(i).Tag.Get("json"), ",")
			c.Differ = append(c.Differ, fmt.Sprintf("%s: %v before, %v now", name, x, y))
		}
	}
}
