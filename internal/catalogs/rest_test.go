//go:build rest || cloud

package catalogs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
)

func TestRESTCatalogOpens(t *testing.T) {
	var token string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"defaults":{},"overrides":{}}`)
	}))
	defer srv.Close()
	for _, kind := range []string{"rest", "REST", ""} {
		cat := open(t, map[string]string{"type": kind, "uri": srv.URL, "token": "hunter2", "warehouse": "name-of-the-servers"})
		if cat.CatalogType() != catalog.REST || token != "Bearer hunter2" {
			t.Errorf("type %s, authorization %q", cat.CatalogType(), token)
		}
	}
}

func TestRESTCatalogThatCantBeOpenedSaysWhere(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"bad token hunter2 of app","type":"NotAuthorizedException","code":401}}`)
	}))
	defer srv.Close()
	_, _, err := Open(context.Background(), "floe", map[string]string{"type": "rest", "uri": srv.URL, "credential": "app:hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), srv.URL) {
		t.Errorf("got %v", err)
	}
	for _, uri := range []string{"", "localhost:8181", "ftp://h"} {
		_, _, err := Open(context.Background(), "floe", map[string]string{"type": "rest", "uri": uri})
		var ce *ConfigError
		if !errors.As(err, &ce) || ce.Key != "uri" {
			t.Errorf("uri %q: got %v", uri, err)
		}
	}
}
