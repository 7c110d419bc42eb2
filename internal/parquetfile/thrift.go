package parquetfile

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift writes Thrift's compact protocol, as far as page headers and footers need it. Fields must be written in the
// order of their ids.
type thrift struct {
	b    []byte
	last int   // id of the last field of the open struct
	open []int // last ids of the structs around it
}

func (t *thrift) reset() { t.b, t.last, t.open = t.b[:0], 0, t.open[:0] }

func (t *thrift) field(id int, kind byte) {
	if d := id - t.last; d < 16 {
		t.b = append(t.b, byte(d)<<4|kind)
	} else {
		t.b = binary.AppendVarint(append(t.b, kind), int64(id))
	}
	t.last = id
}

func (t *thrift) begin() {
	t.open = append(t.open, t.last)
	t.last = 0
}

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
}

// structField begins a struct, which end ends.
func (t *thrift) structField(id int) {
	t.field(id, thriftStruct)
	t.begin()
}

func (t *thrift) i16(id int, v int16) {
	t.field(id, thriftI16)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i32(id int, v int32) {
	t.field(id, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) bool(id int, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *thrift) binary(id int, v []byte) {
	t.field(id, thriftBinary)
	t.b = binary.AppendUvarint(t.b, uint64(len(v)))
	t.b = append(t.b, v...)
}

// list begins a list of n elements, which follow without headers.
func (t *thrift) list(id, n int, kind byte) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
	} else {
		t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(n))
	}
}

// element is an i32 in a list.
func (t *thrift) element(v int32) { t.b = binary.AppendVarint(t.b, int64(v)) }

// text is a string in a list.
func (t *thrift) text(v string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(v)))
	t.b = append(t.b, v...)
}
