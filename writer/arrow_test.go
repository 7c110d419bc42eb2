package writer

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/mapper"
)

// record shows columns as an Arrow record without copying a byte: it is gone when the columns change.
func record(sc *arrow.Schema, cs *mapper.Columns) arrow.RecordBatch {
	arrs := make([]arrow.Array, len(cs.Cols))
	for i, c := range cs.Cols {
		data := arrayData(sc.Field(i).Type, c)
		arrs[i] = array.MakeFromData(data)
		data.Release()
	}
	rec := array.NewRecordBatch(sc, arrs, int64(cs.Rows))
	for _, a := range arrs {
		a.Release()
	}
	return rec
}

func arrayData(t arrow.DataType, c *mapper.Column) arrow.ArrayData {
	valid := validity(c)
	leafData := func(values ...*memory.Buffer) arrow.ArrayData {
		return array.NewData(t, c.Len, append([]*memory.Buffer{valid}, values...), nil, c.Nulls, 0)
	}
	switch c.Field.Type.Kind {
	case mapper.Boolean:
		return leafData(memory.NewBufferBytes(c.Bits[:bitmapLen(c.Len)]))
	case mapper.Int, mapper.Date:
		return leafData(memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.I32)))
	case mapper.Long, mapper.Time, mapper.Timestamp, mapper.TimestampTz, mapper.TimestampNs, mapper.TimestampTzNs:
		return leafData(memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(c.I64)))
	case mapper.Float:
		return leafData(memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(c.F32)))
	case mapper.Double:
		return leafData(memory.NewBufferBytes(arrow.Float64Traits.CastToBytes(c.F64)))
	case mapper.Decimal, mapper.UUID, mapper.Fixed:
		return leafData(memory.NewBufferBytes(c.Data))
	case mapper.String, mapper.Binary:
		return leafData(offsets(c), memory.NewBufferBytes(c.Data))
	}
	return nestedData(t, c, valid)
}

func nestedData(t arrow.DataType, c *mapper.Column, valid *memory.Buffer) arrow.ArrayData {
	switch t := t.(type) {
	case *arrow.StructType:
		kids := kidsData(t.Fields(), c.Kids)
		defer releaseAll(kids)
		return array.NewData(t, c.Len, []*memory.Buffer{valid}, kids, c.Nulls, 0)
	case *arrow.ListType:
		kids := kidsData([]arrow.Field{t.ElemField()}, c.Kids)
		defer releaseAll(kids)
		return array.NewData(t, c.Len, []*memory.Buffer{valid, offsets(c)}, kids, c.Nulls, 0)
	case *arrow.MapType:
		entries := t.Elem().(*arrow.StructType)
		kids := kidsData(entries.Fields(), c.Kids)
		defer releaseAll(kids)
		entry := array.NewData(entries, c.Kids[0].Len, []*memory.Buffer{nil}, kids, 0, 0)
		defer entry.Release()
		return array.NewData(t, c.Len, []*memory.Buffer{valid, offsets(c)}, []arrow.ArrayData{entry}, c.Nulls, 0)
	}
	// compile has gone over the same schema: no other type passes it.
	panic(fmt.Sprintf("writer: no Arrow layout for %s", t))
}

func kidsData(fields []arrow.Field, cols []*mapper.Column) []arrow.ArrayData {
	out := make([]arrow.ArrayData, len(cols))
	for i, c := range cols {
		out[i] = arrayData(fields[i].Type, c)
	}
	return out
}

func releaseAll(ds []arrow.ArrayData) {
	for _, d := range ds {
		d.Release()
	}
}

func validity(c *mapper.Column) *memory.Buffer {
	if c.Nulls == 0 {
		return nil
	}
	return memory.NewBufferBytes(c.Valid[:bitmapLen(c.Len)])
}

func offsets(c *mapper.Column) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.Off[:c.Len+1]))
}

func bitmapLen(n int) int { return (n + 7) / 8 }

// arrowSchema is the schema of the plan's files in Arrow's words.
func arrowSchema(t testing.TB, p *plan) *arrow.Schema {
	t.Helper()
	sc, err := table.SchemaToArrowSchema(p.schema, nil, true, false)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}
