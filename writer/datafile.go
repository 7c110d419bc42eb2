package writer

import (
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/internal/parquetfile"
)

// dataFile describes a finished file for the manifest. tuple is nil for an unpartitioned table.
func (f *file) dataFile(in *parquetfile.FileStats, tuple *tuple) (iceberg.DataFile, error) {
	var values map[int]any
	if tuple != nil {
		values = tuple.values
	}
	b, err := iceberg.NewDataFileBuilder(f.p.spec, iceberg.EntryContentData, f.sink.path, iceberg.ParquetFile,
		values, logicalTypes(f.p.parts), nil, f.rows, f.sink.n)
	if err != nil {
		return nil, fmt.Errorf("describe data file %s: %w", f.sink.path, err)
	}
	sizes, counts, nulls, nans := map[int]int64{}, map[int]int64{}, map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for i := range f.p.leaves {
		l, st := &f.p.leaves[i], &in.Leaves[i]
		if l.nameless() {
			continue
		}
		sizes[l.id] = in.Sizes[i]
		if !l.mode.counts {
			continue
		}
		counts[l.id], nulls[l.id] = st.Values, st.Nulls
		if l.repeated {
			continue
		}
		if l.isFloat() {
			nans[l.id] = st.NaNs
		}
		if l.mode.bounds {
			lo, hi := encodeBounds(l, st)
			if lo != nil {
				lower[l.id] = lo
			}
			if hi != nil {
				upper[l.id] = hi
			}
		}
	}
	b.ColumnSizes(sizes).ValueCounts(counts).NullValueCounts(nulls).NaNValueCounts(nans)
	b.LowerBoundValues(lower).UpperBoundValues(upper).SplitOffsets(in.Splits)
	return b.Build(), nil
}
