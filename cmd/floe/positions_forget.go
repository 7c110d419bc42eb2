package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// memberCounter is a source that knows who reads in the topology's name.
type memberCounter interface {
	Members(ctx context.Context) (int, error)
}

func (c *cli) forgetPositions(ctx context.Context, cmd *command, p *parts, args []string, yes, asJSON bool) error {
	if len(args) == 0 {
		return usagef(cmd, "nothing is to be forgotten: write TOPIC or TOPIC/PARTITION")
	}
	if err := p.stopped(ctx); err != nil {
		return err
	}
	com, err := p.committer(p.table)
	if err != nil {
		return err
	}
	now, err := ask(ctx, p.lookedAt(com))
	if err != nil {
		return fmt.Errorf("look for the positions: %w", err)
	}
	gone, err := namedPartitions(now, args)
	if err != nil {
		return err
	}
	if !yes {
		if err := c.confirmForget(p, now, gone); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	after, err := com.Forget(ctx, gone)
	if err != nil {
		return fmt.Errorf("forget the positions: %w", err)
	}
	report := positionsReport{Topology: p.cfg.Name, Table: p.cfg.Table.Name, Partitions: []positionReport{}}
	bounds, berr := ask(ctx, p.source.Partitions)
	if berr != nil {
		report.Broker = explain(berr)
	}
	report.fill(after, bounds, berr == nil)
	return c.printPositions(report, asJSON)
}

// lookedAt is Load of a table that must be there already: nothing is made for the sake of forgetting.
func (p *parts) lookedAt(com *committer.Committer) func(context.Context) (committer.Positions, error) {
	return func(ctx context.Context) (committer.Positions, error) {
		if _, err := p.table.Look(ctx); err != nil {
			return committer.Positions{}, err
		}
		return com.Load(ctx)
	}
}

// stopped refuses where a process reads in the topology's name: it would write down what is to be forgotten.
func (p *parts) stopped(ctx context.Context) error {
	s, ok := p.source.(memberCounter)
	if !ok {
		return nil
	}
	n, err := ask(ctx, s.Members)
	switch {
	case err != nil:
		return fmt.Errorf("positions are only forgotten with the broker at hand, which knows whether the topology runs: %w", err)
	case n > 0:
		return fmt.Errorf("topology %s runs: its consumer group %s has %d members; end them first (one that was killed counts until source.kafka.session_timeout has passed)",
			p.cfg.Name, p.cfg.Source.Kafka.Group, n)
	}
	return nil
}

// namedPartitions are those of the table that the user named, one by one or by their topic, in any cluster and incarnation.
func namedPartitions(now committer.Positions, args []string) ([]source.Partition, error) {
	named := map[source.Partition]bool{}
	for _, arg := range args {
		n := 0
		for q := range now.At {
			if q.Topic == arg || q.String() == arg {
				named[q] = true
				n++
			}
		}
		if n == 0 {
			var has []source.Bounds
			for q := range now.At {
				has = append(has, source.Bounds{Partition: q})
			}
			return nil, fmt.Errorf("the table holds no position of %s; it has those of %s", arg, partitionNames(has))
		}
	}
	return slices.SortedFunc(maps.Keys(named), comparePartitions), nil
}

func (c *cli) confirmForget(p *parts, now committer.Positions, gone []source.Partition) error {
	w := &errWriter{w: c.stderr}
	w.printf("Positions of topology %s in %s that are forgotten:\n", p.cfg.Name, p.cfg.Table.Name)
	for _, q := range gone {
		w.printf("  %s: %d -> none\n", q, now.At[q].Next)
	}
	w.printf("Rows stay in the table. Where a partition is among the topics at the next start, it is read from where source.kafka.start says, or\n" +
		"from the log's start where others of its topic keep theirs or a topic_pattern found it: rows of what is read again will be there twice.\n")
	return c.yes(w, "forget them")
}
