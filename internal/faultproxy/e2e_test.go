package faultproxy_test

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/apache/iceberg-go/catalog/rest"
	iceio "github.com/apache/iceberg-go/io"
	icetable "github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/faultproxy"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/restcatalog"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/topology"
)

// every makes the tests inject each fault at every request instead of at a sample of them.
var every = flag.Bool("every", false, "inject each fault at every commit and load instead of at one")

// line is floe's way to its catalog: iceberg-go's REST client, connections in memory, the proxy, a REST server, and the
// world's catalog. All of it lives in a synctest bubble, so that deadlines cost no time.
type line struct {
	t      *testing.T
	w      *harness.World
	server *restcatalog.Server
	proxy  *faultproxy.Proxy
	front  *pipes
	http   *http.Server
	served sync.WaitGroup

	mu struct {
		sync.Mutex
		acks int
	}
}

func newLine(t *testing.T, w *harness.World, rules string, opts faultproxy.Options, auth restcatalog.Options) *line {
	t.Helper()
	l := &line{t: t, w: w, server: restcatalog.New(w.Catalog, auth), front: newPipes()}
	var err error
	if opts.Rules, err = faultproxy.ParseRules(rules); err != nil {
		t.Fatal(err)
	}
	opts.Transport = direct{l.server}
	opts.Logger = slog.New(slog.DiscardHandler)
	l.proxy = faultproxy.New(&url.URL{Scheme: "http", Host: "catalog"}, opts)
	l.http = &http.Server{Handler: l.proxy, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	l.served.Go(func() { _ = l.http.Serve(l.front) })
	t.Cleanup(l.close)
	return l
}

func (l *line) close() {
	l.proxy.Close()
	_ = l.http.Close()
	l.served.Wait()
}

func (l *line) rules(text string) {
	l.t.Helper()
	rules, err := faultproxy.ParseRules(text)
	if err != nil {
		l.t.Fatal(err)
	}
	l.proxy.SetRules(rules...)
}

// client opens the catalog as floe does.
func (l *line) client(opts ...rest.Option) *rest.Catalog {
	l.t.Helper()
	tr := &http.Transport{DialContext: l.front.dial}
	cat, err := rest.NewCatalog(context.Background(), "r", "http://proxy", append(opts, rest.WithCustomTransport(tr))...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(tr.CloseIdleConnections)
	return cat
}

// config is a topology whose table lies behind the line.
func (l *line) config(cat icetable.CatalogIO) topology.Config {
	cfg := l.w.Config(nil)
	cfg.Source = acked{cfg.Source, l}
	cfg.Table = tableio.New(cat, icetable.Identifier{"db", "orders"},
		tableio.WithIO(func(iceio.IO) iceio.IO { return l.w.Files }))
	cfg.Committer.MaxDataFiles = 1 // a commit for each batch
	cfg.Logger = slog.New(slog.DiscardHandler)
	return cfg
}

// acked sees that what is acked is in the table.
type acked struct {
	source.Source
	l *line
}

func (a acked) Ack(ctx context.Context, ranges []source.Range) {
	at, err := a.l.w.Positions("orders")
	if err != nil {
		a.l.t.Error(err)
	}
	for _, r := range ranges {
		if at[r.Partition] < r.To {
			a.l.t.Errorf("%s is acked up to %d, the table holds it up to %d", r.Partition, r.To, at[r.Partition])
		}
	}
	a.l.mu.Lock()
	a.l.mu.acks++
	a.l.mu.Unlock()
	a.Source.Ack(ctx, ranges)
}

// life runs one life on the line and gives what it gave.
func (l *line) life() error {
	l.t.Helper()
	return l.w.Live(l.t, l.config(l.client()), fault.New(nil))
}

// asked counts the requests of a route.
func (l *line) asked(route faultproxy.Route) (n int) {
	for _, c := range l.proxy.Counts() {
		if c.Route == route {
			n += c.N
		}
	}
	return n
}

// faults counts what was injected.
func (l *line) faults() (n int) {
	for _, c := range l.proxy.Counts() {
		if c.Fault != "" {
			n += c.N
		}
	}
	return n
}

// direct asks a handler without a connection.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	return w.Result(), nil
}

// pipes is a listener for connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return mine, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

// bubble runs f with a world in a bubble of its own.
func bubble(t *testing.T, f func(t *testing.T, w *harness.World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, harness.Shape{Partitions: 2})
		w.Produce(40)
		f(t, w)
	})
}
