package writer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

func randomSchema(r *rand.Rand) *iceberg.Schema {
	id := 0
	var fields func(n, depth int) []iceberg.NestedField
	var typ func(depth int) iceberg.Type
	next := func() int { id++; return id }
	fields = func(n, depth int) []iceberg.NestedField {
		out := make([]iceberg.NestedField, n)
		for i := range out {
			out[i] = iceberg.NestedField{ID: next(), Name: fmt.Sprintf("f%d", i), Required: r.IntN(3) == 0, Type: typ(depth)}
		}
		return out
	}
	typ = func(depth int) iceberg.Type {
		n := 17
		if depth < 3 {
			n = 23
		}
		switch k := r.IntN(n); k {
		case 14:
			return iceberg.DecimalTypeOf(1+r.IntN(9), 0)
		case 15:
			return iceberg.DecimalTypeOf(10+r.IntN(9), r.IntN(5))
		case 16:
			return iceberg.DecimalTypeOf(19+r.IntN(20), 2)
		case 17, 18:
			return &iceberg.StructType{FieldList: fields(1+r.IntN(3), depth+1)}
		case 19, 20:
			return &iceberg.ListType{ElementID: next(), Element: typ(depth + 1), ElementRequired: r.IntN(2) == 0}
		case 21, 22:
			return &iceberg.MapType{KeyID: next(), KeyType: iceberg.PrimitiveTypes.String, ValueID: next(), ValueType: typ(depth + 1), ValueRequired: r.IntN(2) == 0}
		default:
			return []iceberg.Type{iceberg.PrimitiveTypes.Bool, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Int64,
				iceberg.PrimitiveTypes.Float32, iceberg.PrimitiveTypes.Float64, iceberg.PrimitiveTypes.Date, iceberg.PrimitiveTypes.Time,
				iceberg.PrimitiveTypes.Timestamp, iceberg.PrimitiveTypes.TimestampTz, iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.UUID,
				iceberg.PrimitiveTypes.Binary, iceberg.FixedTypeOf(3), iceberg.PrimitiveTypes.TimestampNs}[k]
		}
	}
	return iceberg.NewSchema(1, fields(1+r.IntN(6), 0)...)
}

func randomProps(r *rand.Rand) iceberg.Properties {
	p := iceberg.Properties{propCodec: pick(r, "zstd", "snappy", "gzip", "brotli", "lz4_raw", "uncompressed")}
	maybe := func(key string, values ...string) {
		if r.IntN(2) == 0 {
			p[key] = pick(r, values...)
		}
	}
	maybe(propPageVersion, "v1", "v2")
	maybe(propPageBytes, "1", "100", "3000", "100000")
	maybe(propPageRows, "1", "7", "1000")
	maybe(propDictBytes, "1", "50", "1000")
	maybe(propDictEnabled, "true", "false")
	for i := range 4 {
		maybe(prefixDictColumn+fmt.Sprintf("f%d", i), "true", "false")
		maybe(prefixBloomColumn+fmt.Sprintf("f%d", i), "true")
	}
	p[propBloomBytes] = "1024"
	return p
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomColumns gives rows in a few parts. How often a value is null, and how many differ, changes from file to file.
func randomColumns(t *testing.T, r *rand.Rand, p *plan) []*mapper.Columns {
	g := &generator{Rand: r, nulls: []int{0, 2, 10, 100}[r.IntN(4)], distinct: []int{1, 2, 9, 1000}[r.IntN(4)]}
	m, err := jsonMapper()(p.rows)
	if err != nil {
		t.Fatal(err)
	}
	var out []*mapper.Columns
	for range 1 + r.IntN(4) {
		cols, err := mapper.NewColumns(p.rows)
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(400) {
			var b strings.Builder
			g.members(&b, p.rows.Fields)
			if err := m.Map(&source.Record{Value: []byte(b.String())}, cols); err != nil {
				t.Fatalf("%s: %v", b.String(), err)
			}
		}
		for _, c := range cols.Cols {
			strange(r, c)
		}
		out = append(out, cols)
	}
	return out
}

// strange puts floating-point values in that no JSON has.
func strange(r *rand.Rand, c *mapper.Column) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0}
	for i := range c.Len {
		if c.IsNull(i) || r.IntN(8) > 0 {
			continue
		}
		switch v := odd[r.IntN(len(odd))]; c.Field.Type.Kind {
		case mapper.Float:
			c.F32[i] = float32(v)
		case mapper.Double:
			c.F64[i] = v
		}
	}
	for _, k := range c.Kids {
		strange(r, k)
	}
}

// generator writes JSON for a row type.
type generator struct {
	*rand.Rand
	nulls, distinct int
}

func (g *generator) members(b *strings.Builder, fields []mapper.Field) {
	b.WriteByte('{')
	for i := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:", fields[i].Name)
		g.value(b, &fields[i])
	}
	b.WriteByte('}')
}

func (g *generator) value(b *strings.Builder, f *mapper.Field) {
	if !f.Required && g.nulls > 0 && g.IntN(g.nulls) == 0 {
		b.WriteString("null")
		return
	}
	n := g.IntN(g.distinct)
	switch f.Type.Kind {
	case mapper.Boolean:
		fmt.Fprintf(b, "%t", n%2 == 0)
	case mapper.Long:
		fmt.Fprintf(b, "%d", []int64{int64(n), -int64(n), math.MaxInt64 - int64(n), math.MinInt64, int64(n) * 1000}[g.IntN(5)])
	case mapper.Int:
		fmt.Fprintf(b, "%d", []int{n, -n, 1<<31 - 1 - n, -1 << 31, n * 1000}[g.IntN(5)])
	case mapper.Float, mapper.Double:
		fmt.Fprintf(b, "%d.5", n-g.distinct/2)
	case mapper.Decimal:
		digits := fmt.Sprint(n * 7919)
		fmt.Fprintf(b, `"%s%s"`, pick(g.Rand, "", "-"), digits[:min(len(digits), f.Type.Precision-f.Type.Scale)])
	case mapper.Date:
		fmt.Fprintf(b, `"%04d-03-04"`, 1900+n%200)
	case mapper.Time:
		fmt.Fprintf(b, `"01:02:03.%06d"`, n)
	case mapper.Timestamp, mapper.TimestampNs:
		fmt.Fprintf(b, `"%04d-03-04T05:06:07.%06d"`, 1900+n%200, n)
	case mapper.TimestampTz:
		fmt.Fprintf(b, `"%04d-03-04T05:06:07.%06dZ"`, 1900+n%200, n)
	case mapper.String:
		fmt.Fprintf(b, `"%s"`, strings.Repeat(pick(g.Rand, "ä", "x", "yz"), n%50))
	case mapper.UUID:
		fmt.Fprintf(b, `"%08x-0000-4000-8000-%012x"`, n, n*3)
	case mapper.Fixed:
		fmt.Fprintf(b, `"%s"`, pick(g.Rand, "AAAA", "////", "AQID")[:4])
	case mapper.Binary:
		fmt.Fprintf(b, `"%s"`, pick(g.Rand, "", "AA==", "//////////////////////////8="))
	case mapper.Struct:
		g.members(b, f.Type.Fields)
	case mapper.List:
		g.elements(b, "[]", g.IntN(4), func(int) { g.value(b, &f.Type.Fields[0]) })
	case mapper.Map:
		g.elements(b, "{}", g.IntN(4), func(i int) {
			fmt.Fprintf(b, `"k%d":`, i)
			g.value(b, &f.Type.Fields[1])
		})
	}
}

func (g *generator) elements(b *strings.Builder, brackets string, n int, each func(int)) {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		each(i)
	}
	b.WriteByte(brackets[1])
}
