package descriptor_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/source"
)

var (
	tableUUID   = uuid.MustParse("0d3e8f4c-7a55-4f6e-9f0e-1b2c3d4e5f60")
	rejectsUUID = uuid.MustParse("8a1c0f2e-33b0-4a7e-b9d4-6f5e4d3c2b1a")
)

// column is one type of the schema, and how values of it are drawn as partition values.
type column struct {
	name string
	typ  iceberg.Type
	draw func(*rapid.T) any
}

func drawn[T any, V any](g *rapid.Generator[T], f func(T) V) func(*rapid.T) any {
	return func(t *rapid.T) any { return f(g.Draw(t, "value")) }
}

func same[T any](v T) T { return v }

func decimalOf(precision, scale int) func(*rapid.T) any {
	limit := int64(math.Pow10(min(precision, 18))) - 1
	return drawn(rapid.Int64Range(-limit, limit), func(v int64) iceberg.DecimalLiteral {
		return iceberg.DecimalLiteral{Scale: scale, Val: decimal128.FromI64(v)}
	})
}

func columns(version int) []column {
	micros := rapid.Int64Range(-2_000_000_000_000_000, 4_000_000_000_000_000)
	cols := []column{
		{"bool", iceberg.PrimitiveTypes.Bool, drawn(rapid.Bool(), same[bool])},
		{"int", iceberg.PrimitiveTypes.Int32, drawn(rapid.Int32(), same[int32])},
		{"long", iceberg.PrimitiveTypes.Int64, drawn(rapid.Int64(), same[int64])},
		{"float", iceberg.PrimitiveTypes.Float32, drawn(rapid.Float32(), same[float32])},
		{"double", iceberg.PrimitiveTypes.Float64, drawn(rapid.Float64(), same[float64])},
		{"date", iceberg.PrimitiveTypes.Date, drawn(rapid.Int32Range(-700_000, 700_000), func(v int32) iceberg.Date { return iceberg.Date(v) })},
		{"time", iceberg.PrimitiveTypes.Time, drawn(rapid.Int64Range(0, 86_399_999_999), func(v int64) iceberg.Time { return iceberg.Time(v) })},
		{"ts", iceberg.PrimitiveTypes.Timestamp, drawn(micros, func(v int64) iceberg.Timestamp { return iceberg.Timestamp(v) })},
		{"tstz", iceberg.PrimitiveTypes.TimestampTz, drawn(micros, func(v int64) iceberg.Timestamp { return iceberg.Timestamp(v) })},
		{"string", iceberg.PrimitiveTypes.String, drawn(rapid.String(), same[string])},
		{"uuid", iceberg.PrimitiveTypes.UUID, drawn(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) uuid.UUID { return uuid.UUID(b) })},
		{"fixed", iceberg.FixedTypeOf(5), drawn(rapid.SliceOfN(rapid.Byte(), 5, 5), same[[]byte])},
		{"binary", iceberg.PrimitiveTypes.Binary, drawn(rapid.SliceOf(rapid.Byte()), same[[]byte])},
	}
	// One decimal only: see TestTwoDecimalPartitionFieldsCantBeWritten.
	if version < 3 {
		cols = append(cols, column{"dec", iceberg.DecimalTypeOf(9, 2), decimalOf(9, 2)})
	} else {
		cols = append(cols, column{"dec", iceberg.DecimalTypeOf(38, 10), decimalOf(38, 10)})
		nanos := rapid.Int64Range(-2_000_000_000_000_000_000, 4_000_000_000_000_000_000)
		cols = append(cols,
			column{"ns", iceberg.PrimitiveTypes.TimestampNs, drawn(nanos, func(v int64) iceberg.TimestampNano { return iceberg.TimestampNano(v) })},
			column{"nstz", iceberg.PrimitiveTypes.TimestampTzNs, drawn(nanos, func(v int64) iceberg.TimestampNano { return iceberg.TimestampNano(v) })})
	}
	return cols
}

// transformed are partition fields that are not the column's own value.
func transformed() []struct {
	column, name string
	transform    iceberg.Transform
	draw         func(*rapid.T) any
} {
	i32 := drawn(rapid.Int32(), same[int32])
	return []struct {
		column, name string
		transform    iceberg.Transform
		draw         func(*rapid.T) any
	}{
		{"long", "long_bucket", iceberg.BucketTransform{NumBuckets: 16}, i32},
		{"string", "string_trunc", iceberg.TruncateTransform{Width: 3}, drawn(rapid.String(), same[string])},
		{"ts", "ts_year", iceberg.YearTransform{}, i32},
		{"tstz", "tstz_day", iceberg.DayTransform{}, drawn(rapid.Int32Range(-700_000, 700_000), func(v int32) iceberg.Date { return iceberg.Date(v) })},
		{"date", "date_month", iceberg.MonthTransform{}, i32},
		{"int", "int_void", iceberg.VoidTransform{}, func(*rapid.T) any { return nil }},
	}
}

// fixture is a table whose spec partitions by every type, and how its partition values are drawn, by field id.
type fixture struct {
	meta  table.Metadata
	draws map[int]func(*rapid.T) any
}

func newFixture(t testing.TB, version int) fixture {
	t.Helper()
	var fields []iceberg.NestedField
	for i, c := range columns(version) {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: c.name, Type: c.typ})
	}
	sc := iceberg.NewSchema(0, fields...)
	var pf []iceberg.PartitionField
	fx := fixture{draws: map[int]func(*rapid.T) any{}}
	add := func(source int, name string, tr iceberg.Transform, draw func(*rapid.T) any) {
		id := 1000 + len(pf)
		pf = append(pf, iceberg.PartitionField{SourceIDs: []int{source}, FieldID: id, Name: name, Transform: tr})
		fx.draws[id] = draw
	}
	for i, c := range columns(version) {
		add(i+1, c.name, iceberg.IdentityTransform{}, c.draw)
	}
	for _, tr := range transformed() {
		f, _ := sc.FindFieldByName(tr.column)
		add(f.ID, tr.name, tr.transform, tr.draw)
	}
	spec := iceberg.NewPartitionSpec(pf...)
	meta, err := table.NewMetadataWithUUID(sc, &spec, table.UnsortedSortOrder, "file:///wh/db/t",
		iceberg.Properties{"format-version": fmt.Sprint(version)}, tableUUID)
	if err != nil {
		t.Fatal(err)
	}
	fx.meta = meta
	return fx
}

func (fx fixture) spec() iceberg.PartitionSpec { return fx.meta.PartitionSpecs()[0] }

// partition gives the values by field id.
func (fx fixture) partition(byName map[string]any) map[int]any {
	out := map[int]any{}
	spec := fx.spec()
	for i := range spec.NumFields() {
		if v, ok := byName[spec.Field(i).Name]; ok {
			out[spec.Field(i).FieldID] = v
		}
	}
	return out
}

func (fx fixture) drawFile(t *rapid.T) iceberg.DataFile {
	partition := map[int]any{}
	for id, draw := range fx.draws {
		if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			partition[id] = nil
		} else {
			partition[id] = draw(t)
		}
	}
	b, err := iceberg.NewDataFileBuilder(fx.spec(), iceberg.EntryContentData, "file:///wh/db/t/data/"+rapid.StringN(1, 20, 40).Draw(t, "name"),
		iceberg.ParquetFile, partition, nil, nil, rapid.Int64Range(0, 1<<40).Draw(t, "rows"), rapid.Int64Range(0, 1<<40).Draw(t, "bytes"))
	if err != nil {
		t.Fatal(err)
	}
	counts := rapid.MapOfN(rapid.IntRange(1, 40), rapid.Int64(), 0, 5)
	bounds := rapid.MapOfN(rapid.IntRange(1, 40), rapid.SliceOf(rapid.Byte()), 0, 5)
	if rapid.Bool().Draw(t, "metrics") {
		b.ColumnSizes(counts.Draw(t, "sizes")).ValueCounts(counts.Draw(t, "values")).NullValueCounts(counts.Draw(t, "nulls")).
			NaNValueCounts(counts.Draw(t, "nans")).LowerBoundValues(bounds.Draw(t, "lower")).UpperBoundValues(bounds.Draw(t, "upper")).
			SplitOffsets([]int64{4, 1 << 20}).SortOrderID(0)
	}
	return b.Build()
}

func drawInputs(t *rapid.T) []descriptor.Input {
	var out []descriptor.Input
	for i := range rapid.IntRange(0, 4).Draw(t, "inputs") {
		from := rapid.Int64Range(math.MinInt64, math.MaxInt64-100).Draw(t, "from")
		out = append(out, descriptor.Input{
			Range: source.Range{
				Partition: source.Partition{Cluster: rapid.String().Draw(t, "cluster"), Topic: rapid.String().Draw(t, "topic"),
					Incarnation: rapid.String().Draw(t, "incarnation"), ID: int32(i)},
				From: source.Position(from), To: source.Position(from + rapid.Int64Range(0, 100).Draw(t, "len")),
			},
			Rows: rapid.Int64Range(0, 9).Draw(t, "in.rows"), Rejects: rapid.Int64Range(0, 9).Draw(t, "in.rejects"), Filtered: rapid.Int64Range(0, 9).Draw(t, "in.filtered"),
			Skipped: rapid.Int64Range(0, 9).Draw(t, "in.skipped"), MaxTimestampMs: rapid.Int64().Draw(t, "in.ts"),
		})
	}
	return out
}

func (fx fixture) draw(t *rapid.T) *descriptor.Descriptor {
	d := &descriptor.Descriptor{
		ID: uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")), Topology: rapid.String().Draw(t, "topology"),
		Task: rapid.String().Draw(t, "task"), TableUUID: fx.meta.TableUUID(), SchemaID: fx.meta.CurrentSchema().ID,
		SpecID: fx.meta.DefaultPartitionSpec(), FormatVersion: fx.meta.Version(), Inputs: drawInputs(t),
		SealedAt: time.Unix(rapid.Int64Range(-1e9, 1e11).Draw(t, "sealed"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
	}
	for range rapid.IntRange(0, 3).Draw(t, "files") {
		f := fx.drawFile(t)
		d.Files = append(d.Files, f)
		d.Rows += f.Count()
		d.Bytes += f.FileSizeBytes()
	}
	d.Rejects = drawRejects(t, d.Inputs)
	return d
}

// drawRejects gives a file with as many rows as the inputs have rejects; without inputs it may be a replay's.
func drawRejects(t *rapid.T, ins []descriptor.Input) *descriptor.Rejects {
	r := &descriptor.Rejects{TableUUID: rejectsUUID, SchemaID: rapid.IntRange(0, 9).Draw(t, "r.schema"),
		SpecID: rapid.IntRange(0, 9).Draw(t, "r.spec"), FormatVersion: rapid.IntRange(2, 3).Draw(t, "r.format")}
	for _, in := range ins {
		r.Rows += in.Rejects
	}
	if len(ins) == 0 {
		r.Rows = rapid.Int64Range(0, 9).Draw(t, "r.rows")
		r.Replaces = rapid.SliceOfNDistinct(rapid.StringN(1, 9, -1), 0, 3, same[string]).Draw(t, "r.replaces")
		if len(r.Replaces) == 0 {
			r.Replaces = nil
		}
	}
	if r.Rows == 0 {
		return nil
	}
	r.Bytes = rapid.Int64Range(1, 1<<40).Draw(t, "r.bytes")
	r.Files = []iceberg.DataFile{rejectsFile(t, r, "file:///wh/db/r/data/a.parquet")}
	return r
}

// rejectsFile is one file with all of r's rows.
func rejectsFile(t interface{ Fatal(...any) }, r *descriptor.Rejects, path string) iceberg.DataFile {
	b, err := iceberg.NewDataFileBuilder(iceberg.NewPartitionSpecID(r.SpecID), iceberg.EntryContentData, path, iceberg.ParquetFile,
		nil, nil, nil, r.Rows, r.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return b.ValueCounts(map[int]int64{1: r.Rows}).LowerBoundValues(map[int][]byte{6: {1, 0, 0, 0, 0, 0, 0, 0}}).Build()
}

// fileFields is all that a DataFile says of itself, in a form that can be compared.
func fileFields(f iceberg.DataFile) map[string]any {
	partition := map[int]string{}
	for id, v := range f.Partition() {
		if v != nil {
			partition[id] = fmt.Sprintf("%T %v", v, v)
		}
	}
	out := map[string]any{
		"partition": partition, "path": f.FilePath(), "format": f.FileFormat(), "content": f.ContentType(), "rows": f.Count(),
		"bytes": f.FileSizeBytes(), "spec": f.SpecID(), "sort": f.SortOrderID(),
	}
	for name, m := range map[string]map[int]int64{"sizes": f.ColumnSizes(), "values": f.ValueCounts(), "nulls": f.NullValueCounts(), "nans": f.NaNValueCounts()} {
		if len(m) > 0 {
			out[name] = m
		}
	}
	for name, m := range map[string]map[int][]byte{"lower": f.LowerBoundValues(), "upper": f.UpperBoundValues()} {
		if len(m) > 0 {
			out[name] = fmt.Sprintf("%x", m)
		}
	}
	if s := f.SplitOffsets(); len(s) > 0 {
		out["splits"] = s
	}
	return out
}

// differ says how two descriptors differ; empty where they do not.
func differ(a, b *descriptor.Descriptor) string {
	if diff := differFiles(a.Files, b.Files); diff != "" {
		return diff
	}
	x, y := *a, *b
	x.Files, y.Files = nil, nil
	if a.Rejects != nil && b.Rejects != nil {
		if diff := differFiles(a.Rejects.Files, b.Rejects.Files); diff != "" {
			return "rejects: " + diff
		}
		r, q := *a.Rejects, *b.Rejects
		r.Files, q.Files = nil, nil
		x.Rejects, y.Rejects = &r, &q
		if !reflect.DeepEqual(r, q) {
			return fmt.Sprintf("rejects:\n%+v\n%+v", r, q)
		}
	}
	if !reflect.DeepEqual(x, y) {
		return fmt.Sprintf("%+v\n%+v", x, y)
	}
	return ""
}

func differFiles(a, b []iceberg.DataFile) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d files and %d files", len(a), len(b))
	}
	for i := range a {
		if x, y := fileFields(a[i]), fileFields(b[i]); !reflect.DeepEqual(x, y) {
			return fmt.Sprintf("file %d:\n%v\n%v", i, x, y)
		}
	}
	return ""
}
