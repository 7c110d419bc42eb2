//go:build s3 || cloud

package catalogs

import _ "github.com/apache/iceberg-go/io/gocloud/s3" // registers s3, s3a, s3n and oss
