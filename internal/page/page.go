package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
)

//go:embed static/index.html static/page.css static/page.js
var files embed.FS

// policy lets the page load its own style, script and data, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Routes adds the page and its files to mux: /, /page.css and /page.js.
func Routes(mux *http.ServeMux) {
	for path, f := range map[string]struct{ name, kind string }{
		"/{$}":      {"index.html", "text/html; charset=utf-8"},
		"/page.css": {"page.css", "text/css; charset=utf-8"},
		"/page.js":  {"page.js", "text/javascript; charset=utf-8"},
	} {
		body, err := files.ReadFile("static/" + f.name)
		if err != nil {
			panic(fmt.Sprintf("page: %s is not linked in: %v", f.name, err)) // the build would have failed
		}
		mux.Handle("GET "+path, static(body, f.kind))
	}
}

// static serves one file. Browsers ask each time whether it is still the same, so that another floe brings its own page.
func static(body []byte, kind string) http.HandlerFunc {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body) // the client has gone: nothing to do about it
	}
}
