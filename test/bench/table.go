package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/stormfloe/floe/internal/bench"
)

// entry is a line of the file of runs.
type entry struct {
	Group  string        `json:"group"`
	Label  string        `json:"label"`
	Run    int           `json:"run"`
	Result *bench.Result `json:"result"`
}

func (c *call) table(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("table", flag.ContinueOnError)
	runs := fs.Int("runs", 6, "runs of each row")
	out := fs.String("out", "bench.jsonl", "append each run to this file as a line of JSON")
	only := fs.String("only", "", "groups to make, with commas between them: "+strings.Join(groupNames(), ", "))
	most := fs.Int("rows", 0, "make only the first rows of a group; 0 for all")
	more := fs.String("flags", "", "flags that each run of floe bench gets besides, with blanks between them")
	floe := fs.String("floe", "", "the floe to run; built where it is not given")
	if _, err := c.parse(fs, args, 0); err != nil {
		return err
	}
	chosen, err := choose(*only, *most)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "floe-table-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bin, err := binary(ctx, *floe, dir)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(*out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var all []entry
	for _, g := range chosen {
		for n := range *runs {
			for _, r := range g.rows {
				res, err := c.measure(ctx, bin, append(slices.Clone(r.args), strings.Fields(*more)...))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", g.title, r.label, err)
				}
				e := entry{g.name, r.label, n + 1, res}
				if err := json.NewEncoder(file).Encode(e); err != nil {
					return err
				}
				all = append(all, e)
				_, _ = fmt.Fprintf(c.stderr, "%s, %s, run %d: %.0f ns CPU a record, %.0f records/s\n",
					g.title, r.label, n+1, res.CPUNsPerRecord, res.RecordsPerSecond)
			}
		}
	}
	return markdown(c.stdout, all)
}

func groupNames() (names []string) {
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}

// choose gives the groups that are named, all where none is, with their first rows.
func choose(only string, most int) ([]group, error) {
	var out []group
	for _, g := range groups() {
		if only != "" && !slices.Contains(strings.Split(only, ","), g.name) {
			continue
		}
		if most > 0 {
			g.rows = g.rows[:min(most, len(g.rows))]
		}
		out = append(out, g)
	}
	for _, name := range strings.Split(only, ",") {
		if only != "" && !slices.Contains(groupNames(), name) {
			return nil, &usageError{fmt.Sprintf("there is no group %q; write some of %s", name, strings.Join(groupNames(), ","))}
		}
	}
	return out, nil
}

// measure is one run of floe bench.
func (c *call) measure(ctx context.Context, floe string, args []string) (*bench.Result, error) {
	cmd := exec.CommandContext(ctx, floe, append([]string{"bench", "--json"}, args...)...)
	// It cleans up after itself, and ends its broker.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("floe bench %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	var res bench.Result
	if err := json.Unmarshal(out, &res); err != nil {
		return nil, fmt.Errorf("floe bench %s: %w in %s", strings.Join(args, " "), err, out)
	}
	return &res, nil
}

// load reads files of runs.
func load(r io.Reader) ([]entry, error) {
	var all []entry
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil || e.Result == nil {
			return nil, fmt.Errorf("line %d is no run", n)
		}
		all = append(all, e)
	}
	return all, s.Err()
}

func (c *call) loadArg(name string, args []string) (_ []entry, err error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	rest, err := c.parse(fs, args, 1)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(rest[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	all, err := load(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", rest[0], err)
	}
	return all, nil
}

func (c *call) print(_ context.Context, args []string) error {
	all, err := c.loadArg("print", args)
	if err != nil {
		return err
	}
	return markdown(c.stdout, all)
}

func (c *call) plot(_ context.Context, args []string) error {
	all, err := c.loadArg("plot", args)
	if err != nil {
		return err
	}
	return plot(c.stdout, summarise(all))
}
