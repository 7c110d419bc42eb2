package mapper

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Each function here that gives an index reads at b[i:] and gives the index behind what it read, or one below zero after it has
// set m.bad or m.full. The columns then hold a part of a row, which Map takes back.

// message reads fields up to the end of b, or of the group of that number. What comes of them is value number row of p's columns;
// it is complete only when the message around it is, since a message may come in several pieces.
func (m *protoMapper) message(p *protoMessage, b []byte, i, row, depth int, group uint64) int {
	if depth > m.depth {
		m.bad = BadRecordError{Code: faultDepth.code, Reason: faultDepth.reason}
		return -1
	}
	for i < len(b) {
		at, tag := i, uint64(b[i])
		if i++; tag >= 0x80 || tag < 8 {
			if tag, i = m.tag(b, at); i < 0 {
				return i
			}
		}
		num, wire := tag>>3, uint8(tag&7)
		if wire == uint8(protowire.EndGroupType) {
			if num != group {
				return m.syntax(at, "the end of a group that was not begun")
			}
			return i
		}
		f := p.find(num)
		switch {
		case f == nil:
			i = m.unknown(p, num, wire, b, i, depth)
		case wire != f.wire:
			i = m.otherwise(f, wire, b, i, row)
		case f.code > protoSkip && f.code < protoScalars:
			i = m.single(f, b, i, row)
		default:
			i = m.composite(f, b, i, row, depth, num)
		}
		if i < 0 {
			return i
		}
	}
	if group != 0 {
		return m.short(b)
	}
	return i
}

// tag reads a field's number and how its value is written, where it has more than a byte or is none.
func (m *protoMapper) tag(b []byte, i int) (uint64, int) {
	v, next := m.varint(b, i)
	if next >= 0 && (v>>3 < uint64(protowire.MinValidNumber) || v>>3 > uint64(protowire.MaxValidNumber)) {
		return 0, m.syntax(i, "a number that no field has")
	}
	return v, next
}

// single reads a value of a field that has one. The last one counts.
func (m *protoMapper) single(f *protoField, b []byte, i, row int) int {
	if f.code == protoPart {
		return m.part(f, b, i)
	}
	if f.col.Len > row {
		f.col.truncate(row)
	}
	if f.oneof != nil {
		f.oneof.take(f, row)
	}
	return m.scalar(f, b, i)
}

// composite reads a message, an element of a list, an entry of a map, or what is left out.
func (m *protoMapper) composite(f *protoField, b []byte, i, row, depth int, num uint64) int {
	if f.oneof != nil {
		f.oneof.take(f, row)
	}
	switch f.code {
	case protoSkip:
		if f.refused != "" {
			return m.unwanted(f.name, f.refused)
		}
		return m.skip(f, b, i, depth, num)
	case protoList:
		if f.col.spread > 0 && !m.spread.take(f.col, 1) {
			return m.fail(f, faultSpread)
		}
		return m.item(f.element, b, i, depth, num)
	case protoMap:
		if f.col.spread > 0 && !m.spread.take(f.col, 1) {
			return m.fail(f, faultSpread)
		}
		return m.entry(f, b, i, depth, num)
	}
	f.seen = true
	return m.nested(f, b, i, row, depth, num)
}

// nested reads the message or the group of a field.
func (m *protoMapper) nested(f *protoField, b []byte, i, row, depth int, num uint64) int {
	if f.wire == uint8(protowire.StartGroupType) {
		return m.message(f.kid, b, i, row, depth+1, num)
	}
	n, i := m.length(b, i)
	if i < 0 {
		return i
	}
	return m.message(f.kid, b[:i+n], i, row, depth+1, 0)
}

// item reads an element of a list, which is complete by itself.
func (m *protoMapper) item(f *protoField, b []byte, i, depth int, num uint64) int {
	if f.code < protoScalars {
		return m.scalar(f, b, i)
	}
	row := f.col.Len
	if i = m.nested(f, b, i, row, depth, num); i < 0 || !m.close(f, row) {
		return -1
	}
	return i
}

// entry reads an entry of a map, which is complete by itself.
func (m *protoMapper) entry(f *protoField, b []byte, i, depth int, num uint64) int {
	row := f.col.Kids[0].Len
	if i = m.nested(f, b, i, row, depth, num); i < 0 || !m.complete(f.kid, row) {
		return -1
	}
	return i
}

// otherwise reads values that are written together, or else refuses what is not written as the field's type is.
func (m *protoMapper) otherwise(f *protoField, wire uint8, b []byte, i, row int) int {
	if !f.packs || wire != uint8(protowire.BytesType) {
		m.bad = BadRecordError{Code: CodeType, Column: f.path, Reason: "the field " + f.name + " is not written as its type is"}
		return -1
	}
	if f.refused != "" {
		return m.unwanted(f.name, f.refused)
	}
	n, i := m.length(b, i)
	if i < 0 {
		return i
	}
	for b = b[:i+n]; i < len(b) && i >= 0; {
		if f.code == protoSkip {
			i = m.skipScalar(f, b, i)
		} else {
			i = m.scalar(f.element, b, i)
		}
	}
	return i
}

// complete ends a message: what its kids did not get is null or zero, and what came in pieces is put together.
func (m *protoMapper) complete(p *protoMessage, row int) bool {
	for _, f := range p.kids {
		if (f.seen || f.col.Len == row) && !m.close(f, row) {
			return false
		}
	}
	for _, o := range p.oneofs {
		o.set = nil
	}
	return true
}

// close gives a field's column its value for row, where that was not complete yet.
func (m *protoMapper) close(f *protoField, row int) bool {
	c := f.col
	if c.full() {
		c.growBits(1)
	}
	there := f.seen || f.always
	f.seen = false
	switch f.code {
	case protoList:
		c.Off = append(c.Off, int32(c.Kids[0].Len))
		c.Len++
		return true
	case protoMap:
		if keysTwice(c.Kids[0], int(c.Off[row]), &m.order) {
			return m.fail(f.kid.kids[0], faultTwice) >= 0
		}
		c.Off = append(c.Off, int32(c.Kids[0].Len))
		c.Len++
		return true
	case protoStruct:
		if !there {
			return m.null(f)
		}
		if !m.complete(f.kid, row) {
			return false
		}
		c.Len++
		return true
	case protoWrapper:
		if !there {
			return m.null(f)
		}
		return m.complete(f.kid, row)
	case protoKnown:
		if !there {
			return m.null(f)
		}
		why := f.known.put(f.known, c)
		f.known.reset()
		return why == nil || m.fail(f, why) >= 0
	}
	switch {
	case f.code == protoAbsent && !f.required:
		f.col.appendAbsent()
		return true
	case f.absent == nil:
		return m.null(f)
	}
	return m.grow(len(f.absent)) && m.scalar(f, f.absent, 0) >= 0
}

func (m *protoMapper) null(f *protoField) bool {
	if f.required {
		m.fail(f, faultMissing)
		return false
	}
	f.col.appendNull()
	return true
}

// unknown skips a field of p that the schema does not have, and checks that it is one.
func (m *protoMapper) unknown(p *protoMessage, num uint64, wire uint8, b []byte, i, depth int) int {
	if p.refuses {
		return m.unwanted("", "a field that the schema does not have")
	}
	switch protowire.Type(wire) {
	case protowire.VarintType:
		_, i = m.varint(b, i)
		return i
	case protowire.Fixed32Type:
		return m.skipBytes(4, b, i)
	case protowire.Fixed64Type:
		return m.skipBytes(8, b, i)
	case protowire.BytesType:
		n, i := m.length(b, i)
		return i + n
	case protowire.StartGroupType:
		return m.message(noFields, b, i, 0, depth+1, num)
	}
	return m.syntax(i-1, "a value that is written in no known way")
}

// noFields is a message that nothing is known of.
var noFields = &protoMessage{}

func (m *protoMapper) unwanted(name, why string) int {
	m.bad = BadRecordError{Code: CodeUnknown, Column: name, Reason: why}
	return -1
}

// skip reads a value of a field that no column takes. It is checked as strictly as any other.
func (m *protoMapper) skip(f *protoField, b []byte, i, depth int, num uint64) int {
	if f.kid != nil {
		return m.nested(f, b, i, 0, depth, num)
	}
	return m.skipScalar(f, b, i)
}

func (m *protoMapper) skipScalar(f *protoField, b []byte, i int) int {
	switch f.kind {
	case protoreflect.FloatKind:
		return m.skipBytes(4, b, i)
	case protoreflect.DoubleKind:
		return m.skipBytes(8, b, i)
	case protoreflect.StringKind, protoreflect.BytesKind:
		_, i = m.bytes(f, b, i)
		return i
	}
	_, i = m.number(f, b, i)
	return i
}

func (m *protoMapper) skipBytes(n int, b []byte, i int) int {
	if n > len(b)-i {
		return m.short(b)
	}
	return i + n
}
