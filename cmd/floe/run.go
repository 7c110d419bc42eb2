package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
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
		summary: "run the topology of a configuration, or of several",
		usage:   "run [--until-caught-up] [--json] CONFIG ...",
		help: `
Runs the topology of the configuration: Kafka topics into an Iceberg table, exactly once, until it is ended.

SIGINT or SIGTERM ends it gracefully: what is open is sealed and committed within shutdown_timeout. A second signal ends
it at once; nothing is lost then either, the next start reads again what was not committed. The log goes to stderr.

http.listen serves a page at /, and /metrics (Prometheus), /livez, /readyz (which says why not) and /status (JSON).

Several configurations run in one process. memory, http and log are those of the first; memory is divided evenly. Each topology has a
fate of its own: one that fails is not ready and told of in the log, and the others go on. The exit code is 1 if any has failed.
`,
		examples: `
floe run orders.yaml
floe run --until-caught-up --json orders.yaml
floe run orders.yaml returns.yaml
`,
		run: runRun,
	}
}

func runRun(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	caughtUp := fs.Bool("until-caught-up", false, "end when the table holds everything that the topics hold at the start")
	asJSON := fs.Bool("json", false, "print the outcome as one JSON object at the end")
	paths, err := c.parse(cmd, fs, args)
	if err != nil {
		return err
	}
	cfgs, err := c.configArgs(cmd, paths)
	switch {
	case err != nil && *asJSON && isConfigError(err):
		return errors.Join(c.printJSON(runOutcome{Error: explain(err)}), err)
	case err != nil:
		return err
	}
	logger := newLogger(c.stderr, cfgs...)
	// Libraries that use the standard log land in the same place.
	slog.SetDefault(logger)
	log.SetFlags(0)

	tops := make([]*topology.Topology, len(cfgs))
	began := time.Now()
	killed := make(chan struct{})
	ctx, stop := c.untilSignal(
		func() { logger.Info("ending: what is open is sealed and committed; a second signal ends at once") },
		func() { close(killed) })
	defer stop()
	r := &runner{cfgs: cfgs, log: logger, untilCaughtUp: *caughtUp, killed: killed, started: func(i int, t *topology.Topology) { tops[i] = t }}
	errs, err := r.run(ctx)
	err = redacted(err, cfgs...)
	if len(cfgs) == 1 && err == nil {
		err = errs[0]
	}
	if *asJSON {
		return c.printRun(cfgs, tops, errs, err, time.Since(began))
	}
	return c.ended(cfgs, errs, err)
}

// ended says which of several topologies failed; err is what concerns all of them.
func (c *cli) ended(cfgs []*config.Config, errs []error, err error) error {
	if err != nil || len(cfgs) == 1 {
		return err
	}
	for i, one := range errs {
		if one != nil {
			c.errorf("%s: %s", cfgs[i].File(), strings.TrimPrefix(explain(one), cfgs[i].File()+": "))
			err = &silentError{exitFailed}
		}
	}
	return err
}

// runner runs the topologies of configurations with everything around them.
type runner struct {
	// cfgs are checked by config.Together.
	cfgs          []*config.Config
	log           *slog.Logger
	untilCaughtUp bool
	// killed ends them at once when it is closed.
	killed <-chan struct{}
	// started is told each topology before it runs.
	started func(i int, t *topology.Topology)

	reg *prometheus.Registry
	// filters are the metrics of record.filter that are registered, by the place of the configuration.
	filters map[int]*filterMetrics
	// states counts the topologies by what has become of them: their own metrics leave when they end.
	states *prometheus.GaugeVec
}

// newStates is the metric of n topologies that are about to run.
func newStates(n int) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "floe", Name: "topologies", Help: "Topologies of this process, by what has become of them."},
		[]string{"state"})
	v.WithLabelValues("running").Set(float64(n))
	v.WithLabelValues("failed").Set(0)
	v.WithLabelValues("done").Set(0)
	return v
}

// over counts a topology that has ended.
func (r *runner) over(err error) {
	r.states.WithLabelValues("running").Dec()
	if err != nil {
		r.states.WithLabelValues("failed").Inc()
		return
	}
	r.states.WithLabelValues("done").Inc()
}

// run gives what became of each topology; err where none was started, or all were killed.
func (r *runner) run(ctx context.Context) (errs []error, err error) {
	reg := prometheus.NewRegistry()
	r.reg, r.filters = reg, map[int]*filterMetrics{}
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.states = newStates(len(r.cfgs))
	reg.MustRegister(newBuildInfo(), r.states)
	tops := make([]*topology.Topology, len(r.cfgs))
	for i, cfg := range r.cfgs {
		p, err := build(cfg, r.logOf(cfg))
		if err != nil {
			return nil, err
		}
		defer func() {
			if cerr := p.close(); cerr != nil && errs != nil && errs[i] == nil {
				errs[i] = redacted(fmt.Errorf("close the catalog: %w", cerr), cfg)
			}
		}()
		if tops[i], err = r.make(i, p); err != nil {
			return nil, err
		}
		r.started(i, tops[i])
	}
	srv, err := r.serve(reg, tops)
	if err != nil {
		return nil, err
	}
	defer srv.close(context.WithoutCancel(ctx))
	defer limitMemory(r.cfgs, r.log)()
	return r.untilKilled(tops, func() []error { return r.runAll(ctx, tops) })
}

// logOf tells several topologies apart.
func (r *runner) logOf(cfg *config.Config) *slog.Logger {
	if len(r.cfgs) == 1 {
		return r.log
	}
	return r.log.With("config", cfg.File())
}

func (r *runner) make(i int, p *parts) (*topology.Topology, error) {
	if f := p.format.filter; f != nil {
		m := newFilterMetrics(f, p.cfg)
		if err := r.reg.Register(m); err != nil {
			return nil, fmt.Errorf("register the metrics of record.filter: %w", err)
		}
		r.filters[i] = m
	}
	return p.topology(r.untilCaughtUp, r.reg)
}

// status is what topology i says, with what its rules have left out.
func (r *runner) status(i int, t *topology.Topology) topology.Status {
	st := t.Status()
	if m := r.filters[i]; m != nil {
		st.FilteredBy = map[string]int64{}
		m.filter.Rules(func(name string, n int64) { st.FilteredBy[name] = n })
	}
	return st
}

// serve starts the HTTP server of all topologies; nil where none is wanted.
func (r *runner) serve(reg *prometheus.Registry, tops []*topology.Topology) (*server, error) {
	http := r.cfgs[0].HTTP
	if http.Off() {
		return nil, nil
	}
	srv, err := serve(http.Listen, &site{metrics: reg, pprof: http.Pprof, redact: redactorOf(r.cfgs), status: func() []topology.Status {
		all := make([]topology.Status, len(tops))
		for i, t := range tops {
			all[i] = r.status(i, t)
		}
		return all
	}}, r.log)
	if err == nil {
		r.log.Info("HTTP server listens", "address", srv.ln.Addr().String())
	}
	return srv, err
}

// runAll runs each topology until it ends by itself or with ctx; none takes another with it.
func (r *runner) runAll(ctx context.Context, tops []*topology.Topology) []error {
	errs := make([]error, len(tops))
	var all sync.WaitGroup
	for i, t := range tops {
		all.Go(func() {
			cfg := r.cfgs[i]
			err := t.Run(ctx)
			r.over(err)
			if m := r.filters[i]; m != nil {
				r.reg.Unregister(m)
			}
			if wrong := target.ConfigError(err); wrong != nil {
				err = &configError{cfg.File(), wrong}
			}
			errs[i] = redacted(err, cfg)
			if err != nil && len(tops) > 1 {
				r.logOf(cfg).Error("the topology has failed", "topology", cfg.Name, "error", err)
			}
		})
	}
	all.Wait()
	return errs
}

// untilKilled waits for f. After killed it kills the topologies and gives f a moment, so that what it has open is closed, but no
// more: the user has asked twice.
func (r *runner) untilKilled(tops []*topology.Topology, f func() []error) ([]error, error) {
	ended := make(chan []error, 1)
	go func() { ended <- f() }()
	select {
	case errs := <-ended:
		return errs, nil
	case <-r.killed:
	}
	for _, t := range tops {
		t.Kill()
	}
	r.log.Warn("ended at once by a second signal; nothing is lost, the next start reads again what was not committed")
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
	}
	return nil, &silentError{exitFailed}
}

// uncounted is what a process takes beside what Go's runtime counts: the pages of the binary itself, mostly.
const uncounted = 64 << 20

// limitMemory tells Go's runtime the bound of the configurations, less what the runtime does not count, unless the user
// has set GOMEMLIMIT. It gives the function that takes it back.
func limitMemory(cfgs []*config.Config, log *slog.Logger) func() {
	total := int64(0)
	for _, cfg := range cfgs {
		total += int64(cfg.Memory)
	}
	limit := max(total/2, total-uncounted)
	before := debug.SetMemoryLimit(-1)
	if before < 1<<62 {
		log.Info("GOMEMLIMIT is set and kept", "bytes", before)
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
