//go:build unix

package committer

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/catalogs"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/wal"
)

var deep = flag.Bool("deep", false, "benchmarks: also a history of 5,000 snapshots, which takes minutes to make")

// past is a table's history as the committer makes it, kept at several lengths: what a metadata file names is never
// changed, so that any of them is a table to go on from.
var past struct {
	sync.Once
	w      *world
	to     source.Position
	at     map[int]place
	length int
}

// place is a table at one length of its history.
type place struct {
	meta table.Metadata
	loc  string
	to   source.Position
}

// benchProps are what the benchmark's table is made with: as floe makes its own.
var benchProps = iceberg.Properties{table.ManifestMergeEnabledKey: "true"}

// reach makes the history that long.
func reach(b *testing.B, n int) place {
	b.Helper()
	past.Do(func() {
		dir, err := os.MkdirTemp("", "floe-commit-")
		if err != nil {
			b.Fatal(err)
		}
		benchDir = dir
		past.w = &world{t: &testing.T{}, cat: &memCat{}, dir: dir}
		past.w.create(benchProps)
		past.at = map[int]place{}
	})
	past.w.t = b
	if p, ok := past.at[n]; ok {
		return p
	}
	w := past.w
	// The last place reached is where it goes on.
	if p, ok := past.at[past.length]; ok {
		w.cat.meta, w.cat.loc, past.to = p.meta, p.loc, p.to
	}
	l := register(b, iceio.LocalFS{}, w.cat.loc)
	h := newHand(b, w, l)
	for past.length < n {
		if past.length == 0 {
			h.begin()
		} else {
			past.to = h.commit(past.to)
		}
		past.length++
	}
	h.end()
	t, err := l.Load(b.Context())
	w.must(err)
	past.at[n] = place{t.Metadata(), t.MetadataLocation(), past.to}
	return past.at[n]
}

// hand is a committer at work.
type hand struct {
	b    *testing.B
	w    *world
	c    *Committer
	stop context.CancelFunc
	done chan error
}

func newHand(b *testing.B, w *world, l Loader) *hand {
	b.Helper()
	h := &hand{b: b, w: w, done: make(chan error, 1)}
	var err error
	h.c, err = New(Config{Topology: "a"}, l, wal.New("", "a"))
	w.must(err)
	_, err = h.c.Load(b.Context())
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	go func() { h.done <- h.c.Run(ctx) }()
	return h
}

func (h *hand) end() {
	h.stop()
	if err := <-h.done; err != nil {
		h.b.Fatal(err)
	}
}

func (h *hand) begin() {
	at := map[source.Partition]source.Position{}
	for p := range int32(8) {
		at[part(p)] = 0
	}
	_, err := h.c.Begin(h.b.Context(), at)
	h.w.must(err)
}

// next is a batch of two files that moves all partitions.
func (h *hand) next(from source.Position) *descriptor.Descriptor {
	var rs []source.Range
	for p := range int32(8) {
		rs = append(rs, rng(p, from, from+1))
	}
	d := h.w.empty("a", rs...)
	for i := range d.Inputs {
		d.Inputs[i].Rows, d.Inputs[i].Filtered = 1, 0
	}
	for range 2 {
		h.w.nr++
		path := fmt.Sprintf("%s/t/data/%d.parquet", h.w.dir, h.w.nr)
		h.w.must(os.MkdirAll(filepath.Dir(path), 0o755))
		h.w.must(os.WriteFile(path, []byte("rows"), 0o644))
		f, err := iceberg.NewDataFileBuilder(h.w.table().Spec(), iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, 4, 4)
		h.w.must(err)
		f.ValueCounts(map[int]int64{1: 4, 2: 4}).NullValueCounts(map[int]int64{1: 0, 2: 0}).ColumnSizes(map[int]int64{1: 4000, 2: 3000}).
			LowerBoundValues(map[int][]byte{1: make([]byte, 8), 2: []byte("ab")}).UpperBoundValues(map[int][]byte{1: make([]byte, 8), 2: []byte("yz")})
		d.Files = append(d.Files, f.Build())
		d.Rows, d.Bytes = d.Rows+4, d.Bytes+4
	}
	return d
}

func (h *hand) submit(d *descriptor.Descriptor) {
	ch := make(chan Outcome, 1)
	h.w.must(h.c.Submit(context.Background(), Submission{Descriptor: d, Owner: "w", Done: func(o Outcome) { ch <- o }}))
	if o := <-ch; o.Verdict != Landed {
		h.b.Fatalf("%+v", o)
	}
}

func (h *hand) commit(from source.Position) source.Position {
	h.submit(h.next(from))
	return from + 1
}

// BenchmarkCommit is one group commit of two files, on tables with a past of several lengths: WAL entry, manifests and
// metadata included. The figures to compare are CPU time and what is read and written; wall time is the disk's.
func BenchmarkCommit(b *testing.B) {
	lengths := []int{10, 100, 1000}
	if *deep {
		lengths = append(lengths, 5000)
	}
	for _, kind := range []string{"memory", "sqlite"} {
		for _, n := range lengths {
			b.Run(fmt.Sprintf("%s/history=%d", kind, n), func(b *testing.B) { benchCommit(b, kind, reach(b, n)) })
		}
	}
}

func benchCommit(b *testing.B, kind string, p place) {
	io := &counted{rw: tableio.Durable(iceio.LocalFS{}).(rw)}
	w := past.w
	w.cat.meta, w.cat.loc = p.meta, p.loc
	var l Loader = w.cat
	if kind == "sqlite" {
		l = register(b, io, p.loc)
	}
	w.cat.io = io
	defer func() { w.cat.io = nil }()
	h := newHand(b, w, l)
	defer h.end()
	to := h.commit(p.to) // what is found out once is known
	io.reset()
	b.ReportAllocs()
	var cpu time.Duration
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		d := h.next(to)
		b.StartTimer()
		was := cpuTime()
		h.submit(d)
		cpu += cpuTime() - was
		to++
	}
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(float64(cpu)/n, "cpu-ns/op")
	b.ReportMetric(float64(io.bytes.Load())/n, "written-B/op")
	b.ReportMetric(float64(io.writes.Load())/n, "writes/op")
	b.ReportMetric(float64(io.reads.Load())/n, "reads/op")
	ms, err := h.c.Table().CurrentSnapshot().Manifests(iceio.LocalFS{})
	w.must(err)
	b.ReportMetric(float64(len(ms)), "manifests")
}

// register makes an SQLite catalog that has the table of a metadata file.
func register(b *testing.B, io iceio.IO, loc string) Loader {
	b.Helper()
	dir := b.TempDir()
	cat, closeCatalog, err := catalogs.Open(b.Context(), "bench", map[string]string{
		"type": "sqlite", "uri": filepath.Join(dir, "catalog.db"), "warehouse": dir,
	})
	past.w.must(err)
	b.Cleanup(func() {
		if err := closeCatalog(); err != nil {
			b.Error(err)
		}
	})
	for _, scheme := range []string{"file", ""} {
		iceio.Unregister(scheme)
		iceio.Register(scheme, func(context.Context, *url.URL, map[string]string) (iceio.IO, error) { return io, nil })
	}
	past.w.must(cat.CreateNamespace(b.Context(), ident[:1], nil))
	_, err = cat.CreateTable(b.Context(), ident, schema())
	past.w.must(err)
	db, err := sql.Open("sqlite", filepath.Join(dir, "catalog.db"))
	past.w.must(err)
	_, err = db.Exec("UPDATE iceberg_tables SET metadata_location = ?", loc)
	past.w.must(errors.Join(err, db.Close()))
	return tableio.New(cat, ident)
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

type rw interface {
	iceio.WriteFileIO
	iceio.ReadFileIO
	iceio.ListableIO
	iceio.StatIO
}

// counted is a FileIO that counts.
type counted struct {
	rw
	reads, writes, bytes atomic.Int64
}

func (c *counted) reset() {
	c.reads.Store(0)
	c.writes.Store(0)
	c.bytes.Store(0)
}

func (c *counted) Open(name string) (iceio.File, error) {
	c.reads.Add(1)
	return c.rw.Open(name)
}

func (c *counted) ReadFile(name string) ([]byte, error) {
	c.reads.Add(1)
	return c.rw.ReadFile(name)
}

func (c *counted) WriteFile(name string, b []byte) error {
	c.writes.Add(1)
	c.bytes.Add(int64(len(b)))
	return c.rw.WriteFile(name, b)
}

func (c *counted) Create(name string) (iceio.FileWriter, error) {
	c.writes.Add(1)
	w, err := c.rw.Create(name)
	return &countedFile{w, c}, err
}

type countedFile struct {
	iceio.FileWriter
	c *counted
}

func (f *countedFile) Write(b []byte) (int, error) {
	f.c.bytes.Add(int64(len(b)))
	return f.FileWriter.Write(b)
}
