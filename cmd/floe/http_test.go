package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/topology"
)

func TestReadyzSaysWhyNot(t *testing.T) {
	st := topology.Status{NotReady: []string{"committer/0: the catalog is away, password is s3cr3t"}}
	h := handler(prometheus.NewRegistry(), func() topology.Status { return st },
		func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "[redacted]") })
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"/readyz", 503, "not ready\ncommitter/0: the catalog is away, password is [redacted]\n"},
		{"/status", 200, "password is [redacted]"},
		{"/livez", 200, "ok\n"},
		{"/metrics", 200, ""},
		{"/nope", 404, ""},
	} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", c.path, nil))
		if rec.Code != c.code || !strings.Contains(rec.Body.String(), c.want) {
			t.Errorf("%s: %d %q", c.path, rec.Code, rec.Body)
		}
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("POST", "/status", nil))
	if rec.Code != 405 {
		t.Errorf("POST /status: %d", rec.Code)
	}
}
