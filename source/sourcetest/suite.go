package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormfloe/floe/source"
)

// Fixture is a log with one topic of two partitions, empty at the start, and readers of it.
type Fixture struct {
	// New makes a source that reads the topic from its beginning and gets both partitions.
	New func(t *testing.T) source.Source
	// Topic is the topic's name.
	Topic string
	// Append adds the records "v<from>" to "v<from+n-1>" to a partition.
	Append func(t *testing.T, id int32, from, n int)
	// Skip uses up at least one position of a partition without a record that readers may see. Nil where the source has no gaps.
	Skip func(t *testing.T, id int32)
	// Truncate moves a partition's first position. Nil where the source can't lose records.
	Truncate func(t *testing.T, id int32, first source.Position)
	// Leaks are goroutines that don't belong to the source, such as a broker's in the same process.
	Leaks []goleak.Option
}

// Run runs the suite. setup is called once per test, for a log of its own.
func Run(t *testing.T, setup func(t *testing.T) Fixture) {
	t.Helper()
	probe := setup(t).New(t).Traits()
	tests := []struct {
		name       string
		replayable bool
		run        func(t *testing.T, f Fixture)
	}{
		{"delivers everything in order with ranges that join up", false, testOrder},
		{"goes on with what is appended while it runs", false, testAppendWhileRunning},
		{"covers positions without a record", false, testGaps},
		{"a range of gaps alone moves the position", false, testTrailingGap},
		{"lists partitions with their bounds", false, testPartitions},
		{"revokes everything at the end of the run and returns nil", false, testEnd},
		{"delivers nothing after Revoked", false, testNothingAfterRevoked},
		{"a blocked Deliver does not keep the run from ending", false, testBlockedDeliver},
		{"an error of Deliver ends the run", false, testDeliverError},
		{"a fatal error of Assigned ends the run", false, testFatalAssigned},
		{"acks of partitions that are not owned are ignored", false, testForeignAck},
		{"opens at the given position", true, testOpenAt},
		{"leaves out a partition without a position", true, testUnopened},
		{"opens again at a lower and at a higher position", true, testReopen},
		{"starts where it is configured, or at the first position", true, testStart},
		{"a position below the first fails its partition only", true, testBelowFirst},
		{"a position above the last fails its partition only", true, testAboveLast},
		{"a failed partition can be opened again", true, testReopenFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.replayable && !probe.Replayable {
				t.Skip("the source is not replayable")
			}
			f := setup(t)
			tt.run(t, f)
		})
	}
}

// Running is a source whose Run is under way.
type Running struct {
	t      *testing.T
	rec    *Recorder
	cancel context.CancelFunc
	done   chan error
	leaks  goleak.Option
}

// Go starts src with rec; it ends with the test at the latest.
func Go(t *testing.T, src source.Source, rec *Recorder) *Running {
	t.Helper()
	r := &Running{t: t, rec: rec, done: make(chan error, 1), leaks: goleak.IgnoreCurrent()}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.done <- src.Run(ctx, rec) }()
	t.Cleanup(func() {
		cancel()
		if r.done != nil {
			<-r.done
		}
	})
	return r
}

// Wait gives the outcome of a run that ends by itself.
func (r *Running) Wait() error {
	r.t.Helper()
	err := <-r.done
	r.done = nil
	return err
}

// Stop ends the run and gives its outcome.
func (r *Running) Stop() error {
	r.t.Helper()
	r.cancel()
	return r.Wait()
}

// MustStop ends the run and checks that it ended well, gave everything back.
func (r *Running) MustStop() {
	r.t.Helper()
	if err := r.Stop(); err != nil {
		r.t.Errorf("Run gave %v at the end of its context; nil was expected", err)
	}
	if n := len(r.rec.Owned()); n > 0 {
		r.t.Errorf("%d partitions were not revoked", n)
	}
}

func expect(t *testing.T, rec *Recorder, topic string, id int32, from, n int) {
	t.Helper()
	got := rec.Records(topic, id)
	if len(got) != n {
		t.Fatalf("%s/%d gave %d records; %d were expected", topic, id, len(got), n)
	}
	for i, r := range got {
		if want := fmt.Sprintf("v%d", from+i); string(r.Value) != want {
			t.Fatalf("record %d of %s/%d is %q; %q was expected", i, topic, id, r.Value, want)
		}
	}
}

func testOrder(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 2500)
	f.Append(t, 1, 0, 7)
	src := f.New(t)
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 2500)
	rec.WaitRecords(f.Topic, 1, 7)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 2500)
	expect(t, rec, f.Topic, 1, 0, 7)
}

func testAppendWhileRunning(t *testing.T, f Fixture) {
	src := f.New(t)
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitOwned(2)
	for i := range 5 {
		f.Append(t, 0, 10*i, 10)
		f.Append(t, 1, i, 1)
		rec.WaitRecords(f.Topic, 0, 10*(i+1))
		rec.WaitRecords(f.Topic, 1, i+1)
	}
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 50)
	expect(t, rec, f.Topic, 1, 0, 5)
}

func testGaps(t *testing.T, f Fixture) {
	if f.Skip == nil {
		t.Skip("the source has no gaps")
	}
	f.Skip(t, 0)
	f.Append(t, 0, 0, 3)
	f.Skip(t, 0)
	f.Append(t, 0, 3, 3)
	src := f.New(t)
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 6)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 6)
	if first := rec.Ranges(f.Topic, 0)[0]; first.From != 0 {
		t.Errorf("the first range begins at %d; the opening position 0 was expected", first.From)
	}
}

func testTrailingGap(t *testing.T, f Fixture) {
	if f.Skip == nil {
		t.Skip("the source has no gaps")
	}
	f.Append(t, 0, 0, 3)
	f.Skip(t, 0)
	src := f.New(t)
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitPosition(f.Topic, 0, bounds(t, src, f, 0).Last)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 3)
}

func bounds(t *testing.T, src source.Source, f Fixture, id int32) source.Bounds {
	t.Helper()
	all, err := src.Partitions(t.Context())
	if err != nil {
		t.Fatalf("Partitions: %v", err)
	}
	for _, b := range all {
		if b.Partition.Topic == f.Topic && b.Partition.ID == id {
			return b
		}
	}
	t.Fatalf("Partitions lists %d, but not %s/%d", len(all), f.Topic, id)
	return source.Bounds{}
}

func testPartitions(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 4)
	src := f.New(t)
	if b := bounds(t, src, f, 0); b.First != 0 || b.Last != 4 {
		t.Errorf("partition 0 is said to hold [%d,%d); [0,4) was expected", b.First, b.Last)
	}
	if b := bounds(t, src, f, 1); b.First != 0 || b.Last != 0 {
		t.Errorf("partition 1 is said to hold [%d,%d); [0,0) was expected", b.First, b.Last)
	}
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 4)
	if got, want := rec.Find(f.Topic, 0), bounds(t, src, f, 0).Partition; got != want {
		t.Errorf("Assigned names %#v, Partitions %#v", got, want)
	}
	r.MustStop()
}

func testEnd(t *testing.T, f Fixture) {
	src := f.New(t)
	rec := NewRecorder(t, src)
	owned := 0
	rec.OnRevoked = func(ctx context.Context, ps []source.Partition) {
		owned += len(ps)
		if ctx.Err() != nil {
			t.Errorf("Revoked began with an ended context: %v", ctx.Err())
		}
	}
	r := Go(t, src, rec)
	rec.WaitOwned(2)
	r.MustStop()
	if owned != 2 {
		t.Errorf("%d partitions were revoked; 2 were expected", owned)
	}
	goleak.VerifyNone(t, append(f.Leaks, r.leaks)...)
}

func testNothingAfterRevoked(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 100)
	src := f.New(t)
	rec := NewRecorder(t, src) // it checks each Deliver
	// Appended in the middle of Revoked: nobody may deliver it.
	rec.OnRevoked = func(context.Context, []source.Partition) { f.Append(t, 0, 100, 10) }
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 100)
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 100)
}

func testBlockedDeliver(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 10)
	src := f.New(t)
	rec := NewRecorder(t, src)
	blocked := make(chan struct{}, 16)
	rec.OnDeliver = func(ctx context.Context, b *source.Batch) error {
		blocked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	r := Go(t, src, rec)
	<-blocked
	r.MustStop()
	goleak.VerifyNone(t, append(f.Leaks, r.leaks)...)
}

func testDeliverError(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 10)
	src := f.New(t)
	rec := NewRecorder(t, src)
	broken := errors.New("broken")
	rec.OnDeliver = func(context.Context, *source.Batch) error { return broken }
	if err := Go(t, src, rec).Wait(); !errors.Is(err, broken) {
		t.Errorf("Run gave %v; Deliver's error was expected", err)
	}
	if n := len(rec.Owned()); n > 0 {
		t.Errorf("%d partitions were not revoked", n)
	}
}

func testFatalAssigned(t *testing.T, f Fixture) {
	src := f.New(t)
	rec := NewRecorder(t, src)
	broken := errors.New("broken")
	rec.OnAssigned = func(context.Context, []source.Partition) (map[source.Partition]source.Position, error) {
		return nil, fmt.Errorf("assign: %w", &source.FatalError{Err: broken})
	}
	if err := Go(t, src, rec).Wait(); !errors.Is(err, broken) {
		t.Errorf("Run gave %v; Assigned's error was expected", err)
	}
}

func testForeignAck(t *testing.T, f Fixture) {
	f.Append(t, 0, 0, 10)
	src := f.New(t)
	foreign := source.Partition{Cluster: "elsewhere", Topic: f.Topic, Incarnation: "other", ID: 0}
	src.Ack(t.Context(), []source.Range{{Partition: foreign, From: 0, To: 5}})
	src.Reopen(foreign, 3)
	rec := NewRecorder(t, src)
	r := Go(t, src, rec)
	rec.WaitRecords(f.Topic, 0, 10)
	src.Ack(t.Context(), []source.Range{{Partition: foreign, From: 0, To: 5}})
	src.Reopen(foreign, 3)
	src.Ack(t.Context(), []source.Range{{Partition: rec.Find(f.Topic, 0), From: 0, To: 10}})
	r.MustStop()
	expect(t, rec, f.Topic, 0, 0, 10)
}
