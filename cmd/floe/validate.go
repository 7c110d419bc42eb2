package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

func validateCommand() *command {
	return &command{
		name:    "validate",
		summary: "check everything that can be known before a run",
		usage:   "validate [--samples N] [--no-probe] [--json] CONFIG",
		help: `
Checks the configuration, then whether the catalog can be reached, whether the table and that of its rejects are there and
floe can write them (or what would be made), where the table's positions stand, whether the schema registry answers,
whether the brokers and topics are there and floe may read them, and whether a few of the newest records of each partition become
rows. Samples are read under a consumer group of their own, so that a running topology is not disturbed.

Nothing is written but two files of a few bytes below the folder of a table that is there, one where data goes and one beside the
metadata, which are read and deleted again at once. --no-probe does without them.
`,
		examples: `
floe validate orders.yaml
floe validate --samples 100 --json orders.yaml
`,
		run: runValidate,
	}
}

// check is one line of the report.
type check struct {
	Name string `json:"name"`
	// Result is ok, warning, failed or skipped.
	Result string `json:"result"`
	Detail string `json:"detail,omitempty"`
}

type validateReport struct {
	OK     bool    `json:"ok"`
	Config string  `json:"config,omitempty"`
	Checks []check `json:"checks"`
	// DDL is the table that run would make.
	DDL string `json:"ddl,omitempty"`
}

func (r *validateReport) add(name, result, format string, args ...any) {
	r.Checks = append(r.Checks, check{name, result, fmt.Sprintf(format, args...)})
}

func runValidate(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print one JSON object")
	samples := fs.Int("samples", 10, "read up to `N` records of each partition; 0 reads none")
	noProbe := fs.Bool("no-probe", false, "do not try whether files can be written")
	rest, err := c.parse(cmd, fs, args)
	if err != nil {
		return err
	}
	cfg, rest, err := c.configArg(cmd, rest)
	switch {
	case err != nil:
		return c.refuseConfig(err, *asJSON)
	case len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	case *samples < 0:
		return usagef(cmd, "--samples %d is negative", *samples)
	}
	p, err := build(cfg, quietLogger(cfg, c.stderr))
	if err == nil {
		_, err = p.topology(false, nil)
	}
	if err != nil {
		return c.refuseConfig(redacted(err, cfg), *asJSON)
	}
	ctx, stop := c.untilSignal(func() {}, func() {})
	defer stop()
	r := &validateReport{OK: true, Config: cfg.File()}
	r.add("configuration", "ok", "")
	p.validateTable(ctx, r, !*noProbe)
	p.validateRejects(ctx, r)
	p.validateRegistry(ctx, r)
	p.validateSource(ctx, r, *samples)
	for i := range r.Checks {
		r.Checks[i].Detail = cfg.Redact(r.Checks[i].Detail)
		r.OK = r.OK && r.Checks[i].Result != "failed"
	}
	return c.printValidate(r, *asJSON)
}

// refuseConfig reports a configuration that nothing can be checked with; the error is printed by whoever gets it.
func (c *cli) refuseConfig(err error, asJSON bool) error {
	var usage *usageError
	if asJSON && !errors.As(err, &usage) {
		r := &validateReport{}
		r.add("configuration", "failed", "%s", explain(err))
		if perr := c.printJSON(r); perr != nil {
			return perr
		}
	}
	return err
}

func (c *cli) printValidate(r *validateReport, asJSON bool) error {
	if asJSON {
		if err := c.printJSON(r); err != nil {
			return err
		}
	} else {
		w := &errWriter{w: c.stdout}
		for _, ch := range r.Checks {
			w.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-8s %-14s %s", ch.Result, ch.Name, ch.Detail), " "))
		}
		if r.DDL != "" {
			w.printf("\nfloe run would make the table:\n\n%s\n", lines(r.DDL))
		}
		if w.err != nil {
			return w.err
		}
	}
	if !r.OK {
		return &silentError{exitFailed}
	}
	return nil
}

// validateTable looks at the catalog, the table, and the positions in it.
func (p *parts) validateTable(ctx context.Context, r *validateReport, probe bool) {
	tbl, err := ask(ctx, p.table.Look)
	switch {
	case err != nil && target.IsMissing(err) && p.cfg.Table.Create != nil:
		p.validateCreate(ctx, r)
		r.add("positions", "ok", "none yet: the start is %s", p.cfg.Source.Kafka.Start)
		return
	case err != nil:
		r.add("table", "failed", "%s", explain(err))
		r.add("positions", "skipped", "the table could not be loaded")
		return
	}
	if err := p.table.Check(tbl); err != nil {
		r.add("table", "failed", "%s", explain(err))
	} else {
		r.add("table", "ok", "%s, format version %d, at %s", p.cfg.Table.Name, tbl.Metadata().Version(), tbl.Location())
	}
	for _, w := range writer.Warnings(tbl) {
		r.add("table", "warning", "%s", w)
	}
	if probe {
		p.validateStorage(ctx, r, tbl)
	}
	p.validatePositions(ctx, r)
}

// validateCreate says what would be made.
func (p *parts) validateCreate(ctx context.Context, r *validateReport) {
	_, err := ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.table.Define(ctx) })
	if err == nil {
		err = p.table.CheckCreate()
	}
	if err != nil {
		r.add("table", "failed", "%s", explain(err))
		return
	}
	r.DDL = p.table.DDL()
	if p.infer == nil {
		r.add("table", "ok", "%s does not exist yet, run makes it", p.cfg.Table.Name)
		return
	}
	r.add("table", "ok", "%s does not exist yet, run makes it with the columns of %s", p.cfg.Table.Name, p.infer.from)
	for _, note := range p.infer.notes {
		r.add("table", "warning", "%s", note)
	}
}

// validateRejects looks at the table that bad records go to.
func (p *parts) validateRejects(ctx context.Context, r *validateReport) {
	if p.rejectsLoader() == nil {
		return
	}
	name := p.cfg.Rejects.Table
	tbl, err := ask(ctx, p.rejects.Look)
	switch {
	case err != nil && target.IsMissing(err):
		r.add("rejects", "ok", "%s does not exist yet, run makes it", name)
		return
	case err == nil:
		err = errors.Join(rejects.Check(tbl), writer.Check(tbl))
	}
	if err != nil {
		r.add("rejects", "failed", "%s", explain(err))
		return
	}
	r.add("rejects", "ok", "%s takes records that can't become rows", name)
}

func (p *parts) validatePositions(ctx context.Context, r *validateReport) {
	com, err := p.committer(p.table.ReadOnly())
	if err != nil {
		r.add("positions", "failed", "%s", explain(err))
		return
	}
	at, err := ask(ctx, com.Load)
	var stop *committer.StopError
	switch {
	case errors.As(err, &stop):
		r.add("positions", "failed", "%s. %s", stop.Reason, stop.Hint)
	case err != nil:
		r.add("positions", "failed", "%s", explain(err))
	case !at.Known:
		r.add("positions", "ok", "none yet: the start is %s", p.cfg.Source.Kafka.Start)
	default:
		r.add("positions", "ok", "of %d partitions, from snapshot %d", len(at.At), at.SnapshotID)
	}
}

// validateRegistry asks the schema registry whether it is there and takes the credentials.
func (p *parts) validateRegistry(ctx context.Context, r *validateReport) {
	reg := p.format.registry
	if reg == nil {
		return
	}
	if _, err := ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, reg.Check(ctx) }); err != nil {
		r.add("registry", "failed", "%s", explain(err))
		return
	}
	r.add("registry", "ok", "%s answers", reg)
}

// validateSource looks at the brokers, the topics, and a few records.
func (p *parts) validateSource(ctx context.Context, r *validateReport, samples int) {
	bounds, err := ask(ctx, p.source.Partitions)
	if err != nil {
		r.add("kafka", "failed", "%s", explain(err))
		r.add("samples", "skipped", "the topics could not be looked at")
		return
	}
	topics := map[string]bool{}
	var records int64
	for _, b := range bounds {
		topics[b.Partition.Topic] = true
		records += int64(b.Last - b.First)
	}
	for _, t := range p.cfg.Source.Kafka.Topics {
		if !topics[t] {
			r.add("kafka", "failed", "the topic %s does not exist; make it, or correct source.kafka.topics", t)
		}
	}
	if len(bounds) == 0 {
		r.add("kafka", "warning", "no topic matches; new ones are looked for every %s", p.cfg.Source.Kafka.MetadataInterval)
		r.add("samples", "skipped", "there are no records")
		return
	}
	r.add("kafka", "ok", "%d topics, %d partitions, up to %d records", len(topics), len(bounds), records)
	p.validateRights(ctx, r, topics)
	switch {
	case samples == 0:
		r.add("samples", "skipped", "as asked for")
	case records == 0:
		r.add("samples", "skipped", "there are no records")
	default:
		p.validateSamples(ctx, r, bounds, samples)
	}
}

// validateSamples maps some records to rows of the table's schema, and forgets them.
func (p *parts) validateSamples(ctx context.Context, r *validateReport, bounds []source.Bounds, n int) {
	m, schema, err := p.sampleMapper(ctx)
	switch {
	case target.IsMissing(err):
		r.add("samples", "skipped", "there is no table whose schema they could be held against")
		return
	case err != nil:
		r.add("samples", "failed", "%s", explain(err))
		return
	}
	s, err := newSampler(m, schema, bounds, n)
	if err != nil {
		r.add("samples", "failed", "%s", explain(err))
		return
	}
	if err := s.run(ctx, p.cfg, p.log); err != nil {
		r.add("samples", "skipped", "the records could not be read: %s", explain(err))
		return
	}
	if s.asking > 0 {
		r.add("schema", "ok", "%d of %d records ask for %d changes of the table's schema, which run tries to make; the first is of %s",
			s.asking, s.seen, len(s.changes), s.changes[0].Path)
	}
	switch {
	case len(s.bad) > 0 && p.rejectsLoader() != nil && float64(len(s.bad)) <= float64(p.cfg.Rejects.Stop.Share)*float64(s.seen):
		slices.Sort(s.bad)
		r.add("samples", "warning", "%d of %d records can't become rows and would become rejects (%s); the first: %s", len(s.bad), s.seen, reasonsOf(s.reasons), s.bad[0])
	case len(s.bad) > 0:
		slices.Sort(s.bad)
		r.add("samples", "failed", "%d of %d records can't become rows and would stop the topology (%s); the first: %s", len(s.bad), s.seen, reasonsOf(s.reasons), s.bad[0])
	case s.seen == 0:
		r.add("samples", "skipped", "no record was among the newest positions of any partition")
	default:
		r.add("samples", "ok", "%d records become rows, %d yield none (%s)", s.seen-s.asking-s.filtered, s.filtered, filteredBy(p.format.filter, s.filtered))
	}
}

func (p *parts) sampleMapper(ctx context.Context) (mapper.Mapper, *mapper.Schema, error) {
	sc := p.table.Schema()
	if tbl, err := ask(ctx, p.table.Look); err == nil {
		sc = tbl.Schema()
	} else if !target.IsMissing(err) || sc == nil {
		return nil, nil, err
	}
	schema, err := writer.MapperSchema(sc)
	if err != nil {
		return nil, nil, err
	}
	m, err := p.format.mapper(schema)
	return m, schema, err
}
