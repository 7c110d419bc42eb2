package kafka_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/sourcetest"
)

// warnings keeps what is logged from Warn on.
type warnings struct {
	slog.Handler
	mu  sync.Mutex
	got []string
}

func newWarnings() *warnings { return &warnings{Handler: slog.DiscardHandler} }

func (w *warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, text)
	return nil
}

func (w *warnings) none(t *testing.T, rec *sourcetest.Recorder) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.got {
		t.Errorf("a warning was logged: %s", text)
	}
	for _, err := range rec.Troubles() {
		if err != nil {
			t.Errorf("trouble was reported: %v", err)
		}
	}
}

// patient is a handler whose Assigned takes until it is told to give up.
func patient(rec *sourcetest.Recorder) (waits chan struct{}) {
	waits = make(chan struct{}, 100)
	rec.OnAssigned = func(ctx context.Context, _ []source.Partition) (map[source.Partition]source.Position, error) {
		waits <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return waits
}

func TestEndingWhileAssigningIsNoTrouble(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	cfg, logs := config(k, "topic"), newWarnings()
	cfg.Logger = slog.New(logs)
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	waits := patient(rec)
	r := sourcetest.Go(t, src, rec)
	<-waits
	r.MustStop()
	logs.none(t, rec)
}

func TestRebalanceWhileAssigningIsNoTrouble(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	k.CreateTopic("topic", 2)
	cfg, logs := config(k, "topic"), newWarnings()
	cfg.Logger = slog.New(logs)
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	waits := patient(rec)
	first := sourcetest.Go(t, src, rec)
	<-waits
	other := newSource(t, config(k, "topic"))
	otherRec := sourcetest.NewRecorder(t, other)
	second := sourcetest.Go(t, other, otherRec)
	otherRec.WaitOwned(1) // so the first one was told to give up, and has a part of the rest
	<-waits
	first.MustStop()
	second.MustStop()
	logs.none(t, rec)
}
