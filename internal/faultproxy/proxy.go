package faultproxy

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// maxBody bounds a request and an answer, in bytes.
	maxBody = 256 << 20
	// upstreamTimeout bounds one request to the catalog.
	upstreamTimeout = time.Minute
)

// Options of a Proxy. The zero value passes everything on.
type Options struct {
	Rules []Rule
	// Seed decides what rules by chance do. The same seed and the same order of requests give the same faults.
	Seed uint64
	// LateDelay is how long after the client has given up (or was answered) a late request is carried out. Zero: on Release
	// alone.
	LateDelay time.Duration
	// RetryAfter goes with 429 and 503, in whole seconds. Default 1 s.
	RetryAfter time.Duration
	// KeepRequests is how many of the last requests are kept. Default 1000.
	KeepRequests int
	// Transport asks the catalog. Default: one of the proxy's own.
	Transport http.RoundTripper
	// Logger is told of each fault. Default slog.Default().
	Logger *slog.Logger
}

// Proxy is the handler. Any goroutine.
type Proxy struct {
	target *url.URL
	opts   Options
	log    *slog.Logger
	own    *http.Transport // nil where the caller gave one
	ctx    context.Context
	cancel context.CancelFunc
	timers sync.WaitGroup

	mu struct {
		sync.Mutex
		rules    []Rule
		rand     *rand.Rand
		seen     map[Route]int // since the rules were set
		counts   map[Count]int // with N 0
		requests []Request
		n        int
		last     map[string]*answer // by method and path
		held     []*held
		closed   bool
	}
}

// Request is what is kept of one.
type Request struct {
	// N counts all requests from 1.
	N      int
	Method string
	Route  Route
	// Path is without the query.
	Path string
	// Fault is the name of what it suffered, "" for nothing.
	Fault string
	// Upstream is the status of the catalog's (last) answer, 0 where it was not asked, or did not answer, before the client
	// had its answer.
	Upstream int
}

// Count is how often a route suffered a fault; Fault "" counts what was passed on unharmed.
type Count struct {
	Route Route
	Fault string
	N     int
}

// New makes a proxy in front of target: scheme, host, and a path that is put before the request's. It starts nothing; Close
// ends it.
func New(target *url.URL, opts Options) *Proxy {
	if opts.RetryAfter <= 0 {
		opts.RetryAfter = time.Second
	}
	if opts.KeepRequests <= 0 {
		opts.KeepRequests = 1000
	}
	p := &Proxy{target: target, opts: opts, log: opts.Logger}
	if p.log == nil {
		p.log = slog.Default()
	}
	if opts.Transport == nil {
		p.own = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
		p.opts.Transport = p.own
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.mu.rand = rand.New(rand.NewPCG(opts.Seed, opts.Seed))
	p.mu.counts, p.mu.last = map[Count]int{}, map[string]*answer{}
	p.SetRules(opts.Rules...)
	return p
}

// SetRules replaces the rules; requests are counted from 1 again for those that name a number.
func (p *Proxy) SetRules(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.rules, p.mu.seen = slices.Clone(rules), map[Route]int{}
}

// Counts gives how often each route suffered each fault, in order of route and fault.
func (p *Proxy) Counts() []Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Count
	for c, n := range p.mu.counts {
		c.N = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Fault, b.Fault)) })
	return out
}

// Requests gives the last requests whose answer was given (or kept back), oldest first.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mu.requests)
}

// ServeHTTP passes a request on, or lets it suffer what the rules say.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request can't be read", http.StatusBadRequest)
		return
	}
	x := &exchange{p: p, w: w, r: r, body: data, route: RouteOf(r.Method, r.URL.EscapedPath())}
	x.n, x.fault = p.choose(x.route)
	defer func() { p.keep(x) }() // also when the connection is given up by a panic
	x.serve()
}

// choose counts a request and finds what it suffers.
func (p *Proxy) choose(route Route) (n int, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &p.mu
	m.n++
	m.seen[route]++
	m.seen[Any]++
	for _, r := range m.rules {
		if r.Route != route && r.Route != Any {
			continue
		}
		seen := m.seen[r.Route]
		hit := seen == r.Nth || r.Onward && seen > r.Nth
		if r.Nth == 0 {
			hit = m.rand.Float64() < r.Chance
		}
		if hit {
			return m.n, r.Fault
		}
	}
	return m.n, Fault{}
}

// keep counts and logs what became of an exchange.
func (p *Proxy) keep(x *exchange) {
	req := Request{N: x.n, Method: x.r.Method, Route: x.route, Path: x.r.URL.Path, Fault: x.fault.String(), Upstream: x.upstream}
	p.mu.Lock()
	m := &p.mu
	m.counts[Count{Route: x.route, Fault: req.Fault}]++
	if len(m.requests) >= p.opts.KeepRequests {
		m.requests = slices.Delete(m.requests, 0, 1+len(m.requests)-p.opts.KeepRequests)
	}
	m.requests = append(m.requests, req)
	p.mu.Unlock()
	if req.Fault != "" {
		p.log.Info("fault injected", "route", req.Route, "fault", req.Fault, "request", req.N, "upstream", req.Upstream)
	}
}

// Close carries out nothing more: what is held is dropped, clients that wait are let go. It waits for what is on its way.
// The server that the proxy serves in is the caller's, and is ended after it.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.mu.closed = true
	for _, h := range p.mu.held {
		p.stopLocked(h)
	}
	p.mu.held = nil
	p.mu.Unlock()
	p.cancel()
	p.timers.Wait()
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
}

// ask sends one request to the catalog.
func (p *Proxy) ask(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, upstreamTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	rsp, err := p.opts.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rsp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(rsp.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBody {
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	h := rsp.Header.Clone()
	dropHop(h)
	return &answer{status: rsp.StatusCode, header: h, body: data}, nil
}
