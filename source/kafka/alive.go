package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/heartbeat"

	"github.com/stormfloe/floe/internal/retry"
)

// keepAlive sends signs of life after kafka-go has ended its own: from the end of a generation until it is let go.
type keepAlive struct {
	quit chan struct{}
	wg   sync.WaitGroup
	lost chan struct{} // closed when the broker says that the member is out
}

func (m *membership) keepAlive(gen *kafkago.Generation, over <-chan struct{}) *keepAlive {
	k := &keepAlive{quit: make(chan struct{}), lost: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	k.wg.Go(func() {
		defer cancel()
		select {
		case <-over:
			m.beat(ctx, gen, k)
		case <-k.quit:
		}
	})
	k.wg.Go(func() {
		<-k.quit
		cancel()
	})
	return k
}

// beat sends heartbeats until ctx ends or the member is out.
func (m *membership) beat(ctx context.Context, gen *kafkago.Generation, k *keepAlive) {
	last := time.Now()
	for ctx.Err() == nil {
		_, err := m.src.cl.toGroup(ctx, &heartbeat.Request{GroupID: gen.GroupID, GenerationID: gen.ID, MemberID: gen.MemberID},
			func(r protocol.Message) kafkago.Error { return kafkago.Error(r.(*heartbeat.Response).ErrorCode) })
		switch {
		case err == nil, errors.Is(err, kafkago.RebalanceInProgress):
			last = time.Now()
		case errors.Is(err, kafkago.UnknownMemberId), errors.Is(err, kafkago.IllegalGeneration),
			errors.Is(err, kafkago.FencedInstanceID), time.Since(last) > m.src.cfg.SessionTimeout:
			close(k.lost)
			return
		}
		_ = retry.Sleep(ctx, m.src.cfg.HeartbeatInterval) // the loop's condition asks whether ctx ended
	}
}

func (k *keepAlive) stop() {
	close(k.quit)
	k.wg.Wait()
}

func (k *keepAlive) isLost() bool {
	select {
	case <-k.lost:
		return true
	default:
		return false
	}
}

// whileOwned gives a context for Revoked: it outlives ctx, and ends after grace or when the member is out.
func (k *keepAlive) whileOwned(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	stop := whenClosed(k.lost, cancel)
	return rctx, func() {
		stop()
		cancel()
	}
}
