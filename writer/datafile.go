package writer

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/iceberg-go"
)

// dataFile describes a finished file for the manifest: sizes and split offsets from the footer, counts and bounds from
// what was written. tuple is nil for an unpartitioned table.
func (f *file) dataFile(m *metadata.FileMetaData, tuple *tuple) (iceberg.DataFile, error) {
	var values map[int]any
	if tuple != nil {
		values = tuple.values
	}
	b, err := iceberg.NewDataFileBuilder(f.p.spec, iceberg.EntryContentData, f.sink.path, iceberg.ParquetFile,
		values, logicalTypes(f.p.parts), nil, f.rows, f.sink.n)
	if err != nil {
		return nil, fmt.Errorf("describe data file %s: %w", f.sink.path, err)
	}
	foot, err := readFooter(m, len(f.p.leaves))
	if err != nil {
		return nil, fmt.Errorf("describe data file %s: %w", f.sink.path, err)
	}
	sizes, counts, nulls, nans := map[int]int64{}, map[int]int64{}, map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for i := range f.p.leaves {
		l, st := &f.p.leaves[i], &f.stats[i]
		sizes[l.id] = foot.sizes[i]
		if !l.mode.counts {
			continue
		}
		if l.repeated {
			counts[l.id] = foot.values[i]
			if foot.nullsKnown[i] {
				nulls[l.id] = foot.nulls[i]
			}
			continue
		}
		counts[l.id], nulls[l.id] = st.values, st.nulls
		if l.isFloat() {
			nans[l.id] = st.nans
		}
		if l.mode.bounds {
			lo, hi := st.encode(l)
			if lo != nil {
				lower[l.id] = lo
			}
			if hi != nil {
				upper[l.id] = hi
			}
		}
	}
	b.ColumnSizes(sizes).ValueCounts(counts).NullValueCounts(nulls).NaNValueCounts(nans)
	b.LowerBoundValues(lower).UpperBoundValues(upper).SplitOffsets(foot.splits)
	return b.Build(), nil
}

// footer is what only the footer knows, by leaf.
type footer struct {
	sizes, values, nulls []int64
	nullsKnown           []bool
	splits               []int64
}

func readFooter(m *metadata.FileMetaData, leaves int) (*footer, error) {
	f := &footer{sizes: make([]int64, leaves), values: make([]int64, leaves), nulls: make([]int64, leaves),
		nullsKnown: make([]bool, leaves)}
	for i := range f.nullsKnown {
		f.nullsKnown[i] = true
	}
	for g := range m.NumRowGroups() {
		rg := m.RowGroup(g)
		for i := range leaves {
			c, err := rg.ColumnChunk(i)
			if err != nil {
				return nil, err
			}
			f.sizes[i] += c.TotalCompressedSize()
			f.values[i] += c.NumValues()
			st, err := c.Statistics()
			if err != nil {
				return nil, err
			}
			if st != nil && st.HasNullCount() {
				f.nulls[i] += st.NullCount()
			} else {
				f.nullsKnown[i] = false
			}
			if i == 0 {
				at := c.DataPageOffset()
				if c.HasDictionaryPage() && c.DictionaryPageOffset() > 0 && c.DictionaryPageOffset() < at {
					at = c.DictionaryPageOffset()
				}
				f.splits = append(f.splits, at)
			}
		}
	}
	return f, nil
}
