package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/doctor"
	"github.com/stormfloe/floe/internal/rejects"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/wal"
)

func doctorCommand() *command {
	return &command{
		name:    "doctor",
		summary: "say what is wrong with a topology, and what to do",
		usage:   "doctor [--interval D] [--no-orphans] [--json] CONFIG",
		help: `
Looks at the table, its write-ahead log, its rejects and the topics, and says what is wrong and what to do: positions that the
log no longer has, a table that falls behind, two deployments under one name, small files, maintenance that is missing,
properties that fight floe, what is left over. It changes nothing, needs no running floe, and may run beside one.

Whether the table keeps up takes two looks, --interval apart: by default twice the time that a record may be on its way by
writer.seal.interval and committer.interval, two minutes at most. 0 looks once. --no-orphans does without the list of data
files that belong to nothing, which takes long on a large table.

Exit code 0: nothing but notes. 1: an error or a warning was found, or something could not be looked at. 2: wrong usage or
configuration. docs/doctor.md explains each finding.
`,
		examples: `
floe doctor orders.yaml
floe doctor --interval 0 --json orders.yaml
`,
		run: runDoctor,
	}
}

// mostApart is how far the looks are apart at most where nobody says how far.
const mostApart = 2 * time.Minute

func runDoctor(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print one JSON object")
	interval := fs.Duration("interval", -1, "look twice, `D` apart; 0 looks once")
	noOrphans := fs.Bool("no-orphans", false, "do not look for data files that belong to nothing")
	rest, err := c.parse(cmd, fs, args)
	if err != nil {
		return err
	}
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "interval" })
	cfg, rest, err := c.configArg(cmd, rest)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	case given && *interval < 0:
		return usagef(cmd, "--interval %s is negative", *interval)
	}
	p, err := build(cfg, quietLogger(cfg, c.stderr))
	if err != nil {
		return redacted(err, cfg)
	}
	ctx, stop := c.untilSignal(func() {}, func() {})
	defer stop()
	if !given {
		*interval = min(2*period(cfg), mostApart)
	}
	r := p.examine(ctx, examination{interval: *interval, orphans: !*noOrphans, limits: doctor.Defaults(), waits: c.saysItWaits, now: time.Now})
	return errors.Join(c.printDoctor(cfg, r, *asJSON), redacted(p.close(), cfg))
}

// saysItWaits tells a person at a terminal why nothing happens.
func (c *cli) saysItWaits(d time.Duration) {
	if isTerminal(c.stderr) {
		c.errorf("Looking again in %s, to see whether the table keeps up; --interval 0 looks once.", d)
	}
}

// period is how long a record may be on its way to the table.
func period(cfg *config.Config) time.Duration {
	return cfg.Writer.Seal.Interval + cfg.Committer.Interval
}

// examination is how a patient is looked at.
type examination struct {
	interval time.Duration
	orphans  bool
	limits   doctor.Limits
	waits    func(time.Duration)
	now      func() time.Time
}

// examine looks at everything and judges it.
func (p *parts) examine(ctx context.Context, e examination) *doctor.Report {
	unchecked := doctor.Report{Unchecked: []doctor.Unchecked{}}
	patient := doctor.Patient{
		Topology: p.cfg.Name, Branch: p.cfg.Committer.Branch, Subscribed: p.subscribes(), Period: period(p.cfg),
		Expires: p.cfg.Committer.ExpireSnapshots, RejectsTable: p.cfg.Rejects.Table, Orphans: e.orphans, Limits: e.limits,
	}
	com := p.look(ctx, &patient, &unchecked)
	if com != nil && e.interval > 0 && len(patient.Looks) == 1 && patient.Looks[0].Reached {
		e.waits(e.interval)
		select {
		case <-time.After(e.interval):
			com = p.look(ctx, &patient, &unchecked)
		case <-ctx.Done():
			unchecked.Skip("lag-growing", "it was ended before the second look")
		}
	}
	patient.Now = e.now()
	if com != nil && patient.Table != nil {
		p.lookAtLeftovers(ctx, com, &patient, &unchecked)
	}
	r := doctor.Examine(ctx, patient)
	r.Unchecked = append(unchecked.Unchecked, r.Unchecked...)
	return r
}

// look looks at the table, its positions and the log. It gives nil where there is no table to look at.
func (p *parts) look(ctx context.Context, patient *doctor.Patient, r *doctor.Report) *committer.Committer {
	look := doctor.Look{At: time.Now()}
	com, err := p.committerFor(p.table.ReadOnly(), p.rejects.ReadOnly())
	if err == nil {
		look.Positions, err = ask(ctx, com.Load)
	}
	var stop *committer.StopError
	switch {
	case errors.As(err, &stop):
		look.Stop = stop
	case target.IsMissing(err) && p.cfg.Table.Create != nil:
		r.Skip("table", "%s does not exist yet; floe run makes it", p.cfg.Table.Name)
		com = nil
	case err != nil:
		r.Skip("table", "%s", explain(err))
		com = nil
	}
	if com != nil {
		patient.Table = com.Table()
	}
	look.Bounds, err = ask(ctx, p.source.Partitions)
	if err != nil {
		r.Skip("kafka", "%s", explain(err))
	}
	look.Reached = err == nil
	if com != nil {
		patient.Looks = append(patient.Looks, look)
	}
	return com
}

// lookAtLeftovers looks at the write-ahead log and the rejects.
func (p *parts) lookAtLeftovers(ctx context.Context, com *committer.Committer, patient *doctor.Patient, r *doctor.Report) {
	store := wal.New(p.cfg.Committer.WALNamespace, p.cfg.Name)
	var err error
	if patient.Entries, err = store.List(ctx, patient.Table); err == nil {
		patient.SetAside, err = store.Aside(ctx, patient.Table)
	}
	if err != nil {
		r.Skip("wal", "%s", explain(err))
	}
	patient.Waiting, err = ask(ctx, com.WaitingRejects)
	if err != nil && !target.IsMissing(err) {
		r.Skip("rejects", "%s", explain(err))
		return
	}
	v, err := p.lookAtRejects(ctx)
	if err == nil {
		err = v.read(ctx, p, false, func(st *rejects.Stored) error {
			if v.line.Open(st) {
				patient.OpenRejects++
			}
			return nil
		})
	}
	if err != nil {
		r.Skip("rejects", "%s", explain(err))
	}
}

// subscribes says which topics the configuration reads.
func (p *parts) subscribes() func(string) bool {
	k := p.cfg.Source.Kafka
	if k.TopicPattern == "" {
		return func(topic string) bool { return slices.Contains(k.Topics, topic) }
	}
	pattern := regexp.MustCompile(k.TopicPattern) // build has compiled it
	return pattern.MatchString
}

// doctorReport is what doctor --json prints.
type doctorReport struct {
	// OK is false where an error or a warning was found, or something could not be looked at.
	OK       bool   `json:"ok"`
	Topology string `json:"topology"`
	Table    string `json:"table"`
	*doctor.Report
}

func (c *cli) printDoctor(cfg *config.Config, r *doctor.Report, asJSON bool) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Where, f.What, f.Do = cfg.Redact(f.Where), cfg.Redact(f.What), cfg.Redact(f.Do)
	}
	for i := range r.Unchecked {
		r.Unchecked[i].Why = cfg.Redact(r.Unchecked[i].Why)
	}
	var err error
	if asJSON {
		err = c.printJSON(doctorReport{r.Sound(), cfg.Name, cfg.Table.Name, r})
	} else {
		err = c.printFindings(r)
	}
	if err == nil && !r.Sound() {
		err = &silentError{exitFailed}
	}
	return err
}

func (c *cli) printFindings(r *doctor.Report) error {
	w := &errWriter{w: c.stdout}
	for _, f := range r.Findings {
		w.printf("%-8s %s: %s\n", f.Severity, f.ID, f.Where)
		w.printf("         %s.\n", sentence(f.What))
		w.printf("         To do: %s.\n\n", sentence(f.Do))
	}
	for _, u := range r.Unchecked {
		w.printf("not looked at: %s: %s\n\n", u.What, u.Why)
	}
	switch {
	case len(r.Findings) == 0 && len(r.Unchecked) == 0:
		w.printf("Nothing was found.\n")
	case len(r.Findings) == 0:
		w.printf("Nothing else was found.\n")
	default:
		w.printf("%s, %s, %s.\n", counted(r.Count(doctor.Error), "error"), counted(r.Count(doctor.Warning), "warning"), counted(r.Count(doctor.Note), "note"))
	}
	return w.err
}

// sentence begins with a capital letter, unless it begins with a name, and ends without a full stop.
func sentence(s string) string {
	s = strings.TrimRight(s, ". ")
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.ContainsAny(word, "._-`/") {
		return s
	}
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
