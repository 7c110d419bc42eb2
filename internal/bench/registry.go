package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// registry is a schema registry that knows one schema: as much of Confluent's protocol as a consumer asks for.
type registry struct {
	url string
	srv *http.Server
	// ended is closed when it serves no more.
	ended chan struct{}
}

func serveRegistry(schema string) (*registry, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the schema registry: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /schemas/types", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, []string{"AVRO"}) })
	mux.HandleFunc("GET /schemas/ids/{id}", func(w http.ResponseWriter, req *http.Request) {
		if req.PathValue("id") == fmt.Sprint(schemaID) {
			answer(w, http.StatusOK, map[string]any{"schema": schema})
			return
		}
		answer(w, http.StatusNotFound, map[string]any{"error_code": 40403, "message": "Schema " + req.PathValue("id") + " not found"})
	})
	r := &registry{url: "http://" + ln.Addr().String(), srv: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		_ = r.srv.Serve(ln) // it ends with close
	}()
	return r, nil
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked has gone
}

func (r *registry) close() {
	_ = r.srv.Close() // nobody asks any more
	<-r.ended
}
