//go:build !s3 && !cloud

package catalogs

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutTheStoreTheErrorSaysHowItIsHad(t *testing.T) {
	for _, warehouse := range []string{"s3://bucket/wh", "gs://bucket/wh", "abfss://lake@account.dfs.core.windows.net/wh"} {
		_, _, err := Open(t.Context(), "floe", map[string]string{"type": "sqlite", "uri": filepath.Join(t.TempDir(), "c.db"),
			"warehouse": warehouse})
		if err == nil || !strings.Contains(err.Error(), "go build -tags cloud ./cmd/floe") {
			t.Errorf("%s: got %v", warehouse, err)
		}
	}
}
