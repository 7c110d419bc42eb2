package topology

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// fakeTask seals ranges without writing anything. The value "bad" makes a record bad, "need" asks need.
type fakeTask struct {
	cfg  writer.Config
	at   map[source.Partition]source.Position
	from map[source.Partition]source.Position
	rows int64
	bad  map[mapper.Code]int64
	due  bool
	// took is the rejects table that the task was given last.
	took *table.Table
	// since is when the open batch began.
	since time.Time
	// appendErr and sealErr make the next calls fail.
	appendErr, sealErr func() error
	// need is asked before a record with the value "need".
	need   func() error
	opened int
	closed bool
}

func newFakeTask(cfg writer.Config) *fakeTask {
	return &fakeTask{cfg: cfg, at: map[source.Partition]source.Position{}, from: map[source.Partition]source.Position{}}
}

func (t *fakeTask) Use(*table.Table)                     {}
func (t *fakeTask) UseRejects(tbl *table.Table)          { t.took = tbl }
func (t *fakeTask) RejectsByCode() map[mapper.Code]int64 { return t.bad }
func (t *fakeTask) Open(_ context.Context, at map[source.Partition]source.Position) {
	t.opened++
	t.at, t.from = maps.Clone(at), maps.Clone(at)
	if t.at == nil {
		t.at, t.from = map[source.Partition]source.Position{}, map[source.Partition]source.Position{}
	}
	t.reset()
}
func (t *fakeTask) reset() { t.rows, t.bad, t.due, t.since = 0, nil, false, time.Time{} }

func (t *fakeTask) Append(_ context.Context, b *source.Batch) (bool, error) {
	if t.appendErr != nil {
		if err := t.appendErr(); err != nil {
			return false, err
		}
	}
	p := b.Range.Partition
	pos, open := t.at[p]
	if t.cfg.Unpositioned {
		pos, open = b.Range.From, true
	}
	switch {
	case !open || b.Range.To <= pos:
		return true, nil
	case b.Range.From > pos:
		return false, &writer.GapError{Partition: p, Want: pos, Got: b.Range.From}
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	for _, r := range b.Records {
		if r.Position < pos {
			continue
		}
		if t.due {
			return false, nil
		}
		if string(r.Value) == "need" && t.need != nil {
			if err := t.need(); err != nil {
				return false, err
			}
		}
		if string(r.Value) == "bad" {
			if err := t.reject(p, r.Position); err != nil {
				return false, err
			}
		} else {
			t.rows++
			if t.cfg.Judge != nil {
				t.cfg.Judge(1, nil)
			}
		}
		pos = r.Position + 1
		t.at[p] = pos
		t.due = t.cfg.SealRecords > 0 && t.rows+t.bad["type"] >= t.cfg.SealRecords
	}
	t.at[p] = b.Range.To
	return true, nil
}

func (t *fakeTask) reject(p source.Partition, pos source.Position) error {
	bad := &writer.BadRecord{Partition: p, Position: pos, Err: &mapper.BadRecordError{Code: "type", Column: "id", Reason: "not a number"}}
	if !t.cfg.Rejects {
		return bad
	}
	if err := t.cfg.Judge(0, bad.Err); err != nil {
		return &writer.JudgedError{Err: err, Record: bad}
	}
	if t.bad == nil {
		t.bad = map[mapper.Code]int64{}
	}
	t.bad[bad.Err.Code]++
	return nil
}

func (t *fakeTask) Due(now time.Time) bool {
	return t.due || (!t.since.IsZero() && !now.Before(t.Deadline()))
}
func (t *fakeTask) Deadline() time.Time {
	if t.since.IsZero() {
		return time.Time{}
	}
	if t.cfg.SealInterval <= 0 {
		return t.since.Add(time.Hour)
	}
	return t.since.Add(t.cfg.SealInterval)
}

func (t *fakeTask) Seal(context.Context) (*descriptor.Descriptor, error) {
	if t.sealErr != nil {
		if err := t.sealErr(); err != nil {
			return nil, err
		}
	}
	d := &descriptor.Descriptor{Topology: t.cfg.Topology, Task: t.cfg.Name, Rows: t.rows}
	if n := t.bad["type"]; n > 0 {
		d.Rejects = &descriptor.Rejects{Rows: n}
	}
	if t.cfg.Unpositioned {
		if t.rows == 0 {
			return nil, nil
		}
		t.reset()
		return d, nil
	}
	for _, p := range sortedPartitions(t.at) {
		if t.at[p] > t.from[p] {
			d.Inputs = append(d.Inputs, descriptor.Input{Range: source.Range{Partition: p, From: t.from[p], To: t.at[p]}})
		}
	}
	t.from = maps.Clone(t.at)
	t.reset()
	if len(d.Inputs) == 0 {
		return nil, nil
	}
	return d, nil
}

func (t *fakeTask) Discard(context.Context) { t.at = maps.Clone(t.from); t.reset() }
func (t *fakeTask) Stats() writer.Stats {
	return writer.Stats{Rows: t.rows, Rejects: t.bad["type"], Since: t.since}
}
func (t *fakeTask) Close() error {
	if t.closed {
		return errors.New("closed twice")
	}
	t.closed = true
	return nil
}
