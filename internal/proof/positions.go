package proof

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// place is one partition's position.
type place struct {
	next, start int64
	// top is the highest position it ever had, not counting what a person then set back.
	top int64
	// rows is how many of what was passed since start became rows, by the counts.
	rows int64
	// rejects, filtered and skipped are the counts themselves.
	rejects, filtered, skipped int64
	// life is the cluster and the topic's incarnation.
	life string
}

// entry is one topology's part of a positions value.
type entry struct {
	unclear bool
	at      map[int32]place
}

// value is a positions value: the topologies that it lists, and in a property the snapshot that it belongs to.
type value struct {
	snapshot   int64
	topologies map[string]entry
}

// decode reads a positions value, of the partitions below n of one topic. It is written from the description of the format
// and not with the code that writes it, so that the two do not share a mistake.
func decode(s, topic string, n int) (value, error) {
	var w struct {
		V          int
		Snapshot   int64
		Topologies map[string]struct {
			Unclear bool
			Cluster string
			Topics  map[string]struct {
				Incarnation                             string
				Next, Start, Rejects, Filtered, Skipped []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(s), &w); err != nil {
		return value{}, fmt.Errorf("positions value: %w", err)
	}
	if w.V != 1 {
		return value{}, fmt.Errorf("positions value of version %d, this checker reads 1", w.V)
	}
	v := value{snapshot: w.Snapshot, topologies: map[string]entry{}}
	for name, t := range w.Topologies {
		e := entry{unclear: t.Unclear, at: map[int32]place{}}
		tp := t.Topics[topic]
		next, err := unfold(tp.Next, n)
		if err != nil {
			return value{}, fmt.Errorf("positions value: topology %q: next: %w", name, err)
		}
		counts := make([][]*int64, 4)
		for i, list := range [][]json.RawMessage{tp.Start, tp.Rejects, tp.Filtered, tp.Skipped} {
			if counts[i], err = unfold(list, n); err != nil {
				return value{}, fmt.Errorf("positions value: topology %q: start or counts: %w", name, err)
			}
		}
		for id, pos := range next {
			if pos == nil {
				continue
			}
			p := place{next: *pos, top: *pos, rows: *pos, life: t.Cluster + "/" + tp.Incarnation}
			for i, to := range []*int64{&p.start, &p.rejects, &p.filtered, &p.skipped} {
				if list := counts[i]; id < len(list) && list[id] != nil {
					*to = *list[id]
					p.rows -= *to
				}
			}
			e.at[int32(id)] = p
		}
		v.topologies[name] = e
	}
	return v, nil
}

// unfold undoes the run-length coding, up to n elements: an element is a number, null, or [one of these, how often].
func unfold(list []json.RawMessage, n int) ([]*int64, error) {
	var out []*int64
	for _, raw := range list {
		var times int64 = 1
		var pos *int64
		if len(raw) > 0 && raw[0] == '[' {
			var pair []json.RawMessage
			if err := json.Unmarshal(raw, &pair); err != nil {
				return nil, err
			}
			if len(pair) != 2 {
				return nil, fmt.Errorf("a run of %d elements", len(pair))
			}
			if err := json.Unmarshal(pair[1], &times); err != nil {
				return nil, err
			}
			raw = pair[0]
		}
		if err := json.Unmarshal(raw, &pos); err != nil {
			return nil, err
		}
		if times < 1 {
			return nil, errors.New("a run of no length")
		}
		for ; times > 0 && len(out) < n; times-- {
			out = append(out, pos)
		}
	}
	return out, nil
}

// positions is where the topologies stand at a snapshot. nil says that it carries no positions: they are as before it, or
// for the oldest retained one can't be told.
func (c *checker) positions(s *table.Snapshot, oldest bool) (standing, error) {
	raw, ok := positionsOf(s)
	if !ok && oldest {
		var err error
		if raw, ok, err = c.before(s); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, nil
	}
	v, err := decode(raw, c.o.Topic, c.o.Partitions)
	if err != nil {
		return nil, err
	}
	next := c.at.clone()
	for _, name := range c.o.Topologies {
		e, listed := v.topologies[name]
		switch {
		case listed && e.unclear: // it stands where it stood, and waits for a person to say so
		case listed:
			next[name] = e.at
		default:
			delete(next, name)
		}
	}
	return next, nil
}

func positionsOf(s *table.Snapshot) (string, bool) {
	if s.Summary == nil {
		return "", false
	}
	raw, ok := s.Summary.Properties[keyPositions]
	return raw, ok
}

// before finds the positions that the oldest retained snapshot stands on, where it carries none itself: a compaction, with
// all before it expired. They are in the table property, if it belongs to the snapshot's parent, or in the metadata log.
func (c *checker) before(s *table.Snapshot) (string, bool, error) {
	property, has := c.tbl.Properties()[keyPositions+"."+c.o.Branch]
	if s.ParentSnapshotID == nil {
		// A root holds what it holds by itself, unless the catalog shows no history at all.
		return property, has && s.SequenceNumber > 1, nil
	}
	if has {
		v, err := decode(property, c.o.Topic, c.o.Partitions)
		if err != nil {
			return "", false, err
		}
		if v.snapshot == *s.ParentSnapshotID {
			return property, true, nil
		}
	}
	need := *s.ParentSnapshotID
	log := slices.Collect(c.tbl.Metadata().PreviousFiles())
	for _, e := range slices.Backward(log) {
		m, err := readMetadata(c.fio, e.MetadataFile)
		if err != nil {
			continue // metadata files are deleted by rule
		}
		for s := m.SnapshotByID(need); s != nil; s = m.SnapshotByID(need) {
			if raw, ok := positionsOf(s); ok {
				return raw, true, nil
			}
			if s.ParentSnapshotID == nil {
				return "", false, nil
			}
			need = *s.ParentSnapshotID
		}
	}
	return "", false, nil
}

func readMetadata(fio iceio.IO, path string) (table.Metadata, error) {
	b, err := readAll(fio, path)
	if err != nil {
		return nil, err
	}
	return table.ParseMetadataBytes(b)
}

// guess takes the rows of the oldest retained snapshot for what is below its positions, where nothing says what these are:
// each partition stands behind its highest row. With several topologies nobody can tell them apart, and all stand at 0.
func (c *checker) guess(t *tally) standing {
	if len(c.o.Topologies) != 1 || t.empty() {
		return nil
	}
	at := map[int32]place{}
	t.each(func(part int32, off int64, _ int) {
		next := max(at[part].next, off+1)
		at[part] = place{next: next, top: next, life: anyLife}
	})
	return standing{c.o.Topologies[0]: at}
}

// anyLife is a guess's: whatever comes next fits it.
const anyLife = "?"
