package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/parquetfile"
	"github.com/stormfloe/floe/mapper"
)

// The oracle of the encoder is the library's: the same rows, written by both and read by the library, must be the same,
// and so must be what the footers say of them.
func TestFilesAreWhatTheLibraryWrites(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 10
	}
	for seed := range n {
		againstLibrary(t, seed)
	}
}

func FuzzFilesAreWhatTheLibraryWrites(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { againstLibrary(t, seed) })
}

func againstLibrary(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	sc, props := randomSchema(r), randomProps(r)
	p := planOf(t, sc, props)
	parts := randomColumns(t, r, p)
	if _, err := compareFiles(t, r, p, parts); err != nil {
		t.Fatalf("seed %d, %v, schema %s: %v", seed, props, sc, err)
	}
}

// compareFiles writes parts with both encoders. Ours must hold what went in; where the library's does too, the footers
// must say the same.
func compareFiles(t *testing.T, r *rand.Rand, p *plan, parts []*mapper.Columns) (*readBack, error) {
	t.Helper()
	ours, written := ourFile(t, r, p, parts)
	a, err := readFile(ours)
	if err != nil {
		return nil, err
	}
	b, err := readFile(libraryFile(t, p, parts))
	if err != nil {
		return nil, err
	}
	sc := arrowSchema(t, p)
	recs := make([]arrow.RecordBatch, len(parts))
	for i, cs := range parts {
		recs[i] = record(sc, cs)
	}
	in := array.NewTableFromRecords(sc, recs)
	if err := sameRowsAs(a.rows, in); err != nil {
		return nil, err
	}
	if err := sameNumbers(p, a, written); err != nil {
		return nil, err
	}
	// arrow-go 18.8 shifts the values of a required decimal of more than 18 digits where a struct around it, in a list, is null.
	if sameRowsAs(b.rows, in) != nil {
		return a, nil
	}
	return a, sameFooters(a, b)
}

// A dictionary that the sample was wrong about is given up with the first page, unless the table asks for it.
func TestADictionaryThatDoesNotPayIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		props iceberg.Properties
		dict  bool
	}{
		{iceberg.Properties{}, false},
		{iceberg.Properties{prefixDictColumn + "s": "true"}, true},
		{iceberg.Properties{prefixDictColumn + "s": "true", propDictBytes: "1000"}, true}, // and ends at its size
	} {
		p := planOf(t, iceberg.NewSchema(1, iceberg.NestedField{ID: 1, Name: "s", Type: iceberg.PrimitiveTypes.String}), c.props)
		parts := []*mapper.Columns{
			columnsOf(t, p, batchOf(0, 200, func(int) []byte { return []byte(`{"s":"same"}`) })),
			columnsOf(t, p, batchOf(200, 5000, func(i int) []byte { return fmt.Appendf(nil, `{"s":"value %d"}`, i) })),
		}
		f, err := compareFiles(t, rand.New(rand.NewPCG(1, 2)), p, parts)
		if err != nil {
			t.Fatal(c, err)
		}
		chunk, err := f.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		if chunk.HasDictionaryPage() != c.dict || slices.Contains(chunk.Encodings(), parquet.Encodings.RLEDict) != c.dict {
			t.Errorf("%v: a dictionary: %t, encodings %v", c.props, chunk.HasDictionaryPage(), chunk.Encodings())
		}
	}
}

// A dictionary that holds a long value once, and a page many times, pays whatever the other values are: plain, the page
// would be of any size.
func TestADictionaryOfALongValueIsKept(t *testing.T) {
	p := planOf(t, iceberg.NewSchema(1, iceberg.NestedField{ID: 1, Name: "s", Type: iceberg.PrimitiveTypes.String}), nil)
	long := bytes.Repeat([]byte("long"), 1000)
	parts := []*mapper.Columns{
		columnsOf(t, p, batchOf(0, 200, func(int) []byte { return []byte(`{"s":"same"}`) })),
		columnsOf(t, p, batchOf(200, 2200, func(i int) []byte {
			if i%4 == 0 {
				return fmt.Appendf(nil, `{"s":"%s"}`, long)
			}
			return fmt.Appendf(nil, `{"s":"value %d"}`, i)
		})),
	}
	f, err := compareFiles(t, rand.New(rand.NewPCG(1, 2)), p, parts)
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := f.MetaData().RowGroup(0).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	if n := chunk.TotalUncompressedSize(); n > 1<<20 || !chunk.HasDictionaryPage() {
		t.Errorf("pages of %d bytes, a dictionary: %t", n, chunk.HasDictionaryPage())
	}
}

// A bound that is too long for the footer takes the other with it: readers that find one alone take the other for empty.
func TestALongTextHasNoBoundsInTheFooter(t *testing.T) {
	p := planOf(t, iceberg.NewSchema(1, iceberg.NestedField{ID: 1, Name: "s", Type: iceberg.PrimitiveTypes.String}), nil)
	for _, c := range []struct {
		first, second int // lengths
		want          bool
	}{{1, 4096, true}, {1, 4097, false}, {4097, 1, false}, {0, 1, true}} {
		parts := []*mapper.Columns{columnsOf(t, p, batchOf(0, 2, func(i int) []byte {
			return fmt.Appendf(nil, `{"s":"%s"}`, bytes.Repeat([]byte{byte('a' + i)}, []int{c.first, c.second}[i]))
		}))}
		data, _ := ourFile(t, rand.New(rand.NewPCG(1, 2)), p, parts)
		f, err := readFile(data)
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := f.MetaData().RowGroup(0).ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		st, err := chunk.Statistics()
		if err != nil {
			t.Fatal(err)
		}
		if st.HasMinMax() != c.want {
			t.Errorf("values of %d and %d bytes: bounds %t", c.first, c.second, !c.want)
		}
	}
}

// Nothing of the encoder is shared between goroutines, nor made before a test's bubble of simulated time begins.
func TestFilesAreWrittenInABubble(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			p := planOf(t, eventSchema(), nil)
			ourFile(t, rand.New(rand.NewPCG(1, 2)), p, []*mapper.Columns{columnsOf(t, p, eventBatch(0, 100))})
		})
	}
}

// planOf is compile, for a table that no catalog knows.
func planOf(t *testing.T, sc *iceberg.Schema, props iceberg.Properties) *plan {
	t.Helper()
	p := &plan{schema: sc, props: props, loc: &locations{on: storage{spill: spillBytes}}}
	var err error
	if p.rows, err = MapperSchema(sc); err != nil {
		t.Fatal(err)
	}
	if p.set, err = parseSettings(props); err != nil {
		t.Fatal(err)
	}
	if err := p.findLeaves(); err != nil {
		t.Fatal(err)
	}
	p.parquet = p.set.options(p.leaves)
	return p
}

// memoryFS keeps one file.
type memoryFS struct {
	icebergio.WriteFileIO
	bytes.Buffer
}

func (m *memoryFS) Create(string) (icebergio.FileWriter, error) { return m, nil }
func (m *memoryFS) Close() error                                { return nil }

func ourFile(t *testing.T, r *rand.Rand, p *plan, parts []*mapper.Columns) ([]byte, *parquetfile.FileStats) {
	t.Helper()
	fs := &memoryFS{}
	enc := parquetfile.NewEncoder(1 << 20)
	enc.Poison()
	var st *parquetfile.FileStats
	for range 2 { // the second file finds the buffers of the first
		fs.Reset()
		f := newFile(p, fs, "x", enc, chooseDict(p, parts[0], map[uint64]struct{}{}), 1<<40)
		for _, cs := range parts {
			write := f.write
			if len(parts) == 1 && r.IntN(2) == 0 {
				write = f.writeGroup
			}
			if err := write(cs); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if st, err = f.finish(); err != nil {
			t.Fatal(err)
		}
		if err := f.sink.finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := f.out.Memory(); n > 1<<16 {
			t.Errorf("a finished file holds %d bytes", n)
		}
	}
	return slices.Clone(fs.Bytes()), st
}

func libraryFile(t *testing.T, p *plan, parts []*mapper.Columns) []byte {
	t.Helper()
	var buf bytes.Buffer
	props := []parquet.WriterProperty{parquet.WithVersion(parquet.V2_LATEST), parquet.WithCreatedBy("floe"), parquet.WithRootName("table"),
		parquet.WithStoreDecimalAsInteger(true), parquet.WithCompression(p.set.codec), parquet.WithDictionaryDefault(false)}
	sc := arrowSchema(t, p)
	w, err := pqarrow.NewFileWriter(sc, &buf, parquet.NewWriterProperties(props...), pqarrow.NewArrowWriterProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, cs := range parts {
		rec := record(sc, cs)
		if err := w.WriteBuffered(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// readBack is a file as the library reads it.
type readBack struct {
	*pqfile.Reader
	rows arrow.Table
}

func readFile(b []byte) (*readBack, error) {
	f, err := pqfile.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	rows, err := r.ReadTable(context.Background())
	return &readBack{f, rows}, err
}

// sameRowsAs compares two tables of one schema.
func sameRowsAs(a, b arrow.Table) error {
	if a.NumRows() != b.NumRows() {
		return fmt.Errorf("%d rows, want %d", a.NumRows(), b.NumRows())
	}
	for i := range int(a.NumCols()) {
		if a.NumRows() == 0 {
			break
		}
		va, err := array.Concatenate(a.Column(i).Data().Chunks(), memory.DefaultAllocator)
		if err != nil {
			return err
		}
		vb, err := array.Concatenate(b.Column(i).Data().Chunks(), memory.DefaultAllocator)
		if err != nil {
			return err
		}
		if !array.ApproxEqual(va, vb, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
			return fmt.Errorf("column %d holds %v, want %v", i, va, vb)
		}
	}
	return nil
}

func sameFooters(a, b *readBack) error {
	ma, mb := a.MetaData(), b.MetaData()
	if !ma.Schema.Equals(mb.Schema) {
		return fmt.Errorf("schema %s, the library has %s", ma.Schema, mb.Schema)
	}
	if ma.GetCreatedBy() != mb.GetCreatedBy() || ma.Version() != mb.Version() || ma.NumRows != mb.NumRows {
		return fmt.Errorf("%d rows of %s, the library has %d of %s", ma.NumRows, ma.GetCreatedBy(), mb.NumRows, mb.GetCreatedBy())
	}
	if ma.NumRowGroups() != mb.NumRowGroups() {
		if ma.NumRows == 0 {
			return nil // the library writes a row group without rows
		}
		return fmt.Errorf("%d row groups, the library has %d", ma.NumRowGroups(), mb.NumRowGroups())
	}
	for g := range ma.NumRowGroups() {
		for i := range ma.Schema.NumColumns() {
			if err := sameStatistics(a, b, g, i); err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, ma.Schema.Column(i).Path(), err)
			}
		}
	}
	return nil
}

func sameStatistics(a, b *readBack, group, col int) error {
	ca, err := a.MetaData().RowGroup(group).ColumnChunk(col)
	if err != nil {
		return err
	}
	cb, err := b.MetaData().RowGroup(group).ColumnChunk(col)
	if err != nil {
		return err
	}
	sa, erra := ca.Statistics()
	sb, errb := cb.Statistics()
	if err := errors.Join(erra, errb); err != nil {
		return err
	}
	if !sa.HasMinMax() && sb.HasMinMax() && len(sb.EncodeMax()) == 0 {
		return nil // nothing but empty values: the library writes bounds now and then
	}
	if ca.NumValues() != cb.NumValues() || sa.NullCount() != sb.NullCount() || sa.HasMinMax() != sb.HasMinMax() {
		return fmt.Errorf("%d values, %d nulls, bounds %t: the library has %d, %d, %t", ca.NumValues(), sa.NullCount(), sa.HasMinMax(),
			cb.NumValues(), sb.NullCount(), sb.HasMinMax())
	}
	if sa.HasMinMax() && (!bytes.Equal(sa.EncodeMin(), sb.EncodeMin()) || !bytes.Equal(sa.EncodeMax(), sb.EncodeMax())) {
		return fmt.Errorf("bounds %x and %x, the library has %x and %x", sa.EncodeMin(), sa.EncodeMax(), sb.EncodeMin(), sb.EncodeMax())
	}
	return nil
}

// sameNumbers compares what goes into the manifest with the footer.
func sameNumbers(p *plan, a *readBack, st *parquetfile.FileStats) error {
	m := a.MetaData()
	if st.Rows != m.NumRows || st.RowGroups != m.NumRowGroups() || len(st.Splits) != m.NumRowGroups() {
		return fmt.Errorf("%d rows in %d row groups, the footer says %d in %d", st.Rows, st.RowGroups, m.NumRows, m.NumRowGroups())
	}
	for i := range p.leaves {
		var size, values, nulls int64
		for g := range m.NumRowGroups() {
			c, err := m.RowGroup(g).ColumnChunk(i)
			if err != nil {
				return err
			}
			s, err := c.Statistics()
			if err != nil {
				return err
			}
			size, values, nulls = size+c.TotalCompressedSize(), values+c.NumValues(), nulls+s.NullCount()
		}
		if l := &st.Leaves[i]; st.Sizes[i] != size || l.Values != values || l.Nulls != nulls {
			return fmt.Errorf("leaf %s: %d bytes, %d values, %d nulls; the footer says %d, %d, %d", p.leaves[i].name, st.Sizes[i], l.Values, l.Nulls, size, values, nulls)
		}
	}
	return nil
}
