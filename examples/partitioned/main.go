// Command partitioned writes records into an Iceberg table that is partitioned by region and by the day of the event, and
// shows which partition each data file lies in.
//
//	go run ./examples/partitioned
//
// Nothing in the topology says how the table is partitioned: the writers take it from the table, and keep one file open
// per partition.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/sql" // registers the catalog type "sql"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
)

func main() {
	dir, err := os.MkdirTemp("", "floe-partitioned-")
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// events is the number of records, over four partitions of the source, three regions and two days.
const events = 12_000

var regions = []string{"ap", "eu", "us"}

func run(ctx context.Context, dir string, out io.Writer) error {
	tbl, err := openTable(ctx, dir)
	if err != nil {
		return err
	}
	input := memory.NewLog()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range events {
		at := start.Add(time.Duration(i) * 48 * time.Hour / events)
		input.AppendValues("events", int32(i%4), fmt.Appendf(nil, `{"id": %d, "region": %q, "event_time": %q}`,
			i, regions[i%len(regions)], at.Format(time.RFC3339)))
	}
	t, err := topology.New(topology.Config{
		Name:   "events",
		Source: input.Source(memory.Options{}),
		Mapper: mapper.NewJSON(mapper.JSONOptions{}),
		Table:  tbl,
		// Run ends when the table holds all that the log holds at the start. Without this it runs until ctx ends.
		UntilCaughtUp: true,
	})
	if err != nil {
		return err
	}
	if err := t.Run(ctx); err != nil {
		return err
	}
	return report(ctx, tbl, out)
}

// report prints the rows and files of each partition.
func report(ctx context.Context, tbl committer.Loader, out io.Writer) error {
	now, err := tbl.Load(ctx)
	if err != nil {
		return err
	}
	files, err := now.Scan().PlanFiles(ctx)
	if err != nil {
		return err
	}
	rows, count := map[string]int64{}, map[string]int{}
	for _, f := range files {
		// region=eu/event_time_day=2026-03-01
		p := path.Dir(strings.TrimPrefix(f.File.FilePath(), now.Location()+"/data/"))
		rows[p] += f.File.Count()
		count[p]++
	}
	for _, p := range slices.Sorted(maps.Keys(rows)) {
		_, _ = fmt.Fprintf(out, "%s: %d rows in %d files\n", p, rows[p], count[p])
	}
	_, _ = fmt.Fprintln(out, "the table lies in", now.Location())
	return nil
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
