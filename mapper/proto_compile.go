package mapper

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// protoCompiler makes the plan for messages of one type and a table. It gives up at the first thing that does not fit.
type protoCompiler struct {
	wishes
	// reject: fields that are no column make a record bad.
	reject bool
	// open are the messages that columns take on the way down.
	open map[protoreflect.FullName]bool
	// skips are the messages that are read and left out, each once.
	skips map[protoreflect.FullName]*protoMessage
}

// compile makes a plan; where none can be made it says why.
func (m *protoMapper) compile(md protoreflect.MessageDescriptor) *protoPlan {
	s := m.schema
	c := &protoCompiler{wishes: newWishes(m.evolution, s), reject: m.reject, open: map[protoreflect.FullName]bool{}, skips: map[protoreflect.FullName]*protoMessage{}}
	root := c.message(md, s.rule, s.Fields, "", 0)
	for _, f := range root.kids {
		if f.code == protoAbsent && f.required && c.bad == nil && !c.Optional {
			c.bad = &BadRecordError{Code: CodeRequired, Column: f.path, Reason: fmt.Sprintf("the column is required, and the message %s has no field of that name", md.FullName())}
		}
	}
	return &protoPlan{root: root, bad: c.bad, evolve: c.needs()}
}

func (c *protoCompiler) refuse(path, why string, args ...any) {
	if c.bad == nil {
		c.bad = &BadRecordError{Code: CodeSchema, Column: path, Reason: fmt.Sprintf(why, args...)}
	}
}

// message gives each field of a message to the column of its name. id is that of the struct whose columns they are.
func (c *protoCompiler) message(md protoreflect.MessageDescriptor, rule *fieldRule, columns []Field, path string, id int) *protoMessage {
	p := &protoMessage{refuses: rule.refuses() || c.strict() && (rule == nil || !rule.open)}
	if c.open[md.FullName()] {
		c.refuse(path, "the message %s is recursive (it holds itself): no table has such a column", md.FullName())
		return p
	}
	c.open[md.FullName()] = true
	defer delete(c.open, md.FullName())
	byName, left := map[string]protoreflect.FieldDescriptor{}, map[string]protoreflect.FieldDescriptor{}
	twice := map[string]bool{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		key := rule.key(string(fd.Name()))
		twice[key] = byName[key] != nil
		byName[key], left[string(fd.Name())] = fd, fd
	}
	oneofs := map[protoreflect.FullName]*protoOneof{}
	for i := range columns {
		f, at := &columns[i], join(path, columns[i].Name)
		key := rule.key(f.source())
		fd := byName[key]
		if fd == nil || f.hidden() {
			p.kids = append(p.kids, &protoField{code: protoAbsent, at: i, path: at, field: f, required: f.mustHave()})
			continue
		}
		if twice[key] {
			c.refuse(at, "two fields of the message %s have the column's name in another case", md.FullName())
		}
		delete(left, string(fd.Name()))
		kid := c.field(fd, f, at, i)
		p.kids = append(p.kids, kid)
		p.add(fd.Number(), kid)
		c.join(p, oneofs, fd, kid)
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if left[string(fd.Name())] == nil {
			continue
		}
		kid := c.skip(fd)
		kid.refused = c.unknown(id, path, fd, rule, columns)
		p.add(fd.Number(), kid)
		c.join(p, oneofs, fd, kid)
	}
	return p
}

// join makes a field one of its oneof's.
func (c *protoCompiler) join(p *protoMessage, oneofs map[protoreflect.FullName]*protoOneof, fd protoreflect.FieldDescriptor, f *protoField) {
	od := fd.ContainingOneof()
	if od == nil || od.IsSynthetic() {
		return
	}
	if oneofs[od.FullName()] == nil {
		oneofs[od.FullName()] = &protoOneof{}
		p.oneofs = append(p.oneofs, oneofs[od.FullName()])
	}
	f.oneof = oneofs[od.FullName()]
}

// skip is a field that no column takes. The message that it may be is checked too, and may hold itself; what is in it is left out
// with it.
func (c *protoCompiler) skip(fd protoreflect.FieldDescriptor) *protoField {
	f := newProtoField(fd)
	f.at = -1
	md := fd.Message()
	if md == nil {
		return f
	}
	if f.kid = c.skips[md.FullName()]; f.kid == nil {
		f.kid = &protoMessage{}
		c.skips[md.FullName()] = f.kid
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			f.kid.add(fd.Number(), c.skip(fd))
		}
	}
	return f
}

// newProtoField has what the schema says of how a field is written.
func newProtoField(fd protoreflect.FieldDescriptor) *protoField {
	f := &protoField{kind: fd.Kind(), name: string(fd.FullName()), several: fd.Cardinality() == protoreflect.Repeated}
	f.wire = uint8(wireOf(fd.Kind()))
	f.packs = f.several && f.wire != uint8(protowire.BytesType) && f.wire != uint8(protowire.StartGroupType)
	if strict, ok := fd.(interface{ EnforceUTF8() bool }); ok && fd.Kind() == protoreflect.StringKind {
		f.utf8 = strict.EnforceUTF8()
	}
	return f
}

func wireOf(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

// field brings a field into a column.
func (c *protoCompiler) field(fd protoreflect.FieldDescriptor, f *Field, path string, at int) *protoField {
	switch {
	case fd.IsMap():
		return c.mapField(fd, f, path, at)
	case fd.IsList():
		op := newProtoField(fd)
		op.code, op.at, op.path, op.field, op.required = protoList, at, path, f, f.Required
		if f.Type.Kind != List {
			c.refuse(path, "the repeated field %s does not fit a column of type %s", fd.FullName(), &f.Type)
			return op
		}
		op.element = c.value(fd, &f.Type.Fields[0], join(path, "element"), 0)
		op.element.always = true
		return op
	}
	op := c.value(fd, f, path, at)
	op.needed = fd.Cardinality() == protoreflect.Required
	op.required = f.Required || op.needed
	op.absent = absentOf(fd)
	return op
}

// mapField brings a map into a column. Its entries are messages of a key and a value, and what an entry does not have is zero.
func (c *protoCompiler) mapField(fd protoreflect.FieldDescriptor, f *Field, path string, at int) *protoField {
	op := newProtoField(fd)
	op.code, op.at, op.path, op.field, op.required, op.kid = protoMap, at, path, f, f.Required, &protoMessage{refuses: c.strict()}
	if f.Type.Kind != Map {
		c.refuse(path, "the map %s does not fit a column of type %s", fd.FullName(), &f.Type)
		return op
	}
	for i, fd := range []protoreflect.FieldDescriptor{fd.MapKey(), fd.MapValue()} {
		side := c.value(fd, &f.Type.Fields[i], join(path, [2]string{"key", "value"}[i]), i)
		side.absent, side.always = zeroOf(fd.Kind()), true
		op.kid.kids = append(op.kid.kids, side)
		op.kid.add(fd.Number(), side)
	}
	op.kid.kids[0].wide = nil // keys stay as they are
	return op
}

// absentOf is what stands for a field that is not written: its default where the schema declares one, zero where zeros are not
// written, else nothing.
func absentOf(fd protoreflect.FieldDescriptor) []byte {
	if !fd.HasDefault() {
		if fd.HasPresence() {
			return nil
		}
		return zeroOf(fd.Kind())
	}
	return encodeProtoDefault(fd)
}

// zeroOf is a zero of a kind, as Protobuf; nil for messages.
func zeroOf(k protoreflect.Kind) []byte {
	switch wireOf(k) {
	case protowire.Fixed32Type:
		return make([]byte, 4)
	case protowire.Fixed64Type:
		return make([]byte, 8)
	case protowire.VarintType:
		return []byte{0}
	}
	if k == protoreflect.MessageKind || k == protoreflect.GroupKind {
		return nil
	}
	return []byte{0} // no bytes
}
