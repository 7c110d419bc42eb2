package bench

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go/table"
)

// addSnapshot commits one row more, whose id is i and nothing else, as any writer would: a data file, a manifest, a
// manifest list, new metadata.
func addSnapshot(ctx context.Context, tbl *table.Table, i int) (*table.Table, error) {
	schema, err := table.SchemaToArrowSchema(tbl.Schema(), nil, true, false)
	if err != nil {
		return nil, err
	}
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	defer ids.Release()
	ids.Append(int64(i))
	cols := []arrow.Array{ids.NewArray()}
	for _, f := range schema.Fields()[1:] {
		cols = append(cols, array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 1))
	}
	row := array.NewRecordBatch(schema, cols, 1)
	rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{row})
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	return tbl.Append(ctx, rows, nil)
}
