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
	mu     struct {
		sync.Mutex
		conns map[net.Conn]struct{}
	}
}

func newCuttable(cfg *Config) *cuttable {
	d := &cuttable{dialer: cfg.Dial}
	if d.dialer == nil {
		d.dialer = (&net.Dialer{}).DialContext
	}
	d.mu.conns = map[net.Conn]struct{}{}
	return d
}

func (d *cuttable) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.dialer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &cutConn{Conn: c, d: d}
	d.mu.conns[t] = struct{}{}
	return t, nil
}

func (d *cuttable) cut() {
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
