package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// cluster keeps one connection per broker for everything but fetching, and what is known of the cluster. It has no
// goroutine of its own.
type cluster struct {
	cfg *Config

	mu struct {
		sync.Mutex
		conns       map[string]*conn // by address
		brokers     map[int32]string // addresses by node id, as last seen
		coordinator string           // address of the group's coordinator; empty where unknown
	}
}

func newCluster(cfg *Config) *cluster {
	c := &cluster{cfg: cfg}
	c.mu.conns = map[string]*conn{}
	c.mu.brokers = map[int32]string{}
	return c
}

// close ends all connections. Later requests connect anew.
func (c *cluster) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.mu.conns {
		k.close()
	}
	clear(c.mu.conns)
}

// get gives the connection to addr, and whether it has been used before.
func (c *cluster) get(ctx context.Context, addr string) (k *conn, used bool, err error) {
	c.mu.Lock()
	k = c.mu.conns[addr]
	c.mu.Unlock()
	if k != nil {
		return k, true, nil
	}
	if k, err = dial(ctx, c.cfg, addr); err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			err = op.Err // the address is said once
		}
		return nil, false, fmt.Errorf("connect to %s: %w", addr, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.mu.conns[addr]; other != nil {
		k.close()
		return other, true, nil
	}
	c.mu.conns[addr] = k
	return k, false, nil
}

func (c *cluster) drop(addr string, k *conn) {
	k.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.conns[addr] == k {
		delete(c.mu.conns, addr)
	}
}

// with runs f on the connection to addr. A connection that the broker closed while it was idle is replaced once.
func (c *cluster) with(ctx context.Context, addr string, f func(*conn) error) error {
	for {
		k, used, err := c.get(ctx, addr)
		if err != nil {
			return err
		}
		if err = f(k); err == nil || !network(err) {
			if err != nil && ctx.Err() != nil {
				c.drop(addr, k)
			}
			return err
		}
		c.drop(addr, k)
		if !used || ctx.Err() != nil {
			return fmt.Errorf("ask %s: %w", addr, err)
		}
	}
}

// do sends one of kafka-go's requests to addr.
func (c *cluster) do(ctx context.Context, addr string, req protocol.Message) (res protocol.Message, err error) {
	err = c.with(ctx, addr, func(k *conn) (err error) {
		res, err = k.roundTrip(ctx, c.cfg.RequestTimeout, req)
		return err
	})
	return res, err
}

// addresses lists where any broker may be found: those known, then those configured.
func (c *cluster) addresses() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make([]string, 0, len(c.mu.brokers)+len(c.cfg.Brokers))
	for _, id := range slices.Sorted(maps.Keys(c.mu.brokers)) {
		known = append(known, c.mu.brokers[id])
	}
	for _, a := range c.cfg.Brokers {
		if !slices.Contains(known, a) {
			known = append(known, a)
		}
	}
	return known
}

// any runs f on the first broker that can be reached.
func (c *cluster) any(ctx context.Context, f func(*conn) error) error {
	var errs []error
	for _, addr := range c.addresses() {
		err := c.with(ctx, addr, f)
		if err == nil || ctx.Err() != nil || hopeless(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// address gives a broker's address by its id.
func (c *cluster) address(id int32) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.mu.brokers[id]; a != "" {
		return a, nil
	}
	return "", fmt.Errorf("broker %d is not in the metadata", id)
}

// metadata asks about topics; nil asks for all.
func (c *cluster) metadata(ctx context.Context, topics []string) (m *clusterMeta, err error) {
	err = c.any(ctx, func(k *conn) (err error) {
		m, err = k.metadata(ctx, c.cfg.RequestTimeout, topics)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(m.brokers) > 0 {
		c.mu.Lock()
		c.mu.brokers = m.brokers
		c.mu.Unlock()
	}
	return m, nil
}

func (c *conn) metadata(ctx context.Context, timeout time.Duration, topics []string) (m *clusterMeta, err error) {
	version := min(c.max[protocol.Metadata], metadataLastOwn)
	if version < metadataFirstID {
		res, err := c.roundTrip(ctx, timeout, &metadata.Request{TopicNames: topics})
		if err != nil {
			return nil, err
		}
		return fromKafkaGo(res.(*metadata.Response)), nil
	}
	err = c.exclusive(ctx, timeout, func() error {
		r, correlation, err := c.raw(func(w *wireWriter, correlation int32) []byte {
			return encodeMetadata(w, version, correlation, c.clientID, topics)
		})
		if err != nil {
			return err
		}
		m, err = readMetadata(&r, version, correlation)
		return err
	})
	return m, err
}

// toGroup sends one of kafka-go's requests to the group's coordinator. code looks for the answer's error.
func (c *cluster) toGroup(ctx context.Context, req protocol.Message, code func(protocol.Message) kafkago.Error) (protocol.Message, error) {
	for attempt := 0; ; attempt++ {
		addr, err := c.coordinator(ctx)
		if err != nil {
			return nil, err
		}
		res, err := c.do(ctx, addr, req)
		if err == nil {
			if e := code(res); e != 0 {
				err = e
			}
		}
		if err == nil || ctx.Err() != nil {
			return res, err
		}
		moved := network(err) || errors.Is(err, kafkago.NotCoordinatorForGroup) ||
			errors.Is(err, kafkago.GroupCoordinatorNotAvailable)
		if moved {
			c.mu.Lock()
			c.mu.coordinator = ""
			c.mu.Unlock()
		}
		if !moved || attempt > 0 {
			return nil, err
		}
	}
}

func (c *cluster) coordinator(ctx context.Context) (string, error) {
	c.mu.Lock()
	addr := c.mu.coordinator
	c.mu.Unlock()
	if addr != "" {
		return addr, nil
	}
	err := c.any(ctx, func(k *conn) error {
		m, err := k.roundTrip(ctx, c.cfg.RequestTimeout, &findcoordinator.Request{Key: c.cfg.Group})
		if err != nil {
			return err
		}
		res := m.(*findcoordinator.Response)
		if res.ErrorCode != 0 {
			return kafkago.Error(res.ErrorCode)
		}
		addr = address(res.Host, res.Port)
		return nil
	})
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.mu.coordinator = addr
	c.mu.Unlock()
	return addr, nil
}
