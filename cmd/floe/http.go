package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stormfloe/floe/topology"
)

// server answers for metrics, health and status. It only reads.
type server struct {
	http *http.Server
	ln   net.Listener
	log  *slog.Logger
	done chan struct{}
}

// serve listens on addr and answers from then on. status is asked on each request.
func serve(addr string, reg prometheus.Gatherer, status func() topology.Status, redact func(string) string, log *slog.Logger) (*server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("http.listen: another process listens on %s; write another address, or off", addr)
		}
		return nil, fmt.Errorf("http.listen: %w; write another address, or off", err)
	}
	s := &server{
		http: &http.Server{
			Handler:           handler(reg, status, redact),
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      60 * time.Second,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
		ln:   ln,
		log:  log,
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP server ended", "error", err)
		}
	}()
	return s, nil
}

// close ends the server, giving answers on their way a moment.
func (s *server) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // what did not end in time is cut off
	}
	<-s.done
}

func handler(reg prometheus.Gatherer, status func() topology.Status, redact func(string) string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		st := status()
		if st.Ready {
			text(w, http.StatusOK, "ready\n")
			return
		}
		text(w, http.StatusServiceUnavailable, redact("not ready\n"+strings.Join(st.NotReady, "\n")+"\n"))
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.MarshalIndent(status(), "", "  ")
		if err != nil {
			text(w, http.StatusInternalServerError, "the status can't be written\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(redact(string(body)) + "\n"))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusOK, "floe: /metrics /livez /readyz /status\n")
	})
	return mux
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body)) // the client has gone: nothing to do about it
}
