package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/source/sourcetest"
)

func partition(t *testing.T, l *memory.Log, topic string, id int32) source.Partition {
	t.Helper()
	p, ok := l.Partition(topic, id)
	if !ok {
		t.Fatalf("%s/%d does not exist", topic, id)
	}
	return p
}

func TestRunEndsWithTheInput(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, values(0, 10)...)
	log.AppendValues("topic", 1, values(0, 3)...)
	log.Skip("topic", 1, 4)
	log.Close()
	src := log.Source(memory.Options{BatchRecords: 4})
	rec := sourcetest.NewRecorder(t, src)
	if err := sourcetest.Go(t, src, rec).Wait(); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if a, b := len(rec.Records("topic", 0)), len(rec.Records("topic", 1)); a != 10 || b != 3 {
		t.Errorf("%d and %d records; 10 and 3 were expected", a, b)
	}
	if rs := rec.Ranges("topic", 1); rs[len(rs)-1].To != 7 {
		t.Errorf("the last range is %v; the gap up to 7 belongs to it", rs[len(rs)-1])
	}
	if n := len(rec.Owned()); n != 0 {
		t.Errorf("%d partitions are still owned", n)
	}
}

func TestRunsUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.NewLog()
		log.CreateTopic("topic", 1)
		src := log.Source(memory.Options{})
		rec := sourcetest.NewRecorder(t, src)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- src.Run(ctx, rec) }()
		synctest.Wait()
		<-time.After(time.Hour) // of the bubble: nothing in the source waits on a clock
		log.AppendValues("topic", 0, values(0, 5)...)
		synctest.Wait()
		if n := len(rec.Records("topic", 0)); n != 5 {
			t.Errorf("%d records; 5 were expected", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestPartitionsMoveBetweenTwoSources(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, values(0, 10)...)
	log.AppendValues("topic", 1, values(0, 10)...)
	p0, p1 := partition(t, log, "topic", 0), partition(t, log, "topic", 1)
	a, b := log.Source(memory.Options{Manual: true}), log.Source(memory.Options{Manual: true, Start: memory.StartAcked})
	recA, recB := sourcetest.NewRecorder(t, a), sourcetest.NewRecorder(t, b)
	a.Assign(p0, p1)
	runA, runB := sourcetest.Go(t, a, recA), sourcetest.Go(t, b, recB)
	recA.WaitRecords("topic", 0, 10)
	recA.WaitRecords("topic", 1, 10)
	a.Ack(t.Context(), []source.Range{{Partition: p1, From: 0, To: 6}})
	a.Revoke(p1)
	recA.WaitOwned(1)
	a.Ack(t.Context(), []source.Range{{Partition: p1, From: 6, To: 10}}) // too late
	b.Assign(p1)
	recB.WaitRecords("topic", 1, 4)
	runA.MustStop()
	runB.MustStop()
	if got := log.Acked(p1); got != 6 {
		t.Errorf("acked is %d; the 6 of the time it was owned was expected", got)
	}
}

func TestRevokeGoesBeforeABlockedDeliver(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, values(0, 10)...)
	log.AppendValues("topic", 1, values(0, 10)...)
	p0, p1 := partition(t, log, "topic", 0), partition(t, log, "topic", 1)
	src := log.Source(memory.Options{Manual: true})
	src.Assign(p0, p1)
	rec := sourcetest.NewRecorder(t, src)
	entered := make(chan struct{}, 100)
	room := make(chan struct{})
	rec.OnDeliver = func(ctx context.Context, b *source.Batch) error {
		entered <- struct{}{}
		select {
		case <-room:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r := sourcetest.Go(t, src, rec)
	<-entered
	src.Revoke(p0)
	rec.WaitOwned(1)
	close(room)
	rec.WaitRecords("topic", 1, 10)
	r.MustStop()
}

func TestRetentionWhileRunning(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, values(0, 10)...)
	src := log.Source(memory.Options{})
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitRecords("topic", 0, 10)
	log.Truncate("topic", 0, 30)
	var pe *source.PositionError
	if err := rec.WaitFailed("topic", 0); !errors.As(err, &pe) || pe.Wanted != 10 || pe.First != 30 {
		t.Errorf("the failure is %v", err)
	}
	r.MustStop()
}

func TestTopicMadeAgain(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, values(0, 10)...)
	src := log.Source(memory.Options{})
	rec := sourcetest.NewRecorder(t, src)
	r := sourcetest.Go(t, src, rec)
	rec.WaitRecords("topic", 0, 10)
	log.Recreate("topic", 1)
	log.AppendValues("topic", 0, values(50, 20)...)
	var pe *source.PositionError
	if err := rec.WaitFailed("topic", 0); !errors.As(err, &pe) || pe.Reason != "another incarnation of the topic" {
		t.Errorf("the failure is %v", err)
	}
	r.MustStop()
	if n := len(rec.Records("topic", 0)); n != 10 {
		t.Errorf("%d records; only those of the first life were expected", n)
	}
}

func TestUnreplayableGoesOnWhereAcksEnded(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, values(0, 10)...)
	first := log.Source(memory.Options{Unreplayable: true})
	rec := sourcetest.NewRecorder(t, first)
	r := sourcetest.Go(t, first, rec)
	rec.WaitRecords("topic", 0, 10)
	first.Ack(t.Context(), []source.Range{{Partition: rec.Find("topic", 0), From: 0, To: 4}})
	r.MustStop()

	second := log.Source(memory.Options{Unreplayable: true, Start: memory.StartAcked})
	rec = sourcetest.NewRecorder(t, second)
	r = sourcetest.Go(t, second, rec)
	rec.WaitRecords("topic", 0, 6)
	r.MustStop()
	if got := rec.Records("topic", 0)[0].Position; got != 4 {
		t.Errorf("the second reader begins at %d; 4 was expected", got)
	}
}

func TestPoisonShowsUseAfterRelease(t *testing.T) {
	log := memory.NewLog()
	log.AppendValues("topic", 0, []byte("value"))
	log.Close()
	src := log.Source(memory.Options{Poison: true})
	var kept []byte
	rec := sourcetest.NewRecorder(t, src)
	rec.OnDeliver = func(_ context.Context, b *source.Batch) error {
		kept = b.Records[0].Value
		return nil
	}
	if err := sourcetest.Go(t, src, rec).Wait(); err != nil {
		t.Fatal(err)
	}
	if string(kept) == "value" {
		t.Error("a slice that was kept beyond Release still looks whole")
	}
	if got := string(rec.Records("topic", 0)[0].Value); got != "value" {
		t.Errorf("the copy is %q", got)
	}
}

func TestSecondRunIsRefused(t *testing.T) {
	log := memory.NewLog()
	log.Close()
	src := log.Source(memory.Options{})
	rec := sourcetest.NewRecorder(t, src)
	if err := src.Run(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := src.Run(t.Context(), rec); !errors.Is(err, memory.ErrRanTwice) {
		t.Errorf("the second Run gave %v", err)
	}
}
