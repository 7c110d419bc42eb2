package mapper

import (
	"errors"
	"math"
	"slices"
)

// Columns are the typed buffers of rows of one schema. Rows are appended, taken back to a row count, moved by row
// numbers, and the buffers are reused after Reset. They belong to one goroutine; several may read them while nobody
// writes. Make them with NewColumns.
//
// Invariants between calls:
//
//   - Every column of Cols has Len == Rows. A struct's members have the struct's Len. A list's element and a map's key and
//     value have Len == Off[Len] of the list or map.
//   - A null takes a slot with a zero value: 0, false, zero bytes, an empty string, an empty list. Under a null struct the
//     members have slots too: null where the member is optional, a valid zero where it is required. So the column of a
//     required field never counts a null, and an optional leaf below a null parent is always null itself.
//   - Off[0] is 0, and Off never falls.
//   - Valid (and Bits, for Boolean) have at least Len bits and may have more; only the first Len mean something. Slice
//     them to (Len+7)/8 bytes.
//   - No offset passes the range of int32: what would, is refused with ErrFull and changes nothing.
//
// The slices may be handed on without a copy (they have Arrow's layout) until the next call of Reset, Release, Truncate
// or one that appends.
type Columns struct {
	Schema *Schema
	// Cols are in the schema's order.
	Cols []*Column
	// Rows is the number of complete rows.
	Rows int

	// bound is at least the largest offset, and the largest Len, of any column. It grows with the bytes that came in, so
	// that one comparison a record proves that no offset overflows; only when it nears the limit is it counted anew.
	bound int
	// limit is the largest offset allowed. Tests lower it.
	limit int
	// defaults is what the defaults of texts add to a record, elements what they add in each element of a list or a map.
	defaults, elements int
}

// Column is the buffer of one column: which of the slices is used depends on the kind.
type Column struct {
	Field *Field
	// Len is the number of values, nulls included.
	Len int
	// Valid has bit i set where value i is not null (least significant bit first, as Arrow); it always spans Len bits.
	// Internally all bits behind Len are set too, so that appending a value need not touch it.
	Valid []byte
	// Nulls counts the nulls among the values.
	Nulls int

	Bits []byte    // Boolean: a bit a value
	I32  []int32   // Int, Date
	I64  []int64   // Long, Time, timestamps
	F32  []float32 // Float
	F64  []float64 // Double
	// Off has Len+1 entries into Data (String, Binary) or into Kids (List, Map).
	Off  []int32
	Data []byte
	Kids []*Column

	kind  Kind
	width int // bytes a value in Data, for Decimal, UUID and Fixed
	// day remembers the last date text of a temporal column.
	day dayCache
	// peak is the use that the shrink policy of Reset remembers, in bytes.
	peak int64
	// def holds the field's default, nil where it has none.
	def *Column
	// spread is how many values an element of a list or map of structs fills; 0 for others.
	spread int64
	// rows is scratch of AppendRows: the element numbers of the lists that are copied.
	rows []int32
}

// ErrFull says that the columns hold as much as their 32-bit offsets can address. Nothing was changed: write the rows
// out, Reset, and do it again.
var ErrFull = errors.New("mapper: columns are full: write them out and reset them")

// NewColumns makes empty columns for s, which must not change afterwards. The error names what is wrong with s.
func NewColumns(s *Schema) (*Columns, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	cs := &Columns{Schema: s, Cols: newColumns(s.Fields), limit: math.MaxInt32}
	cs.countDefaults()
	return cs, nil
}

func newColumns(fields []Field) []*Column {
	cols := make([]*Column, len(fields))
	for i := range fields {
		cols[i] = newColumn(&fields[i])
	}
	return cols
}

func newColumn(f *Field) *Column {
	c := &Column{Field: f, kind: f.Type.Kind, width: f.Type.width()}
	c.day.minute = epochMinute
	switch c.kind {
	case String, Binary, List, Map:
		c.Off = make([]int32, 1, 64)
	}
	switch c.kind {
	case Struct, List, Map, Variant:
		c.Kids = newColumns(f.Type.Fields)
		c.spreads()
	}
	if f.Default != nil {
		c.def, _ = f.defaultColumn() // it fits: the schema was validated
	}
	return c
}

// IsNull says whether value i is null. i must be below Len.
func (c *Column) IsNull(i int) bool { return c.Valid[i>>3]&(1<<(i&7)) == 0 }

// Bool gives value i of a Boolean column. i must be below Len.
func (c *Column) Bool(i int) bool { return c.Bits[i>>3]&(1<<(i&7)) != 0 }

// Slot gives the bytes of value i of a column whose values lie in Data (String, Binary, Decimal, UUID, Fixed), without
// a copy. i must be below Len.
func (c *Column) Slot(i int) []byte {
	if c.width > 0 {
		return c.Data[i*c.width : (i+1)*c.width]
	}
	return c.Data[c.Off[i]:c.Off[i+1]]
}

// Truncate takes the rows from number rows on back, and with them what a row that was begun has left in the columns.
// It costs time for what it removes, not for what stays.
func (cs *Columns) Truncate(rows int) {
	rows = max(0, min(rows, cs.Rows))
	for _, c := range cs.Cols {
		c.truncate(rows)
	}
	cs.Rows = rows
}

// truncate keeps the first n values. It must not leave early for nested kinds: a value that was begun is in the kids only.
func (c *Column) truncate(n int) {
	if n < c.Len {
		c.truncateNulls(n)
		c.Len = n
		switch c.kind {
		case Int, Date:
			c.I32 = c.I32[:n]
		case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
			c.I64 = c.I64[:n]
		case Float:
			c.F32 = c.F32[:n]
		case Double:
			c.F64 = c.F64[:n]
		case String, Binary, List, Map:
			c.Off = c.Off[:n+1]
		}
	}
	switch c.kind {
	case String, Binary:
		c.Data = c.Data[:c.Off[c.Len]]
	case Decimal, UUID, Fixed:
		c.Data = c.Data[:c.Len*c.width]
	case Struct, Variant:
		for _, k := range c.Kids {
			k.truncate(c.Len)
		}
	case List, Map:
		for _, k := range c.Kids {
			k.truncate(int(c.Off[c.Len]))
		}
	}
}

// truncateNulls sets the validity bits from n on again.
func (c *Column) truncateNulls(n int) {
	if c.Nulls == 0 {
		return
	}
	for i := n; i < c.Len; i++ {
		if m := byte(1) << (i & 7); c.Valid[i>>3]&m == 0 {
			c.Valid[i>>3] |= m
			c.Nulls--
		}
	}
}

// ensure makes room in the bitmaps for n more values.
func (c *Column) ensure(n int) {
	if c.Len+n > len(c.Valid)*8 {
		c.growBits(n)
	}
}

// full says that the bitmaps have no room for one more value; growBits makes it. (Small enough to be compiled into its
// callers, as ensure is not.)
func (c *Column) full() bool { return c.Len>>3 >= len(c.Valid) }

func (c *Column) growBits(n int) {
	have := len(c.Valid)
	want := max((c.Len+n+7)/8, 2*have, 64)
	valid := make([]byte, want)
	copy(valid, c.Valid)
	for i := have; i < want; i++ {
		valid[i] = 0xff
	}
	c.Valid = valid
	if c.kind == Boolean {
		bits := make([]byte, want)
		copy(bits, c.Bits)
		c.Bits = bits
	}
}

// growData makes room in Data for n more bytes, behind its end.
func (c *Column) growData(n int) { c.Data = slices.Grow(c.Data, n) }

// appendNull appends a null with its zero slot. In a required column (which happens only below a null struct) it appends
// a valid zero.
func (c *Column) appendNull() {
	c.ensure(1)
	n := c.Len
	if !c.Field.Required {
		c.Valid[n>>3] &^= 1 << (n & 7)
		c.Nulls++
	}
	c.Len = n + 1
	switch c.kind {
	case Boolean:
		c.Bits[n>>3] &^= 1 << (n & 7)
	case Int, Date:
		c.I32 = append(c.I32, 0)
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		c.I64 = append(c.I64, 0)
	case Float:
		c.F32 = append(c.F32, 0)
	case Double:
		c.F64 = append(c.F64, 0)
	case Decimal, UUID:
		c.Data = append(c.Data, zero16[:]...)
	case Fixed:
		c.Data = append(c.Data, make([]byte, c.width)...)
	case String, Binary:
		c.Off = append(c.Off, int32(len(c.Data)))
	case Struct, Variant:
		for _, k := range c.Kids {
			k.appendNull()
		}
	case List, Map:
		c.Off = append(c.Off, int32(c.Kids[0].Len))
	}
}

var zero16 [16]byte

func (c *Column) appendBool(v bool) {
	c.ensure(1)
	if m := byte(1) << (c.Len & 7); v {
		c.Bits[c.Len>>3] |= m
	} else {
		c.Bits[c.Len>>3] &^= m
	}
	c.Len++
}

func (c *Column) appendI64(v int64) {
	if c.full() {
		c.growBits(1)
	}
	c.I64 = append(c.I64, v)
	c.Len++
}

// room says whether n more bytes or elements surely fit below the offset limit, and counts them. Each mapper calls it
// once a record with the record's size, which no column can grow by more than.
func (cs *Columns) room(n int) bool {
	if cs.defaults|cs.elements > 0 { // a record may have 4,096 elements that take no byte
		n += cs.defaults + (n+4097)*cs.elements
	}
	if n <= cs.limit-cs.bound {
		cs.bound += n
		return true
	}
	cs.bound = cs.extent()
	if n > cs.limit-cs.bound {
		return false
	}
	cs.bound += n
	return true
}

// extent is the largest offset, or number of values, of any column.
func (cs *Columns) extent() int {
	m := cs.Rows
	for _, c := range cs.Cols {
		m = max(m, c.extent())
	}
	return m
}

func (c *Column) extent() int {
	m := c.Len
	if c.kind == String || c.kind == Binary {
		m = max(m, len(c.Data))
	}
	for _, k := range c.Kids {
		m = max(m, k.extent())
	}
	return m
}

// Bytes is the memory that the values take, without what the buffers keep in reserve. It costs a few nanoseconds a
// column, whatever the number of rows.
func (cs *Columns) Bytes() int64 {
	var n int64
	for _, c := range cs.Cols {
		n += c.bytes()
	}
	return n
}

func (c *Column) bytes() int64 {
	n := c.ownBytes()
	for _, k := range c.Kids {
		n += k.bytes()
	}
	return n
}

// ownBytes is the use of the column's own buffers, without its kids.
func (c *Column) ownBytes() int64 {
	bitmap := int64(c.Len+7) / 8
	n := bitmap + 4*int64(len(c.I32)) + 8*int64(len(c.I64)) + 4*int64(len(c.F32)) + 8*int64(len(c.F64)) +
		4*int64(len(c.Off)) + int64(len(c.Data))
	if c.kind == Boolean {
		n += bitmap
	}
	return n
}

// Cap is the memory that the buffers hold, used or not.
func (cs *Columns) Cap() int64 {
	var n int64
	for _, c := range cs.Cols {
		n += c.capAll()
	}
	return n
}

func (c *Column) capAll() int64 {
	n := c.ownCap()
	for _, k := range c.Kids {
		n += k.capAll()
	}
	return n
}

func (c *Column) ownCap() int64 {
	return int64(cap(c.Valid)) + int64(cap(c.Bits)) + int64(cap(c.Data)) + 8*int64(cap(c.I64)) + 8*int64(cap(c.F64)) +
		4*(int64(cap(c.I32))+int64(cap(c.F32))+int64(cap(c.Off))+int64(cap(c.rows)))
}
