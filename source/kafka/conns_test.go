package kafka_test

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/stormfloe/floe/internal/kafkatest"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/sourcetest"
)

// openConns counts the connections that were made and not closed.
type openConns struct {
	mu   sync.Mutex
	open map[*countedConn]string
}

type countedConn struct {
	net.Conn
	o *openConns
}

func (c *countedConn) Close() error {
	c.o.mu.Lock()
	delete(c.o.open, c)
	c.o.mu.Unlock()
	return c.Conn.Close()
}

func (o *openConns) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &countedConn{nc, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[c] = string(debug.Stack())
	return c, nil
}

func TestRunClosesEveryConnection(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{Brokers: 3})
	k.CreateTopic("topic", 6)
	for id := range int32(6) {
		k.Produce("topic", id, kafkatest.Values(0, 10)...)
	}
	conns := &openConns{open: map[*countedConn]string{}}
	cfg := config(k, "topic")
	cfg.Dial = conns.dial
	src := newSource(t, cfg)
	rec := sourcetest.NewRecorder(t, src)
	blocked := make(chan struct{}, 100)
	rec.OnDeliver = func(ctx context.Context, b *source.Batch) error {
		blocked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	r := sourcetest.Go(t, src, rec)
	<-blocked
	r.MustStop()
	conns.mu.Lock()
	defer conns.mu.Unlock()
	for _, where := range conns.open {
		t.Errorf("a connection was left open, made at\n%s", where)
	}
}
