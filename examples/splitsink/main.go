// Command splitsink reads a Kafka topic with several writers and one committer. Rows are grouped by region on their way to
// the writers (Storm's fieldsGrouping), so that each region's files are written by one of them; whatever the number of
// writers and however often they seal, the committer makes one snapshot per interval.
//
//	go run ./examples/splitsink
//
// The broker runs in this process, and is spoken to over Kafka's protocol: with Brokers set to another address the same
// program reads from a real one.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/sql" // registers the catalog type "sql"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/topology"
)

func main() {
	dir, err := os.MkdirTemp("", "floe-splitsink-")
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// events is the number of records.
const events = 40_000

var regions = []string{"ap", "eu", "sa", "us"}

func run(ctx context.Context, dir string, out io.Writer) error {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(6, "events"))
	if err != nil {
		return err
	}
	defer broker.Close()
	if err := produce(ctx, broker.ListenAddrs()); err != nil {
		return err
	}
	tbl, err := openTable(ctx, dir)
	if err != nil {
		return err
	}
	src, err := kafka.New(kafka.Config{
		Brokers: broker.ListenAddrs(),
		Topics:  []string{"events"},
		Group:   "floe-events",
		// What is read ahead is a share of the same memory bound that the topology gets.
		MaxBufferedBytes: topology.MemoryShares(memory).Prefetch,
	})
	if err != nil {
		return err
	}
	t, err := topology.New(topology.Config{
		Name:   "events",
		Source: src,
		Mapper: mapper.NewJSON(mapper.JSONOptions{}),
		Table:  tbl,
		Writer: topology.WriterConfig{
			Tasks:       4,
			GroupBy:     []string{"region"},
			SealRecords: 4_000, // often, to show that this is not the number of snapshots
		},
		Committer:     topology.CommitterConfig{Interval: 2 * time.Second},
		Memory:        memory,
		UntilCaughtUp: true,
	})
	if err != nil {
		return err
	}
	if err := t.Run(ctx); err != nil {
		return err
	}
	for _, c := range t.Status().Committers {
		_, _ = fmt.Fprintf(out, "%d rows in %d files, sealed by 4 writers, made visible by %d commits of one committer\n", c.Rows, c.Files, c.Commits)
	}
	_, _ = fmt.Fprintln(out, "the table lies in", dir)
	return nil
}

// memory bounds the process, in bytes.
const memory = 256 << 20

func produce(ctx context.Context, brokers []string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic("events"))
	if err != nil {
		return err
	}
	defer client.Close()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	records := make([]*kgo.Record, events)
	for i := range records {
		at := start.Add(time.Duration(i) * 24 * time.Hour / events)
		records[i] = kgo.SliceRecord(fmt.Appendf(nil, `{"id": %d, "region": %q, "event_time": %q}`,
			i, regions[i%len(regions)], at.Format(time.RFC3339)))
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// openTable opens the catalog and makes the table where it is not there yet.
func openTable(ctx context.Context, dir string) (committer.Loader, error) {
	cat, err := catalog.Load(ctx, "default", iceberg.Properties{
		"type": "sql", "sql.driver": "sqlite", "sql.dialect": "sqlite",
		"uri":       "file:" + filepath.Join(dir, "catalog.db"),
		"warehouse": "file://" + filepath.Join(dir, "warehouse"),
	})
	if err != nil {
		return nil, err
	}
	name := table.Identifier{"db", "events"}
	if exists, err := cat.CheckTableExists(ctx, name); err != nil || exists {
		return topology.LoadFrom(cat, name...), err
	}
	if err := cat.CreateNamespace(ctx, table.Identifier{"db"}, nil); err != nil {
		return nil, err
	}
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 3, Name: "event_time", Type: iceberg.PrimitiveTypes.TimestampTz},
	)
	spec, err := iceberg.NewPartitionSpecOpts(
		iceberg.AddPartitionFieldByName("region", "region", iceberg.IdentityTransform{}, schema, nil),
		iceberg.AddPartitionFieldByName("event_time", "event_time_day", iceberg.DayTransform{}, schema, nil),
	)
	if err != nil {
		return nil, err
	}
	_, err = cat.CreateTable(ctx, name, schema, catalog.WithPartitionSpec(&spec))
	return topology.LoadFrom(cat, name...), err
}
