package topology

import (
	"context"
	"fmt"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// place says where each of ps is to be opened: where the table stands. Partitions that the table has no position for
// get one first, in an empty append, before anything of them is read. One that the table knows under another identity
// is stopped and missing in the answer.
func (r *run) place(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
	at := make(map[source.Partition]source.Position, len(ps))
	if len(ps) == 0 {
		return at, nil
	}
	now, err := r.sinks[0].Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the table: %w", err)
	}
	var bounds map[source.Partition]source.Bounds
	for _, p := range ps {
		if _, there := now.At[p]; there {
			continue
		}
		if bounds, err = r.bounds(ctx, ps); err != nil {
			return nil, err
		}
		if now, err = r.begin(ctx, now, bounds); err != nil {
			return nil, err
		}
		break
	}
	for _, p := range ps {
		if pr, there := now.At[p]; there {
			at[p] = pr.Next
			continue
		}
		err := foreignIdentity(now, bounds[p])
		if err == nil {
			return nil, fmt.Errorf("the table has no position of %s although it was just recorded", p)
		}
		r.log.Error("a partition is stopped", "partition", p.String(), "error", err)
		r.state.stop(p, err)
	}
	return at, nil
}

// bounds are those of the whole subscription, and of ps in any case.
func (r *run) bounds(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Bounds, error) {
	all, err := r.cfg.Source.Partitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the source for its partitions: %w", err)
	}
	out := map[source.Partition]source.Bounds{}
	for _, p := range ps {
		out[p] = source.Bounds{Partition: p}
	}
	for _, b := range all {
		out[b.Partition] = b
	}
	return out, nil
}

// begin records a first position for every partition of the subscription that has none, also for those that other
// replicas own: only so each of them tells "new to the table" from "added later" in the same way.
func (r *run) begin(ctx context.Context, now committer.Positions,
	bounds map[source.Partition]source.Bounds) (committer.Positions, error) {
	starts := map[source.Partition]source.Position{}
	for _, p := range sortedPartitions(bounds) {
		if _, there := now.At[p]; there || foreignIdentity(now, bounds[p]) != nil {
			continue
		}
		pos, err := r.cfg.Source.Start(ctx, p, origin(now, p, r.cfg.Source.Traits()))
		if err != nil {
			return now, fmt.Errorf("find the start of %s: %w", p, err)
		}
		starts[p] = pos
	}
	if len(starts) == 0 {
		return now, nil
	}
	now, err := r.sinks[0].Begin(ctx, starts)
	if err != nil {
		return now, fmt.Errorf("record where %d partitions start: %w", len(starts), err)
	}
	return now, nil
}

// origin is the configured start for a topic that is new to the table, and the first position for a partition that was
// added to a topic, or a topic that was found by a pattern, after the topology's first start. Otherwise "latest" would
// skip what came before they were noticed.
func origin(now committer.Positions, p source.Partition, traits source.Traits) source.Origin {
	if now.Known && traits.Discovers {
		return source.OriginFirst
	}
	for q := range now.At {
		if q.Topic == p.Topic {
			return source.OriginFirst
		}
	}
	return source.OriginConfigured
}

// foreignIdentity is the error for a partition whose cluster or whose topic's incarnation is not the one that the table
// holds positions of; nil where it is.
func foreignIdentity(now committer.Positions, b source.Bounds) error {
	p := b.Partition
	err := &source.PositionError{Partition: p, First: b.First, Last: b.Last}
	found := false
	for q, pr := range now.At {
		if q == p {
			return nil
		}
		otherTopic := q.Topic == p.Topic && q.Incarnation != p.Incarnation
		if q.Cluster == p.Cluster && !otherTopic {
			continue
		}
		found = true
		if err.Reason == "" || otherTopic {
			err.Reason = fmt.Sprintf("the table's position is of another incarnation of the topic (%s, now %s)",
				orNone(q.Incarnation), orNone(p.Incarnation))
		}
		if q.Cluster != p.Cluster {
			err.Reason = fmt.Sprintf("the table's positions are of another cluster (%s, now %s)",
				orNone(q.Cluster), orNone(p.Cluster))
		}
		if q.Topic == p.Topic && q.ID == p.ID {
			err.Wanted = pr.Next
		}
	}
	if !found {
		return nil
	}
	return err
}

func orNone(id string) string {
	if id == "" {
		return "without an id"
	}
	return id
}
