package writer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/iceberg-go"
)

// written gives the first file of n events under the given properties.
func written(t *testing.T, props iceberg.Properties, n int) *pqfile.Reader {
	t.Helper()
	tbl, _ := newTable(t, eventSchema(), nil, props)
	task := newTask(t, tbl, nil)
	for at := 0; at < n; at += 5000 {
		appendAll(t, task, eventBatch(at, min(n, at+5000)))
	}
	d := seal(t, task)
	return openFile(t, strings.TrimPrefix(d.Files[0].FilePath(), "file://"))
}

func encodings(t *testing.T, rd *pqfile.Reader, col int) string {
	t.Helper()
	c, err := rd.MetaData().RowGroup(0).ColumnChunk(col)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(c.Encodings())
}

func TestDefaultsAreTuned(t *testing.T) {
	rd := written(t, nil, 20000)
	for col, want := range []string{"DELTA_BINARY_PACKED", "DELTA_BINARY_PACKED", "RLE_DICTIONARY", "", "", "DELTA_BINARY_PACKED"} {
		got := encodings(t, rd, col)
		if want != "" && !strings.Contains(got, want) || want == "" && strings.Contains(got, "DICTIONARY") {
			t.Errorf("column %d: %s, want %q", col, got, want)
		}
		c, _ := rd.MetaData().RowGroup(0).ColumnChunk(col)
		if c.Compression() != compress.Codecs.Zstd {
			t.Errorf("column %d: %s", col, c.Compression())
		}
		if set, err := c.StatsSet(); err != nil || !set {
			t.Errorf("column %d has no statistics: %v", col, err)
		}
	}
}

func TestEncodingsFollowTheProperties(t *testing.T) {
	rd := written(t, iceberg.Properties{propPageVersion: "v1", prefixDictColumn + "event_type": "false", prefixDictColumn + "id": "true"}, 5000)
	if e := encodings(t, rd, 1); strings.Contains(e, "DELTA") {
		t.Errorf("page version 1 has %s", e)
	}
	if e := encodings(t, rd, 2); strings.Contains(e, "DICT") {
		t.Errorf("event_type without a dictionary has %s", e)
	}
	if e := encodings(t, rd, 0); !strings.Contains(e, "DICT") {
		t.Errorf("id with a dictionary has %s", e)
	}
	if e := encodings(t, written(t, iceberg.Properties{propDictEnabled: "false"}, 5000), 2); strings.Contains(e, "DICT") {
		t.Errorf("dictionaries are off, event_type has %s", e)
	}
}

func TestRowGroupsFollowTheProperties(t *testing.T) {
	rd := written(t, iceberg.Properties{propRowGroupRows: "3000"}, 20000)
	if n := rd.NumRowGroups(); n != 7 {
		t.Errorf("%d row groups, want 7 of at most 3000 rows", n)
	}
	for i := range rd.NumRowGroups() {
		if n := rd.MetaData().RowGroup(i).NumRows(); n > 3000 || n == 0 {
			t.Errorf("row group %d has %d rows", i, n)
		}
	}
	rd = written(t, iceberg.Properties{propRowGroupBytes: "2000000"}, 60000)
	if n := rd.NumRowGroups(); n < 2 || n > 6 {
		t.Errorf("%d row groups of 2 MB for about 6 MB", n)
	}
}

func TestPagesFollowTheProperties(t *testing.T) {
	pages := func(rd *pqfile.Reader, col int) (n, maxRows int) {
		for g := range rd.NumRowGroups() {
			pr, err := rd.RowGroup(g).GetColumnPageReader(col)
			if err != nil {
				t.Fatal(err)
			}
			for pr.Next() {
				if p, ok := pr.Page().(pqfile.DataPage); ok {
					n, maxRows = n+1, max(maxRows, int(p.NumValues()))
				}
			}
			if err := pr.Err(); err != nil {
				t.Fatal(err)
			}
		}
		return n, maxRows
	}
	if n, most := pages(written(t, iceberg.Properties{propPageRows: "700"}, 5000), 3); most > 700 || n < 7 {
		t.Errorf("page-row-limit 700: %d pages of up to %d rows", n, most)
	}
	if n, _ := pages(written(t, iceberg.Properties{propPageBytes: "10000"}, 60000), 3); n < 4 {
		t.Errorf("page-size-bytes 10000: %d pages of 480000 bytes", n)
	}
}

func TestBloomFiltersFollowTheProperties(t *testing.T) {
	rd := written(t, iceberg.Properties{prefixBloomColumn + "info": "true", propBloomBytes: "65536"}, 5000)
	for col := range 6 {
		c, err := rd.MetaData().RowGroup(0).ColumnChunk(col)
		if err != nil {
			t.Fatal(err)
		}
		if has := c.BloomFilterOffset() > 0; has != (col == 4) {
			t.Errorf("column %d has a bloom filter: %t", col, has)
		}
	}
	bf, err := rd.GetBloomFilterReader().RowGroup(0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := bf.GetColumnBloomFilter(4)
	if err != nil {
		t.Fatal(err)
	}
	has := func(s string) bool { return f.CheckHash(f.Hasher().Sum64([]byte(s))) }
	missing := 0
	for i := range 5000 {
		v := event(i)
		at := strings.Index(string(v), `"info":"`) + len(`"info":"`)
		if !has(string(v[at : at+40])) {
			missing++
		}
	}
	if missing > 0 || has("not there") && has("neither") && has("nor this") {
		t.Errorf("%d values are missing in the filter, or it has everything", missing)
	}
}

func TestFilesEndNearTheTargetSize(t *testing.T) {
	sc := eventSchema()
	for name, spec := range map[string]*iceberg.PartitionSpec{"plain": nil, "partitioned": specOf(t, sc, "user_id bucket[2]")} {
		if testing.Short() && spec == nil {
			continue
		}
		tbl, _ := newTable(t, sc, spec, iceberg.Properties{propTargetSize: "1000000"})
		task := newTask(t, tbl, nil)
		for at := 0; at < 400_000; at += 50_000 {
			appendAll(t, task, eventBatch(at, at+50_000))
		}
		d := seal(t, task)
		if len(d.Files) < 3 {
			t.Errorf("%s: %d files", name, len(d.Files))
		}
		for _, f := range d.Files {
			if f.FileSizeBytes() > 1_300_000 {
				t.Errorf("%s: a file of %d bytes at a target of 1 MB", name, f.FileSizeBytes())
			}
		}
	}
}

func TestSplitOffsetsAreTheRowGroups(t *testing.T) {
	tbl, _ := newTable(t, eventSchema(), nil, iceberg.Properties{propRowGroupRows: "1000"})
	task := newTask(t, tbl, nil)
	appendAll(t, task, eventBatch(0, 3500))
	df := seal(t, task).Files[0]
	rd := openFile(t, strings.TrimPrefix(df.FilePath(), "file://"))
	if len(df.SplitOffsets()) != rd.NumRowGroups() || df.SortOrderID() != nil && *df.SortOrderID() != 0 {
		t.Errorf("splits %v for %d row groups, sort order %v", df.SplitOffsets(), rd.NumRowGroups(), df.SortOrderID())
	}
	last := int64(0)
	for _, at := range df.SplitOffsets() {
		if at <= last {
			t.Errorf("splits %v do not rise", df.SplitOffsets())
		}
		last = at
	}
}
