//go:build !cloud

package catalogs

import (
	"context"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
)

func openHive(context.Context, string, iceberg.Properties) (catalog.Catalog, func() error, error) {
	return nil, nil, &ConfigError{"type", "is hive, which this floe is built without", tagHint}
}
