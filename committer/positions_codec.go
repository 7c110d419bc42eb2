package committer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stormfloe/floe/source"
)

// maxPartitions bounds what a run length may unfold to in one topic.
const maxPartitions = 1 << 20

// topicValue is one topic's part of a topology's entry. Each list is indexed by partition number and run-length coded:
// an element is a number, or [number, how often]; null is a partition without a position. A list that is all zeros is
// left out. Rows are not written, they are what is left: next - start - rejects - filtered - skipped.
type topicValue struct {
	Incarnation string `json:"incarnation,omitempty"`
	Next        runs   `json:"next"`
	Start       runs   `json:"start,omitempty"`
	Rejects     runs   `json:"rejects,omitempty"`
	Filtered    runs   `json:"filtered,omitempty"`
	Skipped     runs   `json:"skipped,omitempty"`
	// Latest is the highest record time of any partition, Behind how far each partition's own is below it, null where it
	// has none. Latest is left out where no record had a time.
	Latest *int64 `json:"latest,omitempty"`
	Behind runs   `json:"behind,omitempty"`

	end int64 // one behind the last partition added
}

// run is a number that stands n times in a row; nil is null.
type run struct {
	v *int64
	n int64
}

type runs []run

func (r run) MarshalJSON() ([]byte, error) {
	if r.n == 1 {
		return json.Marshal(r.v)
	}
	return json.Marshal([2]any{r.v, r.n})
}

func (r *run) UnmarshalJSON(b []byte) error {
	*r = run{n: 1}
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, &r.v)
	}
	var pair []*int64
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 || pair[1] == nil || *pair[1] < 1 {
		return errors.New("a run is [number, how often]")
	}
	r.v, r.n = pair[0], *pair[1]
	return nil
}

// push appends v, n times.
func (r *runs) push(v *int64, n int64) {
	if n == 0 {
		return
	}
	if k := len(*r) - 1; k >= 0 {
		last := &(*r)[k]
		if (v == nil) == (last.v == nil) && (v == nil || *v == *last.v) {
			last.n += n
			return
		}
	}
	*r = append(*r, run{v, n})
}

// each calls f for every number that is not null.
func (r runs) each(f func(id, v int64) error) error {
	var id, count int64
	for _, x := range r {
		if id+x.n < id || id+x.n > 1<<31 {
			return errors.New("partition numbers beyond 2147483647")
		}
		if x.v == nil {
			id += x.n
			continue
		}
		if count += x.n; count > maxPartitions {
			return fmt.Errorf("more than %d partitions", maxPartitions)
		}
		for end := id + x.n; id < end; id++ {
			if err := f(id, *x.v); err != nil {
				return err
			}
		}
	}
	return nil
}

// zero reports whether nothing but zeros and nulls is in it.
func (r runs) zero() bool {
	return !slices.ContainsFunc(r, func(x run) bool { return x.v != nil && *x.v != 0 })
}

func decodeTopology(raw json.RawMessage) (map[source.Partition]Progress, error) {
	var t struct {
		unclear
		Cluster string                `json:"cluster"`
		Topics  map[string]topicValue `json:"topics"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	if t.Unclear {
		return nil, nil
	}
	at := make(map[source.Partition]Progress)
	for topic, tv := range t.Topics {
		p := source.Partition{Cluster: t.Cluster, Topic: topic, Incarnation: tv.Incarnation}
		if err := tv.decode(p, at); err != nil {
			return nil, fmt.Errorf("topic %q: %w", topic, err)
		}
	}
	return at, nil
}

func (t topicValue) decode(p source.Partition, at map[source.Partition]Progress) error {
	err := t.Next.each(func(id, v int64) error {
		p.ID = int32(id)
		at[p] = Progress{Next: source.Position(v), MaxTimestampMs: -1}
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range []struct {
		name string
		r    runs
		set  func(*Progress, int64)
	}{
		{"start", t.Start, func(g *Progress, v int64) { g.Start = source.Position(v) }},
		{"rejects", t.Rejects, func(g *Progress, v int64) { g.Rejects = v }},
		{"filtered", t.Filtered, func(g *Progress, v int64) { g.Filtered = v }},
		{"skipped", t.Skipped, func(g *Progress, v int64) { g.Skipped = v }},
		{"behind", t.Behind, func(g *Progress, v int64) {
			if t.Latest != nil && v >= 0 && v <= *t.Latest {
				g.MaxTimestampMs = *t.Latest - v
			}
		}},
	} {
		err := l.r.each(func(id, v int64) error {
			p.ID = int32(id)
			g, ok := at[p]
			if !ok {
				return fmt.Errorf("partition %d has %q but no next position", id, l.name)
			}
			l.set(&g, v)
			at[p] = g
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.rows(p, at)
}

// rows fills in what is not written, and refuses counts that do not add up.
func (t topicValue) rows(p source.Partition, at map[source.Partition]Progress) error {
	return t.Next.each(func(id, _ int64) error {
		p.ID = int32(id)
		g := at[p]
		g.Rows = int64(g.Next) - int64(g.Start) - g.Rejects - g.Filtered - g.Skipped
		if g.Next < 0 || g.Start < 0 || g.Rows < 0 || g.Rejects < 0 || g.Filtered < 0 || g.Skipped < 0 {
			return fmt.Errorf("partition %d: counts do not add up to its position", id)
		}
		at[p] = g
		return nil
	})
}

func encodeTopology(old json.RawMessage, at map[source.Partition]Progress) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(old) > 0 {
		if err := json.Unmarshal(old, &fields); err != nil {
			return nil, err
		}
	}
	delete(fields, "unclear")
	ps := slices.SortedFunc(maps.Keys(at), func(a, b source.Partition) int { return int(int64(a.ID) - int64(b.ID)) })
	topics := map[string]*topicValue{}
	cluster := ""
	for i, p := range ps {
		if i == 0 {
			cluster = p.Cluster
		}
		t, ok := topics[p.Topic]
		if !ok {
			t = &topicValue{Incarnation: p.Incarnation}
			topics[p.Topic] = t
		}
		switch {
		case p.Cluster != cluster:
			return nil, fmt.Errorf("partitions of two clusters, %q and %q: a topology reads one", cluster, p.Cluster)
		case p.Incarnation != t.Incarnation:
			return nil, fmt.Errorf("topic %q in two incarnations, %q and %q", p.Topic, t.Incarnation, p.Incarnation)
		case p.ID < 0:
			return nil, fmt.Errorf("topic %q: partition %d", p.Topic, p.ID)
		}
		if g := at[p]; g.MaxTimestampMs >= 0 && (t.Latest == nil || *t.Latest < g.MaxTimestampMs) {
			t.Latest = &g.MaxTimestampMs
		}
	}
	for _, p := range ps {
		topics[p.Topic].add(int64(p.ID), at[p])
	}
	for _, t := range topics {
		t.trim()
	}
	return marshalTopology(fields, cluster, topics)
}

func marshalTopology(fields map[string]json.RawMessage, cluster string, topics map[string]*topicValue) (json.RawMessage, error) {
	for k, v := range map[string]any{"cluster": cluster, "topics": topics} {
		s, err := compact(v)
		if err != nil {
			return nil, err
		}
		fields[k] = json.RawMessage(s)
	}
	s, err := compact(fields)
	return json.RawMessage(s), err
}

// add appends a partition; they come in ascending order.
func (t *topicValue) add(id int64, g Progress) {
	next, start := int64(g.Next), int64(g.Start)
	gap := id - t.end
	t.end = id + 1
	for _, x := range []struct {
		r *runs
		v *int64
	}{{&t.Next, &next}, {&t.Start, &start}, {&t.Rejects, &g.Rejects}, {&t.Filtered, &g.Filtered}, {&t.Skipped, &g.Skipped}} {
		x.r.push(nil, gap)
		x.r.push(x.v, 1)
	}
	if t.Latest == nil {
		return
	}
	var behind *int64
	if g.MaxTimestampMs >= 0 {
		d := *t.Latest - g.MaxTimestampMs
		behind = &d
	}
	t.Behind.push(nil, gap)
	t.Behind.push(behind, 1)
}

func (t *topicValue) trim() {
	for _, r := range []*runs{&t.Start, &t.Rejects, &t.Filtered, &t.Skipped} {
		if r.zero() {
			*r = nil
		}
	}
}
