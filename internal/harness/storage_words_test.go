package harness_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// words keeps what a topology logs.
type words struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *words) logger() *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func (w *words) has(s string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.b.String(), s)
}
