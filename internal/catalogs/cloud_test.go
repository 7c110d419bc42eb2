//go:build cloud

package catalogs

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestWarehousesOfEveryStoreAreTaken(t *testing.T) {
	for _, w := range []string{"gs://bucket/wh", "abfs://lake@account.dfs.core.windows.net/wh", "abfss://lake@account.dfs.core.windows.net/wh",
		"wasbs://lake@account.blob.core.windows.net/wh"} {
		open(t, map[string]string{"type": "sqlite", "uri": filepath.Join(t.TempDir(), "c.db"), "warehouse": w})
	}
}

func TestHiveNeedsAnAddress(t *testing.T) {
	for _, uri := range []string{"", "localhost:9083", "http://localhost:9083", "thrift://"} {
		_, _, err := Open(t.Context(), "floe", map[string]string{"type": "hive", "uri": uri})
		var wrong *ConfigError
		if !errors.As(err, &wrong) || wrong.Key != "uri" {
			t.Errorf("uri %q: %v", uri, err)
		}
	}
}
