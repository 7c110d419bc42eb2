package faultproxy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/faultproxy"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a run's garbage is small and short-lived
	goleak.VerifyTestMain(m)
}

const table = "/v1/namespaces/a%1Fb/tables/t"

// upstream is a catalog that applies a commit once, by its body, and keeps what it was asked.
type upstream struct {
	mu    sync.Mutex
	asked []string
	// applied holds the bodies of commits, in order.
	applied []string
	came    chan struct{}
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery+" "+r.Header.Get("Authorization"))
	w.Header().Set("X-From", "catalog")
	if r.Method == http.MethodPost {
		for _, b := range u.applied {
			if b == string(body) {
				w.WriteHeader(http.StatusConflict)
				return
			}
		}
		u.applied = append(u.applied, string(body))
	}
	_, _ = io.WriteString(w, `{"applied":"`+strings.Join(u.applied, " ")+`"}`)
	select {
	case u.came <- struct{}{}:
	default:
	}
}

func (u *upstream) commits() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.applied, " ")
}

// bench is a client, the proxy and the upstream.
type bench struct {
	t      *testing.T
	up     *upstream
	proxy  *faultproxy.Proxy
	url    string
	client *http.Client
	log    *lines
}

// lines is a log. Each line, which is one call of Write, is also told of.
type lines struct {
	lines chan struct{}
	mu    sync.Mutex
	all   bytes.Buffer
}

func newLines() *lines { return &lines{lines: make(chan struct{}, 100)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.lines <- struct{}{}:
	default:
	}
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// newBench makes one over real connections.
func newBench(t *testing.T, rules string, opts faultproxy.Options) *bench {
	t.Helper()
	b := &bench{t: t, up: &upstream{came: make(chan struct{}, 100)}, log: newLines()}
	server := httptest.NewServer(b.up)
	b.connect(server.URL+"/base", rules, opts, &http.Transport{})
	front := httptest.NewServer(b.proxy)
	b.url = front.URL
	t.Cleanup(func() { b.client.CloseIdleConnections(); b.proxy.Close(); front.Close(); server.Close() })
	return b
}

// newBenchInMemory makes one without sockets, for a synctest bubble: when nothing goes on any more, a request is held.
func newBenchInMemory(t *testing.T, rules string, opts faultproxy.Options) *bench {
	t.Helper()
	b := &bench{t: t, url: "http://proxy", up: &upstream{came: make(chan struct{}, 100)}, log: newLines()}
	front := newPipes()
	opts.Transport = direct{b.up}
	b.connect("http://catalog/base", rules, opts, &http.Transport{DialContext: front.dial})
	server := &http.Server{Handler: b.proxy, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(front) })
	t.Cleanup(func() { b.client.CloseIdleConnections(); b.proxy.Close(); _ = server.Close(); served.Wait() })
	return b
}

// connect makes the proxy and the client.
func (b *bench) connect(target, rules string, opts faultproxy.Options, tr *http.Transport) {
	b.t.Helper()
	var err error
	if opts.Rules, err = faultproxy.ParseRules(rules); err != nil {
		b.t.Fatal(err)
	}
	opts.Logger = slog.New(slog.NewTextHandler(b.log, nil))
	to, _ := url.Parse(target)
	b.proxy = faultproxy.New(to, opts)
	b.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

type reply struct {
	status int
	body   string
	header http.Header
	// err is what went wrong before the status came, torn what went wrong after it.
	err, torn error
}

func (b *bench) do(ctx context.Context, method, body string) reply {
	req, err := http.NewRequestWithContext(ctx, method, b.url+table+"?q=secret", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer hunter2")
	rsp, err := b.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = rsp.Body.Close() }()
	data, err := io.ReadAll(rsp.Body)
	return reply{status: rsp.StatusCode, body: string(data), header: rsp.Header, torn: err}
}

func (b *bench) commit(body string) reply { return b.do(context.Background(), http.MethodPost, body) }

func TestPassesOnUnchanged(t *testing.T) {
	b := newBench(t, "", faultproxy.Options{})
	got := b.commit("c1")
	if got.status != 200 || got.body != `{"applied":"c1"}` || got.header.Get("X-From") != "catalog" {
		t.Errorf("got %+v", got)
	}
	if want := "POST /base" + table + "?q=secret Bearer hunter2"; b.up.asked[0] != want {
		t.Errorf("the catalog was asked %q, want %q", b.up.asked[0], want)
	}
}

// Each fault: what the client sees, and what the catalog has applied by then.
func TestFaults(t *testing.T) {
	const whole = `{"applied":"c0 c1"}`
	for name, want := range map[string]struct {
		status  int // 0: no answer
		body    string
		torn    bool
		applied bool
		asked   int
	}{
		"500-before":       {status: 500, body: `"code":500`},
		"502-before":       {status: 502, body: `"code":502`},
		"503-after":        {status: 503, body: `"code":503`, applied: true, asked: 1},
		"504-after":        {status: 504, body: `"code":504`, applied: true, asked: 1},
		"409-before":       {status: 409, body: `CommitFailedException`},
		"409-after":        {status: 409, body: `CommitFailedException`, applied: true, asked: 1},
		"429-before":       {status: 429, body: `"code":429`},
		"401-before":       {status: 401, body: `NotAuthorizedException`},
		"404-html-after":   {status: 404, body: `<h1>`, applied: true, asked: 1},
		"200-html-before":  {status: 200, body: `<h1>`},
		"200-html-after":   {status: 200, body: `<h1>`, applied: true, asked: 1},
		"200-empty-before": {status: 200},
		"200-empty-after":  {status: 200, applied: true, asked: 1},
		"204-empty-after":  {status: 204, applied: true, asked: 1},
		"303-before":       {status: 303, body: `"code":303`},
		"stale-before":     {status: 200, body: `{"applied":"c0"}`},
		"stale-after":      {status: 200, body: `{"applied":"c0"}`, applied: true, asked: 1},
		"reset-before":     {},
		"reset-after":      {applied: true, asked: 1},
		"reset-middle":     {status: 200, body: whole[:len(whole)-(len(whole)+1)/2], torn: true, applied: true, asked: 1},
		"reset-end":        {status: 200, body: whole, applied: true, asked: 1},
		"resend-first":     {status: 200, body: whole, applied: true, asked: 2},
		"resend-second":    {status: 409, applied: true, asked: 2},
		"late-504":         {status: 504, body: `"code":504`},
		"503-html-before":  {status: 503, body: `<h1>`},
		"419-before":       {status: 419, body: `AuthenticationTimeoutException`},
		"307-empty-before": {status: 307},
		"400-html-after":   {status: 400, body: `<h1>`, applied: true, asked: 1},
		"500-empty-after":  {status: 500, applied: true, asked: 1},
		"502-html-after":   {status: 502, body: `<h1>`, applied: true, asked: 1},
		"403-before":       {status: 403, body: `ForbiddenException`},
		"429-after":        {status: 429, body: `"code":429`, applied: true, asked: 1},
		"401-after":        {status: 401, body: `NotAuthorizedException`, applied: true, asked: 1},
		"500-after":        {status: 500, body: `"code":500`, applied: true, asked: 1},
		"502-after":        {status: 502, body: `"code":502`, applied: true, asked: 1},
		"503-before":       {status: 503, body: `"code":503`},
		"504-before":       {status: 504, body: `"code":504`},
		"409-html-after":   {status: 409, body: `<h1>`, applied: true, asked: 1},
		"400-before":       {status: 400, body: `BadRequestException`},
		"403-after":        {status: 403, body: `ForbiddenException`, applied: true, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "commit:"+name+":#2", faultproxy.Options{})
			if got := b.commit("c0"); got.status != 200 {
				t.Fatalf("the first: %+v", got)
			}
			got := b.commit("c1")
			if got.status != want.status || (got.err != nil) != (want.status == 0) || (got.torn != nil) != want.torn {
				t.Errorf("got %+v", got)
			}
			if want.body == "" && got.body != "" && name != "resend-second" || !strings.Contains(got.body, want.body) {
				t.Errorf("body %q, want %q", got.body, want.body)
			}
			applied, asked := b.up.commits(), len(b.up.asked)-1
			if (applied == "c0 c1") != want.applied || asked != want.asked {
				t.Errorf("applied %q, asked %d times", applied, asked)
			}
			f, err := faultproxy.ParseFault(name)
			if err != nil || f.String() != name || f.Applied() != want.applied {
				t.Errorf("%v says that it is applied: %v (%v)", f, f.Applied(), err)
			}
			wantHeaders(t, got)
			<-b.log.lines // it has been counted
			// Nothing sticks. The client may not know yet that its connection was cut.
			b.client.CloseIdleConnections()
			if got := b.commit("c2"); got.status != 200 {
				t.Errorf("the next: %+v", got)
			}
			wantCounted(t, b, name)
		})
	}
}

func wantHeaders(t *testing.T, got reply) {
	t.Helper()
	for status, key := range map[int]string{429: "Retry-After", 503: "Retry-After", 401: "Www-Authenticate", 303: "Location"} {
		if got.status == status && got.header.Get(key) == "" {
			t.Errorf("%d comes without %s", status, key)
		}
	}
}

func wantCounted(t *testing.T, b *bench, fault string) {
	t.Helper()
	n := map[string]int{}
	for _, c := range b.proxy.Counts() {
		if c.Route != faultproxy.Commit {
			t.Errorf("route %s was counted", c.Route)
		}
		n[c.Fault] = c.N
	}
	rs := b.proxy.Requests()
	if n[""] != 2 || n[fault] != 1 || len(rs) != 3 || rs[1].Fault != fault || rs[1].Path != "/v1/namespaces/a\x1fb/tables/t" {
		t.Errorf("counted %v, kept %+v", n, rs)
	}
}

// A client that gives up: its request has been carried out, or is only later.
func TestPastTheDeadline(t *testing.T) { synctest.Test(t, pastTheDeadline) }

func pastTheDeadline(t *testing.T) {
	b := newBenchInMemory(t, "commit:stall:#1,commit:late:#2", faultproxy.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-b.up.came; cancel() }()
	if got := b.do(ctx, http.MethodPost, "c1"); !errors.Is(got.err, context.Canceled) || b.up.commits() != "c1" {
		t.Errorf("stall: %+v, applied %q", got, b.up.commits())
	}
	ctx, cancel = context.WithCancel(context.Background())
	done := make(chan reply)
	go func() { done <- b.do(ctx, http.MethodPost, "c2") }()
	synctest.Wait()
	if n := b.proxy.Held(); n != 1 {
		t.Errorf("%d requests are held", n)
	}
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) || b.up.commits() != "c1" {
		t.Errorf("late: %+v, applied %q", got, b.up.commits())
	}
	if got := b.commit("c3"); got.status != 200 {
		t.Errorf("the next: %+v", got)
	}
	if s, err := b.proxy.Release(); err != nil || len(s) != 1 || s[0] != 200 || b.up.commits() != "c1 c3 c2" || b.proxy.Held() != 0 {
		t.Errorf("released %v %v, applied %q", s, err, b.up.commits())
	}
}

func TestLateByTimer(t *testing.T) {
	b := newBench(t, "commit:late-504:#1", faultproxy.Options{LateDelay: time.Millisecond})
	if got := b.commit("c1"); got.status != 504 {
		t.Errorf("got %+v", got)
	}
	<-b.up.came
	if b.up.commits() != "c1" {
		t.Errorf("applied %q", b.up.commits())
	}
}

func TestClosingDropsWhatIsHeld(t *testing.T) { synctest.Test(t, closingDropsWhatIsHeld) }

func closingDropsWhatIsHeld(t *testing.T) {
	b := newBenchInMemory(t, "commit:late-504:#1,commit:late:#2", faultproxy.Options{LateDelay: time.Hour})
	b.commit("c1")
	done := make(chan reply)
	go func() { done <- b.commit("c2") }()
	synctest.Wait()
	if n := b.proxy.Held(); n != 2 {
		t.Errorf("%d requests are held", n)
	}
	b.proxy.Close()
	if got := <-done; got.err == nil || b.up.commits() != "" || b.proxy.Held() != 0 {
		t.Errorf("got %+v, applied %q", got, b.up.commits())
	}
}

// Nothing that is kept or logged holds a header, a query or a body.
func TestKeepsNoSecrets(t *testing.T) {
	b := newBench(t, "any:503-after:1", faultproxy.Options{KeepRequests: 2})
	for _, body := range []string{"body1", "body2", "body3"} {
		b.commit(body)
	}
	rs := b.proxy.Requests()
	if len(rs) != 2 || rs[1].N != 3 || rs[1].Upstream != 200 {
		t.Errorf("kept %+v", rs)
	}
	for _, secret := range []string{"hunter2", "secret", "body"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log tells %q:\n%s", secret, b.log)
		}
	}
	if !strings.Contains(b.log.String(), "fault=503-after") {
		t.Errorf("the log says nothing of the fault:\n%s", b.log)
	}
}

func TestChanceComesFromTheSeed(t *testing.T) {
	run := func(seed uint64) (out string) {
		b := newBench(t, "load:503-before:0.5", faultproxy.Options{Seed: seed})
		for range 40 {
			out += string('0' + rune(b.do(context.Background(), http.MethodGet, "").status/100))
		}
		return out
	}
	a, b, c := run(1), run(1), run(2)
	if a != b || a == c || !strings.Contains(a, "2") || !strings.Contains(a, "5") {
		t.Errorf("seed 1: %s and %s, seed 2: %s", a, b, c)
	}
}

func TestACatalogThatIsAwayIsABadGateway(t *testing.T) {
	target, _ := url.Parse("http://127.0.0.1:1")
	p := faultproxy.New(target, faultproxy.Options{Logger: slog.New(slog.DiscardHandler)})
	defer p.Close()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, table, nil))
	if w.Code != http.StatusBadGateway {
		t.Errorf("got %d", w.Code)
	}
}
