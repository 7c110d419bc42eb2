package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/replay"
)

// settleReport is what settle --json prints.
type settleReport struct {
	Topology string `json:"topology"`
	// Answer is there or missing.
	Answer string `json:"answer"`
	// Settled are the commits that were asked about.
	Settled []settledCommit `json:"settled"`
}

type settledCommit struct {
	Commit string    `json:"commit"`
	At     time.Time `json:"at"`
	// Why is expired, set back or other table; Table is that other table's UUID.
	Why    string         `json:"why"`
	Table  string         `json:"table,omitempty"`
	Rows   int64          `json:"rows"`
	Files  []string       `json:"files"`
	Ranges []settledRange `json:"ranges"`
}

// settledRange are the offsets from From to before To, among which Rejects are rejects.
type settledRange struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	Rejects   int64  `json:"rejects"`
}

func settledOf(qs []committer.RejectsQuestion) []settledCommit {
	out := []settledCommit{}
	for _, q := range qs {
		s := settledCommit{Commit: q.Commit.String(), At: q.At, Why: q.Why, Rows: q.Rows, Files: q.Files, Ranges: []settledRange{}}
		if q.Other != uuid.Nil {
			s.Table = q.Other.String()
		}
		for _, r := range q.Ranges {
			s.Ranges = append(s.Ranges, settledRange{r.Partition.Topic, r.Partition.ID, int64(r.From), int64(r.To), r.Rejects})
		}
		out = append(out, s)
	}
	return out
}

// settleRejects is a person's answer where floe can't tell whether the rejects that the last commits passed are where they belong.
func (c *cli) settleRejects(ctx context.Context, cmd *command, p *parts, f rejectsFlags, args []string) error {
	if len(args) != 1 || args[0] != "there" && args[0] != "missing" {
		return usagef(cmd, "settle takes a configuration and the answer: there or missing")
	}
	if _, err := ask(ctx, p.table.Look); err != nil {
		return err
	}
	com, err := p.committerFor(p.table, p.rejects)
	if err != nil {
		return err
	}
	if _, err := com.Load(ctx); err != nil {
		return err
	}
	qs, err := com.RejectsQuestions(ctx)
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	report := settleReport{p.cfg.Name, args[0], settledOf(qs)}
	if !f.json || args[0] == "there" && !f.yes {
		if err := c.confirmSettle(report, p.cfg.Rejects.Table, f.yes); err != nil {
			return err
		}
	}
	if err := com.AnswerRejects(ctx, args[0] == "there", replay.Move); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if err := com.Finish(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if f.json {
		return c.printJSON(report)
	}
	w := &errWriter{w: c.stdout}
	w.printf("settled: no rejects of the commits of %s wait for their table\n", p.cfg.Name)
	return w.err
}

// confirmSettle shows what is asked about, and asks where the answer may be the end of it.
func (c *cli) confirmSettle(r settleReport, table string, yes bool) error {
	w := &errWriter{w: c.stderr}
	var others int64
	for _, s := range r.Settled {
		what := "may be in the table"
		if s.Why == "other table" {
			others += s.Rows
			what = "were written for another table, " + s.Table
		}
		w.printf("%d rejects of commit %s (%s) %s:\n", s.Rows, s.Commit, s.At.Format(time.RFC3339), what)
		for _, r := range s.Ranges {
			w.printf("  %d among %s/%d=%d to %d\n", r.Rejects, r.Topic, r.Partition, r.From, r.To-1)
		}
		for _, file := range s.Files {
			w.printf("  file %s\n", file)
		}
	}
	if others == 0 || r.Answer != "there" || yes {
		return w.err
	}
	w.printf("%d of them will not be in %s. Where no other table holds them, they are given up; missing copies them.\n", others, table)
	return c.yes(w, "go on")
}
