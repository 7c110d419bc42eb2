package writer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// clock is a time that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

// at makes a batch [from, to) with records at the given positions.
func at(from, to int, positions ...int) *source.Batch {
	b := &source.Batch{Range: source.Range{Partition: testPartition, From: source.Position(from), To: source.Position(to)}}
	for _, pos := range positions {
		b.Records = append(b.Records, source.Record{Position: source.Position(pos), TimestampMs: int64(pos), Value: event(pos)})
	}
	return b
}

func wantInput(t *testing.T, d *descriptor.Descriptor, from, to, rows, filtered, skipped int64) {
	t.Helper()
	if d == nil || len(d.Inputs) != 1 {
		t.Fatalf("descriptor %+v, want one input", d)
	}
	in := d.Inputs[0]
	if int64(in.Range.From) != from || int64(in.Range.To) != to || in.Rows != rows || in.Filtered != filtered || in.Skipped != skipped {
		t.Errorf("input %s rows %d filtered %d skipped %d, want [%d,%d) %d %d %d",
			in.Range, in.Rows, in.Filtered, in.Skipped, from, to, rows, filtered, skipped)
	}
	if in.Rows+in.Filtered+in.Skipped != in.Range.Len() {
		t.Errorf("counts do not add up to the range: %+v", in)
	}
}

func TestRangesAddUp(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	if d := seal(t, task); d != nil {
		t.Errorf("a task that has read nothing seals %+v", d)
	}
	appendAll(t, task, at(0, 10, 2, 3, 7)) // gaps before, between and behind
	b := at(10, 14, 10, 12)
	b.Records[1].Value = nil // a tombstone
	appendAll(t, task, b)
	appendAll(t, task, at(14, 20)) // nothing but markers
	appendAll(t, task, at(5, 18, 7, 15))
	d := seal(t, task)
	wantInput(t, d, 0, 20, 4, 1, 15)
	if d.Inputs[0].MaxTimestampMs != 12 {
		t.Errorf("highest time %d, want 12", d.Inputs[0].MaxTimestampMs)
	}
	if d := seal(t, task); d != nil {
		t.Errorf("nothing moved, but Seal gives %+v", d)
	}
	appendAll(t, task, at(15, 22, 15, 19, 21)) // overlaps what was sealed
	wantInput(t, seal(t, task), 20, 22, 1, 0, 1)
	appendAll(t, task, at(22, 30)) // a batch without records moves the range, and has no file
	d = seal(t, task)
	wantInput(t, d, 22, 30, 0, 0, 8)
	if len(d.Files) != 0 || d.Inputs[0].MaxTimestampMs != -1 {
		t.Errorf("files %d, highest time %d", len(d.Files), d.Inputs[0].MaxTimestampMs)
	}
}

func TestGapsAreRefused(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, at(0, 10, 1))
	_, err := task.Append(t.Context(), at(11, 12, 11))
	var gap *GapError
	if !errors.As(err, &gap) || gap.Want != 10 || gap.Got != 11 {
		t.Fatalf("error %v, want a gap between 10 and 11", err)
	}
	appendAll(t, task, at(10, 12, 11)) // the batch is still good
	wantInput(t, seal(t, task), 0, 12, 2, 0, 10)
}

func TestPartitionsThatAreNotOpenAreIgnored(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	b := at(0, 5, 1)
	b.Range.Partition.Incarnation = "another life of the topic"
	appendAll(t, task, b)
	if d := seal(t, task); d != nil {
		t.Errorf("sealed %+v", d)
	}
}

func TestRecordThresholdIsExact(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, func(c *Config) { c.SealRecords = 3 })
	b := at(0, 20, 1, 4, 5, 9, 10, 11, 15)
	for i, want := range [][5]int64{{0, 9, 3, 0, 6}, {9, 15, 3, 0, 3}} {
		done, err := task.Append(t.Context(), b)
		if done || err != nil {
			t.Fatalf("part %d: done %t, error %v", i, done, err)
		}
		if !task.Due(time.Now()) {
			t.Error("not due at the threshold")
		}
		wantInput(t, seal(t, task), want[0], want[1], want[2], want[3], want[4])
	}
	appendAll(t, task, b)
	if task.Due(time.Now()) {
		t.Error("due with one of three records")
	}
	wantInput(t, seal(t, task), 15, 20, 1, 0, 4)
	appendAll(t, task, at(20, 30, 20, 21, 22)) // the threshold at the last record leaves nothing over
	if !task.Due(time.Now()) {
		t.Error("not due")
	}
	wantInput(t, seal(t, task), 20, 30, 3, 0, 7)
}

func TestByteThreshold(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, func(c *Config) { c.SealBytes = 1 << 20 })
	b := eventBatch(0, 200000)
	seals := 0
	for done := false; !done; seals++ {
		var err error
		if done, err = task.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if done == task.Due(time.Now()) && !done {
			t.Error("stopped inside the batch, but is not due")
		}
		if d := seal(t, task); !done && (d.Bytes < 100<<10 || d.Bytes > 2<<20) {
			t.Errorf("sealed %d bytes at a threshold of 1 MiB", d.Bytes)
		}
	}
	if seals < 2 {
		t.Errorf("%d seals", seals)
	}
}

func TestAgeThreshold(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	c := newClock()
	task := newTask(t, tbl, func(cfg *Config) { cfg.SealInterval, cfg.Now = 10*time.Second, c.Now })
	if !task.Deadline().IsZero() || task.Due(c.now.Add(time.Hour)) {
		t.Error("a task without an open batch has a deadline")
	}
	appendAll(t, task, at(0, 4)) // only positions
	c.now = c.now.Add(time.Second)
	appendAll(t, task, at(4, 5, 4))
	if d := task.Deadline(); !d.Equal(newClock().now.Add(10 * time.Second)) {
		t.Errorf("deadline %v", d)
	}
	if task.Due(c.now.Add(8999*time.Millisecond)) || !task.Due(c.now.Add(9*time.Second)) {
		t.Error("due at another time than 10 s after the first position moved")
	}
	if d := seal(t, task); !d.SealedAt.Equal(c.now) {
		t.Errorf("sealed at %v", d.SealedAt)
	}
	if !task.Deadline().IsZero() {
		t.Error("the next batch inherits the deadline")
	}
}

func TestNoAgeThreshold(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	c := newClock()
	task := newTask(t, tbl, func(cfg *Config) { cfg.SealInterval, cfg.Now = -1, c.Now })
	appendAll(t, task, at(0, 4, 1))
	if !task.Deadline().IsZero() || task.Due(c.now.Add(1000*time.Hour)) {
		t.Error("it is due by age")
	}
}

func TestAQuietStreamIsSealedUnlessThatIsTurnedOff(t *testing.T) {
	for _, c := range []struct {
		in       Config
		bytes    int64
		interval time.Duration
	}{
		{Config{}, 128 << 20, 30 * time.Second},
		{Config{SealRecords: 5}, 0, 30 * time.Second},
		{Config{SealInterval: time.Second}, 128 << 20, time.Second},
		{Config{SealBytes: 9}, 9, 30 * time.Second},
		{Config{SealInterval: -1}, 128 << 20, -1},
		{Config{SealRecords: 5, SealInterval: -1}, 0, -1},
	} {
		if got := c.in.withDefaults(); got.SealBytes != c.bytes || got.SealInterval != c.interval {
			t.Errorf("%+v: %d bytes, %s", c.in, got.SealBytes, got.SealInterval)
		}
	}
}

func TestBadRecordsLeaveTheBatchAsItWas(t *testing.T) {
	sc := eventSchema()
	tbl, _ := newTable(t, sc, specOf(t, sc, "event_type identity"), nil)
	task := newTask(t, tbl, nil)
	b := at(0, 10, 1, 3, 5, 6)
	good := b.Records[2].Value
	b.Records[2].Value = []byte(`{"id":"no number"}`)
	done, err := task.Append(t.Context(), b)
	var bad *BadRecord
	var cause *mapper.BadRecordError
	if done || !errors.As(err, &bad) || bad.Position != 5 || !errors.As(err, &cause) || cause.Column != "id" {
		t.Fatalf("done %t, error %v", done, err)
	}
	if s := task.Stats(); s.Rows != 2 {
		t.Errorf("%d rows open", s.Rows)
	}
	b.Records[2].Value = good
	appendAll(t, task, b)
	wantInput(t, seal(t, task), 0, 10, 4, 0, 6)
}

func TestAnEndedContextLeavesTheBatchGood(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, eventBatch(0, 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := task.Append(ctx, eventBatch(10, 20)); done || !errors.Is(err, context.Canceled) {
		t.Errorf("done %t, error %v", done, err)
	}
	wantInput(t, seal(t, task), 0, 10, 10, 0, 0)
}

func TestDiscardReadsTheBatchAgain(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, iceberg.Properties{propTargetSize: "100000"})
	task := newTask(t, tbl, nil)
	appendAll(t, task, eventBatch(0, 10))
	first := seal(t, task)
	appendAll(t, task, eventBatch(10, 120000))
	if n := len(filesUnder(t, tbl)); n < 2 {
		t.Fatalf("%d files before the discard: it has nothing to remove", n)
	}
	task.Discard(t.Context())
	if n := len(filesUnder(t, tbl)); n != len(first.Files) {
		t.Errorf("%d files after the discard, want the sealed batch's %d", n, len(first.Files))
	}
	if s := task.Stats(); s != (Stats{BufferedBytes: s.BufferedBytes}) {
		t.Errorf("stats %+v", s)
	}
	b := eventBatch(10, 20)
	appendAll(t, task, b)
	d := seal(t, task)
	wantInput(t, d, 10, 20, 10, 0, 0)
	tbl = commit(t, tbl, d)
	sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b))
}

func TestOpenSetsExactlyThesePartitions(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, at(0, 10, 1))
	other := testPartition
	other.ID++
	task.Open(t.Context(), map[source.Partition]source.Position{other: 7})
	appendAll(t, task, at(0, 10, 1)) // not open any more
	b := at(5, 9, 6, 8)
	b.Range.Partition = other
	appendAll(t, task, b)
	d := seal(t, task)
	wantInput(t, d, 7, 9, 1, 0, 1)
	if d.Inputs[0].Range.Partition != other {
		t.Errorf("input of %v", d.Inputs[0].Range.Partition)
	}
}

func TestSourcesWithoutPositions(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	task := newTask(t, tbl, func(c *Config) { c.Unpositioned, c.SealRecords = true, 4 })
	b := &source.Batch{}
	for i := range 6 {
		b.Records = append(b.Records, source.Record{Value: event(i)})
	}
	if done, err := task.Append(t.Context(), b); done || err != nil {
		t.Fatalf("done %t, error %v", done, err)
	}
	d := seal(t, task)
	if d.Rows != 4 || len(d.Inputs) != 0 {
		t.Errorf("%d rows, inputs %v", d.Rows, d.Inputs)
	}
	appendAll(t, task, b)
	if d := seal(t, task); d.Rows != 2 {
		t.Errorf("%d rows, want the two that were left", d.Rows)
	}
	if d := seal(t, task); d != nil {
		t.Errorf("sealed %+v", d)
	}
}

func TestNewMetadataTakesEffectWithTheNextBatch(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, nil)
	made := 0
	task := newTask(t, tbl, func(c *Config) {
		json := c.Mapper
		c.Mapper = func(s *mapper.Schema) (mapper.Mapper, error) { made++; return json(s) }
	})
	appendAll(t, task, eventBatch(0, 10))
	evolved := change(t, tbl, func(tx *table.Transaction) error {
		if err := tx.UpdateSchema(true, false).AddColumn([]string{"extra"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit(); err != nil {
			return err
		}
		return tx.UpdateSpec(true).AddIdentity("event_type").Commit()
	})
	task.Use(evolved)
	appendAll(t, task, eventBatch(10, 20))
	d := seal(t, task)
	if d.SchemaID != tbl.Schema().ID || d.SpecID != 0 || len(d.Files) != 1 || d.Rows != 20 {
		t.Errorf("the open batch changed: schema %d, spec %d, %d files", d.SchemaID, d.SpecID, len(d.Files))
	}
	appendAll(t, task, eventBatch(20, 30))
	d = seal(t, task)
	if d.SchemaID != evolved.Schema().ID || d.SpecID != 1 || len(d.Files) != 8 || made != 2 {
		t.Errorf("the next batch: schema %d, spec %d, %d files, %d mappers", d.SchemaID, d.SpecID, len(d.Files), made)
	}
	changed := change(t, evolved, func(tx *table.Transaction) error {
		return tx.SetProperties(iceberg.Properties{propCodec: "snappy"})
	})
	task.Use(changed)
	appendAll(t, task, eventBatch(30, 40))
	if seal(t, task); made != 2 {
		t.Errorf("%d mappers: a property made a new one", made)
	}
}

// A column is renamed, which the mapper does not take, and then back: the schema has the id that it had.
func TestAChangeThatWasRefusedAndUndoneIsForgotten(t *testing.T) {
	for name, config := range map[string]func(*Config){
		"by the mapper": func(c *Config) {
			json := c.Mapper
			c.Mapper = func(s *mapper.Schema) (mapper.Mapper, error) {
				if s.Fields[1].Name != "user_id" {
					return nil, errors.New("there is no column user_id")
				}
				return json(s)
			}
		},
		"by the grouping": func(c *Config) { c.GroupBy = []string{"user_id"} },
	} {
		t.Run(name, func(t *testing.T) {
			tbl, _ := newTable(t, eventSchema(), nil, nil)
			task := newTask(t, tbl, config)
			rename := func(tbl *table.Table, from, to string) *table.Table {
				return change(t, tbl, func(tx *table.Transaction) error {
					return tx.UpdateSchema(true, false).RenameColumn([]string{from}, to).Commit()
				})
			}
			appendAll(t, task, eventBatch(0, 10))
			seal(t, task)
			renamed := rename(tbl, "user_id", "user")
			task.Use(renamed)
			if _, err := task.Append(t.Context(), eventBatch(10, 20)); err == nil || !strings.Contains(err.Error(), "user_id") {
				t.Fatalf("error %v", err)
			}
			task.Discard(t.Context())
			back := rename(renamed, "user", "user_id")
			if back.Schema().ID != tbl.Schema().ID {
				t.Fatalf("schema %d, want %d", back.Schema().ID, tbl.Schema().ID)
			}
			task.Use(back)
			appendAll(t, task, eventBatch(10, 20))
			if d := seal(t, task); d == nil || d.Rows != 10 {
				t.Errorf("sealed %+v", d)
			}
		})
	}
}

func change(t *testing.T, tbl *table.Table, f func(*table.Transaction) error) *table.Table {
	t.Helper()
	tx := tbl.NewTransaction()
	if err := f(tx); err != nil {
		t.Fatal(err)
	}
	out, err := tx.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMisuseIsAnError(t *testing.T) {
	task, err := New(Config{Topology: "t", Mapper: jsonMapper()})
	if err != nil {
		t.Fatal(err)
	}
	task.Open(context.Background(), map[source.Partition]source.Position{testPartition: 0})
	if _, err := task.Append(t.Context(), at(0, 1, 0)); err == nil {
		t.Error("Append without a table succeeds")
	}
	if err := task.Close(); err != nil {
		t.Error(err)
	}
	if err := task.Close(); err != nil {
		t.Error("the second Close:", err)
	}
	if _, err := task.Append(t.Context(), at(0, 1, 0)); err == nil {
		t.Error("Append after Close succeeds")
	}
	for _, c := range []Config{
		{}, {Topology: "t"}, {Topology: "t", Mapper: jsonMapper(), SealBytes: -1}, {Topology: "t", Mapper: jsonMapper(), Parallel: 1000},
		{Topology: "t", Mapper: jsonMapper(), GroupBy: []string{"a", "a"}}, {Topology: "t", Mapper: jsonMapper(), MaxBufferedBytes: 1},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("New takes %+v", c)
		}
	}
}
