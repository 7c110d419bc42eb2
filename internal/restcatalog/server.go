package restcatalog

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// maxBody bounds a request, in bytes.
const maxBody = 64 << 20

// separator parts the levels of a namespace in a path.
const separator = "\x1f"

// Options of a Server. The zero value asks for no token.
type Options struct {
	// Credential is "client id:secret". Where it is set, every request but those for a token needs one that was got with it.
	Credential string
	// TokenTTL is what a client is told that a token lives; zero tells nothing, and a client keeps it for good. The server
	// itself takes tokens until RevokeTokens.
	TokenTTL time.Duration
}

// Server is the handler. Any goroutine.
type Server struct {
	cat  catalog.Catalog
	opts Options
	mux  *http.ServeMux

	mu struct {
		sync.Mutex
		token  string
		issued int
	}
}

// New makes a server for cat. Of cat it calls LoadTable and CommitTable; CreateTable, DropTable, CreateNamespace and
// CheckNamespaceExists only where a client asks for what they do.
func New(cat catalog.Catalog, opts Options) *Server {
	s := &Server{cat: cat, opts: opts, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/oauth/tokens", s.giveToken)
	for pattern, h := range map[string]func(*http.Request) (any, error){
		"GET /v1/config":                                   s.config,
		"POST /v1/namespaces":                              s.createNamespace,
		"GET /v1/namespaces/{namespace}":                   s.loadNamespace,
		"POST /v1/namespaces/{namespace}/tables":           s.createTable,
		"GET /v1/namespaces/{namespace}/tables/{table}":    s.loadTable,
		"POST /v1/namespaces/{namespace}/tables/{table}":   s.commitTable,
		"DELETE /v1/namespaces/{namespace}/tables/{table}": s.dropTable,
	} {
		s.mux.HandleFunc(pattern, s.answer(h))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &Error{http.StatusNotAcceptable, "UnsupportedOperationException", r.Method + " " + r.URL.Path + " is not served"})
	})
	return s
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answer makes a handler of what gives a result or an error. GET stands for HEAD, too.
func (s *Server) answer(h func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.authorized(r) {
			writeError(w, &Error{http.StatusUnauthorized, "NotAuthorizedException", "the token is missing or has run out"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		out, err := h(r)
		switch {
		case err != nil:
			writeError(w, err)
		case out == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			writeJSON(w, http.StatusOK, out)
		}
	}
}

func (s *Server) config(*http.Request) (any, error) {
	return map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}}, nil
}

// namespaceOf and identOf read the path.
func namespaceOf(r *http.Request) table.Identifier {
	return strings.Split(r.PathValue("namespace"), separator)
}

func identOf(r *http.Request) table.Identifier { return append(namespaceOf(r), r.PathValue("table")) }

type namespaceBody struct {
	Namespace  table.Identifier   `json:"namespace"`
	Properties iceberg.Properties `json:"properties"`
}

func (s *Server) createNamespace(r *http.Request) (any, error) {
	var body namespaceBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if len(body.Namespace) == 0 {
		return nil, badRequest(errors.New("namespace is missing"))
	}
	if err := s.cat.CreateNamespace(r.Context(), body.Namespace, body.Properties); err != nil {
		return nil, err
	}
	return body, nil
}

func (s *Server) loadNamespace(r *http.Request) (any, error) {
	ns := namespaceOf(r)
	ok, err := s.cat.CheckNamespaceExists(r.Context(), ns)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, catalog.ErrNoSuchNamespace
	}
	return namespaceBody{Namespace: ns, Properties: iceberg.Properties{}}, nil
}

// decode reads a JSON body.
func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return badRequest(err)
	}
	return nil
}
