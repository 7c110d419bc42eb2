//go:build cloud

package catalogs

import (
	_ "github.com/apache/iceberg-go/catalog/glue"     // registers the type
	_ "github.com/apache/iceberg-go/io/gocloud/azure" // registers abfs, abfss, wasb and wasbs
	_ "github.com/apache/iceberg-go/io/gocloud/gcs"   // registers gs
)
