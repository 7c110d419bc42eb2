package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/stormfloe/floe/internal/bench"
)

// printBench prints what was measured, beside an earlier run where there is one.
func (c *cli) printBench(res, before *bench.Result, asJSON bool, err error) error {
	var cmp *bench.Comparison
	if before != nil {
		v := bench.Compare(res, before)
		cmp = &v
	}
	if asJSON {
		v := struct {
			*bench.Result
			Compare *bench.Comparison `json:"compare,omitempty"`
			Error   string            `json:"error,omitempty"`
		}{Result: res, Compare: cmp}
		if err != nil {
			v.Error = explain(err)
		}
		return c.printJSON(v)
	}
	w := &errWriter{w: c.stdout}
	printBenchText(w, res)
	if cmp != nil {
		printComparison(w, cmp)
	}
	return w.err
}

func printBenchText(w *errWriter, r *bench.Result) {
	s := r.Settings
	w.printf("Workload %s: %d records of %.0f bytes, %d partitions, %s; %d writers, %d Iceberg partitions, %d snapshots before\n",
		r.Workload, r.Records, float64(r.ValueBytes)/float64(r.Records), s.Partitions, s.Codec, s.Writers, max(1, s.IcebergPartitions), s.History)
	w.printf("From the start of the topology to the last visible row, behind a warm-up of %d records:\n\n", s.WarmUp)
	w.printf("  %-22s %.0f records/s, %.1f MB/s, %.2f s\n", "rate", r.RecordsPerSecond, r.MBPerSecond, r.Seconds)
	if r.SteadyRecordsPerSecond != nil {
		w.printf("  %-22s %.0f records/s\n", "from commit to commit", *r.SteadyRecordsPerSecond)
	}
	w.printf("  %-22s %.0f ns a record, %.0f of them for the garbage collector\n", "CPU time", r.CPUNsPerRecord, r.GCCPUNsPerRecord)
	if r.BrokerCPUNsPerRecord != nil {
		w.printf("  %-22s %.0f ns a record, in its own process\n", "CPU time, broker", *r.BrokerCPUNsPerRecord)
	}
	w.printf("  %-22s %.4f and %.1f bytes a record\n", "allocations", r.AllocsPerRecord, r.BytesAllocatedPerRecord)
	w.printf("  %-22s %.0f MB\n", "peak RSS", float64(r.PeakRSSBytes)/1e6)
	w.printf("  %-22s %d, p50 %.3f s, p99 %.3f s, %d failed\n", "commits", r.Commits, r.CommitP50Seconds, r.CommitP99Seconds, r.CommitFailures)
	w.printf("  %-22s after %.2f s\n", "first visible row", r.FirstRowSeconds)
	w.printf("  %-22s %d, %.1f bytes a row\n", "data files", r.DataFiles, r.FileBytesPerRow)
	w.printf("  %-22s %d CPUs, %s, %s/%s\n", "machine", r.Machine.CPUs, r.Machine.Go, r.Machine.OS, r.Machine.Arch)
	if r.OK {
		w.printf("\nEach record is in the table once.\n")
	}
	if r.Dir != "" {
		w.printf("Everything is in %s\n", r.Dir)
	}
}

func printComparison(w *errWriter, c *bench.Comparison) {
	w.printf("\n%-27s %14s %14s %8s\n", "against the earlier run", "before", "now", "ratio")
	for _, r := range c.Ratios {
		ratio := "-"
		if r.Ratio != nil {
			ratio = fmt.Sprintf("%.3f", *r.Ratio)
		}
		w.printf("%-27s %14s %14s %8s\n", r.Name, figure(r.Before), figure(r.Now), ratio)
	}
	for _, d := range c.Differ {
		w.printf("The runs differ in %s\n", d)
	}
}

// figure writes a number with as many places as it needs.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// profiles starts the profiles that were asked for and gives what ends them.
func (f *benchFlags) profiles() (func() error, error) {
	cpu, err := f.startCPU()
	if err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(cpu.Close(), f.writeMem())
	}, nil
}

// startCPU gives a file that may be nil, which Close does not mind.
func (f *benchFlags) startCPU() (*optionalFile, error) {
	file, err := create(f.cpuProfile)
	if err != nil || file.f == nil {
		return file, err
	}
	if err := pprof.StartCPUProfile(file.f); err != nil {
		return nil, errors.Join(fmt.Errorf("start the CPU profile: %w", err), file.Close())
	}
	return file, nil
}

func (f *benchFlags) writeMem() error {
	file, err := create(f.memProfile)
	if err != nil || file.f == nil {
		return err
	}
	runtime.GC() // the profile stands as of the last collection
	return errors.Join(pprof.Lookup("allocs").WriteTo(file.f, 0), file.Close())
}

// optionalFile is a file, or none where no name was given.
type optionalFile struct{ f *os.File }

func create(name string) (*optionalFile, error) {
	if name == "" {
		return &optionalFile{}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("make the profile: %w", err)
	}
	return &optionalFile{f}, nil
}

// Close closes the file if there is one.
func (o *optionalFile) Close() error {
	if o.f == nil {
		return nil
	}
	return o.f.Close()
}
