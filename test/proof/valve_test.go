package main

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c) // it ends with the connection
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return ln.Addr().String()
}

// opened gives a valve before a server, and a connection through it that has been used.
func opened(t *testing.T) (*valve, net.Conn) {
	t.Helper()
	v, err := newValve(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.stop)
	c, err := net.Dial("tcp", v.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if err := said(c, "first"); err != nil {
		t.Fatal(err)
	}
	return v, c
}

// said sends a text and wants it back.
func said(c net.Conn, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, len(text)))
	return err
}

func TestAValveThatIsAwayClosesWhatIsThereAndWhatComes(t *testing.T) {
	v, c := opened(t)
	v.set(Away)
	if err := said(c, "more"); err == nil {
		t.Error("the old connection still works")
	}
	another, err := net.Dial("tcp", v.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close()
	_ = another.SetDeadline(time.Now().Add(time.Minute))
	if err := said(another, "more"); err == nil {
		t.Error("a new connection works")
	}
	v.set(Open)
	third, err := net.Dial("tcp", v.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	_ = third.SetDeadline(time.Now().Add(time.Minute))
	if err := said(third, "again"); err != nil {
		t.Errorf("after it was opened again: %v", err)
	}
}

func TestAValveThatHangsGoesOnWhereItWas(t *testing.T) {
	v, c := opened(t)
	v.set(Hanging)
	answered := make(chan error, 1)
	go func() { answered <- said(c, "held") }()
	v.set(Slow)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestAValveCutsAnswersNowAndThen(t *testing.T) {
	v, c := opened(t)
	v.set(Cutting)
	for range 1000 {
		if said(c, "x") != nil {
			return
		}
	}
	t.Errorf("none of 1,000 answers was cut, and one of %d should be", cutOneIn)
}
