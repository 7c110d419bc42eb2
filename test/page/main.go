// Command page serves the browser test of floe's page: a Kafka broker in this process, and records that keep coming into it, some of
// them bad. It writes configurations for them into a folder, one that is sound, one that filters all and one that ends at a bad record, says "ready", and goes on until its input ends.
//
//	page DIR LISTEN
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 8
	perTick    = 200 // records, ten times a second
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: page DIR LISTEN")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(dir, listen string) error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("page"), kfake.SeedTopics(partitions, "orders"))
	if err != nil {
		return err
	}
	defer c.Close()
	addr := c.ListenAddrs()[0]
	for _, one := range []struct{ file, name, record string }{
		{"floe.yaml", "orders", `filter: [{name: tests, column: {name: note, equals: test}}]`},
		{"returns.yaml", "returns", `filter: [{name: never, topic: {equals: other}}, {name: keyless, key: {exists: false}}]`}, // all are
		{"strict.yaml", "strict", `on_bad_record: stop`},
	} {
		if err := os.WriteFile(filepath.Join(dir, one.file), config(addr, dir, listen, one.name, one.record), 0o644); err != nil {
			return err
		}
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	fmt.Println("ready")
	return produce(ctx, cl)
}

func config(addr, dir, listen, name, record string) []byte {
	return fmt.Appendf(nil, `
name: %s
source: {kafka: {brokers: [%q], topics: [orders]}}
record: {%s}
catalog: {type: sqlite, uri: %q, warehouse: %q}
table: {name: shop.%s, create: {schema: [{name: id, type: long, required: true}, {name: note, type: string}]}}
writer: {seal: {interval: 2s}}
committer: {interval: 1s}
http: {listen: %q}
`, name, addr, record, filepath.Join(dir, "catalog.db"), filepath.Join(dir, "warehouse"), name, listen)
}

// produce goes on until ctx ends. Partitions get different amounts.
func produce(ctx context.Context, cl *kgo.Client) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for id := int64(0); ; {
		records := make([]*kgo.Record, perTick)
		for i := range records {
			id++
			records[i] = &kgo.Record{Partition: int32(min(id%partitions, id%5)), Value: value(id)}
		}
		if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// value makes one in a hundred bad, in two ways, and lets one in fifty be filtered.
func value(id int64) []byte {
	switch {
	case id%200 == 50:
		return fmt.Appendf(nil, `{"id":"<b>%d</b>"}`, id)
	case id%200 == 150:
		return fmt.Appendf(nil, `{"id":%d,`, id)
	case id%50 == 7:
		return fmt.Appendf(nil, `{"id":%d,"note":"test"}`, id)
	}
	return fmt.Appendf(nil, `{"id":%d,"note":"order %d"}`, id, id)
}
