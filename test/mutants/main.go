package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	only := flag.String("only", "", "run the mutants whose name matches this regular expression")
	verbose := flag.Bool("v", false, "print what the tests say of each mutant")
	jobs := flag.Int("j", runtime.NumCPU(), "mutants at a time")
	trust := flag.Bool("trust", false, "do not run the tests without a mutant first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *verbose, *trust, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, verbose, trust bool, jobs int) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var chosen []mutant
	for _, m := range mutants {
		if match.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	dir, err := os.MkdirTemp("", "floe-mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// What has rotted is told before anything runs.
	overlays := make([]string, len(chosen))
	for i, m := range chosen {
		if overlays[i], err = m.overlay(root, filepath.Join(dir, m.name)); err != nil {
			return err
		}
	}
	began := time.Now()
	if !trust {
		if err := unmutated(ctx, root, chosen); err != nil {
			return err
		}
		fmt.Printf("without a mutant all tests pass (%s)\n", time.Since(began).Round(time.Second))
	}
	results := make([]result, len(chosen))
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, jobs))
	for i, m := range chosen {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = m.try(ctx, root, overlays[i])
			fmt.Printf("%s: caught %v, %.0f s\n", m.name, results[i].err == nil, results[i].took.Seconds())
			if verbose || results[i].err != nil {
				fmt.Printf("\n=== %s\n%s\n", m.name, results[i].words)
			}
		})
	}
	wg.Wait()
	return report(results, time.Since(began))
}

// report prints the table. It gives an error where a mutant was not caught.
func report(results []result, took time.Duration) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MUTANT\tTHE MODEL\tTESTS\tPROMELA\tSECONDS")
	bad := 0
	for _, r := range results {
		spec := r.m.spec
		if spec == "" {
			spec = "-"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f\n", r.m.name, list(r.model), list(r.tests), spec, r.took.Seconds())
		if r.err != nil {
			bad++
			_, _ = fmt.Fprintf(w, "\tFAIL: %v\t\t\t\n", r.err)
		}
	}
	_ = w.Flush()
	fmt.Printf("%d mutants, %d caught, %s\n", len(results), len(results)-bad, took.Round(time.Second))
	if bad > 0 {
		return fmt.Errorf("%d mutants were not caught", bad)
	}
	return nil
}

func list(names []string) string {
	switch {
	case len(names) == 0:
		return "-"
	case len(names) > 3:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: run this inside the repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
