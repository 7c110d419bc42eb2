package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Settings are what a run is made with. They are part of its result: only runs with the same can be compared.
type Settings struct {
	Workload string `json:"workload"`
	Seed     uint64 `json:"seed"`
	Records  int64  `json:"records"`
	// RecordBytes widens a record of workload A; 0 leaves it as it is.
	RecordBytes int    `json:"record_bytes"`
	Partitions  int    `json:"partitions"`
	Codec       string `json:"codec"`
	Writers     int    `json:"writers"`
	// IcebergPartitions is the number of buckets of the table; 0 and 1 are none.
	IcebergPartitions int `json:"iceberg_partitions"`
	// History is how many snapshots the table has before.
	History int `json:"history"`
	// Memory and the rest are in the words of a configuration; empty is its default.
	Memory       string        `json:"memory"`
	Interval     time.Duration `json:"interval_ns"`
	SealRecords  int64         `json:"seal_records"`
	SealBytes    string        `json:"seal_bytes"`
	SealInterval time.Duration `json:"seal_interval_ns"`
	// WarmUp is how many records are read before, into a table of their own.
	WarmUp int64 `json:"warm_up"`
	// Broker is "in-process" for the child, and "given" for a real one.
	Broker string `json:"broker"`
}

// Validate says which setting is wrong, in the words of the command's flags.
func (s Settings) Validate() error {
	w, err := WorkloadOf(s.Workload)
	switch {
	case err != nil:
		return err
	case s.Records < 1:
		return fmt.Errorf("--records %d: write at least 1", s.Records)
	case s.Partitions < 1 || s.Partitions > 10_000:
		return fmt.Errorf("--partitions %d: write 1 to 10000", s.Partitions)
	case s.Writers < 1 || s.Writers > 1024:
		return fmt.Errorf("--writers %d: write 1 to 1024", s.Writers)
	case s.IcebergPartitions < 0 || s.IcebergPartitions > 100_000:
		return fmt.Errorf("--iceberg-partitions %d: write 0 to 100000", s.IcebergPartitions)
	case s.History < 0:
		return fmt.Errorf("--history %d is negative", s.History)
	case s.WarmUp < 0 || s.WarmUp > s.Records:
		return fmt.Errorf("--warm-up %d: write 0 to the number of records, %d", s.WarmUp, s.Records)
	case s.Interval < 0 || s.SealInterval < 0 || s.SealRecords < 0:
		return fmt.Errorf("--interval, --seal-interval and --seal-records must not be negative")
	case s.RecordBytes != 0 && w.base == 0:
		return fmt.Errorf("--record-bytes widens records of workload a alone")
	case s.RecordBytes != 0 && (s.RecordBytes < w.base || s.RecordBytes > MaxRecordBytes):
		return fmt.Errorf("--record-bytes %d: write %d to %d", s.RecordBytes, w.base, MaxRecordBytes)
	}
	if _, ok := codecs[s.Codec]; !ok {
		return fmt.Errorf("there is no codec %q; write one of %s", s.Codec, strings.Join(Codecs(), ", "))
	}
	return nil
}

// Place is where a configuration finds everything.
type Place struct {
	Brokers      []string
	Topic, Group string
	// Catalog is an SQLite file, Warehouse a folder, Table namespace.table.
	Catalog, Warehouse, Table string
	// Registry is the URL of the schema registry, for workloads that have one.
	Registry string
}

// ConfigText is the configuration of floe run for these settings, which must be valid.
func (s Settings) ConfigText(at Place) string {
	w, _ := WorkloadOf(s.Workload) // Validate has looked at it
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	var brokers []string
	for _, addr := range at.Brokers {
		brokers = append(brokers, quote(addr))
	}
	line("# Written by floe bench.\nname: bench\nsource:\n  kafka: {brokers: [%s], topics: [%s], group: %s, start: earliest}",
		strings.Join(brokers, ", "), quote(at.Topic), quote(at.Group))
	if w.schema != "" {
		line("record: {format: avro, registry: {url: %s}}", quote(at.Registry))
	}
	line("catalog: {type: sqlite, uri: %s, warehouse: %s}", quote(at.Catalog), quote(at.Warehouse))
	line("table:\n  name: %s\n  create:\n    schema:", at.Table)
	for _, c := range w.Columns {
		line("      - {name: %s, type: %q, required: %v}", c.Name, c.Type, c.Required)
	}
	if s.IcebergPartitions > 1 {
		line("    partition_by: [%q]", fmt.Sprintf("bucket(%d, id)", s.IcebergPartitions))
	}
	line("writer:\n  tasks: %d\n  seal:\n    interval: %s", s.Writers, s.SealInterval)
	if s.SealRecords > 0 {
		line("    records: %d", s.SealRecords)
	}
	if s.SealBytes != "" {
		line("    bytes: %s", quote(s.SealBytes))
	}
	line("committer: {interval: %s}\nhttp: {listen: \"off\"}\nlog: {level: warn}", s.Interval)
	if s.Memory != "" {
		line("memory: %s", quote(s.Memory))
	}
	return b.String()
}

// quote writes text as a YAML value that stands for itself.
func quote(text string) string {
	return strings.ReplaceAll(strconv.Quote(text), "$", "$$")
}
