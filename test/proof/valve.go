package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Flow is what a valve lets pass.
type Flow string

// The flows.
const (
	// Open passes everything on.
	Open Flow = "open"
	// Away closes each connection at once, those that are there, too.
	Away Flow = "away"
	// Hanging passes nothing on and closes nothing.
	Hanging Flow = "hanging"
	// Slow passes slowBytes a second on, each way of a connection, and each piece late.
	Slow Flow = "slow"
	// Cutting passes requests on, and closes one connection of cutOneIn when the first bytes of an answer come.
	Cutting Flow = "cutting"
)

const (
	slowBytes = 64 << 10
	slowBy    = 50 * time.Millisecond
	cutOneIn  = 6
)

// valve stands in front of a server as any network may, whatever it speaks. Its methods may be called from any goroutine.
type valve struct {
	ln   net.Listener
	to   string
	work sync.WaitGroup

	mu struct {
		sync.Mutex
		flow Flow
		// changed is closed at the next change of flow.
		changed chan struct{}
		conns   map[net.Conn]bool
		ended   bool
	}
}

// newValve listens on a free port of this machine and passes on to an address.
func newValve(to string) (*valve, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &valve{ln: ln, to: to}
	v.mu.flow, v.mu.changed, v.mu.conns = Open, make(chan struct{}), map[net.Conn]bool{}
	v.work.Go(v.listen)
	return v, nil
}

func (v *valve) addr() string { return v.ln.Addr().String() }

// set changes the flow, of the connections that are there, too.
func (v *valve) set(f Flow) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.flow = f
	close(v.mu.changed)
	v.mu.changed = make(chan struct{})
	if f == Away {
		v.closeAll()
	}
}

func (v *valve) closeAll() {
	for c := range v.mu.conns {
		_ = c.Close()
	}
}

// stop closes everything and waits for its goroutines.
func (v *valve) stop() {
	_ = v.ln.Close()
	v.mu.Lock()
	v.mu.ended = true
	v.mu.Unlock()
	v.set(Away)
	v.work.Wait()
}

// now gives the flow, and what is closed when it changes.
func (v *valve) now() (f Flow, changed <-chan struct{}, ended bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.flow, v.mu.changed, v.mu.ended
}

func (v *valve) listen() {
	for {
		near, err := v.ln.Accept()
		if err != nil {
			return
		}
		v.work.Go(func() { v.join(near) })
	}
}

// join passes on between a client and the server until one of them closes.
func (v *valve) join(near net.Conn) {
	defer func() { _ = near.Close() }()
	if f, _, _ := v.now(); f == Away {
		return
	}
	far, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "tcp", v.to)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	if !v.keep(near, far) {
		return
	}
	defer v.forget(near, far)
	var both sync.WaitGroup
	pass := func(from, to net.Conn, answers bool) {
		v.pass(from, to, answers)
		_, _ = near.Close(), far.Close()
	}
	both.Go(func() { pass(near, far, false) })
	both.Go(func() { pass(far, near, true) })
	both.Wait()
}

// keep remembers connections for closeAll; it is false where it is too late.
func (v *valve) keep(conns ...net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range conns {
		v.mu.conns[c] = true
	}
	return v.mu.flow != Away && !v.mu.ended
}

func (v *valve) forget(conns ...net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range conns {
		delete(v.mu.conns, c)
	}
}

// pass is one way of a connection.
func (v *valve) pass(from io.Reader, to io.Writer, answers bool) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !v.admits(n, answers) {
			return
		}
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// admits waits as long as n bytes take; it is false where the connection is to be closed instead.
func (v *valve) admits(n int, answers bool) bool {
	f, changed, ended := v.now()
	switch {
	case f == Away || ended:
		return false
	case f == Cutting && answers:
		return rand.IntN(cutOneIn) > 0
	case f == Hanging:
		<-changed
		return v.admits(n, answers)
	case f == Slow:
		t := time.NewTimer(slowBy + time.Duration(n)*time.Second/slowBytes)
		defer t.Stop()
		select {
		case <-t.C:
		case <-changed:
		}
	}
	return true
}
