package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/stormfloe/floe/internal/bench"
)

// line is a row of the table with its medians.
type line struct {
	Label string
	Runs  int
	// Rate is in records, MB in millions of bytes a second. CPU is in ns a record, Commit in seconds, RSS in MB.
	Rate, MB, CPU, Allocs, RSS, Commit float64
	// Ratio is the group's figure over that of its base row; 0 where that is not there.
	Ratio float64
}

// section is a group with its lines, in the table's order.
type section struct {
	Title, Compared string
	Lines           []line
}

// summarise takes medians over the runs.
func summarise(all []entry) []section {
	var out []section
	for _, g := range groups() {
		s := section{Title: g.title, Compared: g.compared}
		base := median(results(all, g.name, g.rows[g.base].label), g.figure)
		for _, r := range g.rows {
			rs := results(all, g.name, r.label)
			if len(rs) == 0 {
				continue
			}
			l := line{Label: r.label, Runs: len(rs), CPU: median(rs, cpu), Commit: median(rs, commit)}
			l.Rate = median(rs, func(r *bench.Result) float64 { return r.RecordsPerSecond })
			l.MB = median(rs, func(r *bench.Result) float64 { return r.MBPerSecond })
			l.Allocs = median(rs, func(r *bench.Result) float64 { return r.AllocsPerRecord })
			l.RSS = median(rs, func(r *bench.Result) float64 { return float64(r.PeakRSSBytes) / 1e6 })
			if base > 0 {
				l.Ratio = median(rs, g.figure) / base
			}
			s.Lines = append(s.Lines, l)
		}
		if len(s.Lines) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func results(all []entry, group, label string) (rs []*bench.Result) {
	for _, e := range all {
		if e.Group == group && e.Label == label {
			rs = append(rs, e.Result)
		}
	}
	return rs
}

// median is 0 of nothing.
func median(rs []*bench.Result, of func(*bench.Result) float64) float64 {
	var vs []float64
	for _, r := range rs {
		vs = append(vs, of(r))
	}
	return medianOf(vs)
}

func medianOf(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	vs = slices.Sorted(slices.Values(vs))
	if n := len(vs); n%2 == 0 {
		return (vs[n/2-1] + vs[n/2]) / 2
	}
	return vs[len(vs)/2]
}

// markdown prints a table for each group.
func markdown(w io.Writer, all []entry) (err error) {
	printf := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format, args...)
		}
	}
	for _, s := range summarise(all) {
		printf("### %s\n\n| | records/s | MB/s | CPU ns/record | allocations/record | peak RSS MB | commit p50 ms | %s, ratio | runs |\n"+
			"|---|---:|---:|---:|---:|---:|---:|---:|---:|\n", s.Title, s.Compared)
		for _, l := range s.Lines {
			ratio := "-"
			if l.Ratio > 0 {
				ratio = fmt.Sprintf("%.2f", l.Ratio)
			}
			printf("| %s | %.0f | %.0f | %.0f | %.4f | %.0f | %.0f | %s | %d |\n",
				l.Label, l.Rate, l.MB, l.CPU, l.Allocs, l.RSS, l.Commit*1e3, ratio, l.Runs)
		}
		printf("\n")
	}
	machines := map[bench.Machine]bool{}
	for _, e := range all {
		if m := e.Result.Machine; !machines[m] {
			machines[m] = true
			printf("Machine: %d CPUs, %s, %s/%s.\n", m.CPUs, m.Go, m.OS, m.Arch)
		}
	}
	return err
}
