package main

import (
	"time"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/topology"
)

// runOutcome is what run --json prints at its end.
type runOutcome struct {
	// Config is there where several run.
	Config string `json:"config,omitempty"`
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	// Rows, Files and Commits are those that this run made visible.
	Rows    int64   `json:"rows"`
	Files   int64   `json:"files"`
	Commits int64   `json:"commits"`
	Seconds float64 `json:"seconds"`
	// Status is the topology's at its end, null where none was made.
	Status *topology.Status `json:"status"`
}

// runOutcomes is what run --json prints for several configurations.
type runOutcomes struct {
	OK         bool         `json:"ok"`
	Error      string       `json:"error,omitempty"`
	Seconds    float64      `json:"seconds"`
	Topologies []runOutcome `json:"topologies"`
}

// printRun prints the outcome, and the errors on stderr as well. err is what concerns all topologies.
func (c *cli) printRun(cfgs []*config.Config, tops []*topology.Topology, errs []error, err error, d time.Duration) error {
	if len(cfgs) == 1 {
		if perr := c.printJSON(outcomeOf(cfgs[0], tops[0], err, d)); perr != nil {
			return perr
		}
		return err
	}
	out := runOutcomes{OK: err == nil, Seconds: d.Seconds()}
	if err != nil {
		out.Error = redactorOf(cfgs)(explain(err))
	}
	for i, cfg := range cfgs {
		one := err
		if errs != nil {
			one = errs[i]
		}
		o := outcomeOf(cfg, tops[i], one, d)
		o.Config = cfg.File()
		out.OK = out.OK && o.OK
		out.Topologies = append(out.Topologies, o)
	}
	if perr := c.printJSON(out); perr != nil {
		return perr
	}
	return c.ended(cfgs, errs, err)
}

func outcomeOf(cfg *config.Config, top *topology.Topology, err error, d time.Duration) runOutcome {
	out := runOutcome{OK: err == nil, Seconds: d.Seconds()}
	if top != nil {
		st := top.Status()
		out.Status = &st
		for _, s := range st.Committers {
			out.Rows, out.Files, out.Commits = out.Rows+s.Rows, out.Files+s.Files, out.Commits+s.Commits
		}
	}
	if err != nil {
		out.Error = cfg.Redact(explain(err))
	}
	return out
}
