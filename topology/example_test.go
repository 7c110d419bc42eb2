package topology_test

import (
	"context"

	"github.com/apache/iceberg-go/catalog"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/topology"
)

// ingest writes the topic orders into the table db.orders until ctx ends. cat is any catalog of iceberg-go's.
func ingest(ctx context.Context, cat catalog.Catalog) error {
	src, err := kafka.New(kafka.Config{
		Brokers: []string{"localhost:9092"},
		Topics:  []string{"orders"},
		Group:   "floe-orders",
	})
	if err != nil {
		return err
	}
	t, err := topology.New(topology.Config{
		Name:   "orders", // the identity of this topology in the table
		Source: src,
		Mapper: mapper.NewJSON(mapper.JSONOptions{}),
		Table:  topology.LoadFrom(cat, "db", "orders"),
	})
	if err != nil {
		return err
	}
	return t.Run(ctx)
}

func Example() {
	_ = ingest // it wants a broker and a catalog; examples/ has programs that bring both along
}
