package faultproxy

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// held is a request that is carried out later.
type held struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	route  Route
	timer  *time.Timer
}

// hold keeps the request for later.
func (x *exchange) hold() *held {
	h := &held{method: x.r.Method, url: x.url(), header: x.header(), body: x.body, route: x.route}
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	if !x.p.mu.closed {
		x.p.mu.held = append(x.p.mu.held, h)
	}
	return h
}

// schedule lets h be carried out after the delay, if there is one and it still waits.
func (p *Proxy) schedule(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opts.LateDelay <= 0 || !slices.Contains(p.mu.held, h) {
		return
	}
	p.timers.Add(1)
	h.timer = time.AfterFunc(p.opts.LateDelay, func() {
		defer p.timers.Done()
		if p.take(h) {
			_, _ = p.carryOut(h)
		}
	})
}

// stopLocked ends the timer of a request that is taken off.
func (p *Proxy) stopLocked(h *held) {
	if h.timer != nil && h.timer.Stop() {
		p.timers.Done()
	}
}

// take takes h off what is held, and says whether it was there.
func (p *Proxy) take(h *held) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.mu.held, h)
	if i < 0 {
		return false
	}
	p.mu.held = slices.Delete(p.mu.held, i, i+1)
	return true
}

// Held is how many late requests wait.
func (p *Proxy) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.held)
}

// Release carries out the late requests now, in the order in which they came, and gives the statuses that the catalog
// answered them with, 0 for one that it did not answer. The error joins why.
func (p *Proxy) Release() ([]int, error) {
	p.mu.Lock()
	all := p.mu.held
	p.mu.held = nil
	for _, h := range all {
		p.stopLocked(h)
	}
	p.mu.Unlock()
	var statuses []int
	var errs []error
	for _, h := range all {
		status, err := p.carryOut(h)
		statuses = append(statuses, status)
		errs = append(errs, err)
	}
	return statuses, errors.Join(errs...)
}

func (p *Proxy) carryOut(h *held) (int, error) {
	got, err := p.ask(p.ctx, h.method, h.url, h.header, h.body)
	if err != nil {
		p.log.Warn("the catalog did not answer a late request", "route", h.route)
		return 0, err
	}
	p.log.Info("late request was carried out", "route", h.route, "upstream", got.status)
	return got.status, nil
}
