package writer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// The hash values of Iceberg's specification, Appendix B.
func TestBucketHashOfTheSpecification(t *testing.T) {
	micros := func(s string) int64 {
		tm, err := time.Parse("2006-01-02T15:04:05.999999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return tm.UnixMicro()
	}
	id := uuid.MustParse("f79c3e09-677c-4bbd-a479-3f349cb785e7")
	for _, c := range []struct {
		name string
		got  uint32
		want int32
	}{
		{"int 34", murmur3Int(34), 2017239379},
		{"long 34", murmur3Int(34), 2017239379},
		{"decimal 14.20", murmur3(decimalBytes(littleEndian(1420))), -500754589},
		{"date 2017-11-16", murmur3Int(17486), -653330422},
		{"time 22:31:08", murmur3Int(81068000000), -662762989},
		{"timestamp 2017-11-16T22:31:08", murmur3Int(micros("2017-11-16T22:31:08")), -2047944441},
		{"timestamp with micros", murmur3Int(micros("2017-11-16T22:31:08.000001")), -1207196810},
		{"string iceberg", murmur3([]byte("iceberg")), 1210000089},
		{"uuid", murmur3(id[:]), 1488055340},
		{"fixed 00010203", murmur3([]byte{0, 1, 2, 3}), -188683207},
		{"true as int", murmur3Int(1), 1392991556},
	} {
		if int32(c.got) != c.want {
			t.Errorf("%s: %d, want %d", c.name, int32(c.got), c.want)
		}
	}
}

func littleEndian(v int64) []byte {
	n := decimal128.FromI64(v)
	out := make([]byte, 16)
	for i := range 8 {
		out[i], out[8+i] = byte(n.LowBits()>>(8*i)), byte(uint64(n.HighBits())>>(8*i))
	}
	return out
}

// partitionOf writes one value into a table partitioned by it and gives the partition value.
func partitionOf(t *testing.T, typ iceberg.Type, transform string, v any) any {
	t.Helper()
	d := writeValues(t, typ, transform, nil, v)
	for _, val := range d.Files[0].Partition() {
		return val
	}
	t.Fatal("no partition value")
	return nil
}

func TestPartitionValuesHaveTheTypesOfIceberg(t *testing.T) {
	p := iceberg.PrimitiveTypes
	u := uuid.MustParse("f79c3e09-677c-4bbd-a479-3f349cb785e7")
	before := time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC)
	day := time.Date(2017, 11, 16, 22, 31, 8, 0, time.UTC)
	midnight := time.Date(2017, 11, 16, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		typ       iceberg.Type
		transform string
		value     any
		want      any
	}{
		{p.Bool, "identity", true, true},
		{p.Int32, "identity", -5, int32(-5)},
		{p.Int64, "identity", int64(-5), int64(-5)},
		{p.Float32, "identity", float32(1.5), float32(1.5)},
		{p.Float64, "identity", -1.5, -1.5},
		{p.Date, "identity", midnight, iceberg.Date(17486)},
		{p.Timestamp, "identity", "2017-11-16T22:31:08", iceberg.Timestamp(day.UnixMicro())},
		{p.TimestampTz, "identity", day, iceberg.Timestamp(day.UnixMicro())},
		{p.String, "identity", "a/b c=ä%", "a/b c=ä%"},
		{p.Binary, "identity", []byte{0, 255}, []byte{0, 255}},
		{iceberg.FixedTypeOf(2), "identity", []byte{0, 255}, []byte{0, 255}},
		{p.UUID, "identity", u, u},
		{iceberg.DecimalTypeOf(9, 2), "identity", "-1.50", iceberg.Decimal{Val: decimal128.FromI64(-150), Scale: 2}},
		{p.Int64, "identity", nil, nil},
		{p.Int32, "bucket[16]", 34, int32(2017239379 % 16)},
		{p.String, "bucket[100]", "iceberg", int32(1210000089 % 100)},
		{p.String, "bucket[100]", nil, nil},
		{p.UUID, "bucket[128]", u, int32(1488055340 % 128)},
		{p.Int32, "truncate[10]", -1, int32(-10)},
		{p.Int64, "truncate[10]", int64(19), int64(10)},
		{iceberg.DecimalTypeOf(9, 2), "truncate[50]", "10.65", iceberg.Decimal{Val: decimal128.FromI64(1050), Scale: 2}},
		{iceberg.DecimalTypeOf(9, 2), "truncate[50]", "-9999999.50", iceberg.Decimal{Val: decimal128.FromI64(-999999950), Scale: 2}},
		{iceberg.DecimalTypeOf(9, 2), "truncate[50]", "-0.01", iceberg.Decimal{Val: decimal128.FromI64(-50), Scale: 2}},
		{p.String, "truncate[3]", "日本語 text", "日本語"},
		{p.Binary, "truncate[3]", []byte{1, 2, 3, 4}, []byte{1, 2, 3}},
		{p.TimestampTz, "year", before, int32(-1)},
		{p.TimestampTz, "month", before, int32(-1)},
		{p.TimestampTz, "day", before, iceberg.Date(-1)},
		{p.TimestampTz, "hour", before, int32(-1)},
		{p.Date, "year", midnight, int32(47)},
		{p.Date, "month", midnight, int32(47*12 + 10)},
		{p.Date, "day", midnight, iceberg.Date(17486)},
		{p.TimestampTz, "hour", day, int32(17486*24 + 22)},
		{p.Timestamp, "day", nil, nil},
		{p.Int64, "void", int64(7), nil},
	} {
		if got := partitionOf(t, c.typ, c.transform, c.value); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s of %s %v: %#v, want %#v", c.transform, c.typ, c.value, got, c.want)
		}
	}
}

func TestAllNaNsShareAPartition(t *testing.T) {
	other := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1<<63 ^ 1)
	d := writeValues(t, iceberg.PrimitiveTypes.Float64, "identity", nil, math.NaN(), other, 1.0, math.NaN())
	if len(d.Files) != 2 {
		t.Errorf("%d files, want 2", len(d.Files))
	}
}

// The transforms agree with iceberg-go's on random values.
func TestTransformsAgreeWithIcebergGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() int64 { return r.Int64() >> r.IntN(64) * (1 - 2*r.Int64N(2)) }
	text := func() []byte { return []byte(string([]rune("aä日𐐷zZ")[r.IntN(6)]) + fmt.Sprint(r.IntN(99))) }
	micros := func() int64 { return number() % (100000 * 365 * 86400 * 1000000 / 2) }
	type gen struct {
		typ  iceberg.Type
		kind mapper.Kind
		set  func(c *mapper.Column) iceberg.Literal
	}
	i32 := func(f func(int32) iceberg.Literal) func(c *mapper.Column) iceberg.Literal {
		return func(c *mapper.Column) iceberg.Literal {
			v := int32(number())
			c.I32 = []int32{v}
			return f(v)
		}
	}
	i64 := func(num func() int64, f func(int64) iceberg.Literal) func(c *mapper.Column) iceberg.Literal {
		return func(c *mapper.Column) iceberg.Literal {
			v := num()
			c.I64 = []int64{v}
			return f(v)
		}
	}
	p := iceberg.PrimitiveTypes
	gens := []gen{
		{p.Int32, mapper.Int, i32(func(v int32) iceberg.Literal { return iceberg.Int32Literal(v) })},
		{p.Date, mapper.Date, i32(func(v int32) iceberg.Literal { return iceberg.DateLiteral(v % 3e6) })},
		{p.Int64, mapper.Long, i64(number, func(v int64) iceberg.Literal { return iceberg.Int64Literal(v) })},
		{p.Timestamp, mapper.Timestamp, i64(micros, func(v int64) iceberg.Literal { return iceberg.TimestampLiteral(v) })},
		{p.TimestampTzNs, mapper.TimestampTzNs, i64(number, func(v int64) iceberg.Literal { return iceberg.TimestampNsLiteral(v) })},
		{p.String, mapper.String, func(c *mapper.Column) iceberg.Literal {
			c.Data = text()
			c.Off = []int32{0, int32(len(c.Data))}
			return iceberg.StringLiteral(c.Data)
		}},
		{p.Binary, mapper.Binary, func(c *mapper.Column) iceberg.Literal {
			c.Data = text()
			c.Off = []int32{0, int32(len(c.Data))}
			return iceberg.BinaryLiteral(c.Data)
		}},
		{iceberg.DecimalTypeOf(38, 3), mapper.Decimal, func(c *mapper.Column) iceberg.Literal {
			hi := number() >> 3
			lo := r.Uint64()
			if r.IntN(2) == 0 {
				lo = uint64(number())
				hi = int64(lo) >> 63
			}
			n := decimal128.New(hi, lo)
			c.Data = make([]byte, 16)
			for i := range 8 {
				c.Data[i], c.Data[8+i] = byte(lo>>(8*i)), byte(uint64(hi)>>(8*i))
			}
			return iceberg.DecimalLiteral{Val: n, Scale: 3}
		}},
	}
	for _, g := range gens {
		for _, name := range []string{"identity", "bucket[7]", "bucket[1000]", "truncate[1]", "truncate[13]", "year", "month", "day", "hour"} {
			tr, err := iceberg.ParseTransform(name)
			if err != nil {
				t.Fatal(err)
			}
			if !tr.CanTransform(g.typ) {
				continue
			}
			pf := &partField{transform: tr, source: g.typ, kind: g.kind, precision: 38, scale: 3}
			if err := pf.bind(tr); err != nil {
				t.Fatal(err)
			}
			for range 300 {
				c := &mapper.Column{Field: &mapper.Field{Type: mapper.Type{Kind: g.kind}}, Len: 1}
				setKind(c, g.kind)
				want := tr.Apply(iceberg.Optional[iceberg.Literal]{Valid: true, Val: g.set(c)})
				if g.kind == mapper.Date {
					c.I32[0] %= 3e6
				}
				var v vector
				v.resize(1)
				if err := pf.apply(c, &mask{c: c, dense: true}, 0, 1, &v); err != nil {
					continue // below the range: tested elsewhere
				}
				got := pf.value(&v, 0)
				w := want.Val.Any()
				if d, ok := got.(iceberg.Date); ok && g.kind != mapper.Date || ok && name == "day" {
					got = int32(d)
					if wd, ok := w.(iceberg.Date); ok {
						w = int32(wd)
					}
				}
				if !reflect.DeepEqual(got, w) {
					t.Fatalf("%s of %s %v: %#v, want %#v", name, g.typ, c, got, w)
				}
			}
		}
	}
}

// setKind makes a bare column that Slot can read.
func setKind(c *mapper.Column, k mapper.Kind) {
	cols, err := mapper.NewColumns(&mapper.Schema{Fields: []mapper.Field{{ID: 1, Name: "v", Type: mapper.Type{Kind: k, Precision: 38, Scale: 3}}}})
	if err != nil {
		panic(err)
	}
	*c = *cols.Cols[0]
	c.Len = 1
}

func TestRecordsWithoutAPartitionAreBad(t *testing.T) {
	p := iceberg.PrimitiveTypes
	for _, c := range []struct {
		typ       iceberg.Type
		transform string
		value     any
	}{
		{p.String, "identity", ""},
		{p.String, "truncate[3]", ""},
		{p.Binary, "identity", []byte{}},
		{p.Binary, "truncate[3]", []byte{}},
		{p.Int32, "truncate[10]", math.MinInt32},
		{p.Int64, "truncate[10]", int64(math.MinInt64)},
		{iceberg.DecimalTypeOf(2, 1), "truncate[1000]", "-0.1"},
		{iceberg.DecimalTypeOf(9, 2), "truncate[50]", "-9999999.99"},
		{iceberg.DecimalTypeOf(38, 1), "truncate[1000]", "-" + strings.Repeat("9", 37) + ".9"},
	} {
		sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "v", Type: c.typ})
		tbl, _ := newTable(t, sc, specOf(t, sc, "v "+c.transform), nil)
		rows := []map[string]any{{}, {"v": c.value}, {}}
		task := newTask(t, tbl, func(cfg *Config) { cfg.Mapper = values(rows) })
		done, err := task.Append(t.Context(), batchOf(0, 3, func(int) []byte { return []byte{} }))
		bad, ok := errors.AsType[*BadRecord](err)
		if done || !ok || bad.Position != 1 || bad.Partition != testPartition || bad.Err.Code != CodePartitionValue || bad.Err.Column != "v" {
			t.Errorf("%s of %v: done %t, error %v", c.transform, c.value, done, err)
			continue
		}
		if d := seal(t, task); d.Rows != 1 || d.Inputs[0].Range.To != 1 {
			t.Errorf("%s of %v: the batch holds %d rows to %v, want what precedes the record", c.transform, c.value, d.Rows, d.Inputs)
		}
	}
	if h := hex.EncodeToString(decimalBytes(littleEndian(-1))); h != "ff" {
		t.Errorf("-1 as bytes: %s", h)
	}
}

func TestHoursOutOfRangeAreBad(t *testing.T) {
	pf := &partField{transform: iceberg.HourTransform{}, source: iceberg.PrimitiveTypes.Timestamp, kind: mapper.Timestamp}
	if err := pf.bind(iceberg.HourTransform{}); err != nil {
		t.Fatal(err)
	}
	c := &mapper.Column{}
	setKind(c, mapper.Timestamp)
	c.I64 = []int64{math.MaxInt64}
	var v vector
	v.resize(1)
	if err := pf.apply(c, &mask{c: c, dense: true}, 0, 1, &v); err == nil {
		t.Error("the hour of the last timestamp wraps in 32 bits and must be refused")
	}
}

func TestMembersOfStructsArePartitionSources(t *testing.T) {
	sc := allTypes()
	tbl, _ := newTable(t, sc, specOf(t, sc, "st.req bucket[4]", "st.opt truncate[1]", "st.inner.x identity"), nil)
	task := newTask(t, tbl, nil)
	b := batchOf(1, 400, anyRecord)
	task.Open(t.Context(), map[source.Partition]source.Position{testPartition: 1})
	appendAll(t, task, b)
	tbl = commit(t, tbl, seal(t, task))
	sameRows(t, scan(t, tbl, nil), mapped(t, tbl, b))
}
