package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/stormfloe/floe/internal/faultproxy"
)

// allFaults are what --proxy all stands for: everything of which floe must recover by itself. Not among them are refusals
// that end it, rightly (400, 401, 403), and faults that keep it waiting for its own deadline, which take too long here.
const allFaults = "commit:503-after:0.03,commit:500-after:0.02,commit:502-html-after:0.02,commit:504-after:0.03," +
	"commit:200-empty-after:0.02,commit:200-html-after:0.02,commit:reset-before:0.02,commit:reset-after:0.04," +
	"commit:reset-middle:0.02,commit:reset-end:0.02,commit:resend-first:0.03,commit:resend-second:0.04,commit:late-504:0.06," +
	"commit:409-before:0.02,commit:429-before:0.02,commit:503-before:0.02," +
	"load:reset-before:0.01,load:reset-middle:0.01,load:503-before:0.01,load:502-html-before:0.01,load:200-empty-before:0.01," +
	"load:429-before:0.01,load:stale-after:0.01"

func parseFaults(text string) ([]faultproxy.Rule, error) {
	if text == "all" {
		text = allFaults
	}
	return faultproxy.ParseRules(text)
}

// proxyCommand is `proof proxy`.
func proxyCommand(ctx context.Context, c *call) error {
	fs := c.flags("proxy", "stands in front of a REST catalog, loses its answers, and counts what it did")
	listen := fs.String("listen", "127.0.0.1:8182", "address to listen on")
	to := fs.String("to", "", "address of the catalog, http://HOST:PORT")
	faults := fs.String("faults", "all", "rules, route:fault:when with commas between them, as package faultproxy explains; all stands for\n"+allFaults)
	seed := fs.Uint64("seed", 1, "of the faults that come by chance")
	late := fs.Duration("late", 2*time.Second, "when late requests are carried out, after the client was answered")
	rest, err := c.parse(fs)
	if err != nil {
		return err
	} else if len(rest) > 0 || *to == "" {
		return usage("proxy: give --to, and no arguments")
	}
	p, err := startProxy(*listen, *to, *faults, *seed, *late)
	if err != nil {
		return err
	}
	c.printf("%s stands in front of %s\n", p.url, *to)
	<-ctx.Done()
	p.stop()
	c.printf("%s\n", counts(p.counts()))
	return nil
}

// proxy is a fault proxy that listens.
type proxy struct {
	handler *faultproxy.Proxy
	url     string
	server  *http.Server
	ended   chan struct{}
}

func startProxy(listen, to, faults string, seed uint64, late time.Duration) (*proxy, error) {
	rules, err := parseFaults(faults)
	if err != nil {
		return nil, usage("proxy: %v", err)
	}
	target, err := url.Parse(to)
	if err != nil || target.Host == "" {
		return nil, usage("proxy: the catalog's address is no http address")
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &proxy{url: "http://" + ln.Addr().String(), ended: make(chan struct{}),
		handler: faultproxy.New(target, faultproxy.Options{Rules: rules, Seed: seed, LateDelay: late, Logger: slog.New(slog.DiscardHandler)})}
	p.server = &http.Server{Handler: p.handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go func() {
		defer close(p.ended)
		_ = p.server.Serve(ln) // it gives ErrServerClosed at the end
	}()
	return p, nil
}

func (p *proxy) stop() {
	p.handler.Close()
	_ = p.server.Close()
	<-p.ended
}

// counts are the requests by route and fault; without a fault "passed".
func (p *proxy) counts() map[string]int64 {
	out := map[string]int64{}
	for _, c := range p.handler.Counts() {
		fault := c.Fault
		if fault == "" {
			fault = "passed"
		}
		out[fmt.Sprintf("%s %s", c.Route, fault)] += int64(c.N)
	}
	return out
}

// throughProxy leads floe's way to the catalog through a proxy; the checker's stays direct.
func (s *soak) throughProxy() (stop func(), err error) {
	uri := s.o.catalog["uri"]
	if s.o.catalog["type"] != "rest" {
		return nil, errors.New("--proxy stands in front of a REST catalog only; give --catalog type=rest")
	}
	p, err := startProxy("127.0.0.1:0", uri, s.o.faults, s.o.seed, lateBy)
	if err != nil {
		return nil, err
	}
	s.direct = s.o.catalog
	s.o.catalog = maps.Clone(s.o.catalog)
	s.o.catalog["uri"] = p.url
	s.proxy = p
	return p.stop, nil
}

// lateBy is when a soak's late requests are carried out: after floe has looked, and perhaps after it was killed and started
// again.
const lateBy = 1500 * time.Millisecond
