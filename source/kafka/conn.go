package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

// DialFunc connects to an address.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// conn is one connection to a broker, authenticated, one request at a time. kafka-go frames the usual requests; fetch
// and metadata are written and read here.
type conn struct {
	nc       net.Conn
	pc       *protocol.Conn
	clientID string
	max      map[protocol.ApiKey]int16 // the broker's newest versions

	mu struct {
		sync.Mutex  // held during a request
		correlation int32
		w           wireWriter
	}
	closed sync.Once
}

// Newest versions used where kafka-go's own are not to be trusted: its heartbeat of version 4 lacks the compact strings.
var capped = map[protocol.ApiKey]int16{protocol.Heartbeat: 3, protocol.LeaveGroup: 2}

// dial connects, negotiates and authenticates within the dial timeout.
func dial(ctx context.Context, cfg *Config, addr string) (_ *conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	d := cfg.Dial
	if d == nil {
		d = (&net.Dialer{}).DialContext
	}
	nc, err := d(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		stop()
		if err != nil {
			nc.Close()
		}
	}()
	if cfg.TLS != nil {
		t := cfg.TLS
		if t.ServerName == "" {
			t = t.Clone()
			t.ServerName, _, _ = net.SplitHostPort(addr)
		}
		tc := tls.Client(nc, t)
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS handshake with %s: %w", addr, err)
		}
		nc = tc
	}
	c := &conn{nc: nc, pc: protocol.NewConn(nc, cfg.ClientID), clientID: cfg.ClientID}
	if err := c.negotiate(); err != nil {
		return nil, fmt.Errorf("ask %s for its versions: %w", addr, err)
	}
	if cfg.SASL != nil {
		if err := c.authenticate(ctx, cfg.SASL, addr); err != nil {
			return nil, fmt.Errorf("SASL with %s: %w", addr, err)
		}
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return c, nc.SetDeadline(time.Time{})
}

func (c *conn) negotiate() error {
	m, err := c.pc.RoundTrip(new(apiversions.Request))
	if err != nil {
		return err
	}
	res := m.(*apiversions.Response)
	if res.ErrorCode != 0 {
		return kafkago.Error(res.ErrorCode)
	}
	c.max = make(map[protocol.ApiKey]int16, len(res.ApiKeys))
	versions := make(map[protocol.ApiKey]int16, len(res.ApiKeys))
	for _, k := range res.ApiKeys {
		key := protocol.ApiKey(k.ApiKey)
		c.max[key] = k.MaxVersion
		versions[key] = key.SelectVersion(k.MinVersion, k.MaxVersion)
		if top, ok := capped[key]; ok {
			versions[key] = min(versions[key], max(top, k.MinVersion))
		}
	}
	c.pc.SetVersions(versions)
	if c.max[protocol.Fetch] < fetchMinVersion || c.max[protocol.Metadata] < metadataMinVersion {
		return kafkago.UnsupportedVersion
	}
	return nil
}

// authenticate drives kafka-go's mechanism.
func (c *conn) authenticate(ctx context.Context, mech sasl.Mechanism, addr string) error {
	m, err := c.pc.RoundTrip(&saslhandshake.Request{Mechanism: mech.Name()})
	if err != nil {
		return err
	}
	if code := m.(*saslhandshake.Response).ErrorCode; code != 0 {
		return kafkago.Error(code)
	}
	host, port, _ := net.SplitHostPort(addr)
	number, _ := strconv.Atoi(port)
	ctx = sasl.WithMetadata(ctx, &sasl.Metadata{Host: host, Port: number})
	session, state, err := mech.Start(ctx)
	for done := false; err == nil && !done; {
		var challenge []byte
		if challenge, err = c.saslStep(state); err != nil {
			break
		}
		done, state, err = session.Next(ctx, challenge)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// Brokers before 1.0 close the connection instead of answering; it may also have broken.
		return errSASLClosed
	}
	return err
}

var errSASLClosed = errors.New("the broker closed the connection in the middle of the authentication")

func (c *conn) saslStep(state []byte) ([]byte, error) {
	m, err := c.pc.RoundTrip(&saslauthenticate.Request{AuthBytes: state})
	if err != nil {
		return nil, err
	}
	res := m.(*saslauthenticate.Response)
	if res.ErrorCode != 0 {
		return nil, kafkago.Error(res.ErrorCode)
	}
	return res.AuthBytes, nil
}

// roundTrip sends one of kafka-go's requests. After an error of the connection it is closed.
func (c *conn) roundTrip(ctx context.Context, timeout time.Duration, req protocol.Message) (res protocol.Message, err error) {
	err = c.exclusive(ctx, timeout, func() (err error) {
		res, err = c.pc.RoundTrip(req)
		return err
	})
	return res, err
}

// exclusive runs f, which sends one request and reads its answer, with a deadline and an end at ctx.
func (c *conn) exclusive(ctx context.Context, timeout time.Duration, f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	c.nc.SetDeadline(time.Now().Add(timeout))
	stop := context.AfterFunc(ctx, func() { c.nc.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() || err != nil {
		c.close()
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
	}
	return err
}

// raw sends a request that encode writes and gives a reader that stands behind the answer's size. The caller holds the
// connection through exclusive.
func (c *conn) raw(encode func(w *wireWriter, correlation int32) []byte) (r wireReader, correlation int32, err error) {
	c.mu.correlation++
	correlation = c.mu.correlation
	if _, err := c.nc.Write(encode(&c.mu.w, correlation)); err != nil {
		return r, correlation, err
	}
	r = wireReader{r: c.pc, remain: 4}
	size := r.int32()
	if r.err != nil {
		return r, correlation, r.err
	}
	if size < 4 {
		return r, correlation, fmt.Errorf("the broker's answer says that it is %d bytes long", size)
	}
	r.remain = int(size)
	return r, correlation, nil
}

func (c *conn) close() { c.closed.Do(func() { c.nc.Close() }) }
