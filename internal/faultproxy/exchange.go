package faultproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// answer is what a client gets.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// exchange is one request on its way.
type exchange struct {
	p     *Proxy
	w     http.ResponseWriter
	r     *http.Request
	body  []byte
	route Route
	n     int
	fault Fault
	// upstream is the status of the catalog's last answer.
	upstream int
}

func (x *exchange) serve() {
	f := x.fault
	earlier := x.earlier()
	var got *answer
	if f.kind == none || f.applied {
		got = x.pass()
		switch f.kind {
		case resendFirst:
			x.pass()
		case resendSecond:
			got = x.pass()
		}
	}
	switch f.kind {
	case none, resendFirst, resendSecond:
		x.write(got)
	case status:
		x.write(x.made())
	case stale:
		if earlier == nil {
			earlier = &answer{status: http.StatusBadGateway}
		}
		x.write(earlier)
	case reset:
		x.cut(nil, 0)
	case resetMiddle:
		x.cut(got, (len(got.body)+1)/2)
	case resetEnd:
		x.cut(got, 0)
	case stall:
		x.wait()
		panic(http.ErrAbortHandler)
	case late:
		h := x.hold()
		x.wait()
		x.p.schedule(h)
		panic(http.ErrAbortHandler)
	case lateStatus:
		x.p.schedule(x.hold())
		x.write(x.made())
	}
}

// pass sends the request to the catalog. What was sent is carried out, whatever the client does meanwhile.
func (x *exchange) pass() *answer {
	got, err := x.p.ask(context.WithoutCancel(x.r.Context()), x.r.Method, x.url(), x.header(), x.body)
	if err != nil {
		// The text may hold an address with a password.
		x.p.log.Warn("the catalog did not answer", "route", x.route, "request", x.n)
		return errorAnswer(http.StatusBadGateway, "the catalog did not answer the proxy")
	}
	x.upstream = got.status
	if got.status == http.StatusOK {
		x.p.mu.Lock()
		x.p.mu.last[x.key()] = got
		x.p.mu.Unlock()
	}
	return got
}

func (x *exchange) key() string { return x.r.Method + " " + x.r.URL.EscapedPath() }

// earlier is the answer to the same request before this one, nil for none.
func (x *exchange) earlier() *answer {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	return x.p.mu.last[x.key()]
}

// url is where the request goes. The path stays escaped: a namespace holds %1F.
func (x *exchange) url() *url.URL {
	u := x.p.target.JoinPath(x.r.URL.EscapedPath())
	u.RawQuery = x.r.URL.RawQuery
	return u
}

func (x *exchange) header() http.Header {
	h := x.r.Header.Clone()
	dropHop(h)
	return h
}

// dropHop takes out what is between two hops alone.
func dropHop(h http.Header) {
	for _, k := range []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade", "Content-Length"} {
		h.Del(k)
	}
}

// write gives the client an answer.
func (x *exchange) write(a *answer) {
	for k, v := range a.header {
		x.w.Header()[k] = v
	}
	if x.r.Method != http.MethodHead && a.status != http.StatusNoContent {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	x.w.WriteHeader(a.status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(a.body)
	}
}

// wait keeps the client waiting until it gives up, or the proxy is closed.
func (x *exchange) wait() {
	select {
	case <-x.r.Context().Done():
	case <-x.p.ctx.Done():
	}
}

// cut closes the connection: without an answer where a is nil, else after all of a but the last missing bytes of its body.
func (x *exchange) cut(a *answer, missing int) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the stream is reset
	}
	defer func() { _ = conn.Close() }()
	if a == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an orderly end
		}
		return
	}
	rsp := &http.Response{StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header, Request: x.r,
		ContentLength: int64(len(a.body)), Body: io.NopCloser(bytes.NewReader(a.body))}
	var all bytes.Buffer
	if rsp.Write(&all) != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = conn.Write(all.Bytes()[:all.Len()-missing])
}

// made is the answer that the fault puts in the place of the catalog's.
func (x *exchange) made() *answer {
	f := x.fault
	a := errorAnswer(f.status, "a fault was injected")
	switch f.body {
	case asHTML:
		a.header.Set("Content-Type", "text/html")
		a.body = []byte("<!DOCTYPE html><html><head><title>" + http.StatusText(f.status) +
			"</title></head><body><h1>A gateway speaks</h1></body></html>")
	case asNothing:
		a.header, a.body = http.Header{}, nil
	}
	switch {
	case f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable:
		a.header.Set("Retry-After", strconv.Itoa(max(1, int(x.p.opts.RetryAfter.Seconds()))))
	case f.status == http.StatusUnauthorized:
		a.header.Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="The access token expired"`)
	case f.status >= 300 && f.status < 400:
		a.header.Set("Location", x.r.URL.RequestURI())
	}
	return a
}

// exceptions are the names that the protocol's errors carry.
var exceptions = map[int]string{
	400: "BadRequestException", 401: "NotAuthorizedException", 403: "ForbiddenException", 404: "NoSuchTableException",
	409: "CommitFailedException", 419: "AuthenticationTimeoutException", 429: "TooManyRequestsException",
	500: "InternalServerError", 502: "BadGatewayException", 503: "SlowDownException", 504: "GatewayTimeoutException",
}

func errorAnswer(status int, message string) *answer {
	name := exceptions[status]
	if name == "" {
		name = "RESTException"
	}
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": name, "code": status}})
	if err != nil {
		panic(err) // strings and a number
	}
	return &answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: b}
}
