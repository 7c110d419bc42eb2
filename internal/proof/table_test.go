package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// truth of the tests: two partitions of twenty records; every seventh becomes no row.
type truth struct{}

const end = 20

func (truth) End(p int32) int64 {
	if p == 0 || p == 1 {
		return end
	}
	return 0
}

func (truth) Payload(p int32, off int64) (string, bool) {
	return fmt.Sprintf("p-%d-%d", p, off), off%7 != 6
}

// maker makes a table snapshot by snapshot, right or wrong. It is also its catalog.
type maker struct {
	t     testing.TB
	truth Truth
	// quiet leaves out the metadata files.
	quiet bool
	files *iceio.MemFS
	meta  table.Metadata
	loc   string
	made  int
	// at are the positions of each topology.
	at map[string][]int64
	// starts are those of the topologies that have any.
	starts map[string][]int64
	// last is the newest snapshot.
	last int64
	// names are those of the columns in files; cluster is what positions say of theirs.
	names   [3]string
	cluster string
	// filteredMore is added to the counts of what became no row.
	filteredMore int64
}

func newMaker(t testing.TB) *maker {
	t.Helper()
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "part", Type: iceberg.PrimitiveTypes.Int32, Required: true},
		iceberg.NestedField{ID: 2, Name: "off", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 3, Name: "payload", Type: iceberg.PrimitiveTypes.String})
	meta, err := table.NewMetadata(sc, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://w/t", iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{t: t, truth: truth{}, files: iceio.NewMemFS(), at: map[string][]int64{}, starts: map[string][]int64{},
		names: [3]string{"part", "off", "payload"}, cluster: "c"}
	m.put(meta)
	return m
}

func (m *maker) put(meta table.Metadata) {
	m.t.Helper()
	m.made++
	m.loc = fmt.Sprintf("mem://w/t/metadata/%05d.metadata.json", m.made)
	m.meta = meta
	if m.quiet {
		return
	}
	b, err := json.Marshal(meta)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.files.WriteFile(m.loc, b); err != nil {
		m.t.Fatal(err)
	}
}

// forget removes the metadata files of earlier versions.
func (m *maker) forget() {
	for e := range m.meta.PreviousFiles() {
		_ = m.files.Remove(e.MetadataFile)
	}
}

func (m *maker) table() *table.Table {
	return table.New(table.Identifier{"db", "t"}, m.meta, m.loc, func(context.Context) (iceio.IO, error) { return m.files, nil }, m)
}

func (m *maker) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return m.table(), nil
}

func (m *maker) CommitTable(_ context.Context, _ table.Identifier, _ []table.Requirement, us []table.Update) (table.Metadata, string, error) {
	m.apply(us...)
	return m.meta, m.loc, nil
}

func (m *maker) apply(us ...table.Update) {
	m.t.Helper()
	meta, err := table.UpdateTableMetadata(m.meta, us, m.loc)
	if err != nil {
		m.t.Fatal(err)
	}
	m.put(meta)
}

// file writes one of rows, given as "partition/offset" with an optional "=payload".
func (m *maker) file(rows ...string) iceberg.DataFile {
	m.t.Helper()
	id := func(n string) arrow.Metadata { return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{n}) }
	sc := arrow.NewSchema([]arrow.Field{
		{Name: m.names[0], Type: arrow.PrimitiveTypes.Int32, Metadata: id("1")},
		{Name: m.names[1], Type: arrow.PrimitiveTypes.Int64, Metadata: id("2")},
		{Name: m.names[2], Type: arrow.BinaryTypes.String, Nullable: true, Metadata: id("3")}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	defer b.Release()
	for _, r := range rows {
		var part int32
		var off int64
		key, payload, changed := strings.Cut(r, "=")
		if _, err := fmt.Sscanf(key, "%d/%d", &part, &off); err != nil {
			m.t.Fatal(err)
		}
		if !changed {
			payload, _ = m.truth.Payload(part, off)
		}
		b.Field(0).(*array.Int32Builder).Append(part)
		b.Field(1).(*array.Int64Builder).Append(off)
		if payload == "NULL" {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.StringBuilder).Append(payload)
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(sc, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		m.t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		m.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		m.t.Fatal(err)
	}
	path := fmt.Sprintf("mem://w/t/data/%s.parquet", uuid.New())
	if err := m.files.WriteFile(path, out.Bytes()); err != nil {
		m.t.Fatal(err)
	}
	return m.build(iceberg.EntryContentData, path, int64(len(rows)), int64(out.Len()))
}

func (m *maker) build(content iceberg.ManifestEntryContent, path string, rows, size int64) iceberg.DataFile {
	m.t.Helper()
	db, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, content, path, iceberg.ParquetFile, nil, nil, nil, rows, size)
	if err != nil {
		m.t.Fatal(err)
	}
	return db.Build()
}

// claim says something else of a file than is true: its rows, and how many bytes more it has.
func (m *maker) claim(f iceberg.DataFile, rows, more int64) iceberg.DataFile {
	m.t.Helper()
	return m.build(iceberg.EntryContentData, f.FilePath(), rows, f.FileSizeBytes()+more)
}

// hide commits another engine's file of deletes.
func (m *maker) hide(f iceberg.DataFile) int64 {
	m.t.Helper()
	tx := m.table().NewTransaction()
	d := m.build(iceberg.EntryContentPosDeletes, f.FilePath()+".deletes", 1, 10)
	if err := tx.NewRowDelta(nil).AddDeletes(d).Commit(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return m.commit(tx)
}

// expire removes every snapshot but the newest.
func (m *maker) expire() {
	var ids []int64
	for _, s := range m.meta.Snapshots() {
		if s.SnapshotID != m.last {
			ids = append(ids, s.SnapshotID)
		}
	}
	m.apply(table.NewRemoveSnapshotsUpdate(ids, false))
}

// rowsOf names the rows that come of a range.
func rowsOf(part int32, from, to int64) (out []string) {
	return (&maker{truth: truth{}}).rowsOf(part, from, to)
}

func (m *maker) rowsOf(part int32, from, to int64) (out []string) {
	for off := from; off < to; off++ {
		if _, is := m.truth.Payload(part, off); is {
			out = append(out, fmt.Sprintf("%d/%d", part, off))
		}
	}
	return out
}

// append commits files as a topology would, with the positions it says; "" is another engine. It gives the snapshot.
func (m *maker) append(topology string, at []int64, files ...iceberg.DataFile) int64 {
	m.t.Helper()
	props := iceberg.Properties{}
	if topology != "" {
		m.at[topology] = at
		props = iceberg.Properties{keyCommitID: uuid.NewString(), keyTopology: topology, keyPositions: m.value(0)}
	}
	tx := m.table().NewTransaction()
	var err error
	if len(files) > 0 {
		err = tx.NewRowDelta(props).AddRows(files...).Commit(m.t.Context())
	} else {
		err = tx.AddFiles(m.t.Context(), nil, props, true)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return m.commit(tx)
}

func (m *maker) value(snapshot int64) string {
	type topic struct {
		Next     []int64 `json:"next"`
		Start    []int64 `json:"start,omitempty"`
		Filtered []int64 `json:"filtered,omitempty"`
	}
	type topo struct {
		Cluster string           `json:"cluster"`
		Topics  map[string]topic `json:"topics"`
	}
	v := struct {
		V          int             `json:"v"`
		Snapshot   int64           `json:"snapshot,omitempty"`
		Topologies map[string]topo `json:"topologies"`
	}{1, snapshot, map[string]topo{}}
	for name, at := range m.at {
		v.Topologies[name] = topo{m.cluster, map[string]topic{"orders": {at, m.starts[name], m.filtered(name)}}}
	}
	b, err := json.Marshal(v)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

// filtered counts what became no row.
func (m *maker) filtered(topology string) (out []int64) {
	for id, next := range m.at[topology] {
		start := int64(0)
		if id < len(m.starts[topology]) {
			start = m.starts[topology][id]
		}
		out = append(out, max(0, next-start)-int64(len(m.rowsOf(int32(id), start, next)))+m.filteredMore)
	}
	return out
}

// rewrite commits another engine's exchange of files.
func (m *maker) rewrite(old, new []iceberg.DataFile) int64 {
	m.t.Helper()
	tx := m.table().NewTransaction()
	if err := tx.ReplaceDataFilesWithDataFiles(m.t.Context(), old, new, nil, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping()); err != nil {
		m.t.Fatal(err)
	}
	return m.commit(tx)
}

func (m *maker) commit(tx *table.Transaction) int64 {
	m.t.Helper()
	tbl, err := tx.Commit(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	m.last = tbl.CurrentSnapshot().SnapshotID
	return m.last
}

// good makes the usual beginning: three commits of topology a, up to 8 and 5.
func (m *maker) good() (files []iceberg.DataFile) {
	m.t.Helper()
	m.append("a", []int64{0, 0})
	for _, step := range [][4]int64{{0, 3, 0, 2}, {3, 8, 2, 2}, {8, 8, 2, 5}} {
		f := m.file(slices.Concat(rowsOf(0, step[0], step[1]), rowsOf(1, step[2], step[3]))...)
		files = append(files, f)
		m.append("a", []int64{step[1], step[3]}, f)
	}
	return files
}

func options(topologies ...string) Options {
	return Options{Topologies: topologies, Topic: "orders", Partitions: 2}
}

func (m *maker) check(o Options) *Report {
	m.t.Helper()
	r, err := Check(m.t.Context(), m.table(), m.truth, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// want compares what was found, without the details.
func (m *maker) want(r *Report, want ...Finding) {
	m.t.Helper()
	got := slices.Clone(r.Findings)
	for i := range got {
		got[i].Detail = ""
	}
	if !slices.Equal(got, want) {
		m.t.Errorf("found %v\nwant %v", r.Err(), want)
	}
}
