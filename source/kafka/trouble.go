package kafka

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stormfloe/floe/internal/retry"
)

// troubles gathers what is wrong at the moment, by place, and reports changes to the handler.
type troubles struct {
	report func(error)
	now    map[string]error
}

// inTrouble notes and reports a passing failure. place says where, so that it can pass.
func (s *Source) inTrouble(place string, err error) {
	s.mu.Lock()
	t := &s.mu.trouble
	if t.now == nil {
		t.now = map[string]error{}
	}
	old := t.now[place]
	t.now[place] = err
	report := t.report
	s.mu.Unlock()
	if old == nil || old.Error() != err.Error() {
		s.cfg.Logger.Warn("kafka source in trouble", "place", place, "error", err)
		if report != nil {
			report(err)
		}
	}
}

// noTrouble notes that a failure has passed. When it was the last one, nil is reported; else one that is left.
func (s *Source) noTrouble(place string) {
	s.mu.Lock()
	t := &s.mu.trouble
	_, was := t.now[place]
	delete(t.now, place)
	var left error
	for _, k := range slices.Sorted(maps.Keys(t.now)) {
		left = t.now[k]
		break
	}
	report := t.report
	s.mu.Unlock()
	if was && report != nil {
		report(left)
	}
}

// committedOffsets notes how a commit of the group's offsets went. A connection that was closed on this side is no trouble: kafka-go
// does it when a generation ends and after a failure, which is reported where it showed first. What was not committed is pending.
func (s *Source) committedOffsets(err error) {
	switch {
	case err == nil:
		s.noTrouble("commit")
	case closedHere(err):
		s.cfg.Logger.Debug("kafka offsets not committed", "group", s.cfg.Group, "error", err)
	default:
		s.inTrouble("commit", explain(fmt.Sprintf("commit the offsets of group %q", s.cfg.Group), err))
	}
}

// Bounds of the time between two attempts.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// backoff is the time until the next attempt: doubling, with jitter.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{next: minBackoff} }

func (b *backoff) reset() { b.next = minBackoff }

func (b *backoff) take() time.Duration {
	d := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, maxBackoff)
	return d
}

func (b *backoff) sleep(ctx context.Context) error {
	return retry.Sleep(ctx, b.take())
}

// patiently tries again, a few times, what failed because a leader or a coordinator is moving.
func patiently(ctx context.Context, f func() error) error {
	wait := newBackoff()
	for attempt := 1; ; attempt++ {
		err := f()
		if attempt == 6 || !moving(err) || wait.sleep(ctx) != nil {
			return err
		}
	}
}
