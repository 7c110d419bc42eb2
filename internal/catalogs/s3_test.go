//go:build s3 || cloud

package catalogs

import (
	"path/filepath"
	"testing"
)

func TestS3WarehousesAreTaken(t *testing.T) {
	open(t, map[string]string{"type": "sqlite", "uri": filepath.Join(t.TempDir(), "c.db"), "warehouse": "s3://bucket/wh"})
}
