package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// eventually calls f until it gives no error, each time that the broker is asked for records: what it gave before has been taken
// over by then, or will have been at the next time.
func (w *world) eventually(f func() error) {
	w.t.Helper()
	asked := make(chan struct{}, 1)
	h := w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true, When: func(kmsg.Request) bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		return true
	}})
	defer h.Remove()
	deadline := time.After(30 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-asked:
		case <-deadline:
			w.t.Fatal(err)
		}
	}
}
