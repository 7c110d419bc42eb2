package mapper

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

// everyKind is a schema with every kind, nested ones inside one another.
func everyKind() *Schema {
	return &Schema{Fields: []Field{
		{Name: "bool", Type: Type{Kind: Boolean}},
		{Name: "int", Type: Type{Kind: Int}, Required: true},
		{Name: "long", Type: Type{Kind: Long}},
		{Name: "float", Type: Type{Kind: Float}},
		{Name: "double", Type: Type{Kind: Double}},
		{Name: "dec", Type: Type{Kind: Decimal, Precision: 38, Scale: 6}},
		{Name: "date", Type: Type{Kind: Date}},
		{Name: "time", Type: Type{Kind: Time}},
		{Name: "ts", Type: Type{Kind: Timestamp}},
		{Name: "tz", Type: Type{Kind: TimestampTz}},
		{Name: "tsn", Type: Type{Kind: TimestampNs}},
		{Name: "tzn", Type: Type{Kind: TimestampTzNs}},
		{Name: "str", Type: Type{Kind: String}},
		{Name: "uuid", Type: Type{Kind: UUID}},
		{Name: "fix", Type: Type{Kind: Fixed, Length: 3}},
		{Name: "bin", Type: Type{Kind: Binary}},
		{Name: "st", Type: Type{Kind: Struct, Fields: []Field{
			{Name: "a", Type: Type{Kind: Long}, Required: true},
			{Name: "b", Type: Type{Kind: String}},
			{Name: "in", Type: Type{Kind: Struct, Fields: []Field{{Name: "f", Type: Type{Kind: Boolean}, Required: true}}}},
		}}},
		{Name: "li", Type: listOf(Field{Type: Type{Kind: String}})},
		{Name: "lili", Type: listOf(Field{Required: true, Type: listOf(Field{Type: Type{Kind: Int}})})},
		{Name: "ma", Type: mapOf(Type{Kind: String}, Field{Type: Type{Kind: Struct, Fields: []Field{
			{Name: "x", Type: Type{Kind: Fixed, Length: 3}}, {Name: "y", Type: listOf(Field{Type: Type{Kind: Boolean}})}}}})},
	}}
}

func listOf(f Field) Type {
	f.Name = "element"
	return Type{Kind: List, Fields: []Field{f}}
}

func mapOf(key Type, value Field) Type {
	value.Name = "value"
	return Type{Kind: Map, Fields: []Field{{Name: "key", Type: key, Required: true}, value}}
}

// fillRow appends a random row by the rules of the invariants.
func fillRow(r *rand.Rand, cs *Columns) {
	for _, c := range cs.Cols {
		fillValue(r, c)
	}
	cs.Rows++
}

func fillValue(r *rand.Rand, c *Column) {
	if !c.Field.Required && r.IntN(4) == 0 {
		c.appendNull()
		return
	}
	c.ensure(1)
	if c.kind != Boolean {
		c.Len++
	}
	switch c.kind {
	case Boolean:
		c.appendBool(r.IntN(2) == 0)
	case Int, Date:
		c.I32 = append(c.I32, int32(r.Uint32()))
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		c.I64 = append(c.I64, int64(r.Uint64()))
	case Float:
		c.F32 = append(c.F32, r.Float32())
	case Double:
		c.F64 = append(c.F64, r.Float64())
	case Decimal, UUID, Fixed:
		for range c.width {
			c.Data = append(c.Data, byte(r.Uint32()))
		}
	case String, Binary:
		for range r.IntN(9) {
			c.Data = append(c.Data, 'a'+byte(r.IntN(26)))
		}
		c.Off = append(c.Off, int32(len(c.Data)))
	case Struct:
		for _, k := range c.Kids {
			fillValue(r, k)
		}
	case List, Map:
		for range r.IntN(4) {
			for _, k := range c.Kids {
				fillValue(r, k)
			}
		}
		c.Off = append(c.Off, int32(c.Kids[0].Len))
	}
}

// rowOf reads row i back as plain values.
func rowOf(cs *Columns, i int) []any {
	row := make([]any, len(cs.Cols))
	for n, c := range cs.Cols {
		row[n] = valueOf(c, i)
	}
	return row
}

func valueOf(c *Column, i int) any {
	if c.IsNull(i) {
		return nil
	}
	switch c.kind {
	case Boolean:
		return c.Bool(i)
	case Int, Date:
		return c.I32[i]
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		return c.I64[i]
	case Float:
		return c.F32[i]
	case Double:
		return c.F64[i]
	case String, Binary, Decimal, UUID, Fixed:
		return string(c.Slot(i))
	case Struct:
		m := make([]any, len(c.Kids))
		for n, k := range c.Kids {
			m[n] = valueOf(k, i)
		}
		return m
	}
	l := []any{}
	for e := int(c.Off[i]); e < int(c.Off[i+1]); e++ {
		for _, k := range c.Kids {
			l = append(l, valueOf(k, e))
		}
	}
	return l
}

func rowsOf(cs *Columns) [][]any {
	rows := make([][]any, cs.Rows)
	for i := range rows {
		rows[i] = rowOf(cs, i)
	}
	return rows
}

// checkInvariants fails where the columns break what columns.go promises.
func checkInvariants(t testing.TB, cs *Columns) {
	t.Helper()
	for _, c := range cs.Cols {
		checkColumn(t, c, cs.Rows)
	}
	if e := cs.extent(); e > cs.bound {
		t.Fatalf("bound %d below extent %d", cs.bound, e)
	}
}

func checkColumn(t testing.TB, c *Column, n int) {
	t.Helper()
	if c.Len != n {
		t.Fatalf("%s: Len %d, want %d", c.Field.Name, c.Len, n)
	}
	if len(c.Valid)*8 < n || c.kind == Boolean && len(c.Bits)*8 < n {
		t.Fatalf("%s: bitmap too short", c.Field.Name)
	}
	nulls := 0
	for i := range n {
		if c.IsNull(i) {
			nulls++
			checkZeroSlot(t, c, i)
		}
	}
	if nulls != c.Nulls || c.Field.Required && nulls > 0 {
		t.Fatalf("%s: Nulls %d, counted %d, required %v", c.Field.Name, c.Nulls, nulls, c.Field.Required)
	}
	for i := n; i < len(c.Valid)*8; i++ {
		if c.IsNull(i) {
			t.Fatalf("%s: bit %d behind Len %d is clear", c.Field.Name, i, n)
		}
	}
	lens := map[Kind]int{Int: len(c.I32), Date: len(c.I32), Long: len(c.I64), Time: len(c.I64), Timestamp: len(c.I64),
		TimestampTz: len(c.I64), TimestampNs: len(c.I64), TimestampTzNs: len(c.I64), Float: len(c.F32), Double: len(c.F64),
		String: len(c.Off) - 1, Binary: len(c.Off) - 1, List: len(c.Off) - 1, Map: len(c.Off) - 1}
	if l, ok := lens[c.kind]; ok && l != n {
		t.Fatalf("%s: buffer has %d values, want %d", c.Field.Name, l, n)
	}
	kids := n
	switch c.kind {
	case Decimal, UUID, Fixed:
		if len(c.Data) != n*c.width {
			t.Fatalf("%s: Data has %d bytes", c.Field.Name, len(c.Data))
		}
	case String, Binary:
		if c.Off[0] != 0 || int(c.Off[n]) != len(c.Data) {
			t.Fatalf("%s: offsets %d..%d, data %d", c.Field.Name, c.Off[0], c.Off[n], len(c.Data))
		}
	case List, Map:
		kids = int(c.Off[n])
	}
	for _, k := range c.Kids {
		checkColumn(t, k, kids)
	}
}

func checkZeroSlot(t testing.TB, c *Column, i int) {
	t.Helper()
	zero := true
	switch c.kind {
	case Boolean:
		zero = !c.Bool(i)
	case Int, Date:
		zero = c.I32[i] == 0
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		zero = c.I64[i] == 0
	case Float:
		zero = c.F32[i] == 0
	case Double:
		zero = c.F64[i] == 0
	case String, Binary, List, Map:
		zero = c.Off[i] == c.Off[i+1]
	case Decimal, UUID, Fixed:
		for _, b := range c.Slot(i) {
			zero = zero && b == 0
		}
	case Struct:
		for _, k := range c.Kids {
			if !k.Field.Required && !k.IsNull(i) {
				zero = false
			}
		}
	}
	if !zero {
		t.Fatalf("%s: null %d has a slot that is not zero", c.Field.Name, i)
	}
}

func mustColumns(t testing.TB, s *Schema) *Columns {
	t.Helper()
	cs, err := NewColumns(s)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func filled(t testing.TB, seed uint64, n int) *Columns {
	cs := mustColumns(t, everyKind())
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		fillRow(r, cs)
	}
	cs.bound = cs.extent()
	checkInvariants(t, cs)
	return cs
}

func TestAppendRowsCopiesRowsInTheGivenOrder(t *testing.T) {
	for seed := range uint64(30) {
		src := filled(t, seed, 100)
		dst := filled(t, seed+100, int(seed)*3)
		want := rowsOf(dst)
		r := rand.New(rand.NewPCG(seed, 2))
		var rows []int32
		for range r.IntN(200) {
			rows = append(rows, int32(r.IntN(100)))
		}
		if err := dst.AppendRows(src, rows); err != nil {
			t.Fatal(err)
		}
		for _, x := range rows {
			want = append(want, rowOf(src, int(x)))
		}
		checkInvariants(t, dst)
		if got := rowsOf(dst); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: rows differ", seed)
		}
	}
}

func TestAppendRangeIsAppendRowsOfConsecutiveRows(t *testing.T) {
	for seed := range uint64(30) {
		src := filled(t, seed, 90)
		a, b := filled(t, seed+100, int(seed)), filled(t, seed+100, int(seed))
		r := rand.New(rand.NewPCG(seed, 3))
		from := r.IntN(91)
		to := from + r.IntN(91-from)
		var rows []int32
		for i := from; i < to; i++ {
			rows = append(rows, int32(i))
		}
		if err := errors.Join(a.AppendRange(src, from, to), b.AppendRows(src, rows)); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, a)
		if !reflect.DeepEqual(rowsOf(a), rowsOf(b)) {
			t.Fatalf("seed %d: rows differ", seed)
		}
	}
}

func TestTruncateTakesRowsAndABegunRowBack(t *testing.T) {
	for seed := range uint64(20) {
		cs := filled(t, seed, 50)
		want := rowsOf(cs)
		r := rand.New(rand.NewPCG(seed, 4))
		for _, c := range cs.Cols[:r.IntN(len(cs.Cols)+1)] {
			fillValue(r, c)
		}
		cs.Truncate(cs.Rows)
		checkInvariants(t, cs)
		if !reflect.DeepEqual(rowsOf(cs), want) {
			t.Fatalf("seed %d: a begun row left something behind", seed)
		}
		n := r.IntN(51)
		cs.Truncate(n)
		checkInvariants(t, cs)
		if !reflect.DeepEqual(rowsOf(cs), want[:n]) {
			t.Fatalf("seed %d: truncated rows differ", seed)
		}
	}
}

func TestFullColumnsRefuseAndStayAsTheyWere(t *testing.T) {
	src := filled(t, 1, 100)
	var rows []int32
	for i := range 100 {
		rows = append(rows, int32(i))
	}
	ways := map[string]func(dst *Columns) error{
		"rows":  func(dst *Columns) error { return dst.AppendRows(src, rows) },
		"range": func(dst *Columns) error { return dst.AppendRange(src, 0, 100) },
	}
	for limit := 1; limit < 700; limit += 7 {
		for name, way := range ways {
			dst := filled(t, 2, 1)
			want, had := rowsOf(dst), dst.extent()
			dst.limit = limit
			fits := had+src.extent() <= limit
			err := way(dst)
			checkInvariants(t, dst)
			if err == nil {
				if e := dst.extent(); e > max(limit, had) {
					t.Fatalf("%s: limit %d passed: %d", name, limit, e)
				}
				continue
			}
			if !errors.Is(err, ErrFull) || fits {
				t.Fatalf("%s: limit %d: %v", name, limit, err)
			}
			if !reflect.DeepEqual(rowsOf(dst), want) {
				t.Fatalf("%s: limit %d: rows changed", name, limit)
			}
		}
	}
}

func TestRowsMoveOnlyBetweenEqualSchemas(t *testing.T) {
	dst := mustColumns(t, &Schema{Fields: []Field{{Name: "a", Type: Type{Kind: Long}}}})
	src := filled(t, 1, 3)
	if err := dst.AppendRows(src, []int32{0}); !errors.Is(err, ErrSchema) {
		t.Fatal(err)
	}
	if err := dst.AppendRange(src, 0, 1); !errors.Is(err, ErrSchema) {
		t.Fatal(err)
	}
}

func TestResetKeepsBuffersAndForgetsAnOversizedBatch(t *testing.T) {
	cs := mustColumns(t, &Schema{Fields: []Field{{Name: "s", Type: Type{Kind: String}}}})
	fill := func(n int) {
		c := cs.Cols[0]
		for range n {
			c.appendNull()
			cs.Rows++
		}
		checkInvariantsOf := cs.Cols[0].Nulls
		if checkInvariantsOf != n {
			t.Fatalf("nulls %d, want %d", checkInvariantsOf, n)
		}
	}
	fill(1 << 20)
	big := cs.Cap()
	cs.Reset()
	if cs.Cap() != big || cs.Bytes() > 64 {
		t.Fatalf("after one reset: cap %d of %d, bytes %d", cs.Cap(), big, cs.Bytes())
	}
	n := 0
	for ; cs.Cap() == big && n < 100; n++ {
		fill(100)
		cs.Reset()
	}
	if n < 5 || n > 20 {
		t.Fatalf("buffers were given back after %d small batches", n)
	}
	checkInvariants(t, cs)
	cs.Release()
	checkInvariants(t, cs)
}

func TestBytesCountsWhatValuesTake(t *testing.T) {
	cs := mustColumns(t, &Schema{Fields: []Field{{Name: "l", Type: Type{Kind: Long}}, {Name: "s", Type: Type{Kind: String}}}})
	for range 1000 {
		for _, c := range cs.Cols {
			c.appendNull()
		}
		cs.Rows++
	}
	if got := cs.Bytes(); got < 12000 || got > 12500 {
		t.Fatalf("1000 rows of a long and an empty string: %d bytes", got)
	}
}

func TestSchemaValidateNamesTheColumn(t *testing.T) {
	deep := Type{Kind: Long}
	for range maxSchemaDepth + 1 {
		deep = listOf(Field{Type: deep})
	}
	tests := map[string]Field{
		"no name":            {Type: Type{Kind: Long}},
		"invalid kind":       {Name: "a"},
		"unknown kind":       {Name: "a", Type: Type{Kind: 99}},
		"precision 0":        {Name: "a", Type: Type{Kind: Decimal}},
		"precision 39":       {Name: "a", Type: Type{Kind: Decimal, Precision: 39}},
		"scale too large":    {Name: "a", Type: Type{Kind: Decimal, Precision: 2, Scale: 3}},
		"scale negative":     {Name: "a", Type: Type{Kind: Decimal, Precision: 2, Scale: -1}},
		"fixed without size": {Name: "a", Type: Type{Kind: Fixed}},
		"list of nothing":    {Name: "a", Type: Type{Kind: List}},
		"map of one":         {Name: "a", Type: Type{Kind: Map, Fields: []Field{{Name: "key", Required: true, Type: Type{Kind: Long}}}}},
		"optional map key": {Name: "a", Type: Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: Long}},
			{Name: "value", Type: Type{Kind: Long}}}}},
		"bad member":       {Name: "a", Type: Type{Kind: Struct, Fields: []Field{{Name: "b"}}}},
		"duplicate member": {Name: "a", Type: Type{Kind: Struct, Fields: []Field{{Name: "b", Type: Type{Kind: Long}}, {Name: "b", Type: Type{Kind: Int}}}}},
		"too deep":         {Name: "a", Type: deep},
	}
	for name, f := range tests {
		if _, err := NewColumns(&Schema{Fields: []Field{f}}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewColumns(nil); err == nil {
		t.Error("nil schema: accepted")
	}
	if _, err := NewColumns(everyKind()); err != nil {
		t.Error(err)
	}
}
