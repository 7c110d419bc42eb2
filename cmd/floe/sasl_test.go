package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/config"
)

func TestTokensComeFromAServer(t *testing.T) {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		if n++; id != "floe" || secret != "hunter22" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka read" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"hunter22"}`))
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"abc","token_type":"bearer","expires_in":60}`))
	}))
	defer srv.Close()
	o := &config.OAuth{TokenURL: srv.URL, ClientID: "floe", ClientSecret: "hunter22", Scope: "kafka read"}
	for range 2 {
		if token, err := serverToken(o)(t.Context()); err != nil || token != "abc" {
			t.Fatal(token, err)
		}
	}
	if n != 2 {
		t.Errorf("%d requests for two connections", n)
	}
	o.ClientID = "other"
	if _, err := serverToken(o)(t.Context()); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "hunter22") {
		t.Error(err)
	}
}

func TestATokensFileIsReadEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	token := fileToken(path)
	if _, err := token(t.Context()); err == nil {
		t.Error("there is no file")
	}
	for _, want := range []string{"one", "two"} {
		if err := os.WriteFile(path, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := token(t.Context()); err != nil || got != want {
			t.Error(got, err)
		}
	}
	if _, err := fileToken(filepath.Dir(path))(t.Context()); err == nil {
		t.Error("a folder is no file")
	}
}
