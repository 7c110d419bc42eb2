package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/descriptor"
)

func walCommand() *command {
	return &command{
		name:    "wal",
		summary: "list and show the notes of commits that may not have landed, and what a start would do with them",
		usage:   "wal list [--json] CONFIG\n       floe wal show [--json] CONFIG COMMIT",
		help: `
list prints the entries of the topology's write-ahead log, the oldest first: notes of commits that a process was about to make. The
table is the truth, and losing them loses nothing. A start that is given all partitions does with each what the last column says:

  delete     the commit landed; the entry goes
  adopt      it did not land, and its files join up with the table: they are committed under the entry's own commit id
  leave      it stays: it is younger than an hour, or can't be looked at now
  abandon    it is of no use any more and goes; its records are read again, or were
  set aside  it can't be read, and is renamed to .corrupt

show prints one of them with its batches, ranges and files. The beginning of the commit id is enough. Both change nothing, and may be
called while the topology runs: it has an entry then for each commit that is on its way.
`,
		examples: `
floe wal list orders.yaml
floe wal show orders.yaml 0b6c4f0e
`,
		run: runWAL,
	}
}

func runWAL(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print one JSON object")
	rest, err := c.parse(cmd, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef(cmd, "list or show is missing")
	case rest[0] != "list" && rest[0] != "show":
		return usagef(cmd, "%q is neither list nor show", rest[0])
	}
	verb := rest[0]
	cfg, rest, err := c.configArg(cmd, rest[1:])
	switch {
	case err != nil:
		return err
	case verb == "list" && len(rest) > 0:
		return usagef(cmd, "%q is one argument too many", rest[0])
	case verb == "show" && len(rest) != 1:
		return usagef(cmd, "show takes a configuration and one commit id")
	}
	p, err := build(cfg, quietLogger(cfg, c.stderr))
	if err != nil {
		return err
	}
	ctx, stop := c.untilSignal(func() {}, func() {})
	defer stop()
	report, err := p.walReport(ctx)
	switch {
	case err != nil:
	case verb == "show":
		err = c.showWAL(report, rest[0], *asJSON)
	case *asJSON:
		err = c.printJSON(report)
	default:
		err = c.listWAL(report)
	}
	return redacted(errors.Join(err, p.close()), cfg)
}

// walReport is what list prints as JSON.
type walReport struct {
	Topology string `json:"topology"`
	Table    string `json:"table"`
	// Stop says why floe can't go on without a person, and Hint what to do. Fates are not known then.
	Stop    string     `json:"stop,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	Entries []walEntry `json:"entries"`
}

// walEntry is one entry, and what show prints as JSON. Commit is empty where the entry can't be read.
type walEntry struct {
	Path       string     `json:"path"`
	Commit     string     `json:"commit,omitempty"`
	Topology   string     `json:"topology,omitempty"`
	Instance   string     `json:"instance,omitempty"`
	Branch     string     `json:"branch,omitempty"`
	Base       *int64     `json:"base_snapshot_id,omitempty,string"`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	AgeSeconds float64    `json:"age_seconds"`
	// Fate is what a start would do.
	Fate    string     `json:"start_would,omitempty"`
	Error   string     `json:"error,omitempty"`
	Rows    int64      `json:"rows"`
	Files   int        `json:"files"`
	Bytes   int64      `json:"bytes"`
	Batches []walBatch `json:"batches"`
}

type walBatch struct {
	Batch string `json:"batch"`
	Task  string `json:"task"`
	// Fate is adopt, delete (of its files), keep or leave.
	Fate   string     `json:"start_would,omitempty"`
	Ranges []walRange `json:"ranges"`
	Files  []walFile  `json:"files"`
	// RejectsFiles hold the records that are no rows.
	RejectsFiles []walFile `json:"rejects_files,omitempty"`
}

// walRange is half-open.
type walRange struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
}

type walFile struct {
	Path  string `json:"path"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

func (p *parts) walReport(ctx context.Context) (walReport, error) {
	out := walReport{Topology: p.cfg.Name, Table: p.cfg.Table.Name, Entries: []walEntry{}}
	com, err := p.committer(p.table.ReadOnly())
	if err != nil {
		return out, err
	}
	plans, err := ask(ctx, com.PlanEntries)
	var stop *committer.StopError
	if errors.As(err, &stop) {
		out.Stop, out.Hint, err = stop.Reason, stop.Hint, nil
	}
	if err != nil {
		return out, fmt.Errorf("look at the WAL: %w", err)
	}
	for _, plan := range plans {
		out.Entries = append(out.Entries, newWALEntry(plan))
	}
	return out, nil
}

func newWALEntry(plan committer.EntryPlan) walEntry {
	e := walEntry{Path: plan.Entry.Path, AgeSeconds: plan.Age.Seconds(), Fate: plan.Fate, Batches: []walBatch{}}
	if plan.Entry.Err != nil {
		e.Error = plan.Entry.Err.Error()
	}
	g := plan.Entry.Group
	if g == nil {
		return e
	}
	e.Commit, e.Topology, e.Instance, e.Branch, e.Base, e.CreatedAt = g.CommitID.String(), g.Topology, g.Instance, g.Branch, g.BaseSnapshot, &g.CreatedAt
	for i, d := range g.Descriptors {
		b := newWALBatch(d)
		if i < len(plan.Batches) {
			b.Fate = plan.Batches[i]
		}
		e.Rows, e.Bytes, e.Files = e.Rows+d.Rows, e.Bytes+d.Bytes, e.Files+len(b.Files)+len(b.RejectsFiles)
		e.Batches = append(e.Batches, b)
	}
	return e
}

func newWALBatch(d *descriptor.Descriptor) walBatch {
	b := walBatch{Batch: d.ID.String(), Task: d.Task, Ranges: []walRange{}, Files: []walFile{}}
	for _, in := range d.Inputs {
		r := in.Range
		b.Ranges = append(b.Ranges, walRange{r.Partition.Topic, r.Partition.ID, int64(r.From), int64(r.To)})
	}
	for _, f := range d.Files {
		b.Files = append(b.Files, walFile{f.FilePath(), f.Count(), f.FileSizeBytes()})
	}
	if d.Rejects != nil {
		for _, f := range d.Rejects.Files {
			b.RejectsFiles = append(b.RejectsFiles, walFile{f.FilePath(), f.Count(), f.FileSizeBytes()})
		}
	}
	return b
}

func (c *cli) listWAL(r walReport) error {
	w := &errWriter{w: c.stdout}
	if r.Stop != "" {
		w.printf("Topology %s on %s stands still until somebody decides: %s. %s\n\n", r.Topology, r.Table, r.Stop, r.Hint)
	}
	if len(r.Entries) == 0 {
		w.printf("The WAL of topology %s on %s has no entries: no commit is on its way, and none was left behind.\n", r.Topology, r.Table)
		return w.err
	}
	tw := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	t := &errWriter{w: tw}
	t.printf("commit\ttopology\tage\tbatches\tfiles\trows\ta start would\n")
	for _, e := range r.Entries {
		t.printf("%s\t%s\t%s\t%d\t%d\t%d\t%s\n", orDash(e.Commit), orDash(e.Topology), e.age(), len(e.Batches), e.Files, e.Rows, orDash(e.Fate))
	}
	if err := errors.Join(w.err, t.err, tw.Flush()); err != nil {
		return err
	}
	for _, e := range r.Entries {
		if e.Error != "" {
			w.printf("\n%s\n", e.Error)
		}
	}
	return w.err
}

func (e *walEntry) age() time.Duration {
	return time.Duration(e.AgeSeconds * float64(time.Second)).Round(time.Second)
}

// showWAL prints the one entry whose commit id begins as the user wrote.
func (c *cli) showWAL(r walReport, commit string, asJSON bool) error {
	var found []walEntry
	for _, e := range r.Entries {
		if e.Commit != "" && strings.HasPrefix(e.Commit, strings.ToLower(commit)) {
			found = append(found, e)
		}
	}
	switch {
	case len(found) == 0:
		return fmt.Errorf("the WAL has no entry of a commit %q; `floe wal list` shows which it has", commit)
	case len(found) > 1:
		return fmt.Errorf("%d entries are of commits that begin with %q; write more of the id", len(found), commit)
	case asJSON:
		return c.printJSON(found[0])
	}
	return c.printWALEntry(found[0], r)
}

func (c *cli) printWALEntry(e walEntry, r walReport) error {
	w := &errWriter{w: c.stdout}
	if r.Stop != "" {
		w.printf("Topology %s on %s stands still until somebody decides: %s. %s\n\n", r.Topology, r.Table, r.Stop, r.Hint)
	}
	base := "none"
	if e.Base != nil {
		base = fmt.Sprint(*e.Base)
	}
	w.printf("commit         %s\ntopology       %s, branch %s\ninstance       %s\nwritten        %s, %s ago\nfirst made on  snapshot %s\na start would  %s\nentry          %s\n",
		e.Commit, e.Topology, e.Branch, e.Instance, e.CreatedAt.UTC().Format(time.RFC3339), e.age(), base, orDash(e.Fate), e.Path)
	if e.Error != "" {
		w.printf("error          %s\n", e.Error)
	}
	for _, b := range e.Batches {
		w.printf("\nbatch %s of %s: %s\n", b.Batch, b.Task, orDash(b.Fate))
		for _, r := range b.Ranges {
			w.printf("  %s/%d from %d to %d\n", r.Topic, r.Partition, r.From, r.To)
		}
		for _, f := range b.Files {
			w.printf("  %s, %d rows, %d bytes\n", f.Path, f.Rows, f.Bytes)
		}
		for _, f := range b.RejectsFiles {
			w.printf("  %s, %d rejects, %d bytes\n", f.Path, f.Rows, f.Bytes)
		}
	}
	return w.err
}
