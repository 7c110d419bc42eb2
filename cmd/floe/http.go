package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stormfloe/floe/internal/page"
	"github.com/stormfloe/floe/topology"
)

// server answers for metrics, health, status and the page. It only reads.
type server struct {
	http *http.Server
	ln   net.Listener
	log  *slog.Logger
	done chan struct{}
	// end ends the sampling of the history.
	end context.CancelFunc
}

// site is what a server tells of.
type site struct {
	metrics prometheus.Gatherer
	// status is asked on each request.
	status func() []topology.Status
	// redact takes secrets out of a text.
	redact func(string) string
	// pprof adds /debug/pprof.
	pprof   bool
	history page.History
}

// serve listens on addr and answers from then on.
func serve(addr string, st *site, log *slog.Logger) (*server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("http.listen: another process listens on %s; write another address, or off", addr)
		}
		return nil, fmt.Errorf("http.listen: %w; write another address, or off", err)
	}
	sampling, end := context.WithCancel(context.Background())
	s := &server{
		http: &http.Server{
			Handler:           st.handler(),
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      60 * time.Second,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
		ln:   ln,
		log:  log,
		done: make(chan struct{}),
		end:  end,
	}
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		st.history.Run(sampling, st.status)
	}()
	go func() {
		defer close(s.done)
		defer func() { <-sampled }()
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP server ended", "error", err)
		}
	}()
	return s, nil
}

// close ends the server, giving answers on their way a moment. One that is nil was not wanted.
func (s *server) close(ctx context.Context) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s.end()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // what did not end in time is cut off
	}
	<-s.done
}

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	page.Routes(mux)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		all := s.status()
		if len(all) == 1 {
			s.json(w, all[0])
			return
		}
		s.json(w, map[string]any{"topologies": all})
	})
	mux.HandleFunc("GET /history.json", func(w http.ResponseWriter, r *http.Request) {
		after, err := strconv.ParseInt(cmp.Or(r.URL.Query().Get("after"), "0"), 10, 64)
		if err != nil {
			text(w, http.StatusBadRequest, "after must be a time in milliseconds since the epoch\n")
			return
		}
		s.json(w, map[string]any{"every_seconds": page.Every.Seconds(), "series": s.history.Since(after)})
	})
	if s.pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// readyz is ready where every topology is, and says why not where one is not.
func (s *site) readyz(w http.ResponseWriter, _ *http.Request) {
	var why []string
	all := s.status()
	for i := range all {
		for _, reason := range all[i].NotReady {
			if len(all) > 1 {
				reason = all[i].Topology + ": " + reason
			}
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		text(w, http.StatusOK, "ready\n")
		return
	}
	text(w, http.StatusServiceUnavailable, s.redact("not ready\n"+strings.Join(why, "\n")+"\n"))
}

// json writes v without the secrets that are in it.
func (s *site) json(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		text(w, http.StatusInternalServerError, "this can't be written as JSON\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(append(redactJSON(body, s.redact), '\n')) // the client has gone: nothing to do about it
}

var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redactJSON takes secrets out of each string: as JSON writes them they may look otherwise.
func redactJSON(body []byte, redact func(string) string) []byte {
	return jsonString.ReplaceAllFunc(body, func(quoted []byte) []byte {
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			return quoted
		}
		safe := redact(s)
		if safe == s {
			return quoted
		}
		again, err := json.Marshal(safe)
		if err != nil {
			return []byte(`""`)
		}
		return again
	})
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body)) // the client has gone: nothing to do about it
}
