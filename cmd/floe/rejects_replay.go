package main

import (
	"context"
	"fmt"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/replay"
)

// replayReport is what replay --json prints.
type replayReport struct {
	Topology string `json:"topology"`
	// Replayed became rows; Left still can't, and Filtered are left out by rule: both stay.
	Replayed int64    `json:"replayed"`
	Left     int64    `json:"left"`
	Filtered int64    `json:"filtered"`
	Commits  []string `json:"commits"`
}

func (c *cli) replayRejects(ctx context.Context, _ *command, p *parts, f rejectsFlags, _ []string) error {
	v, err := p.lookAtRejects(ctx)
	if err != nil {
		return err
	}
	var res replay.Result
	if v.table != nil {
		res, err = replay.Run(ctx, replay.Config{Topology: p.cfg.Name, Branch: p.cfg.Committer.Branch, Mapper: p.format.mapper,
			Main: p.table, Rejects: p.rejects,
			Committer: func(main committer.Loader) (*committer.Committer, error) { return p.committerFor(main, p.rejects) }})
	}
	out := replayReport{p.cfg.Name, res.Replayed, res.Left, res.Filtered, append([]string{}, res.Commits...)}
	if err != nil {
		return fmt.Errorf("replay (%d rejects became rows before that): %w", res.Replayed, err)
	}
	if f.json {
		return c.printJSON(out)
	}
	w := &errWriter{w: c.stdout}
	w.printf("%d rejects became rows, in %d commits; %d still can't", out.Replayed, len(out.Commits), out.Left)
	if out.Filtered > 0 {
		w.printf(", %d are left out by rule", out.Filtered)
	}
	w.printf("\n")
	return w.err
}
