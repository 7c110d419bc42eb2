package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/proof"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/memory"
	"github.com/stormfloe/floe/topology"
)

// Topic is what Produce fills.
const Topic = "orders"

// Shape is what a World looks like. The zero value is one partition and an unpartitioned table.
type Shape struct {
	// Partitions of the topic. Default 1.
	Partitions int
	// PartitionBy is the Iceberg partitioning, as in the configuration: "region", "bucket(4, off)".
	PartitionBy []string
	// Properties of the table. Its files are not compressed, unless these say so.
	Properties iceberg.Properties
	// Rejects: there is a rejects table, and now and then a record that can't become a row.
	Rejects bool
}

// World is what is durable, and the model of what was produced.
type World struct {
	Log     *memory.Log
	Files   *iceio.MemFS
	Catalog *Catalog
	// Rejects is the rejects table's catalog; nil where there is none, and bad records stop a life.
	Rejects *Catalog

	ident table.Identifier
	cache proof.Cache
	// past is kept where there is a rejects table.
	past past

	mu struct {
		sync.Mutex
		// want is the payload by partition and position.
		want map[key]string
		// bad are the values of records that can't become rows.
		bad  map[key]string
		made int
	}
}

type key struct {
	part int32
	off  source.Position
}

// New makes a world with an empty topic and an empty table.
func New(t testing.TB, s Shape) *World {
	t.Helper()
	w := &World{Log: memory.NewLog(), Files: iceio.NewMemFS(), ident: table.Identifier{"db", "orders"}}
	w.mu.want, w.mu.bad = map[key]string{}, map[key]string{}
	w.Log.CreateTopic(Topic, max(1, s.Partitions))
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "part", Type: iceberg.PrimitiveTypes.Int32, Required: true},
		iceberg.NestedField{ID: 2, Name: "off", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 3, Name: "region", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 4, Name: "payload", Type: iceberg.PrimitiveTypes.String})
	spec := *iceberg.UnpartitionedSpec
	if len(s.PartitionBy) > 0 {
		var fields []iceberg.PartitionField
		for i, name := range s.PartitionBy {
			f, _ := schema.FindFieldByName(name)
			fields = append(fields, iceberg.PartitionField{SourceIDs: []int{f.ID}, FieldID: 1000 + i, Name: name,
				Transform: iceberg.IdentityTransform{}})
		}
		spec = iceberg.NewPartitionSpec(fields...)
	}
	// No zstd: the Parquet library reads it with decoders that it keeps for the whole process, and whose channels can't leave
	// the synctest bubble that they were made in.
	props := iceberg.Properties{"format-version": "2", "write.parquet.compression-codec": "uncompressed"}
	for k, v := range s.Properties {
		props[k] = v
	}
	meta, err := table.NewMetadata(schema, &spec, table.UnsortedSortOrder, "mem://warehouse/orders", props)
	if err != nil {
		t.Fatal(err)
	}
	if w.Catalog, err = newCatalog(w.Files, w.ident, meta); err != nil {
		t.Fatal(err)
	}
	if s.Rejects {
		w.makeRejects(t)
	}
	return w
}

// Produce adds n records over all partitions: mostly rows, now and then a tombstone or a gap, and where there is a rejects table
// a record that is one for it.
func (w *World) Produce(n int) {
	parts := w.Log.Bounds()
	for range n {
		w.mu.Lock()
		i := w.mu.made
		w.mu.made++
		w.mu.Unlock()
		b := parts[i%len(parts)]
		id := b.Partition.ID
		switch {
		case i%13 == 7:
			w.Log.Append(Topic, id, source.Record{TimestampMs: int64(i)})
			continue
		case i%17 == 5:
			w.Log.Skip(Topic, id, 2)
		case i%11 == 3 && w.Rejects != nil:
			w.produceReject(id, i)
			continue
		}
		w.produceOne(id, i)
	}
}

func (w *World) produceOne(id int32, i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	off := w.end(id)
	payload := fmt.Sprintf("payload-%d-%d", id, i)
	value := fmt.Sprintf(`{"part":%d,"off":%d,"region":"r%d","payload":%q}`, id, off, i%3, payload)
	at := w.Log.Append(Topic, id, source.Record{TimestampMs: int64(i), Value: []byte(value)})
	if at != off {
		panic(fmt.Sprintf("harness: record went to %d instead of %d: two producers at once?", at, off))
	}
	w.mu.want[key{id, off}] = payload
}

// ProduceBad adds a record that can't become a row: its off is text.
func (w *World) ProduceBad(id int32) source.Position {
	return w.Log.Append(Topic, id, source.Record{Value: []byte(`{"part":1,"off":"x","region":"r"}`)})
}

func (w *World) end(id int32) source.Position {
	for _, b := range w.Log.Bounds() {
		if b.Partition.Topic == Topic && b.Partition.ID == id {
			return b.Last
		}
	}
	return 0
}

// Config is a topology on the world, with the plan between them; nil for no faults. Each life needs its own.
func (w *World) Config(plan *fault.Plan) topology.Config {
	return w.ConfigOn(plan, w.Log.Source(memory.Options{BatchRecords: 5, Poison: true}))
}

// ConfigOn is Config with another source.
func (w *World) ConfigOn(plan *fault.Plan, src source.Source) topology.Config {
	if plan == nil {
		plan = fault.New(nil)
	}
	return topology.Config{
		Name:    "orders",
		Source:  stepping{src, plan},
		Mapper:  mapper.NewJSON(mapper.JSONOptions{}),
		Table:   w.Loader(plan),
		Rejects: w.RejectsLoader(plan),
		Writer:  topology.WriterConfig{SealRecords: 7, SealInterval: 50 * time.Millisecond},
		Committer: topology.CommitterConfig{
			Interval: -1, CheckInterval: time.Second, AttemptTimeout: 5 * time.Second, MaxBackoff: 50 * time.Millisecond,
		},
	}
}

// Loader loads the table under a plan.
func (w *World) Loader(plan *fault.Plan) *tableio.Loader {
	return tableio.New(fault.WrapCatalog(w.Catalog, plan), w.ident, tableio.WithIO(plan.IO))
}

// The steps of an acknowledgement in a plan's trace. In a memory source the ack is the commit of the group's offsets: the
// first and the last step stand around what the topology asks for, the two between around what the group then knows.
const (
	StepAck            = "ack"
	StepGroupCommit    = "group commit"
	StepGroupCommitted = "group committed"
	StepAcked          = "acked"
)

// stepping makes acks an external effect of the plan.
type stepping struct {
	source.Source
	plan *fault.Plan
}

func (s stepping) Ack(ctx context.Context, acked []source.Range) {
	if s.plan.Step(StepAck) != nil || s.plan.Step(StepGroupCommit) != nil {
		return
	}
	s.Source.Ack(ctx, acked)
	if s.plan.Step(StepGroupCommitted) == nil {
		_ = s.plan.Step(StepAcked)
	}
}

// Live runs one life until it has caught up, has failed, or the plan lets it die. It gives what Run gave.
func (w *World) Live(t testing.TB, cfg topology.Config, plan *fault.Plan) error {
	t.Helper()
	cfg.UntilCaughtUp = true
	top, err := topology.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- top.Run(ctx) }()
	select {
	case <-plan.Died():
		top.Kill()
		return <-done
	case err = <-done:
	}
	if ctx.Err() != nil {
		t.Fatalf("a life did not catch up within a minute; it gave %v and was %+v", err, top.Status())
	}
	return err
}

// CatchUp runs a life without faults, which must succeed.
func (w *World) CatchUp(t testing.TB, cfg topology.Config) {
	t.Helper()
	if err := w.Live(t, cfg, fault.New(nil)); err != nil {
		t.Fatalf("the life without faults failed: %v", err)
	}
}

// Start runs a topology in the background and gives how to end it gracefully.
func Start(t testing.TB, cfg topology.Config) (top *topology.Topology, stop func() error) {
	t.Helper()
	top, err := topology.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- top.Run(ctx) }()
	var once sync.Once
	stop = func() (err error) {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return top, stop
}

// Until waits until cond holds. It looks whenever nothing can go on without time passing, and lets some pass then: on the
// clock of a synctest bubble, outside of which it panics. It gives up after three minutes there: positions that moved without
// rows wait for one.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; <-time.After(5 * time.Millisecond) {
		synctest.Wait()
		if cond() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// ErrAway is for Catalog.SetAway.
var ErrAway = errors.New("connection refused")

// WAL gives what lies in the folder of the WAL, by path.
func (w *World) WAL() (map[string][]byte, error) {
	out := map[string][]byte{}
	paths, err := w.walPaths()
	for _, p := range paths {
		b, rerr := w.readFile(p)
		out[p], err = b, errors.Join(err, rerr)
	}
	return out, err
}

func (w *World) readFile(path string) ([]byte, error) {
	f, err := w.Files.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// RemoveWAL deletes every entry, as somebody who tidies up might.
func (w *World) RemoveWAL() error {
	paths, err := w.walPaths()
	for _, p := range paths {
		err = errors.Join(err, w.Files.Remove(p))
	}
	return err
}

func (w *World) walPaths() (paths []string, err error) {
	err = w.Files.WalkDir("mem://warehouse/orders/metadata/_storm_wal", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
