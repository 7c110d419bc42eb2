package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/topology"
)

func TestReadyzSaysWhyNot(t *testing.T) {
	st := topology.Status{NotReady: []string{"committer/0: the catalog is away, password is s3cr3t"}}
	all := []topology.Status{st}
	h := (&site{metrics: prometheus.NewRegistry(), status: func() []topology.Status { return all },
		redact: func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "[redacted]") }}).handler()
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"/readyz", 503, "not ready\ncommitter/0: the catalog is away, password is [redacted]\n"},
		{"/status", 200, "password is [redacted]"},
		{"/livez", 200, "ok\n"},
		{"/metrics", 200, ""},
		{"/", 200, "<title>floe</title>"},
		{"/history.json", 200, `"series": []`},
		{"/history.json?after=x", 400, "after must be a time"},
		{"/debug/pprof/", 404, ""},
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

func TestSeveralTopologiesAreToldApart(t *testing.T) {
	all := []topology.Status{{Topology: "a", Ready: true}, {Topology: "b", NotReady: []string{"the catalog is away"}}}
	h := (&site{metrics: prometheus.NewRegistry(), status: func() []topology.Status { return all }, redact: func(s string) string { return s }, pprof: true}).handler()
	for path, want := range map[string]string{"/readyz": "not ready\nb: the catalog is away\n", "/status": `"topologies": [`, "/debug/pprof/cmdline": ""} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if rec.Code == 404 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %q", path, rec.Code, rec.Body)
		}
	}
}

func TestSecretsAreTakenOutOfJSONHoweverItWritesThem(t *testing.T) {
	const secret = `p<a>"\é&`
	body, err := json.Marshal(map[string]any{"error": "password " + secret + " is wrong", secret: 1, "other": `a"b`})
	if err != nil {
		t.Fatal(err)
	}
	got := string(redactJSON(body, func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") }))
	if want := `{"error":"password [redacted] is wrong","other":"a\"b","[redacted]":1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
