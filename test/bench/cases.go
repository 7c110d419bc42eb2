package main

import (
	"strconv"

	"github.com/stormfloe/floe/internal/bench"
)

// row is one row of the scaling table.
type row struct {
	label string
	// args are its flags of floe bench.
	args []string
}

// group is rows that differ in one thing.
type group struct {
	name, title string
	// base is the index of the row that the others are compared with.
	base int
	rows []row
	// figure is what is compared, and of which the less is the better.
	figure func(*bench.Result) float64
	// compared says what the figure is.
	compared string
}

func cpu(r *bench.Result) float64    { return r.CPUNsPerRecord }
func commit(r *bench.Result) float64 { return r.CommitP50Seconds }
func cpuPerByte(r *bench.Result) float64 {
	return r.CPUNsPerRecord * float64(r.Records) / float64(r.ValueBytes)
}

// rows makes a row for each value of a flag.
func rows(flag string, values []int, more ...string) []row {
	var out []row
	for _, v := range values {
		out = append(out, row{strconv.Itoa(v), append([]string{"--" + flag, strconv.Itoa(v)}, more...)})
	}
	return out
}

// groups is the scaling table.
func groups() []group {
	return []group{
		{name: "workload", title: "Workloads", figure: cpu, compared: "CPU",
			rows: []row{{"A", nil}, {"B", []string{"--workload", "b"}}, {"Avro A", []string{"--workload", "avro-a"}}}},
		{name: "writers", title: "Writers", figure: cpu, compared: "CPU", rows: rows("writers", []int{1, 2, 4})},
		{name: "partitions", title: "Kafka partitions", figure: cpu, compared: "CPU", base: 1,
			rows: rows("partitions", []int{1, 8, 64})},
		{name: "iceberg-partitions", title: "Iceberg partitions", figure: cpu, compared: "CPU",
			rows: rows("iceberg-partitions", []int{1, 10, 100, 1000})},
		// Many commits, so that there is something to take the median of.
		{name: "history", title: "Snapshots before", figure: commit, compared: "commit p50",
			rows: rows("history", []int{10, 100, 1000, 5000}, "--records", "1000000", "--seal-records", "20000", "--interval", "100ms")},
		{name: "record-bytes", title: "Size of a record", figure: cpuPerByte, compared: "CPU per byte",
			rows: rows("record-bytes", []int{143, 1 << 10, 10 << 10, 100 << 10, 1 << 20})},
	}
}
