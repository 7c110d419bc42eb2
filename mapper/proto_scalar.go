package mapper

import (
	"encoding/binary"
	"math"
	"math/big"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// scalar appends a value to f's column.
func (m *protoMapper) scalar(f *protoField, b []byte, i int) int {
	c := f.col
	if c.full() {
		c.growBits(1)
	}
	switch f.code {
	case protoInteger:
		v, next := m.number(f, b, i)
		if next < 0 {
			return next
		}
		if c.kind == Long && !(int64(v) < 0 && f.isUnsigned()) {
			c.I64 = append(c.I64, int64(v))
			c.Len++
			return next
		}
		if why := c.putProtoInteger(v, f.isUnsigned()); why != nil {
			return m.fail(f, why)
		}
		return next
	case protoByRule:
		return m.byRule(f, b, i)
	case protoText, protoBytes, protoFixed, protoForm:
		return m.byteValue(f, b, i)
	case protoBool:
		v, next := m.number(f, b, i)
		if next >= 0 {
			c.appendBool(v != 0)
		}
		return next
	case protoDouble, protoFloat:
		return m.float(f, b, i)
	}
	v, next := m.number(f, b, i)
	if next < 0 {
		return next
	}
	name, ok := f.symbols[int32(v)]
	if !ok {
		return m.fail(f, faultSymbol)
	}
	if !m.grow(len(name)) {
		return -1
	}
	c.Data = append(c.Data, name...)
	c.Off = append(c.Off, int32(len(c.Data)))
	c.Len++
	return next
}

var faultSymbol = &fault{CodeType, "a number that the schema's enum has no name for"}

func (f *protoField) isUnsigned() bool {
	return f.kind == protoreflect.Uint64Kind || f.kind == protoreflect.Fixed64Kind
}

// putProtoInteger appends an integer of 64 bits, exactly or not at all; room must have been made.
func (c *Column) putProtoInteger(v uint64, unsigned bool) *fault {
	neg, abs := int64(v) < 0, magnitude(int64(v))
	if unsigned {
		neg, abs = false, v
	}
	switch {
	case c.kind == Decimal:
		return c.rescaled(neg, 0, abs, c.Field.Type.Scale)
	case unsigned && v > math.MaxInt64:
		return c.putBig(new(big.Int).SetUint64(v))
	}
	return c.putInt(int64(v))
}

func (m *protoMapper) float(f *protoField, b []byte, i int) int {
	c := f.col
	if f.code == protoFloat {
		if len(b)-i < 4 {
			return m.short(b)
		}
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
		if c.kind == Float {
			c.F32 = append(c.F32, v)
		} else {
			c.F64 = append(c.F64, float64(v))
		}
		c.Len++
		return i + 4
	}
	if len(b)-i < 8 {
		return m.short(b)
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))
	if c.kind == Double {
		c.F64 = append(c.F64, v)
		c.Len++
	} else if why := c.putFloat(v); why != nil {
		return m.fail(f, why)
	}
	return i + 8
}

// bytes reads bytes, and checks that they are text where they must be.
func (m *protoMapper) bytes(f *protoField, b []byte, i int) ([]byte, int) {
	n, i := m.length(b, i)
	if i < 0 {
		return nil, i
	}
	t := b[i : i+n]
	if f.utf8 && !utf8.Valid(t) {
		return nil, m.fail(f, faultUTF8)
	}
	return t, i + n
}

func (m *protoMapper) byteValue(f *protoField, b []byte, i int) int {
	t, next := m.bytes(f, b, i)
	if next < 0 {
		return next
	}
	c := f.col
	switch f.code {
	case protoForm:
		if why := c.appendText(t); why != nil {
			return m.fail(f, why)
		}
		return next
	case protoFixed:
		if len(t) != c.width {
			return m.fail(f, faultFixedLength)
		}
		c.Data = append(c.Data, t...)
		c.Len++
		return next
	}
	c.appendBytes(t)
	return next
}

// part reads a part of a well-known message.
func (m *protoMapper) part(f *protoField, b []byte, i int) int {
	if f.kind == protoreflect.BytesKind {
		f.known.there |= 1 << f.at
		f.known.bytes, i = m.bytes(f, b, i)
		return i
	}
	v, next := m.number(f, b, i)
	f.known.parts[f.at] = int64(v)
	f.known.there |= 1 << f.at
	return next
}

// number reads an integer, a boolean or an enum's number, as 64 bits of two's complement or, where it has no sign, as they are.
// What does not fit its type is refused: nothing is cut.
func (m *protoMapper) number(f *protoField, b []byte, i int) (uint64, int) {
	switch f.kind {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		if len(b)-i < 4 {
			return 0, m.short(b)
		}
		v := binary.LittleEndian.Uint32(b[i:])
		if f.kind == protoreflect.Sfixed32Kind {
			return uint64(int64(int32(v))), i + 4
		}
		return uint64(v), i + 4
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		if len(b)-i < 8 {
			return 0, m.short(b)
		}
		return binary.LittleEndian.Uint64(b[i:]), i + 8
	}
	v, next := m.varint(b, i)
	if next < 0 {
		return 0, next
	}
	fits := true
	switch f.kind {
	case protoreflect.BoolKind:
		fits = v <= 1
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		fits = int64(v) == int64(int32(v))
	case protoreflect.Uint32Kind:
		fits = v <= math.MaxUint32
	case protoreflect.Sint32Kind:
		fits = v <= math.MaxUint32
		v = uint64(protowire.DecodeZigZag(v))
	case protoreflect.Sint64Kind:
		v = uint64(protowire.DecodeZigZag(v))
	}
	if !fits {
		return 0, m.fail(f, faultProtoRange)
	}
	return v, next
}

var faultProtoRange = &fault{CodeRange, "a number outside the range of the field's type in the schema"}

// varint reads a number of up to 64 bits, seven a byte.
func (m *protoMapper) varint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	if len(b)-i >= 8 {
		w := load(b, i)
		if stop := ^w & highs; stop != 0 {
			v, n := packed(w, stop)
			return v, i + n
		}
	}
	v, n := binary.Uvarint(b[i:])
	if n <= 0 {
		if n == 0 && len(b)-i < binary.MaxVarintLen64 {
			return 0, m.short(b)
		}
		return 0, m.syntax(i, "a number of more than 64 bits")
	}
	return v, i + n
}

// length reads how many bytes follow, and makes sure that they do. Where they do not, both results are below zero together.
func (m *protoMapper) length(b []byte, i int) (n, next int) {
	v, next := m.varint(b, i)
	switch {
	case next < 0:
		return 0, next
	case v > uint64(len(b)-next):
		return 0, m.short(b)
	}
	return int(v), next
}
