package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

func (c *cli) setPositions(ctx context.Context, cmd *command, p *parts, args []string, all string, yes, asJSON bool) error {
	if len(args) == 0 && all == "" {
		return usagef(cmd, "nothing is to be set: write TOPIC/PARTITION=OFFSET or --all earliest")
	}
	bounds, err := ask(ctx, p.source.Partitions)
	if err != nil {
		return fmt.Errorf("positions are only set with the broker at hand, which knows the topics' identities: %w", err)
	}
	want, err := wantedPositions(cmd, bounds, args, all)
	if err != nil {
		return err
	}
	com, err := p.committer(p.table)
	if err != nil {
		return err
	}
	now, err := ask(ctx, com.Load)
	var stop *committer.StopError
	if err != nil && !errors.As(err, &stop) {
		return fmt.Errorf("look for the positions: %w", err)
	}
	if !yes {
		if err := c.confirm(p, stop, now, want); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	after, err := com.Set(ctx, want)
	if err != nil {
		return fmt.Errorf("set the positions: %w", err)
	}
	report := positionsReport{Topology: p.cfg.Name, Table: p.cfg.Table.Name}
	report.fill(after, bounds, true)
	return c.printPositions(report, asJSON)
}

// wantedPositions reads what the user wrote, against what the log holds.
func wantedPositions(cmd *command, bounds []source.Bounds, args []string, all string) (map[source.Partition]source.Position, error) {
	want := map[source.Partition]source.Position{}
	byName := map[string]source.Bounds{}
	for _, b := range bounds {
		byName[b.Partition.String()] = b
		if all != "" {
			want[b.Partition] = at(b, all)
		}
	}
	seen := map[string]bool{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !strings.Contains(name, "/") {
			return nil, usagef(cmd, "%q is not TOPIC/PARTITION=OFFSET", arg)
		}
		b, ok := byName[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("there is no partition %s among the configured topics; they are %s", name, partitionNames(bounds))
		case seen[name]:
			return nil, usagef(cmd, "%s is there twice", name)
		}
		seen[name] = true
		pos, err := wantedPosition(cmd, b, name, value)
		if err != nil {
			return nil, err
		}
		want[b.Partition] = pos
	}
	return want, nil
}

func wantedPosition(cmd *command, b source.Bounds, name, value string) (source.Position, error) {
	if value == "earliest" || value == "latest" {
		return at(b, value), nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch pos := source.Position(n); {
	case err != nil || n < 0:
		return 0, usagef(cmd, "%q is not an offset: write a number, earliest or latest", value)
	case pos < b.First || pos > b.Last:
		return 0, fmt.Errorf("%s: the offset %d is outside of what the log holds, %d to %d; the partition would stop at once",
			name, n, b.First, b.Last)
	default:
		return pos, nil
	}
}

func at(b source.Bounds, word string) source.Position {
	if word == "earliest" {
		return b.First
	}
	return b.Last
}

func partitionNames(bounds []source.Bounds) string {
	if len(bounds) == 0 {
		return "none: the topics have no partitions"
	}
	const most = 20
	var names []string
	for _, b := range bounds {
		names = append(names, b.Partition.String())
	}
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// errNotConfirmed says that nothing was changed, as the user wanted.
var errNotConfirmed = errors.New("nothing was changed; answer yes, or call with --yes")

// confirm says what the change means and asks.
func (c *cli) confirm(p *parts, stop *committer.StopError, now committer.Positions, want map[source.Partition]source.Position) error {
	w := &errWriter{w: c.stderr}
	if stop != nil {
		w.printf("floe stands still because: %s.\n", stop.Reason)
	}
	w.printf("Positions of topology %s in %s that change:\n", p.cfg.Name, p.cfg.Table.Name)
	for _, q := range slices.SortedFunc(maps.Keys(want), comparePartitions) {
		w.printf("  %s\n", change(q, now, want[q]))
	}
	return c.yes(w, "set them")
}

// yes asks for a yes on a line of its own.
func (c *cli) yes(w *errWriter, to string) error {
	w.printf("Type yes to %s: ", to)
	if w.err != nil {
		return w.err
	}
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	if strings.TrimSpace(line) != "yes" {
		if err != nil {
			w.printf("\n")
		}
		return errNotConfirmed
	}
	return nil
}

// change says in a line what setting one partition does.
func change(q source.Partition, now committer.Positions, to source.Position) string {
	pr, ok := now.At[q]
	switch d := int64(to - pr.Next); {
	case !ok:
		return fmt.Sprintf("%s: none -> %d", q, to)
	case d == 0:
		return fmt.Sprintf("%s: %d, unchanged", q, to)
	case d > 0:
		return fmt.Sprintf("%s: %d -> %d, which skips up to %d records: they will not be in the table", q, pr.Next, to, d)
	default:
		return fmt.Sprintf("%s: %d -> %d, which reads up to %d records again: their rows will be there twice if they are in the table", q, pr.Next, to, -d)
	}
}
