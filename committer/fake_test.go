package committer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

// benchDir is where the benchmarks keep a table from one to the next, if they ran.
var benchDir string

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if benchDir != "" {
			_ = os.RemoveAll(benchDir)
		}
		os.Exit(code)
	}))
}

var ident = table.Identifier{"db", "t"}

// memCat is a catalog of one table in memory, whose metadata files are written so that the metadata log can be read.
// Its rules are those of iceberg-go's SQL catalog.
type memCat struct {
	mu   sync.Mutex
	meta table.Metadata
	loc  string
	n    int
	// commits counts requests that were applied.
	commits int
	// onCommit, where set, decides about a request: it may apply it, now or later, and gives the answer.
	onCommit func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error)
	onLoad   func() error
	// last are the updates of the request at hand; a request that names a file with refused in its path is bad.
	last    []table.Update
	refused string
	// io is what tables read and write through, nil for the local file system.
	io iceio.IO
}

func (c *memCat) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	c.mu.Lock()
	hook := c.onLoad
	c.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.meta == nil {
		return nil, catalog.ErrNoSuchTable
	}
	return c.tableLocked(), nil
}

func (c *memCat) tableLocked() *table.Table {
	fio := c.io
	if fio == nil {
		fio = iceio.LocalFS{}
	}
	return table.New(ident, c.meta, c.loc, func(context.Context) (iceio.IO, error) { return fio, nil }, c)
}

// Load makes the catalog a Loader.
func (c *memCat) Load(ctx context.Context) (*table.Table, error) { return c.LoadTable(ctx, ident) }

func (c *memCat) CommitTable(_ context.Context, _ table.Identifier, reqs []table.Requirement, ups []table.Update) (table.Metadata, string, error) {
	apply := func() (table.Metadata, string, error) { return c.apply(reqs, ups) }
	c.mu.Lock()
	hook := c.onCommit
	c.last = ups
	c.mu.Unlock()
	if hook != nil {
		return hook(apply)
	}
	return apply()
}

func (c *memCat) apply(reqs []table.Requirement, ups []table.Update) (table.Metadata, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range reqs {
		if err := r.Validate(c.meta); err != nil {
			return nil, "", err
		}
	}
	m, err := table.UpdateTableMetadata(c.meta, ups, c.loc)
	if err != nil {
		return nil, "", err
	}
	c.commits++
	return c.put(m)
}

func (c *memCat) put(m table.Metadata) (table.Metadata, string, error) {
	c.n++
	loc := fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", m.Location(), c.n, uuid.NewString())
	b, err := json.Marshal(m)
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(filepath.Dir(loc), 0o755); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(loc, b, 0o644); err != nil {
		return nil, "", err
	}
	c.meta, c.loc = m, loc
	return m, loc, nil
}

func (c *memCat) hook(f func(apply func() (table.Metadata, string, error)) (table.Metadata, string, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onCommit = f
}

func schema() *iceberg.Schema {
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.String})
}

// world is a table, and what tests do to it.
type world struct {
	t   testing.TB
	cat *memCat
	dir string
	nr  int
}

func newWorld(t *testing.T, props iceberg.Properties) *world {
	t.Helper()
	w := &world{t: t, cat: &memCat{}, dir: t.TempDir()}
	w.create(props)
	return w
}

func (w *world) create(props iceberg.Properties) {
	w.t.Helper()
	p := iceberg.Properties{"format-version": "2"}
	maps.Copy(p, props)
	m, err := table.NewMetadata(schema(), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, w.dir+"/t", p)
	w.must(err)
	w.cat.mu.Lock()
	defer w.cat.mu.Unlock()
	_, _, err = w.cat.put(m)
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// Load makes world a Loader.
func (w *world) Load(ctx context.Context) (*table.Table, error) { return w.cat.LoadTable(ctx, ident) }

func (w *world) table() *table.Table {
	w.t.Helper()
	w.cat.mu.Lock()
	defer w.cat.mu.Unlock()
	return w.cat.tableLocked()
}

// commits counts the requests that were applied.
func (w *world) commits() int {
	w.cat.mu.Lock()
	defer w.cat.mu.Unlock()
	return w.cat.commits
}

// away makes every look at the table fail, or no longer.
func (w *world) away(err error) {
	w.cat.mu.Lock()
	defer w.cat.mu.Unlock()
	w.cat.onLoad = nil
	if err != nil {
		w.cat.onLoad = func() error { return err }
	}
}

// update runs a transaction of another engine.
func (w *world) update(f func(tx *table.Transaction) error) *table.Table {
	w.t.Helper()
	tx := w.table().NewTransaction()
	w.must(f(tx))
	t, err := tx.Commit(context.Background())
	w.must(err)
	return t
}

// foreign is another engine's append.
func (w *world) foreign() {
	w.t.Helper()
	w.update(func(tx *table.Transaction) error { return tx.AddFiles(context.Background(), nil, nil, true) })
}

// rollback sets a branch to a snapshot.
func (w *world) rollback(id int64) {
	w.t.Helper()
	w.apply(table.NewSetSnapshotRefUpdate("main", id, table.BranchRef, -1, -1, -1))
}

func (w *world) apply(ups ...table.Update) {
	w.t.Helper()
	_, _, err := w.cat.apply(nil, ups)
	w.must(err)
}

// expire removes all snapshots but the head of main.
func (w *world) expire() {
	w.t.Helper()
	var ids []int64
	t := w.table()
	for _, s := range t.Metadata().Snapshots() {
		if s.SnapshotID != t.CurrentSnapshot().SnapshotID {
			ids = append(ids, s.SnapshotID)
		}
	}
	w.apply(table.NewRemoveSnapshotsUpdate(ids, false))
}

// loseLog makes every earlier metadata file unreadable by removing it.
func (w *world) loseLog() {
	w.t.Helper()
	for e := range w.table().Metadata().PreviousFiles() {
		if err := os.Remove(e.MetadataFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
}

func part(id int32) source.Partition {
	return source.Partition{Cluster: "c", Topic: "orders", Incarnation: "i1", ID: id}
}

func rng(p int32, from, to source.Position) source.Range {
	return source.Range{Partition: part(p), From: from, To: to}
}

// batch writes a file that is named after its ranges, and gives its descriptor.
func (w *world) batch(topology string, ranges ...source.Range) *descriptor.Descriptor {
	w.t.Helper()
	d := w.empty(topology, ranges...)
	w.nr++
	path := fmt.Sprintf("%s/t/data/%s", w.dir, topology)
	for i := range d.Inputs {
		r := d.Inputs[i].Range
		path += fmt.Sprintf("-%d_%d_%d", r.Partition.ID, r.From, r.To)
		d.Inputs[i].Rows, d.Inputs[i].Filtered = r.Len(), 0
		d.Rows += r.Len()
	}
	path += fmt.Sprintf("-n%d.parquet", w.nr)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte("rows"), 0o644))
	d.Files, d.Bytes = []iceberg.DataFile{w.file(path)}, 4
	return d
}

// file describes a data file of four bytes.
func (w *world) file(path string) iceberg.DataFile {
	w.t.Helper()
	b, err := iceberg.NewDataFileBuilder(w.table().Spec(), iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, 1, 4)
	w.must(err)
	return b.Build()
}

// empty is a batch whose ranges hold no row.
func (w *world) empty(topology string, ranges ...source.Range) *descriptor.Descriptor {
	t := w.table()
	d := &descriptor.Descriptor{
		ID: uuid.New(), Topology: topology, Task: "writer/0", TableUUID: t.Metadata().TableUUID(),
		SchemaID: t.Schema().ID, SpecID: t.Metadata().DefaultPartitionSpec(), FormatVersion: 2, SealedAt: time.Now(),
	}
	for _, r := range ranges {
		d.Inputs = append(d.Inputs, descriptor.Input{Range: r, Filtered: r.Len(), MaxTimestampMs: int64(1000 + r.To)})
	}
	return d
}

// paths are the live data files of main.
func (w *world) paths() (out []string) {
	w.t.Helper()
	t := w.table()
	s := t.CurrentSnapshot()
	if s == nil {
		return nil
	}
	ms, err := s.Manifests(iceio.LocalFS{})
	w.must(err)
	for _, m := range ms {
		for e, err := range m.Entries(iceio.LocalFS{}, true) {
			w.must(err)
			out = append(out, e.DataFile().FilePath())
		}
	}
	slices.Sort(out)
	return out
}

// offsets counts, of one partition, how often each offset of a topology is in live files; a file that is gone is fatal.
func (w *world) offsets(topology string, p int32, n int) []int {
	w.t.Helper()
	paths := w.paths()
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			w.t.Fatalf("the table has a file that is gone: %v", err)
		}
	}
	return offsetsOf(paths, topology, p, n)
}

// offsetsOf reads offsets out of the names of files.
func offsetsOf(paths []string, topology string, p int32, n int) []int {
	out := make([]int, n)
	for _, path := range paths {
		name, ok := strings.CutPrefix(filepath.Base(path), topology+"-")
		if !ok {
			continue
		}
		for _, part := range strings.Split(name, "-") {
			var id, from, to int
			if k, _ := fmt.Sscanf(part, "%d_%d_%d", &id, &from, &to); k == 3 && int32(id) == p {
				for o := from; o < min(to, n); o++ {
					out[o]++
				}
			}
		}
	}
	return out
}

// once fails unless every offset below n is there once.
func (w *world) once(topology string, p int32, n int) {
	w.t.Helper()
	for o, k := range w.offsets(topology, p, n) {
		if k != 1 {
			w.t.Errorf("topology %s, partition %d, offset %d is there %d times", topology, p, o, k)
		}
	}
}
