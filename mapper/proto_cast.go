package mapper

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// textCast reads a field's values by a rule.
type textCast struct {
	Cast
	zone *zone
}

// cast makes op one that reads by the column's rule, or in its time zone; false where the types alone decide: what a well-known
// message says of itself is not overruled.
func (c *protoCompiler) cast(op *protoField, fd protoreflect.FieldDescriptor, f *Field) bool {
	k, z := f.cast(), f.zone()
	if fd.Message() != nil {
		return k.rule == castVariable && op.variable(fd.Message(), c.strict())
	}
	if k.rule == castNone {
		k.rule = castUnitless // of use for text in a time zone
		if z == nil {
			return false
		}
	}
	ok := false
	switch fd.Kind() {
	case protoreflect.EnumKind:
	case protoreflect.StringKind:
		ok = k.rule != castText && k.rule != castVariable
	case protoreflect.BytesKind:
		ok = k.rule == castUnscaled
	case protoreflect.BoolKind, protoreflect.FloatKind, protoreflect.DoubleKind:
		ok = k.rule == castText
	default:
		ok = k.rule == castText || k.rule == castBoolean || k.rule == castEpoch || k.rule == castMidnight || k.rule == castDays
	}
	switch {
	case ok:
		op.code, op.cast = protoByRule, &textCast{Cast: k, zone: newZone(z)}
		op.utf8 = op.utf8 || fd.Kind() == protoreflect.StringKind
	case k.rule == castUnscaled || k.rule == castVariable:
		c.refuse(op.path, "the field %s of type %s is not written as the column's cast says", fd.FullName(), fd.Kind())
		return true
	}
	return ok
}

// variable makes op one that reads a message of a decimal's scale and its value; false where md is none.
func (f *protoField) variable(md protoreflect.MessageDescriptor, reject bool) bool {
	scale, value := md.Fields().ByName("scale"), md.Fields().ByName("value")
	if scale == nil || value == nil || scale.IsList() || value.IsList() || scale.Kind() != protoreflect.Int32Kind || value.Kind() != protoreflect.BytesKind {
		return false
	}
	f.code, f.kid, f.known = protoKnown, &protoMessage{refuses: reject}, &protoKnownValue{put: (*protoKnownValue).variable}
	for i, fd := range []protoreflect.FieldDescriptor{scale, value} {
		part := newProtoField(fd)
		part.code, part.at, part.known, part.path = protoPart, i, f.known, f.path
		f.kid.add(fd.Number(), part)
		if fd.HasPresence() {
			f.known.need |= 1 << i
		}
	}
	return true
}

// variable is an integer in two's complement, and how many of its digits stand behind the point.
func (v *protoKnownValue) variable(c *Column) *fault {
	switch s := v.parts[0]; {
	case v.there&v.need != v.need:
		return faultVariable
	case s < -1000 || s > 1000:
		return faultDecimalPlaces
	}
	return c.unscaled(v.bytes, c.Field.Type.Scale-int(v.parts[0]))
}

// byRule reads a value by its column's rule.
func (m *protoMapper) byRule(f *protoField, b []byte, i int) int {
	k, c := f.cast, f.col
	var why *fault
	switch f.kind {
	case protoreflect.StringKind, protoreflect.BytesKind:
		t, next := m.bytes(f, b, i)
		if next < 0 {
			return next
		}
		if i = next; f.kind == protoreflect.StringKind {
			why = k.put(c, t, formText, k.zone)
		} else {
			why = c.unscaled(t, c.Field.Type.Scale-int(k.scale))
		}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return m.floatText(f, b, i)
	default:
		v, next := m.number(f, b, i)
		if next < 0 {
			return next
		}
		if !m.grow(longestNumber) {
			return -1
		}
		i = next
		var digits [20]byte
		t, form := strconv.AppendInt(digits[:0], int64(v), 10), formNumber
		switch {
		case f.kind == protoreflect.BoolKind:
			t, form = strconv.AppendBool(digits[:0], v != 0), formBoolean
		case f.isUnsigned():
			t = strconv.AppendUint(digits[:0], v, 10)
		}
		why = k.put(c, t, form, k.zone)
	}
	if why != nil {
		return m.fail(f, why)
	}
	return i
}

// floatText reads a float or a double into text: the shortest form that reads back as the same.
func (m *protoMapper) floatText(f *protoField, b []byte, i int) int {
	size, bits := 4, 32
	if f.kind == protoreflect.DoubleKind {
		size, bits = 8, 64
	}
	if len(b)-i < size {
		return m.short(b)
	}
	if !m.grow(longestNumber) {
		return -1
	}
	v := float64(math.Float32frombits(uint32(le(b[i : i+4]))))
	if size == 8 {
		v = math.Float64frombits(le(b[i : i+size]))
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return m.fail(f, faultNotFinite)
	}
	var digits [longestNumber]byte
	f.col.appendBytes(strconv.AppendFloat(digits[:0], v, 'g', -1, bits))
	return i + size
}
