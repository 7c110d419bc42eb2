//go:build !rest && !cloud

package catalogs

import (
	"context"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
)

func openREST(context.Context, string, iceberg.Properties) (catalog.Catalog, func() error, error) {
	return nil, nil, &ConfigError{"type", "is rest, and this floe is built without the REST catalog", tagHint}
}
