// Command embedded runs floe inside of somebody else's pipeline, in both ways that there are.
//
//	go run ./examples/embedded
//
// First an engine whose messages have no positions, a queue say: each record comes with a callback, and the message is
// acknowledged when the callback says that its row is in the table. That is at-least-once delivery.
//
// Then an engine whose records have a partition and a position, a log or a replication slot say. A writer stage seals
// batches and hands them over as bytes; a committer stage, which could live in another process, makes them visible. At
// each start the engine asks the stage where to go on, and keeps no position itself: each record is there exactly once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/sql" // registers the catalog type "sql"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/topology"
)

func main() {
	dir, err := os.MkdirTemp("", "floe-embedded-")
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, out io.Writer) error {
	messages, err := openTable(ctx, dir, "messages")
	if err != nil {
		return err
	}
	acked, err := queue(ctx, messages)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	_, _ = fmt.Fprintf(out, "queue: %d of %d messages were acknowledged, %s rows are in the table\n", acked, queued, rows(ctx, messages))

	changes, err := openTable(ctx, dir, "changes")
	if err != nil {
		return err
	}
	for _, stop := range []source.Position{logged / 2, logged} {
		from, err := replicate(ctx, changes, stop)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		_, _ = fmt.Fprintf(out, "log: started at %d, ended at %d, %s rows are in the table\n", from, stop, rows(ctx, changes))
	}
	_, _ = fmt.Fprintln(out, "the tables lie in", dir)
	return nil
}

// queued is how many messages the queue has.
const queued = 1_000

// queue brings messages without positions to a one-stage sink and counts those that may be acknowledged.
func queue(ctx context.Context, tbl committer.Loader) (acked int, err error) {
	sink, err := topology.NewSink(topology.StageConfig{ //nolint:contextcheck // it starts nothing that a context could end
		Name: "queue", Table: tbl, Mapper: mapper.NewJSON(mapper.JSONOptions{}),
	})
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return sink.Run(running) })

	var mu sync.Mutex
	var waiting sync.WaitGroup
	for i := range queued {
		waiting.Add(1)
		record := &source.Record{Value: fmt.Appendf(nil, `{"id": %d}`, i), TimestampMs: -1}
		err := sink.Write(ctx, record, func(err error) {
			defer waiting.Done()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				acked++ // here the engine acknowledges the message; after an error it would bring it again
			}
		})
		if err != nil { // the record was not taken, and its callback is not called
			return 0, err
		}
	}
	// The end of the input: what is open is sealed and committed now, and not when its time has come.
	if err := sink.Flush(ctx); err != nil {
		return 0, err
	}
	waiting.Wait()
	stop()
	return acked, g.Wait()
}

// logged is how many records the log has.
const logged = 5_000

// replicate brings the records of a log, from where the table stands up to stop, through a writer stage and a committer
// stage. It gives the position it started at.
func replicate(ctx context.Context, tbl committer.Loader, stop source.Position) (from source.Position, err error) {
	cfg := topology.StageConfig{
		Name: "replica", Table: tbl, Mapper: mapper.NewJSON(mapper.JSONOptions{}), Positioned: true,
		Writer:    topology.WriterConfig{SealRecords: 500},
		Committer: topology.CommitterConfig{Interval: -1}, // as soon as possible, not every 5 s
	}
	committer, err := topology.NewCommitterStage(cfg)
	if err != nil {
		return 0, err
	}
	// What is emitted is bytes: this function call could as well be a message to another process.
	writer, err := topology.NewWriterStage(cfg, committer.Commit) //nolint:contextcheck // as above
	if err != nil {
		return 0, err
	}
	writing, endWriter := context.WithCancel(ctx)
	committing, endCommitter := context.WithCancel(ctx)
	defer endCommitter()
	defer endWriter()
	var writers, committers errgroup.Group
	committers.Go(func() error { return committer.Run(committing) })
	writers.Go(func() error { return writer.Run(writing) })

	slot := source.Partition{Cluster: "db-1", Topic: "slot", ID: 0}
	at, err := writer.Begin(ctx, map[source.Partition]source.Position{slot: 0})
	if err != nil {
		return 0, err
	}
	from = at[slot]
	for pos := from; pos < stop; pos++ {
		record := &source.Record{Position: pos, Value: fmt.Appendf(nil, `{"id": %d}`, pos), TimestampMs: -1}
		// A callback can be given here as well. After topology.ErrRewound the engine calls Begin and goes on from there.
		if err := writer.WriteAt(ctx, slot, record, nil); err != nil {
			return 0, err
		}
	}
	// The writer seals what is open, and ends when all that it emitted is in the table; the committer outlives it.
	endWriter()
	if err := writers.Wait(); err != nil {
		return 0, err
	}
	endCommitter()
	return from, committers.Wait()
}

// rows is the newest snapshot's own count.
func rows(ctx context.Context, tbl committer.Loader) string {
	now, err := tbl.Load(ctx)
	if err != nil {
		return err.Error()
	}
	return now.CurrentSnapshot().Summary.Properties["total-records"]
}

// openTable opens the catalog and makes the table where it is not there yet.
func openTable(ctx context.Context, dir, name string) (committer.Loader, error) {
	cat, err := catalog.Load(ctx, "default", iceberg.Properties{
		"type": "sql", "sql.driver": "sqlite", "sql.dialect": "sqlite",
		"uri":       "file:" + filepath.Join(dir, "catalog.db"),
		"warehouse": "file://" + filepath.Join(dir, "warehouse"),
	})
	if err != nil {
		return nil, err
	}
	ident := table.Identifier{"db", name}
	if exists, err := cat.CheckTableExists(ctx, ident); err != nil || exists {
		return topology.LoadFrom(cat, ident...), err
	}
	if err := cat.CreateNamespace(ctx, table.Identifier{"db"}, nil); err != nil && !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return nil, err
	}
	_, err = cat.CreateTable(ctx, ident, iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
	))
	return topology.LoadFrom(cat, ident...), err
}
