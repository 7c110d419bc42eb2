package kafka

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
)

// cuttable is a dialer whose connections can all be cut: kafka-go's join can't be interrupted otherwise.
type cuttable struct {
	dialer DialFunc
	over   chan struct{} // closed by cut: nothing is dialed any more
	once   sync.Once
	mu     struct {
		sync.Mutex
		conns map[net.Conn]struct{}
	}
}

func newCuttable(cfg *Config) *cuttable {
	d := &cuttable{dialer: cfg.Dial, over: make(chan struct{})}
	if d.dialer == nil {
		d.dialer = (&net.Dialer{}).DialContext
	}
	d.mu.conns = map[net.Conn]struct{}{}
	return d
}

func (d *cuttable) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer whenClosed(d.over, cancel)()
	c, err := d.dialer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.over:
		c.Close()
		return nil, errClosed
	default:
	}
	t := &cutConn{Conn: c, d: d}
	d.mu.conns[t] = struct{}{}
	return t, nil
}

func (d *cuttable) cut() {
	d.once.Do(func() { close(d.over) })
	d.mu.Lock()
	conns := slices.Collect(maps.Keys(d.mu.conns))
	d.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

type cutConn struct {
	net.Conn
	d *cuttable
}

func (c *cutConn) Close() error {
	c.d.mu.Lock()
	delete(c.d.mu.conns, c)
	c.d.mu.Unlock()
	return c.Conn.Close()
}
