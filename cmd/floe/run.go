package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/topology"
)

func runCommand() *command {
	return &command{
		name:    "run",
		summary: "run the topology of a configuration",
		usage:   "run [--until-caught-up] [--json] CONFIG",
		help: `
Runs the topology of the configuration: Kafka topics into an Iceberg table, exactly once, until it is ended.

SIGINT or SIGTERM ends it gracefully: what is open is sealed and committed within shutdown_timeout. A second signal ends
it at once; nothing is lost then either, the next start reads again what was not committed. The log goes to stderr.

http.listen serves /metrics (Prometheus), /livez, /readyz (which says why not) and /status (JSON).
`,
		run: runRun,
	}
}

// runOutcome is what run --json prints at its end.
type runOutcome struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	// Rows, Files and Commits are those that this run made visible.
	Rows    int64   `json:"rows"`
	Files   int64   `json:"files"`
	Commits int64   `json:"commits"`
	Seconds float64 `json:"seconds"`
	// Status is the topology's at its end, null where none was made.
	Status *topology.Status `json:"status"`
}

func runRun(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	caughtUp := fs.Bool("until-caught-up", false, "end when the table holds everything that the topics hold at the start")
	asJSON := fs.Bool("json", false, "print the outcome as one JSON object at the end")
	rest, err := c.parse(cmd, fs, args)
	if err != nil {
		return err
	}
	cfg, rest, err := c.configArg(cmd, rest)
	switch {
	case err != nil && *asJSON && isConfigError(err):
		return errors.Join(c.printJSON(runOutcome{Error: explain(err)}), err)
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	}
	logger := newLogger(cfg, c.stderr)
	// Libraries that use the standard log land in the same place.
	slog.SetDefault(logger)
	log.SetFlags(0)

	var top *topology.Topology
	began := time.Now()
	killed := make(chan struct{})
	ctx, stop := c.untilSignal(
		func() { logger.Info("ending: what is open is sealed and committed; a second signal ends at once") },
		func() { close(killed) })
	defer stop()
	r := &runner{cfg: cfg, log: logger, untilCaughtUp: *caughtUp, killed: killed, started: func(t *topology.Topology) { top = t }}
	err = redacted(cfg, r.run(ctx))
	if !*asJSON {
		return err
	}
	var status *topology.Status
	if top != nil {
		st := top.Status()
		status = &st
	}
	return c.printRun(cfg, status, err, time.Since(began))
}

// printRun prints the outcome, and the error on stderr as well.
func (c *cli) printRun(cfg *config.Config, st *topology.Status, err error, d time.Duration) error {
	out := runOutcome{OK: err == nil, Seconds: d.Seconds(), Status: st}
	if st != nil {
		for _, s := range st.Committers {
			out.Rows, out.Files, out.Commits = out.Rows+s.Rows, out.Files+s.Files, out.Commits+s.Commits
		}
	}
	if err != nil {
		out.Error = cfg.Redact(explain(err))
	}
	if perr := c.printJSON(out); perr != nil {
		return perr
	}
	return err
}

// runner runs the topology of a configuration with everything around it.
type runner struct {
	cfg           *config.Config
	log           *slog.Logger
	untilCaughtUp bool
	// killed ends it at once when it is closed.
	killed <-chan struct{}
	// started is told the topology before it runs.
	started func(*topology.Topology)
}

func (r *runner) run(ctx context.Context) (err error) {
	p, err := build(r.cfg, r.log)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := p.table.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("close the catalog: %w", cerr)
		}
	}()
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	top, err := p.topology(r.untilCaughtUp, reg)
	if err != nil {
		return err
	}
	r.started(top)
	if !r.cfg.HTTP.Off() {
		srv, err := serve(r.cfg.HTTP.Listen, reg, top.Status, r.cfg.Redact, r.log)
		if err != nil {
			return err
		}
		defer srv.close(context.WithoutCancel(ctx))
		r.log.Info("HTTP server listens", "address", srv.ln.Addr().String())
	}
	defer limitMemory(r.cfg, r.log)()
	err = r.untilKilled(func() error { return top.Run(ctx) }, top.Kill)
	if wrong := target.ConfigError(err); wrong != nil {
		return &configError{r.cfg.File(), wrong}
	}
	return err
}

// untilKilled waits for f. After killed it calls kill and gives f a moment, so that what it has open is closed, but no
// more: the user has asked twice.
func (r *runner) untilKilled(f func() error, kill func()) error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-r.killed:
	}
	kill()
	r.log.Warn("ended at once by a second signal; nothing is lost, the next start reads again what was not committed")
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
	}
	return &silentError{exitFailed}
}

// uncounted is what a process takes beside what Go's runtime counts: the pages of the binary itself, mostly.
const uncounted = 64 << 20

// limitMemory tells Go's runtime the bound of the configuration, less what the runtime does not count, unless the user
// has set GOMEMLIMIT. It gives the function that takes it back.
func limitMemory(cfg *config.Config, log *slog.Logger) func() {
	limit := max(int64(cfg.Memory)/2, int64(cfg.Memory)-uncounted)
	before := debug.SetMemoryLimit(-1)
	if before < 1<<62 {
		log.Info("GOMEMLIMIT is set and kept", "bytes", before)
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
