package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/source"
)

func rejectsCommand() *command {
	return &command{
		name:    "rejects",
		summary: "list, count, show, replay and settle the records that could not become rows",
		usage: "rejects list [--all] [--limit N] [--json] CONFIG\n       floe rejects count [--json] CONFIG\n" +
			"       floe rejects show [--json] CONFIG TOPIC/PARTITION=OFFSET\n       floe rejects replay [--json] CONFIG\n" +
			"       floe rejects settle [--yes] [--json] CONFIG there|missing",
		help: `
list prints the records that wait for a replay: where each stood in the log, and why it could not become a row. --all prints
those too that were replayed, and those that are history: the table was set back to before the commit that passed them, and
they were read again. count counts them by reason and column. Neither shows what is in the records; show does, for one of them.

replay maps the records that wait once more, by the configuration and the table as they are now. Those that fit become rows, in
the same commit that marks them as replayed; the others stay. It may run beside floe run, and be ended and called again.
It changes no schema, whatever table.evolve says: a record that needs a new or wider column stays until the table has it.

settle answers where floe says that it can't be told whether the rejects of a commit are where they belong, and shows which they
are: somebody set the rejects table back, its snapshots expired, or it is another table than the one they were written for. there
says that they are in the table; missing says that they are not, and they are appended, copied where they were written for
another table. There there also gives up what is nowhere, and settle asks before, unless --yes is there.
`,
		examples: `
floe rejects list orders.yaml
floe rejects show orders.yaml orders/3=1207
floe rejects replay orders.yaml
`,
		run: runRejects,
	}
}

// mostListed is how many records list prints where nobody says how many.
const mostListed = 100

// rejectsFlags are those of all verbs; each has its own.
type rejectsFlags struct {
	json, all, yes bool
	limit          int
}

func runRejects(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	var f rejectsFlags
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.BoolVar(&f.all, "all", false, "list: those too that were replayed, and history")
	fs.BoolVar(&f.yes, "yes", false, "settle: without asking")
	fs.IntVar(&f.limit, "limit", mostListed, "list: at most `N` records; 0 for all")
	rest, err := c.parse(cmd, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef(cmd, "list, count, show, replay or settle is missing")
	case f.limit < 0:
		return usagef(cmd, "--limit %d is negative", f.limit)
	}
	verbs := map[string]func(context.Context, *command, *parts, rejectsFlags, []string) error{
		"list": c.listRejects, "count": c.countRejects, "show": c.showReject, "replay": c.replayRejects,
		"settle": c.settleRejects,
	}
	verb, ok := verbs[rest[0]]
	if !ok {
		return usagef(cmd, "%q is none of list, count, show, replay and settle", rest[0])
	}
	if rest[0] != "list" && (f.all || f.limit != mostListed) {
		return usagef(cmd, "--all and --limit belong to list, not to %s", rest[0])
	}
	if rest[0] != "settle" && f.yes {
		return usagef(cmd, "--yes belongs to settle, not to %s", rest[0])
	}
	cfg, more, err := c.configArg(cmd, rest[1:])
	switch {
	case err != nil:
		return err
	case len(more) > 0 && rest[0] != "show" && rest[0] != "settle":
		return usagef(cmd, "%q is one argument too many", more[0])
	}
	p, err := build(cfg, quietLogger(cfg, c.stderr))
	if err != nil {
		return err
	}
	ctx, stop := c.untilSignal(func() {}, func() {})
	defer stop()
	err = verb(ctx, cmd, p, f, more)
	return redacted(errors.Join(err, p.close()), cfg)
}

// rejectsTable is the table that rejects go to, as a committer.Loader.
type rejectsTable struct{ *target.Table }

func newRejectsTable(cfg *config.Config) (*rejectsTable, error) {
	props := map[string]string{}
	for k, v := range rejects.Properties() {
		props[k] = v
	}
	t, err := target.New(target.Config{Catalog: cfg.Catalog.Properties, Table: cfg.Rejects.Table,
		Create: &target.Create{Columns: rejects.Columns(), Properties: props}})
	if err != nil {
		return nil, err
	}
	return &rejectsTable{t}, nil
}

// Load makes the table where it does not exist, and refuses one that rejects can't be written to.
func (t *rejectsTable) Load(ctx context.Context) (*table.Table, error) {
	tbl, err := t.Table.Load(ctx)
	if err != nil {
		return nil, err
	}
	if err := rejects.Check(tbl); err != nil {
		return nil, &source.FatalError{Err: err}
	}
	return tbl, nil
}

// rejectsView is both tables as they were at one time, the rejects first: a commit that they name is then on the main
// table's branch, or was.
type rejectsView struct {
	// table is nil where there is none yet.
	table *table.Table
	line  *rejects.Line
}

func (p *parts) lookAtRejects(ctx context.Context) (*rejectsView, error) {
	v := &rejectsView{}
	rej, err := ask(ctx, p.rejects.Look)
	switch {
	case err != nil && target.IsMissing(err):
		return v, nil
	case err != nil:
		return nil, fmt.Errorf("look at the rejects table %s: %w", p.cfg.Rejects.Table, err)
	}
	if err := rejects.Check(rej); err != nil {
		return nil, err
	}
	main, err := ask(ctx, p.table.Look)
	if err != nil {
		return nil, err
	}
	v.table, v.line = rej, rejects.NewLine(main, p.cfg.Committer.Branch)
	return v, nil
}

// read gives the topology's rejects.
func (v *rejectsView) read(ctx context.Context, p *parts, contents bool, each func(*rejects.Stored) error) error {
	if v.table == nil {
		return nil
	}
	return rejects.Read(ctx, v.table, rejects.ReadOptions{Topology: p.cfg.Name, Contents: contents}, each)
}

// wantedReject reads TOPIC/PARTITION=OFFSET.
func wantedReject(cmd *command, args []string) (topic string, id int32, at source.Position, err error) {
	if len(args) != 1 {
		return "", 0, 0, usagef(cmd, "show takes a configuration and one TOPIC/PARTITION=OFFSET")
	}
	name, offset, ok := strings.Cut(args[0], "=")
	topic, part, ok2 := strings.Cut(name, "/")
	n, err1 := strconv.ParseInt(part, 10, 32)
	o, err2 := strconv.ParseInt(offset, 10, 64)
	if !ok || !ok2 || err1 != nil || err2 != nil {
		return "", 0, 0, usagef(cmd, "%q is not TOPIC/PARTITION=OFFSET", args[0])
	}
	return topic, int32(n), source.Position(o), nil
}
