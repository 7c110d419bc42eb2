package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/source"
)

func positionsCommand() *command {
	return &command{
		name:    "positions",
		summary: "show where the table stands in each partition, set it, or forget it",
		usage: "positions show [--json] CONFIG\n       floe positions set [--yes] [--json] [--all earliest|latest] CONFIG [TOPIC/PARTITION=OFFSET ...]\n" +
			"       floe positions forget [--yes] [--json] CONFIG TOPIC|TOPIC/PARTITION ...",
		help: `
show prints, for each partition, the position up to which the table holds everything, what the log holds, and the counts
of rows, rejects, filtered records and positions without a record since the partition's first start.

set writes positions into the table, with an empty snapshot. It is the answer whenever floe stops and asks: after a
rollback to before floe's first commit, when the log has lost what the table wants next, when a topic was made anew. An
offset is a number, earliest or latest; --all sets every partition of the configured topics. It says what is skipped or
read again and asks, unless --yes is there. A running topology takes the new positions up by itself.

forget takes the positions of a partition, or of a topic with all its partitions, out of the table, for topics that are not read any
more or are to start anew: rows that are read again will be there twice. The topology must not run. It shows what is forgotten and
asks, unless --yes is there, and prints what is left.
`,
		examples: `
floe positions show orders.yaml
floe positions set orders.yaml orders/0=12 orders/1=latest
floe positions set --all earliest orders.yaml
floe positions forget orders.yaml returns
`,
		run: runPositions,
	}
}

// everywhere is what --all sets all partitions to.
var everywhere = []string{"earliest", "latest"}

func runPositions(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print one JSON object")
	yes := fs.Bool("yes", false, "set, forget: without asking")
	var all string
	choiceVar(fs, &all, "all", "", everywhere, "set: all partitions to `WHERE`")
	rest, err := c.parse(cmd, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef(cmd, "show, set or forget is missing")
	case !slices.Contains([]string{"show", "set", "forget"}, rest[0]):
		return usagef(cmd, "%q is none of show, set and forget", rest[0])
	case all != "" && !slices.Contains(everywhere, all):
		return usagef(cmd, "--all %s is neither earliest nor latest", all)
	case all != "" && rest[0] != "set":
		return usagef(cmd, "--all belongs to set, not to %s", rest[0])
	}
	verb := rest[0]
	cfg, rest, err := c.configArg(cmd, rest[1:])
	switch {
	case err != nil:
		return err
	case verb == "show" && (len(rest) > 0 || *yes):
		return usagef(cmd, "show takes a configuration and nothing more")
	}
	p, err := build(cfg, quietLogger(cfg, c.stderr))
	if err != nil {
		return err
	}
	ctx, stop := c.untilSignal(func() {}, func() {})
	defer stop()
	switch verb {
	case "show":
		err = c.showPositions(ctx, p, *asJSON)
	case "set":
		err = c.setPositions(ctx, cmd, p, rest, all, *yes, *asJSON)
	default:
		err = c.forgetPositions(ctx, cmd, p, rest, *yes, *asJSON)
	}
	return redacted(errors.Join(err, p.close()), cfg)
}

// quietLogger is the log of commands that answer once: warnings, unless the configuration asks for debug.
func quietLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	quiet := *cfg
	if quiet.Log.Level == "info" {
		quiet.Log.Level = "warn"
	}
	return newLogger(w, &quiet)
}

// positionsReport is what show and set print as JSON.
type positionsReport struct {
	Topology string `json:"topology"`
	Table    string `json:"table"`
	// Known is false where the table has never held positions of this topology.
	Known      bool  `json:"known"`
	SnapshotID int64 `json:"snapshot_id,omitempty"`
	// Stop says why floe can't go on without a person, and Hint what to do.
	Stop string `json:"stop,omitempty"`
	Hint string `json:"hint,omitempty"`
	// Broker says why the log's bounds are missing.
	Broker     string           `json:"broker_error,omitempty"`
	Partitions []positionReport `json:"partitions"`
}

type positionReport struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Cluster     string `json:"cluster"`
	Incarnation string `json:"incarnation,omitempty"`
	// Next is the table's position, null where it has none; First, Last and Behind are null where the broker did not tell.
	Next   *source.Position `json:"next"`
	First  *source.Position `json:"first"`
	Last   *source.Position `json:"last"`
	Behind *int64           `json:"behind"`

	Rows     int64 `json:"rows"`
	Rejects  int64 `json:"rejects"`
	Filtered int64 `json:"filtered"`
	Skipped  int64 `json:"skipped"`
	// Problem says why the partition can't be read from Next on.
	Problem string `json:"problem,omitempty"`
}

func (c *cli) showPositions(ctx context.Context, p *parts, asJSON bool) error {
	com, err := p.committer(p.table.ReadOnly())
	if err != nil {
		return err
	}
	report := positionsReport{Topology: p.cfg.Name, Table: p.cfg.Table.Name, Partitions: []positionReport{}}
	at, err := ask(ctx, com.Load)
	var stop *committer.StopError
	switch {
	case errors.As(err, &stop):
		report.Stop, report.Hint = stop.Reason, stop.Hint
	case target.IsMissing(err) && p.cfg.Table.Create != nil:
		// run will make it: there are no positions yet.
	case err != nil:
		return fmt.Errorf("look for the positions: %w", err)
	}
	bounds, berr := ask(ctx, p.source.Partitions)
	if berr != nil {
		report.Broker = explain(berr)
	}
	report.fill(at, bounds, berr == nil)
	return c.printPositions(report, asJSON)
}

// ask bounds one question.
func ask[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return f(ctx)
}

// fill lists every partition that the table or the broker has.
func (r *positionsReport) fill(at committer.Positions, bounds []source.Bounds, reached bool) {
	r.Known, r.SnapshotID = at.Known, at.SnapshotID
	byPartition := map[source.Partition]source.Bounds{}
	for _, b := range bounds {
		byPartition[b.Partition] = b
	}
	all := maps.Clone(at.At)
	if all == nil {
		all = map[source.Partition]committer.Progress{}
	}
	for q := range byPartition {
		if _, ok := all[q]; !ok {
			all[q] = committer.Progress{Next: -1}
		}
	}
	for _, q := range slices.SortedFunc(maps.Keys(all), comparePartitions) {
		pr := all[q]
		row := positionReport{Topic: q.Topic, Partition: q.ID, Cluster: q.Cluster, Incarnation: q.Incarnation,
			Rows: pr.Rows, Rejects: pr.Rejects, Filtered: pr.Filtered, Skipped: pr.Skipped}
		if pr.Next >= 0 {
			row.Next = &pr.Next
		}
		b, ok := byPartition[q]
		if ok {
			row.First, row.Last = &b.First, &b.Last
		}
		switch {
		case !ok && reached:
			row.Problem = "the broker has no such partition in this cluster and incarnation of the topic"
		case ok && row.Next != nil && pr.Next < b.First:
			row.Problem = fmt.Sprintf("the log has lost %d records that the table does not hold", b.First-pr.Next)
		case ok && row.Next != nil && pr.Next > b.Last:
			row.Problem = "the log ends before the table's position"
		case ok && row.Next != nil:
			behind := int64(b.Last - pr.Next)
			row.Behind = &behind
		}
		r.Partitions = append(r.Partitions, row)
	}
}

func comparePartitions(a, b source.Partition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	if a.ID != b.ID {
		return int(a.ID) - int(b.ID)
	}
	return strings.Compare(a.Cluster+"/"+a.Incarnation, b.Cluster+"/"+b.Incarnation)
}

func (c *cli) printPositions(r positionsReport, asJSON bool) error {
	if asJSON {
		return c.printJSON(r)
	}
	w := &errWriter{w: c.stdout}
	switch {
	case r.Stop != "":
		w.printf("Topology %s on %s stands still until somebody decides: %s. %s\n\n", r.Topology, r.Table, r.Stop, r.Hint)
	case !r.Known:
		w.printf("The table %s holds no positions of topology %s yet; it starts where source.kafka.start says.\n\n", r.Table, r.Topology)
	case r.SnapshotID != 0:
		w.printf("Topology %s on %s, from snapshot %d\n\n", r.Topology, r.Table, r.SnapshotID)
	default:
		w.printf("Topology %s on %s, from the table's property\n\n", r.Topology, r.Table)
	}
	if r.Broker != "" {
		w.printf("What the log holds is not known: %s\n\n", r.Broker)
	}
	if w.err != nil {
		return w.err
	}
	tw := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	t := &errWriter{w: tw}
	t.printf("partition\tnext\tfirst\tlast\tbehind\trows\trejects\tfiltered\tskipped\t\n")
	for _, p := range r.Partitions {
		t.printf("%s/%d\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t\n", p.Topic, p.Partition, number(p.Next), number(p.First), number(p.Last),
			number(p.Behind), p.Rows, p.Rejects, p.Filtered, p.Skipped)
	}
	if err := errors.Join(t.err, tw.Flush()); err != nil {
		return err
	}
	for _, p := range r.Partitions {
		if p.Problem != "" {
			w.printf("\n%s/%d: %s; `floe positions set` goes on with what is there\n", p.Topic, p.Partition, p.Problem)
		}
	}
	return w.err
}

func number[T ~int64](n *T) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(int64(*n))
}

// waitTimeout is how long set goes on trying when the table is being committed to, or the catalog is away.
const waitTimeout = 2 * time.Minute
