package committer

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/protocol"
	"github.com/stormfloe/floe/source"
)

// Begin records where partitions start that the table has no position for, with one pinned empty append. A partition
// that got a position meanwhile keeps that one. It returns the table's positions afterwards.
//
// Without it, `latest` or the topic's retention would skip what came between a crash and the next start. Partitions of
// another cluster than the table's positions, or of another incarnation of a topic that it has, are a *StopError.
func (c *Committer) Begin(ctx context.Context, starts map[source.Partition]source.Position) (Positions, error) {
	return c.move(ctx, func(v *view) (map[source.Partition]Progress, error) {
		if v.stop != nil {
			return nil, v.stop
		}
		at := progressOf(v)
		for p, pos := range starts {
			if pos < 0 {
				return nil, fmt.Errorf("start of %s is %d: a position can't be negative", p, pos)
			}
			if _, ok := at[p]; ok {
				continue
			}
			if other, ok := conflict(at, p); ok {
				return nil, &StopError{
					Reason: fmt.Sprintf("%s: the table holds positions of another life of it (cluster %q, topic id %q; now cluster %q, topic id %q)",
						p, other.Cluster, other.Incarnation, p.Cluster, p.Incarnation),
					Hint: "the topic was deleted and made again, or the brokers are others; see `floe positions show` and say where to go on with `floe positions set`",
				}
			}
			at[p] = begin(pos)
		}
		return at, nil
	})
}

// Set writes positions as a person wants them (floe positions set): a pinned empty append, also on an empty table. It
// is the answer to every stop-and-ask. Partitions that are not named keep theirs, except those of another cluster, and of
// another incarnation of a topic that is named: what is set replaces them. The counts of a partition that is set start anew.
func (c *Committer) Set(ctx context.Context, at map[source.Partition]source.Position) (Positions, error) {
	return c.move(ctx, func(v *view) (map[source.Partition]Progress, error) {
		next := progressOf(v)
		for p, pos := range at {
			if pos < 0 {
				return nil, fmt.Errorf("position of %s is %d: it can't be negative", p, pos)
			}
			maps.DeleteFunc(next, func(q source.Partition, _ Progress) bool { return conflicts(q, p) })
		}
		for p, pos := range at {
			next[p] = begin(pos)
		}
		return next, nil
	})
}

// Forget takes the positions of partitions out of the table, with a pinned empty append: the next start begins them as it does partitions
// that it never read. It is for a topology that does not run. Those that the table has no position for are no error.
func (c *Committer) Forget(ctx context.Context, ps []source.Partition) (Positions, error) {
	return c.move(ctx, func(v *view) (map[source.Partition]Progress, error) {
		if v.stop != nil {
			return nil, v.stop
		}
		at := progressOf(v)
		for _, p := range ps {
			delete(at, p)
		}
		return at, nil
	})
}

// conflicts says that two partitions can't both be in one topology's positions.
func conflicts(a, b source.Partition) bool {
	return a.Cluster != b.Cluster || a.Topic == b.Topic && a.Incarnation != b.Incarnation
}

func conflict(at map[source.Partition]Progress, p source.Partition) (source.Partition, bool) {
	for q := range at {
		if conflicts(q, p) {
			return q, true
		}
	}
	return source.Partition{}, false
}

func progressOf(v *view) map[source.Partition]Progress {
	if v.at == nil {
		return map[source.Partition]Progress{}
	}
	return maps.Clone(v.at)
}

// move makes a pinned empty append of the positions that want gives for what the table holds now, unless they are held
// already, and tries until it has landed, ctx ends, or the catalog refuses it for good.
func (c *Committer) move(ctx context.Context, want func(*view) (map[source.Partition]Progress, error)) (Positions, error) {
	if err := c.take(ctx); err != nil {
		return Positions{}, err
	}
	defer c.give()
	return c.moveHeld(ctx, want, false)
}

// moveHeld is move by one who holds the turn; always appends also where nothing changes.
func (c *Committer) moveHeld(ctx context.Context, want func(*view) (map[source.Partition]Progress, error), always bool) (Positions, error) {
	id := uuid.New()
	last, on, refusals := protocol.Answer(0), "", 0
	var words error
	for n := 0; ; n++ {
		v, err := c.seek(ctx)
		if err != nil {
			return Positions{}, err
		}
		if last != 0 {
			if last == protocol.Refused && on != v.tbl.MetadataLocation() && refusals < maxRefusals {
				last = protocol.Moved
			}
			switch protocol.AfterLook(last, v.hist.See(id.String(), v.hist.Last)) {
			case protocol.Settled:
				c.obs.Outcome("settled_landed")
				c.relieve()
				return v.positions(), nil
			case protocol.GiveBack:
				return Positions{}, fmt.Errorf("the catalog refuses to record positions: %w", words)
			}
		}
		at, err := want(v)
		if err != nil {
			return Positions{}, err
		}
		if v.stop == nil && !always && maps.Equal(at, v.at) {
			c.relieve()
			return v.positions(), nil
		}
		tbl, a, err := c.apply(ctx, v, change{id: id, at: at})
		switch a {
		case protocol.Landed:
			c.obs.Outcome("landed")
			c.relieve()
			return c.moved(ctx, tbl)
		case protocol.NotSent, protocol.Unknown:
			c.suffer(fmt.Errorf("record positions: %w", err))
		case protocol.Refused:
			refusals++
			c.obs.Outcome("refused")
			c.suffer(fmt.Errorf("recording positions is refused: %w", err))
		default:
			refusals = 0
			c.obs.Outcome("refused")
			if last == protocol.Moved && on == v.tbl.MetadataLocation() {
				c.suffer(fmt.Errorf("record positions: %w: %w", errNotMoved, err))
			}
		}
		if a != protocol.NotSent {
			last, on, words = a, v.tbl.MetadataLocation(), err
		}
		limit := c.cfg.MaxBackoff
		if a == protocol.Moved {
			limit = min(limit, movedBackoff)
		}
		if !backoff(ctx, n, limit) {
			return Positions{}, ctx.Err()
		}
	}
}

func (c *Committer) moved(ctx context.Context, tbl *table.Table) (Positions, error) {
	v, err := c.viewOf(ctx, tbl)
	if err != nil {
		return Positions{}, err
	}
	c.publish(v)
	return v.positions(), nil
}

// beat is how often a quiet committer looks whether other engines' commits are about to bury its positions.
func (c *Committer) beat() time.Duration {
	return min(max(c.cfg.EmptyInterval, time.Second), 5*time.Minute)
}

// heartbeat makes an empty append where the newest snapshot with positions lies deep in the metadata log or is about to
// expire. Trouble is left to the next commit or beat; only a question to a person is returned.
func (c *Committer) heartbeat(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return nil
	}
	defer c.give()
	v, err := c.look(ctx)
	if err == nil {
		c.publish(v)
	}
	if err != nil {
		if isStop(err) {
			return err
		}
		return nil
	}
	return c.renew(ctx, v)
}

// renew is heartbeat's append where it is needed on v, by one who holds the turn.
func (c *Committer) renew(ctx context.Context, v *view) error {
	if v.at == nil || v.stop != nil || !c.buried(v) {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, c.cfg.AttemptTimeout)
	defer cancel()
	if _, err := c.moveHeld(short, func(v *view) (map[source.Partition]Progress, error) {
		if v.stop != nil {
			return nil, v.stop
		}
		return progressOf(v), nil
	}, true); err != nil {
		if isStop(err) {
			return err
		}
		c.log.Warn("positions could not be renewed; the next commit or the next look will", "error", err)
	}
	return nil
}

// buried: deeper than half the metadata log, or older than half the age at which snapshots expire.
func (c *Committer) buried(v *view) bool {
	if v.found.Place == protocol.AtProperty {
		return true // its snapshot is gone already
	}
	s := v.tbl.SnapshotByID(v.found.Snapshot)
	if s == nil {
		return true
	}
	props := v.tbl.Properties()
	newer := 0 // metadata versions since, the current one among them
	if v.tbl.Metadata().LastUpdatedMillis() > s.TimestampMs {
		newer++
	}
	for e := range v.tbl.Metadata().PreviousFiles() {
		if e.TimestampMs > s.TimestampMs {
			newer++
		}
	}
	if 2*newer > props.GetInt(table.MetadataPreviousVersionsMaxKey, table.MetadataPreviousVersionsMaxDefault) {
		return true
	}
	age := table.MaxSnapshotAgeMsDefault
	if n, err := strconv.ParseInt(props[table.MaxSnapshotAgeMsKey], 10, 64); err == nil && n > 0 {
		age = n
	}
	return 2*c.cfg.Now().Sub(time.UnixMilli(s.TimestampMs)).Milliseconds() > age
}
