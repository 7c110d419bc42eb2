// Command unpartitioned writes records that the program produces itself into an unpartitioned Iceberg table, exactly
// once: it runs the topology twice on the same input, and the second run adds nothing.
//
//	go run ./examples/unpartitioned
//
// Everything lies in a temporary folder: an SQLite catalog and a local warehouse.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

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
	dir, err := os.MkdirTemp("", "floe-unpartitioned-")
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// orders is the number of records, over four partitions.
const orders = 10_000

func run(ctx context.Context, dir string, out io.Writer) error {
	tbl, err := openTable(ctx, dir)
	if err != nil {
		return err
	}

	// The input: a log that lives in this process. Its source addresses each record by partition and position, so that
	// the table can say where it stands.
	input := memory.NewLog()
	for i := range orders {
		input.AppendValues("orders", int32(i%4), fmt.Appendf(nil, `{"id": %d, "customer": "c-%d", "amount": "%d.%02d"}`, i, i%97, i%500, i%100))
	}

	for _, attempt := range []string{"first", "second"} {
		t, err := topology.New(topology.Config{
			Name:   "orders", // its identity in the table: the second run goes on where the first ended
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
		now, err := tbl.Load(ctx)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "after the %s run the table has %s rows in %d snapshots\n", attempt,
			now.CurrentSnapshot().Summary.Properties["total-records"], len(now.Metadata().Snapshots()))
	}
	_, _ = fmt.Fprintln(out, "it lies in", dir)
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
	name := table.Identifier{"db", "orders"}
	if exists, err := cat.CheckTableExists(ctx, name); err != nil || exists {
		return topology.LoadFrom(cat, name...), err
	}
	if err := cat.CreateNamespace(ctx, table.Identifier{"db"}, nil); err != nil {
		return nil, err
	}
	_, err = cat.CreateTable(ctx, name, iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "customer", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 3, Name: "amount", Type: iceberg.DecimalTypeOf(10, 2)},
	))
	return topology.LoadFrom(cat, name...), err
}
