package mapper

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// value decides how one value of a field comes into a column: exactly, or not at all.
func (c *protoCompiler) value(fd protoreflect.FieldDescriptor, f *Field, path string, at int) *protoField {
	op := newProtoField(fd)
	op.at, op.path, op.field, op.required = at, path, f, f.Required
	op.wide = c.wider(fd, f)
	if c.cast(op, fd, f) {
		return op
	}
	var ok bool
	k := f.Type.Kind
	switch fd.Kind() {
	case protoreflect.BoolKind:
		op.code, ok = protoBool, k == Boolean
	case protoreflect.FloatKind:
		op.code, ok = protoFloat, k == Float || k == Double
	case protoreflect.DoubleKind:
		op.code, ok = protoDouble, k == Float || k == Double
	case protoreflect.StringKind, protoreflect.BytesKind:
		ok = op.ofBytes(fd.Kind() == protoreflect.StringKind, k)
	case protoreflect.EnumKind:
		if op.code, ok = protoSymbol, k == String; ok {
			op.symbols = symbolsOf(fd.Enum())
		} else {
			op.code, ok = protoInteger, k == Int || k == Long
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return c.messageValue(op, fd, f)
	default:
		op.code, ok = protoInteger, k == Int || k == Long || k == Float || k == Double || k == Decimal
	}
	if !ok {
		c.refuse(path, "the field %s of type %s does not fit a column of type %s%s", fd.FullName(), fd.Kind(), &f.Type, whyNoProto(fd.Kind(), k))
	}
	return op
}

// whyNoProto tells more where an integer was meant for a time.
func whyNoProto(kind protoreflect.Kind, k Kind) string {
	switch k {
	case Date, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		switch kind {
		case protoreflect.BytesKind, protoreflect.BoolKind, protoreflect.FloatKind, protoreflect.DoubleKind, protoreflect.EnumKind:
		default:
			return ": its unit would be a guess"
		}
	}
	return ""
}

// ofBytes is the conversion of text or bytes.
func (f *protoField) ofBytes(text bool, k Kind) bool {
	switch k {
	case String:
		f.code, f.utf8 = protoText, true
		return true
	case Binary:
		f.code = protoBytes
		return true
	case Fixed:
		f.code = protoFixed
		return !text
	case UUID, Decimal, Date, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		f.code = protoForm
		return text
	}
	return false
}

// symbolsOf are the names of an enum's numbers: the first of those that share one.
func symbolsOf(ed protoreflect.EnumDescriptor) map[int32]string {
	out := map[int32]string{}
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		if _, ok := out[int32(v.Number())]; !ok {
			out[int32(v.Number())] = string(v.Name())
		}
	}
	return out
}

// messageValue is the conversion of a message.
func (c *protoCompiler) messageValue(op *protoField, fd protoreflect.FieldDescriptor, f *Field) *protoField {
	md := fd.Message()
	if f.Type.Kind == Struct {
		op.code, op.kid = protoStruct, c.message(md, f.rule, f.Type.Fields, op.path, f.ID)
		return op
	}
	if in := wrapped(md); in != nil {
		op.code, op.kid = protoWrapper, &protoMessage{refuses: c.strict()}
		inner := c.value(in, f, op.path, op.at)
		inner.absent = zeroOf(in.Kind())
		op.kid.kids = []*protoField{inner}
		op.kid.add(in.Number(), inner)
		return op
	}
	if op.known = knownValue(md, f.Type.Kind); op.known != nil {
		op.code, op.kid = protoKnown, &protoMessage{refuses: c.strict()}
		for i := range md.Fields().Len() {
			part := newProtoField(md.Fields().Get(i))
			part.code, part.at, part.known, part.path = protoPart, i, op.known, op.path
			op.kid.add(md.Fields().Get(i).Number(), part)
		}
		return op
	}
	why := ""
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		why = ": an instant has no date and no clock without a time zone"
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		why = ": it holds values of any type"
	}
	c.refuse(op.path, "the message %s does not fit a column of type %s%s", md.FullName(), &f.Type, why)
	return op
}

// wrapped is the field in one of the messages of google/protobuf/wrappers.proto, which make a scalar that may be null.
func wrapped(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	name, ok := strings.CutPrefix(string(md.FullName()), "google.protobuf.")
	if !ok {
		return nil
	}
	switch name {
	case "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue":
	default:
		return nil
	}
	fd := md.Fields().ByNumber(1)
	if md.Fields().Len() != 1 || fd == nil || fd.IsList() || fd.Message() != nil || fd.Enum() != nil {
		return nil
	}
	return fd
}

// encodeProtoDefault writes the default that a field declares as Protobuf of the field's type.
func encodeProtoDefault(fd protoreflect.FieldDescriptor) []byte {
	v := fd.Default()
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(nil, protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(nil, uint64(int64(v.Enum())))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return protowire.AppendVarint(nil, uint64(v.Int()))
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(nil, protowire.EncodeZigZag(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return protowire.AppendVarint(nil, v.Uint())
	case protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(nil, uint32(v.Int()))
	case protoreflect.Fixed32Kind:
		return protowire.AppendFixed32(nil, uint32(v.Uint()))
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(nil, math.Float32bits(float32(v.Float())))
	case protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(nil, uint64(v.Int()))
	case protoreflect.Fixed64Kind:
		return protowire.AppendFixed64(nil, v.Uint())
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(nil, math.Float64bits(v.Float()))
	case protoreflect.StringKind:
		return protowire.AppendString(nil, v.String())
	}
	return protowire.AppendBytes(nil, v.Bytes())
}
