//go:build !rest && !cloud

package catalogs

import (
	"strings"
	"testing"
)

func TestWithoutTheRESTCatalogTheErrorSaysHowItIsHad(t *testing.T) {
	_, _, err := Open(t.Context(), "floe", map[string]string{"type": "rest", "uri": "http://localhost:8181"})
	if err == nil || !strings.Contains(err.Error(), "go build -tags cloud ./cmd/floe") {
		t.Errorf("got %v", err)
	}
}
