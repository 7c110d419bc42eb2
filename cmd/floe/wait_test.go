package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a log that is read while it is written. changed has a token when there is more.
type lockedBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) next() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.b.String(), l.changed
}

// find waits for a line with key in it and gives the word behind key.
func (l *lockedBuffer) find(t *testing.T, key string) string {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		text, changed := l.next()
		if _, after, ok := strings.Cut(text, key); ok {
			if word, _, ok := strings.Cut(after, "\n"); ok {
				return strings.Fields(word)[0]
			}
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("there is no %q in the log:\n%s", key, text)
		}
	}
}

// eventually asks a process that tells nobody when it has come so far: each question is an HTTP request, which paces it.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}
