package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/topology"
)

func statusCommand() *command {
	return &command{
		name:    "status",
		summary: "ask a running floe how its topology is",
		usage:   "status [--address HOST:PORT] [--json] CONFIG",
		help: `
Asks the floe that runs the configuration, at its http.listen: whether it is ready and why not, what its tasks and committers do, where
each partition stands, and what went wrong last, with what to do about it. --address asks elsewhere, for one that runs on another
machine or listens at a port that the system chose. --json prints what /status gives.

Exit code 0: it is ready. 1: it is not, or does not answer.
`,
		examples: `
floe status orders.yaml
floe status --address 10.0.0.7:9464 --json orders.yaml
`,
		run: runStatus,
	}
}

func runStatus(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print one JSON object")
	addr := fs.String("address", "", "ask at `HOST:PORT` instead of http.listen")
	rest, err := c.parse(cmd, fs, args)
	if err != nil {
		return err
	}
	cfg, rest, err := c.configArg(cmd, rest)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	}
	if *addr == "" {
		if *addr, err = askedAt(cfg); err != nil {
			return err
		}
	}
	ctx, stop := c.untilSignal(func() {}, func() {})
	defer stop()
	st, err := statusAt(ctx, *addr, cfg.Name)
	if err != nil {
		return redacted(err, cfg)
	}
	if *asJSON {
		err = c.printJSON(st)
	} else {
		err = c.printStatus(st, time.Now())
	}
	if err == nil && !st.Ready {
		err = &silentError{exitFailed}
	}
	return err
}

// askedAt is where a floe on this machine that runs the configuration can be asked.
func askedAt(cfg *config.Config) (string, error) {
	if cfg.HTTP.Off() {
		return "", fmt.Errorf("%s: http.listen is off, so that a running floe can't be asked; write an address, or see `floe positions show`", cfg.File())
	}
	host, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	switch {
	case err != nil:
		return "", fmt.Errorf("http.listen: %w", err)
	case port == "0":
		return "", fmt.Errorf("%s: http.listen has port 0, another one at each start; the log of the running floe says which: give it as --address", cfg.File())
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}

// largestStatus bounds what is read of an answer.
const largestStatus = 64 << 20

// statusAt asks for the status of the topology of that name.
func statusAt(ctx context.Context, addr, name string) (*topology.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", nil)
	if err != nil {
		return nil, fmt.Errorf("ask at %s: %w", addr, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the running floe: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or it is of no use
	body, err := io.ReadAll(io.LimitReader(resp.Body, largestStatus))
	if err != nil {
		return nil, fmt.Errorf("ask the running floe at %s: %w", addr, err)
	}
	var several struct {
		topology.Status
		Topologies []topology.Status `json:"topologies"`
	}
	if err := json.Unmarshal(body, &several); err != nil || resp.StatusCode != http.StatusOK || several.Phase == "" && several.Topologies == nil {
		return nil, fmt.Errorf("what answers at %s (HTTP %d) is no floe; correct http.listen, or give --address", addr, resp.StatusCode)
	}
	all := several.Topologies
	if all == nil {
		all = []topology.Status{several.Status}
	}
	i := slices.IndexFunc(all, func(st topology.Status) bool { return st.Topology == name })
	if i < 0 {
		var names []string
		for _, st := range all {
			names = append(names, st.Topology)
		}
		return nil, fmt.Errorf("the floe at %s runs %s, and not %s", addr, strings.Join(names, ", "), name)
	}
	return &all[i], nil
}

func (c *cli) printStatus(st *topology.Status, now time.Time) error {
	ago := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return now.Sub(*t).Round(time.Second).String()
	}
	ready := "ready"
	if !st.Ready {
		ready = "not ready"
	}
	w := &errWriter{w: c.stdout}
	w.printf("Topology %s on %s: %s, %s, up for %s\n", st.Topology, st.Table, st.Phase, ready, ago(st.Started))
	for _, why := range st.NotReady {
		w.printf("  not ready: %s\n", why)
	}
	for _, t := range st.Troubles {
		w.printf("  %s, for %s: %s%s\n", t.Part, ago(&t.Since), t.Error, after(t.Hint))
	}
	if st.LastError != "" {
		w.printf("  the last error, %s ago: %s%s\n", ago(st.LastErrorAt), st.LastError, after(st.Hint))
	}
	if st.WAL != nil {
		w.printf("  %d entries in the write-ahead log\n", st.WAL.Entries)
	}
	for _, code := range slices.Sorted(maps.Keys(st.Rejects)) {
		w.printf("  %d rejects: %s\n", st.Rejects[code], code)
	}
	if w.err != nil {
		return w.err
	}
	tw := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	t := &errWriter{w: tw}
	t.printf("\ntask\tphase\topen rows\tin flight\tsealed rows\tfiles\trejects\t\n")
	for _, s := range st.Tasks {
		t.printf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t\n", s.Task, s.Phase, s.OpenRows, s.InFlight, s.Sealed.Rows, s.Sealed.Files, s.Sealed.Rejects)
	}
	t.printf("\ncommitter\tphase\tcommits\trows\tfiles\tpending\tlast commit\t\n")
	for _, s := range st.Committers {
		t.printf("%s\t%s\t%d\t%d\t%d\t%d\t%s\t\n", s.Committer, s.Phase, s.Commits, s.Rows, s.Files, s.PendingFiles, ago(s.LastCommit))
	}
	t.printf("\npartition\tread\tsealed\tcommitted\tend\tbehind\t\n")
	for _, p := range st.Partitions {
		t.printf("%s/%d\t%d\t%d\t%d\t%s\t%s\t\n", p.Topic, p.Partition, p.Read, p.Sealed, p.Committed, number(p.End), number(p.LagRecords))
	}
	if err := errors.Join(t.err, tw.Flush()); err != nil {
		return err
	}
	for _, p := range st.Partitions {
		if p.Stopped != "" {
			w.printf("\n%s/%d is stopped: %s\n", p.Topic, p.Partition, p.Stopped)
		}
	}
	return w.err
}

// after is a hint behind a sentence.
func after(hint string) string {
	if hint == "" {
		return ""
	}
	return ". " + hint
}
