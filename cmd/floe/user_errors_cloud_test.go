//go:build cloud

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEachMistakeWithARESTCatalogIsOneSentence is TestEachMistakeIsOneSentence for a catalog that answers over HTTP.
func TestEachMistakeWithARESTCatalogIsOneSentence(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/v1/config") && code != http.StatusUnauthorized {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"defaults":{},"overrides":{}}`))
				return
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	refusal := func(kind string, code string) string {
		return `{"error":{"message":"` + kind + `","type":"` + kind + `","code":` + code + `}}`
	}
	for _, c := range []struct {
		name   string
		code   int
		server http.HandlerFunc
		uri    string
		want   string
	}{
		{"away", exitFailed, nil, "http://127.0.0.1:1", "start the service, or correct the address"},
		{"wrong credential", exitFailed, answer(401, refusal("NotAuthorizedException", "401")), "", "correct the credentials"},
		{"no permission", exitFailed, answer(403, refusal("ForbiddenException", "403")), "", "correct the credentials"},
		{"no such table", exitFailed, answer(404, refusal("NoSuchTableException", "404")), "", "the table db.orders does not exist"},
		{"not a catalog", exitFailed, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) }, "", "correct catalog.uri"},
		{"failing", exitFailed, answer(500, "broken"), "", "correct catalog.uri"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			uri := c.uri
			if c.server != nil {
				srv := httptest.NewServer(c.server)
				t.Cleanup(srv.Close)
				uri = srv.URL
			}
			cfg := w.config("  create:", "  #create:", "type: sqlite, uri:", `type: rest, token: "${TOKEN}", uri: "`+uri+`", other:`)
			a := callWith(t, "", func(name string) (string, bool) { return "hunter22", name == "TOKEN" }, "run", cfg)
			var said []string
			for _, line := range strings.Split(strings.TrimSpace(a.err), "\n") {
				if !strings.HasPrefix(line, "time=") {
					said = append(said, line)
				}
			}
			t.Log(a.code, said)
			if a.code != c.code || len(said) != 1 || !strings.Contains(said[0], c.want) || strings.Contains(a.err, "hunter22") {
				t.Errorf("exit code %d: %s", a.code, a.err)
			}
		})
	}
}
