package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/demo"
	"github.com/stormfloe/floe/topology"
)

func demoCommand() *command {
	return &command{
		name:    "demo",
		summary: "the first minute: broker, catalog and warehouse embedded, nothing to install",
		usage:   "demo [--records N] [--dir DIR] [--json]",
		help: `
Starts a Kafka broker in this process, an SQLite catalog and a local warehouse, produces events into a topic of 8
partitions, runs the real topology over the real protocol, then reads the table back and checks that every event is in
it exactly once. At the end it prints where the table is and how to query it with DuckDB and PyIceberg.

Everything lies in one folder: catalog.db, warehouse/, broker/ (the records), floe.yaml (the configuration that was run),
floe.log and demo.json. With --dir a second demo on the folder goes on where the first ended, however that ended: kill it
and start it again. The number of records is that of all runs together.
`,
		examples: `
floe demo
floe demo --records 1000000 --dir /tmp/floe-demo
`,
		run: runDemo,
	}
}

func runDemo(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	records := fs.Int64("records", 0, "`N` events in all; default 100000, or what the run before wanted")
	dir := fs.String("dir", "", "keep everything in `DIR`; default a new temporary folder, which is kept as well")
	asJSON := fs.Bool("json", false, "print the outcome as one JSON object")
	rest, err := c.parse(cmd, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	case *records < 0:
		return usagef(cmd, "--records %d is negative", *records)
	}
	killed := make(chan struct{})
	ctx, stop := c.untilSignal(
		func() { c.errorf("\nending; a second signal ends at once") },
		func() { close(killed) })
	defer stop()
	show := newProgress(c.stderr)
	out, err := demo.Run(ctx, demo.Options{
		Dir: *dir, Records: *records, Progress: show.update, Runner: &demoRunner{fileRunner{c, killed}},
	})
	show.end()
	if err == nil && ctx.Err() != nil {
		err = errors.New("the demo was ended before it was done")
	}
	return c.printDemo(out, err, *asJSON, *dir)
}

// printDemo prints what was done. After a failure it says what there is to look at and how to go on.
func (c *cli) printDemo(out *demo.Outcome, err error, asJSON bool, dir string) error {
	if out == nil {
		return err
	}
	if asJSON {
		v := struct {
			*demo.Outcome
			Error string `json:"error,omitempty"`
		}{Outcome: out}
		if err != nil {
			v.Error = explain(err)
		}
		if perr := c.printJSON(v); perr != nil {
			return perr
		}
		return err
	}
	if err != nil {
		if dir == "" {
			dir = out.Dir
		}
		return fmt.Errorf("%w\nThe log is in %s. To go on where this ended: floe demo --dir %s",
			err, filepath.Join(out.Dir, "floe.log"), dir)
	}
	return c.printDemoText(out)
}

func (c *cli) printDemoText(out *demo.Outcome) error {
	w := &errWriter{w: c.stdout}
	w.printf("Every one of %d events is in the table exactly once (%d rows, %d distinct ids, every column compared).\n\n",
		out.Records, out.Check.Rows, out.Check.Distinct)
	w.printf("  produced   %d events in %.1f s\n", out.Produced, out.ProduceSeconds)
	w.printf("  ingested   in %.1f s%s\n", out.IngestSeconds, rate(out.Produced, out.IngestSeconds))
	w.printf("  verified   in %.1f s\n\n", out.VerifySeconds)
	w.printf("Table %s\n  location   %s\n  metadata   %s\n  snapshots  %d\n", out.Table, out.Location, out.MetadataLocation, len(out.Snapshots))
	const most = 10
	first := max(0, len(out.Snapshots)-most)
	if first > 0 {
		w.printf("    ... %d earlier ones\n", first)
	}
	for _, s := range out.Snapshots[first:] {
		w.printf("    %d  %s  %s  +%d rows in %d files, %d rows in all\n", s.ID, s.CommittedAt.Format(time.RFC3339),
			s.Operation, s.AddedRows, s.AddedFiles, s.TotalRows)
	}
	w.printf("\nQuery it with DuckDB:\n\n%s\n\nQuery it with PyIceberg (pip install 'pyiceberg[sql-sqlite,pyarrow]'):\n\n%s\n\n",
		lines(out.Queries.DuckDB), lines(out.Queries.PyIceberg))
	w.printf("The configuration that was run: %s\nMore events:                    floe demo --dir %s --records %d\nRemove it all:                  rm -r %s\n",
		out.Config, out.Dir, out.Records*2, out.Dir)
	return w.err
}

func rate(n int64, seconds float64) string {
	if n == 0 || seconds <= 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f events a second", float64(n)/seconds)
}

// demoRunner is the demo's fileRunner.
type demoRunner struct{ fileRunner }

// RunUntilCaughtUp implements demo.Runner.
func (d *demoRunner) RunUntilCaughtUp(ctx context.Context, path string, committed func(int64)) error {
	watch := &watcher{committed: committed, done: make(chan struct{}), ended: make(chan struct{})}
	err := d.runFile(ctx, path, true, watch.start)
	watch.stop()
	return err
}

// Table implements demo.Runner.
func (d *demoRunner) Table(path string) (demo.Table, error) {
	cfg, err := config.Load(path, d.cli.env)
	if err != nil {
		return nil, err
	}
	return newTable(cfg)
}

// watcher tells how far the topology has come, a few times a second.
type watcher struct {
	committed   func(int64)
	started     bool
	done, ended chan struct{}
}

func (w *watcher) start(top *topology.Topology) {
	w.started = true
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
				var n int64
				for _, p := range top.Status().Partitions {
					n += int64(p.Committed)
				}
				w.committed(n)
			}
		}
	}()
}

func (w *watcher) stop() {
	if w.started {
		close(w.done)
		<-w.ended
	}
}
