package sourcetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stormfloe/floe/source"
)

// openAt opens the given partitions of a topic where it is said, and the others where the source starts them.
func openAt(rec *Recorder, at map[int32]source.Position) {
	rec.OnAssigned = func(ctx context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
		out := map[source.Partition]source.Position{}
		for _, p := range ps {
			pos, ok := at[p.ID]
			if !ok {
				var err error
				if pos, err = rec.src.Start(ctx, p, source.OriginConfigured); err != nil {
					return nil, err
				}
			}
			out[p] = pos
		}
		return out, nil
	}
}

func testOpenAt(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 100)
	f.Append(t, 1, 0, 5)
	src := f.New(t)
	rec := NewRecorder(t, src)
	openAt(rec, map[int32]source.Position{0: 42, 1: 5})
	r := Go(t, src, rec)
	rec.WaitPosition(f.Topic, 0, 100)
	f.Append(t, 1, 5, 1)
	rec.WaitRecords(f.Topic, 1, 1)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 42, 58)
	expect(t, rec, f.Topic, 1, 5, 1)
	if from := rec.Ranges(f.Topic, 0)[0].From; from != 42 {
		t.Errorf("the first range begins at %d; the opening position 42 was expected", from)
	}
}

func testUnopened(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 3)
	f.Append(t, 1, 0, 3)
	src := f.New(t)
	rec := NewRecorder(t, src)
	rec.OnAssigned = func(_ context.Context, ps []source.Partition) (map[source.Partition]source.Position, error) {
		at := map[source.Partition]source.Position{}
		for _, p := range ps {
			if p.ID == 0 {
				at[p] = 0
			}
		}
		return at, nil
	}
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 3)
	f.Append(t, 0, 3, 3)
	rec.WaitRecords(f.Topic, 0, 6)
	r.MustStop() // the recorder complains of a Deliver to partition 1
}

func testReopen(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 100)
	src := f.New(t)
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 100)
	p := rec.Find(f.Topic, 0)
	rec.Reopen(p, 10)
	rec.WaitRecords(f.Topic, 0, 90)
	expect(t, rec, f.Topic, 0, 10, 90)
	rec.Reopen(p, 95)
	rec.WaitRecords(f.Topic, 0, 5)
	f.Append(t, 0, 100, 5)
	rec.WaitRecords(f.Topic, 0, 10)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 95, 10)
}

func testStart(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 10)
	first := source.Position(0)
	if f.Truncate != nil {
		first = 4
		f.Truncate(t, 0, first)
	}
	src := f.New(t)
	p := bounds(t, src, f, 0).Partition
	for _, o := range []source.Origin{source.OriginConfigured, source.OriginFirst} {
		if pos, err := src.Start(t.Context(), p, o); err != nil || pos != first {
			t.Errorf("Start with origin %d gave %d, %v; %d was expected", o, pos, err, first)
		}
	}
	p.ID = 99
	if pos, err := src.Start(t.Context(), p, source.OriginFirst); err == nil {
		t.Errorf("Start of a partition that does not exist gave %d", pos)
	}
	p.ID, p.Incarnation = 0, "another"
	if pos, err := src.Start(t.Context(), p, source.OriginFirst); err == nil {
		t.Errorf("Start of another incarnation gave %d", pos)
	}
}

func testBelowFirst(t *testing.T, f Fixture) {
	if f.Truncate == nil {
		t.Skip("the source can't lose records")
	}
	f.Append(t, 0, 0, 10)
	f.Append(t, 1, 0, 10)
	f.Truncate(t, 0, 6)
	testOutside(t, f, 2, 6, 10)
}

func testAboveLast(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 10)
	f.Append(t, 1, 0, 10)
	testOutside(t, f, 20, 0, 10)
}

// testOutside opens partition 0 at a position that it does not have.
func testOutside(t *testing.T, f Fixture, wanted, first, last source.Position) {
	t.Helper()
	src := f.New(t)
	rec := NewRecorder(t, src)
	openAt(rec, map[int32]source.Position{0: wanted})
	r := Go(t, src, rec)
	err := rec.WaitFailed(f.Topic, 0)
	checkPosition(t, err, f.Topic, wanted, first, last)
	rec.WaitRecords(f.Topic, 1, 10)
	f.Append(t, 1, 10, 5)
	rec.WaitRecords(f.Topic, 1, 15)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 0)
}

func checkPosition(t *testing.T, err error, topic string, wanted, first, last source.Position) {
	t.Helper()
	var pe *source.PositionError
	if !errors.As(err, &pe) {
		t.Fatalf("the partition failed with %v; a PositionError was expected", err)
	}
	if pe.Partition.Topic != topic || pe.Partition.ID != 0 || pe.Wanted != wanted || pe.First != first || pe.Last != last || pe.Reason == "" {
		t.Errorf("the partition failed with %+v; wanted %d, first %d, last %d and a reason were expected", pe, wanted, first, last)
	}
}

func testReopenFailed(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 10)
	src := f.New(t)
	rec := NewRecorder(t, src)
	openAt(rec, map[int32]source.Position{0: 20})
	r := Go(t, src, rec)
	checkPosition(t, rec.WaitFailed(f.Topic, 0), f.Topic, 20, 0, 10)
	rec.Reopen(rec.Find(f.Topic, 0), 3)
	rec.WaitRecords(f.Topic, 0, 7)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 3, 7)
}
