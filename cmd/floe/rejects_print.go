package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/stormfloe/floe/internal/rejects"
)

// rejectReport is one reject as list and show print it. What is in the record is there for show alone.
type rejectReport struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	Cluster     string `json:"cluster,omitempty"`
	Incarnation string `json:"incarnation,omitempty"`
	// State is open (it waits for a replay), replayed, history, or unknown: the snapshots that would tell have expired.
	State      string    `json:"state"`
	Code       string    `json:"code"`
	Column     string    `json:"column,omitempty"`
	Reason     string    `json:"reason"`
	RejectedAt time.Time `json:"rejected_at"`
	// Batch refused it; Replayed is the commit that took it in.
	Batch    string          `json:"batch"`
	Replayed string          `json:"replayed,omitempty"`
	Record   *recordContents `json:"record,omitempty"`
}

// recordContents are bytes as base64; null where the record has none.
type recordContents struct {
	TimestampMs *int64         `json:"timestamp_ms"`
	Key         []byte         `json:"key"`
	Value       []byte         `json:"value"`
	Headers     []recordHeader `json:"headers"`
}

type recordHeader struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

func (v *rejectsView) report(st *rejects.Stored) rejectReport {
	r := rejectReport{
		Topic: st.Partition.Topic, Partition: st.Partition.ID, Offset: int64(st.Record.Position), Cluster: st.Partition.Cluster,
		Incarnation: st.Partition.Incarnation, Code: string(st.Code), Column: st.Column, Reason: st.Reason, RejectedAt: st.At,
		Batch: st.Batch, Replayed: st.Replayed,
	}
	switch standing := v.line.Of(st); {
	case v.line.Open(st):
		r.State = "open"
	case standing == rejects.Current:
		r.State = "replayed"
	default:
		r.State = standing.String()
	}
	return r
}

// rejectsList is what list --json prints.
type rejectsList struct {
	Topology string         `json:"topology"`
	Table    string         `json:"table"`
	Rejects  []rejectReport `json:"rejects"`
	// More were left out by --limit.
	More int64 `json:"more"`
}

func (c *cli) listRejects(ctx context.Context, _ *command, p *parts, f rejectsFlags, _ []string) error {
	v, err := p.lookAtRejects(ctx)
	if err != nil {
		return err
	}
	out := rejectsList{Topology: p.cfg.Name, Table: p.cfg.Rejects.Table, Rejects: []rejectReport{}}
	err = v.read(ctx, p, false, func(st *rejects.Stored) error {
		switch {
		case !f.all && !v.line.Open(st):
		case f.limit > 0 && len(out.Rejects) == f.limit:
			out.More++
		default:
			out.Rejects = append(out.Rejects, v.report(st))
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(out.Rejects, func(a, b rejectReport) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	if f.json {
		return c.printJSON(out)
	}
	tw := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	w := &errWriter{w: tw}
	w.printf("record\tstate\tcode\tcolumn\treason\n")
	for _, r := range out.Rejects {
		w.printf("%s/%d=%d\t%s\t%s\t%s\t%s\n", r.Topic, r.Partition, r.Offset, r.State, r.Code, orDash(r.Column), r.Reason)
	}
	if out.More > 0 {
		w.printf("and %d more; --limit 0 lists all\n", out.More)
	}
	return errors.Join(w.err, tw.Flush())
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// rejectsCount is what count --json prints.
type rejectsCount struct {
	Topology string         `json:"topology"`
	Table    string         `json:"table"`
	Total    rejectsTally   `json:"total"`
	By       []rejectsTally `json:"by"`
}

// rejectsTally counts the rejects of one code and column.
type rejectsTally struct {
	Code     string `json:"code,omitempty"`
	Column   string `json:"column,omitempty"`
	Open     int64  `json:"open"`
	Replayed int64  `json:"replayed"`
	History  int64  `json:"history"`
	Unknown  int64  `json:"unknown"`
}

func (t *rejectsTally) add(state string) {
	switch state {
	case "open":
		t.Open++
	case "replayed":
		t.Replayed++
	case "history":
		t.History++
	default:
		t.Unknown++
	}
}

func (c *cli) countRejects(ctx context.Context, _ *command, p *parts, f rejectsFlags, _ []string) error {
	v, err := p.lookAtRejects(ctx)
	if err != nil {
		return err
	}
	out := rejectsCount{Topology: p.cfg.Name, Table: p.cfg.Rejects.Table, By: []rejectsTally{}}
	at := map[[2]string]int{}
	err = v.read(ctx, p, false, func(st *rejects.Stored) error {
		key := [2]string{string(st.Code), st.Column}
		i, ok := at[key]
		if !ok {
			i = len(out.By)
			at[key], out.By = i, append(out.By, rejectsTally{Code: key[0], Column: key[1]})
		}
		state := v.report(st).State
		out.By[i].add(state)
		out.Total.add(state)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(out.By, func(a, b rejectsTally) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Column, b.Column))
	})
	if f.json {
		return c.printJSON(out)
	}
	tw := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	w := &errWriter{w: tw}
	w.printf("code\tcolumn\topen\treplayed\thistory\tunknown\t\n")
	for _, t := range append(out.By, rejectsTally{"total", "", out.Total.Open, out.Total.Replayed, out.Total.History, out.Total.Unknown}) {
		w.printf("%s\t%s\t%d\t%d\t%d\t%d\t\n", t.Code, orDash(t.Column), t.Open, t.Replayed, t.History, t.Unknown)
	}
	return errors.Join(w.err, tw.Flush())
}

func (c *cli) showReject(ctx context.Context, cmd *command, p *parts, f rejectsFlags, args []string) error {
	topic, id, at, err := wantedReject(cmd, args)
	if err != nil {
		return err
	}
	v, err := p.lookAtRejects(ctx)
	if err != nil {
		return err
	}
	out := rejectsList{Topology: p.cfg.Name, Table: p.cfg.Rejects.Table, Rejects: []rejectReport{}}
	err = v.read(ctx, p, true, func(st *rejects.Stored) error {
		if st.Partition.Topic == topic && st.Partition.ID == id && st.Record.Position == at {
			r := v.report(st)
			r.Record = contentsOf(st)
			out.Rejects = append(out.Rejects, r)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(out.Rejects) == 0:
		return fmt.Errorf("the rejects table %s has no record %s of topology %s; see floe rejects list", p.cfg.Rejects.Table, args[0], p.cfg.Name)
	case f.json:
		return c.printJSON(out)
	}
	w := &errWriter{w: c.stdout}
	for i, r := range out.Rejects {
		if i > 0 {
			w.printf("\n")
		}
		w.printf("%s/%d=%d  %s\n%s: %s", r.Topic, r.Partition, r.Offset, r.State, r.Code, r.Reason)
		if r.Column != "" {
			w.printf(" (column %s)", r.Column)
		}
		w.printf("\nrejected at %s by batch %s\nkey    %s\nvalue  %s\n", r.RejectedAt.Format(time.RFC3339), r.Batch, quoted(r.Record.Key), quoted(r.Record.Value))
		for _, h := range r.Record.Headers {
			w.printf("header %s: %s\n", quoted(h.Key), quoted(h.Value))
		}
	}
	return w.err
}

// contentsOf copies what is in the record.
func contentsOf(st *rejects.Stored) *recordContents {
	out := &recordContents{Key: slices.Clone(st.Record.Key), Value: slices.Clone(st.Record.Value), Headers: []recordHeader{}}
	if ms := st.Record.TimestampMs; ms >= 0 {
		out.TimestampMs = &ms
	}
	for _, h := range st.Record.Headers {
		out.Headers = append(out.Headers, recordHeader{slices.Clone(h.Key), slices.Clone(h.Value)})
	}
	return out
}

// quoted is bytes as text with escapes, so that nothing in them reaches the terminal.
func quoted(b []byte) string {
	if b == nil {
		return "none"
	}
	return strconv.QuoteToASCII(string(b))
}
