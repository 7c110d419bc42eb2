package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func TestFilesAreServedUnderAStrictPolicy(t *testing.T) {
	mux := http.NewServeMux()
	Routes(mux)
	for path, kind := range map[string]string{"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript"} {
		rec := get(t, mux, path)
		h := rec.Header()
		if rec.Code != 200 || !strings.HasPrefix(h.Get("Content-Type"), kind) || rec.Body.Len() < 1000 {
			t.Errorf("%s: %d, %s, %d bytes", path, rec.Code, h.Get("Content-Type"), rec.Body.Len())
		}
		csp := h.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: headers %v", path, h)
		}
		if again := get(t, mux, path, "If-None-Match", h.Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: asked again: %d", path, again.Code)
		}
	}
	if rec := get(t, mux, "/other"); rec.Code != 404 {
		t.Errorf("/other: %d", rec.Code)
	}
}

// TestThePageTakesNothingForMarkupAndAsksNobodyElse holds what the policy and the browser test hold too.
func TestThePageTakesNothingForMarkupAndAsksNobodyElse(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|srcdoc`)
	address := regexp.MustCompile(`(?:https?:)?//[\w-]+\.[\w.-]+[^\s"']*`)
	for _, name := range []string{"index.html", "page.css", "page.js"} {
		body, err := files.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.Find(body); found != nil {
			t.Errorf("%s has %s", name, found)
		}
		for _, found := range address.FindAllString(string(body), -1) {
			if found != "http://www.w3.org/2000/svg" { // the name of a namespace, which nobody asks for
				t.Errorf("%s names %s", name, found)
			}
		}
		if name == "index.html" && regexp.MustCompile(`<style|style=|\son\w+=|<script>`).Match(body) {
			t.Error("index.html has style or script in it, which its policy refuses")
		}
	}
}
