//go:build !s3 && !cloud

package catalogs

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutS3TheErrorSaysHowItIsHad(t *testing.T) {
	_, _, err := Open(t.Context(), "floe", map[string]string{"type": "sqlite", "uri": filepath.Join(t.TempDir(), "c.db"),
		"warehouse": "s3://bucket/wh"})
	if err == nil || !strings.Contains(err.Error(), "go build -tags cloud ./cmd/floe") {
		t.Errorf("got %v", err)
	}
}
