package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

// instances judges whether two processes under one name that are not replicas of each other commit the same partitions by turns.
func (p *Patient) instances(r *Report) {
	steps, err := committer.Steps(p.Table.Metadata(), p.Branch, p.Topology, p.Limits.Steps)
	if err != nil {
		r.Skip(twoInstances, "the positions of a snapshot can't be read: %s", err)
		return
	}
	turns := turnsOf(steps)
	worst := 0
	var where source.Partition
	for _, q := range slices.SortedFunc(maps.Keys(turns), compare) {
		if t := turns[q]; t.back > worst {
			worst, where = t.back, q
		}
	}
	if worst < p.Limits.Turns {
		return
	}
	names := slices.Sorted(maps.Keys(turns[where].had))
	r.add(twoInstances, where.String(), fmt.Sprintf("%d processes commit it by turns (%s): it came back to one that another had taken it from %d times in the newest %d commits",
		len(names), strings.Join(names[:min(len(names), 3)], ", "), worst, len(steps)),
		"two deployments share the name "+p.Topology+": give each its own, or let them be replicas in one consumer group (the same source.kafka.group). "+
			"If they are, see why the group gives its partitions to and fro: its members die, or miss their heartbeats")
}

// turn is what became of one partition.
type turn struct {
	holder string
	had    map[string]bool
	back   int
}

// turnsOf follows each partition through the steps, which are the newest first.
func turnsOf(steps []committer.Step) map[source.Partition]*turn {
	out := map[source.Partition]*turn{}
	for i := len(steps) - 2; i >= 0; i-- {
		before, now := steps[i+1], steps[i]
		for q, next := range now.Next {
			if was, ok := before.Next[q]; !ok || was == next {
				continue
			}
			t := out[q]
			if t == nil {
				t = &turn{had: map[string]bool{}}
				out[q] = t
			}
			if t.holder != "" && t.holder != now.Instance && t.had[now.Instance] {
				t.back++
			}
			t.holder, t.had[now.Instance] = now.Instance, true
		}
	}
	return out
}

// clocks judges whether times lie ahead of this machine's.
func (p *Patient) clocks(r *Report) {
	if s := p.Table.SnapshotByName(p.branch()); s != nil {
		if ahead := time.UnixMilli(s.TimestampMs).Sub(p.Now); ahead > p.Limits.Ahead {
			r.add(clockAhead, fmt.Sprintf("snapshot %d", s.SnapshotID), fmt.Sprintf("its time is %s ahead of this machine's clock", round(ahead)),
				"set the clocks of this machine and of those that commit by NTP; ages, expiry and orphan clean-up go by them, positions do not")
		}
	}
	if len(p.Looks) == 0 {
		return
	}
	at := p.Looks[len(p.Looks)-1].Positions.At
	var most time.Duration
	var where source.Partition
	for _, q := range slices.SortedFunc(maps.Keys(at), compare) {
		if ahead := time.UnixMilli(at[q].MaxTimestampMs).Sub(p.Now); ahead > most {
			most, where = ahead, q
		}
	}
	if most > p.Limits.Ahead {
		r.add(recordsAhead, where.String(), fmt.Sprintf("the latest of its records' times is %s ahead of this machine's clock", round(most)),
			"see to the clocks of the producers, or of the brokers where message.timestamp.type is LogAppendTime; storm.iceberg.valid-through-ms goes by those times")
	}
}
