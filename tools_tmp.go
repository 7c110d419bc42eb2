package floe

import (
	_ "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/apache/iceberg-go/catalog/rest"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	_ "github.com/segmentio/kafka-go"
	_ "github.com/twmb/franz-go/pkg/kfake"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "modernc.org/sqlite"
	_ "github.com/uptrace/bun/driver/pgdriver"
	_ "golang.org/x/sync/errgroup"
	_ "github.com/google/uuid"
	_ "github.com/goccy/go-yaml"
	_ "go.yaml.in/yaml/v3"
	_ "go.uber.org/goleak"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/pierrec/lz4/v4"
	_ "pgregory.net/rapid"
)
