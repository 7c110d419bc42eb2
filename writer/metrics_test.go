package writer

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/codec"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// values maps the record at position i to row i.
func values(rows []map[string]any) mapper.Factory {
	return mapper.FromRowMapper(mapper.RowMapperFunc(func(rec *source.Record, row *mapper.Row) error {
		for name, v := range rows[rec.Position] {
			if err := row.Set(name, v); err != nil {
				return err
			}
		}
		return nil
	}))
}

// writeValues writes rows into a table of one column v (id 1) and gives the descriptor.
func writeValues(t testing.TB, typ iceberg.Type, spec string, props iceberg.Properties, vs ...any) *descriptor.Descriptor {
	t.Helper()
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "v", Type: typ})
	var ps *iceberg.PartitionSpec
	if spec != "" {
		ps = specOf(t, sc, "v "+spec)
	}
	tbl, _ := newTable(t, sc, ps, props)
	rows := make([]map[string]any, len(vs))
	for i, v := range vs {
		if v != nil {
			rows[i] = map[string]any{"v": v}
		}
	}
	task := newTask(t, tbl, func(c *Config) { c.Mapper = values(rows) })
	appendAll(t, task, batchOf(0, len(rows), func(int) []byte { return []byte{} }))
	return seal(t, task)
}

func lit(t testing.TB, l iceberg.Literal) []byte {
	t.Helper()
	b, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBoundsAndCounts(t *testing.T) {
	p := iceberg.PrimitiveTypes
	nan := math.NaN()
	negZero := math.Copysign(0, -1)
	id1, id2 := uuid.MustParse("00000000-0000-0000-0000-000000000001"), uuid.MustParse("f0000000-0000-0000-0000-000000000001")
	dec := func(s string) []byte {
		n, err := decimal128.FromString(s, 38, 2)
		if err != nil {
			t.Fatal(err)
		}
		return lit(t, iceberg.DecimalLiteral{Val: n, Scale: 2})
	}
	z := "zzzzzzzzzzzzzzzz" // 16
	max16 := strings.Repeat("\U0010FFFF", 16)
	ff16 := bytes.Repeat([]byte{0xff}, 16)
	for _, c := range []struct {
		name         string
		typ          iceberg.Type
		mode         string
		values       []any
		nulls, nans  int64
		lower, upper []byte // nil: none
	}{
		{"longs with a null", p.Int64, "", []any{int64(5), nil, int64(-7), int64(3)}, 1, -1, lit(t, iceberg.Int64Literal(-7)), lit(t, iceberg.Int64Literal(5))},
		{"ints at the ends of the range", p.Int32, "", []any{math.MinInt32, math.MaxInt32}, 0, -1, lit(t, iceberg.Int32Literal(math.MinInt32)), lit(t, iceberg.Int32Literal(math.MaxInt32))},
		{"nulls only", p.Int64, "", []any{nil, nil}, 2, -1, nil, nil},
		{"booleans", p.Bool, "", []any{true, nil, false}, 1, -1, []byte{0}, []byte{1}},
		{"doubles without NaN", p.Float64, "", []any{1.5, -2.5}, 0, 0, lit(t, iceberg.Float64Literal(-2.5)), lit(t, iceberg.Float64Literal(1.5))},
		{"NaN is no bound", p.Float64, "", []any{nan, 2.0, nil, nan, 1.0}, 1, 2, lit(t, iceberg.Float64Literal(1)), lit(t, iceberg.Float64Literal(2))},
		{"NaN alone has no bounds", p.Float64, "", []any{nan, nan}, 0, 2, nil, nil},
		{"a positive zero below", p.Float64, "", []any{0.0, 1.0}, 0, 0, lit(t, iceberg.Float64Literal(negZero)), lit(t, iceberg.Float64Literal(1))},
		{"a negative zero above", p.Float32, "", []any{float32(negZero), float32(-1)}, 0, 0, lit(t, iceberg.Float32Literal(-1)), lit(t, iceberg.Float32Literal(0))},
		{"infinities", p.Float32, "", []any{float32(math.Inf(1)), float32(math.Inf(-1)), float32(nan)}, 0, 1, lit(t, iceberg.Float32Literal(math.Inf(-1))), lit(t, iceberg.Float32Literal(math.Inf(1)))},
		{"NaN counts without bounds", p.Float64, "counts", []any{nan, 1.0, nil}, 1, 1, nil, nil},
		{"short decimals", iceberg.DecimalTypeOf(9, 2), "", []any{"1.28", "-1.28", "0.00"}, 0, -1, dec("-1.28"), dec("1.28")},
		{"long decimals", iceberg.DecimalTypeOf(38, 2), "", []any{"-123456789012345678901234567890.12", "99999999999999999999.99"}, 0, -1, dec("-123456789012345678901234567890.12"), dec("99999999999999999999.99")},
		{"short text", p.String, "", []any{"b", "", "a"}, 0, -1, []byte{}, []byte("b")},
		{"text of exactly the length", p.String, "", []any{z}, 0, -1, []byte(z), []byte(z)},
		{"long text is cut, and raised above", p.String, "", []any{"a" + z, z + "y"}, 0, -1, []byte("a" + z[:15]), []byte(z[:15] + "{")},
		{"a cut counts code points", p.String, "truncate(2)", []any{"日本語", "äöü"}, 0, -1, []byte("äö"), []byte("日\u672d")},
		{"the last code point before the surrogates", p.String, "truncate(1)", []any{"\uD7FFx"}, 0, -1, []byte("\uD7FF"), []byte("\uE000")},
		{"the last code point is dropped", p.String, "truncate(2)", []any{"a\U0010FFFFx"}, 0, -1, []byte("a\U0010FFFF"), []byte("b")},
		{"no upper bound exists", p.String, "", []any{max16 + "x"}, 0, -1, []byte(max16), nil},
		{"supplementary sorts above U+FFFF", p.String, "", []any{"\uFFFF", "\U00010000"}, 0, -1, []byte("\uFFFF"), []byte("\U00010000")},
		{"full text", p.String, "full", []any{"a" + z + z, "b" + z + z}, 0, -1, []byte("a" + z + z), []byte("b" + z + z)},
		{"text longer than Parquet's limit on statistics", p.String, "truncate(1)", []any{strings.Repeat("k", 9000)}, 0, -1, []byte("k"), []byte("l")},
		{"binary", p.Binary, "truncate(2)", []any{[]byte{1, 2, 3}, []byte{1, 0xff, 3}}, 0, -1, []byte{1, 2}, []byte{2}},
		{"binary without an upper bound", p.Binary, "", []any{append(bytes.Clone(ff16), 1)}, 0, -1, ff16, nil},
		{"uuid", p.UUID, "", []any{id2, id1}, 0, -1, id1[:], id2[:]},
		{"fixed is not cut", iceberg.FixedTypeOf(20), "", []any{bytes.Repeat([]byte{7}, 20)}, 0, -1, bytes.Repeat([]byte{7}, 20), bytes.Repeat([]byte{7}, 20)},
		{"long fixed has no bounds", iceberg.FixedTypeOf(65), "", []any{bytes.Repeat([]byte{7}, 65)}, 0, -1, nil, nil},
		{"mode none", p.Int64, "none", []any{int64(1)}, -1, -1, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var props iceberg.Properties
			if c.mode != "" {
				props = iceberg.Properties{prefixMetricsColumn + "v": c.mode}
			}
			df := writeValues(t, c.typ, "", props, c.values...).Files[0]
			count := func(what string, m map[int]int64, want int64) {
				if got, ok := m[1]; ok != (want >= 0) || ok && got != want {
					t.Errorf("%s: %d (%t), want %d", what, got, ok, want)
				}
			}
			all := int64(len(c.values))
			if c.mode == "none" {
				all = -1
			}
			count("values", df.ValueCounts(), all)
			count("nulls", df.NullValueCounts(), c.nulls)
			count("NaNs", df.NaNValueCounts(), c.nans)
			if got, ok := df.LowerBoundValues()[1]; ok != (c.lower != nil) || !bytes.Equal(got, c.lower) {
				t.Errorf("lower %q (%t), want %q", got, ok, c.lower)
			}
			if got, ok := df.UpperBoundValues()[1]; ok != (c.upper != nil) || !bytes.Equal(got, c.upper) {
				t.Errorf("upper %q (%t), want %q", got, ok, c.upper)
			}
			if df.ColumnSizes()[1] <= 0 || len(df.SplitOffsets()) != 1 || df.SplitOffsets()[0] != 4 {
				t.Errorf("size %d, splits %v", df.ColumnSizes()[1], df.SplitOffsets())
			}
		})
	}
}

func TestMetricsOfNestedColumns(t *testing.T) {
	tbl, _ := newTable(t, allTypes(), nil, nil)
	rows := []map[string]any{
		{"id": 0, "st": nil, "l": []any{"a", nil}, "m": map[string]any{"k": int64(1)}},
		{"id": 1, "st": map[string]any{"req": 5, "opt": nil}, "l": []any{}, "m": nil},
		{"id": 2, "st": map[string]any{"req": 9, "opt": "x", "inner": map[string]any{"x": math.NaN()}}, "l": nil},
	}
	task := newTask(t, tbl, func(c *Config) { c.Mapper = values(rows) })
	appendAll(t, task, batchOf(0, len(rows), func(int) []byte { return []byte{} }))
	df := seal(t, task).Files[0]
	for _, c := range []struct {
		what     string
		got      map[int]int64
		id       int
		want     int64
		expected bool
	}{
		{"values of st.req", df.ValueCounts(), 18, 3, true},
		{"nulls of st.req, below a null struct", df.NullValueCounts(), 18, 1, true},
		{"nulls of st.opt", df.NullValueCounts(), 19, 2, true},
		{"nulls of st.inner.x", df.NullValueCounts(), 21, 2, true},
		{"NaNs of st.inner.x", df.NaNValueCounts(), 21, 1, true},
		{"values of l.element, an empty list counted as one", df.ValueCounts(), 23, 4, true},
		{"values of m.key", df.ValueCounts(), 25, 3, true},
		{"values of the struct itself", df.ValueCounts(), 17, 0, false},
	} {
		if got, ok := c.got[c.id]; ok != c.expected || got != c.want {
			t.Errorf("%s: %d (%t), want %d", c.what, got, ok, c.want)
		}
	}
	lower, upper := df.LowerBoundValues(), df.UpperBoundValues()
	if !bytes.Equal(lower[18], lit(t, iceberg.Int32Literal(5))) || !bytes.Equal(upper[18], lit(t, iceberg.Int32Literal(9))) {
		t.Errorf("bounds of st.req %x %x: the slot below a null struct must not count", lower[18], upper[18])
	}
	for _, id := range []int{21, 23, 25, 26} {
		if lower[id] != nil || upper[id] != nil {
			t.Errorf("field %d has bounds", id)
		}
	}
}

func TestOnlyTheFirstColumnsHaveMetricsByDefault(t *testing.T) {
	var fields []iceberg.NestedField
	for i := range 120 {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: fmt.Sprintf("c%d", i), Type: iceberg.PrimitiveTypes.Int32})
	}
	for def, want := range map[string]int{"": 100, "counts": 120} {
		props := iceberg.Properties{}
		if def != "" {
			props[propMetricsDefault] = def
		}
		tbl, _ := newTable(t, iceberg.NewSchema(0, fields...), nil, props)
		task := newTask(t, tbl, nil)
		appendAll(t, task, batchOf(0, 3, func(i int) []byte { return fmt.Appendf(nil, `{"c0":%d}`, i) }))
		if n := len(seal(t, task).Files[0].ValueCounts()); n != want {
			t.Errorf("default %q: %d columns have counts, want %d", def, n, want)
		}
	}
}

func TestFilesTravelThroughTheCodec(t *testing.T) {
	tbl, _ := newTable(t, allTypes(), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, batchOf(0, 300, anyRecord))
	df := seal(t, task).Files[0]
	b, err := codec.EncodeDataFile(df, tbl.Spec(), tbl.Schema(), 2)
	if err != nil {
		t.Fatal(err)
	}
	back, err := codec.DecodeDataFile(b, tbl.Spec(), tbl.Schema(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(df.LowerBoundValues(), df.UpperBoundValues(), df.NaNValueCounts(), df.SplitOffsets()) !=
		fmt.Sprint(back.LowerBoundValues(), back.UpperBoundValues(), back.NaNValueCounts(), back.SplitOffsets()) {
		t.Error("metrics differ after the codec")
	}
}
