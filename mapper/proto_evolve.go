package mapper

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The types that Protobuf's have where no column says: those that take every value of theirs, except that an instant has
// microseconds. Everything in a new column is optional, but the keys of maps.

var protoKinds = map[protoreflect.Kind]Type{
	protoreflect.BoolKind:  {Kind: Boolean},
	protoreflect.Int32Kind: {Kind: Int}, protoreflect.Sint32Kind: {Kind: Int}, protoreflect.Sfixed32Kind: {Kind: Int},
	protoreflect.Int64Kind: {Kind: Long}, protoreflect.Sint64Kind: {Kind: Long}, protoreflect.Sfixed64Kind: {Kind: Long},
	protoreflect.Uint32Kind: {Kind: Long}, protoreflect.Fixed32Kind: {Kind: Long},
	protoreflect.Uint64Kind: {Kind: Decimal, Precision: 20}, protoreflect.Fixed64Kind: {Kind: Decimal, Precision: 20},
	protoreflect.FloatKind: {Kind: Float}, protoreflect.DoubleKind: {Kind: Double},
	protoreflect.StringKind: {Kind: String}, protoreflect.EnumKind: {Kind: String}, protoreflect.BytesKind: {Kind: Binary},
}

// protoKnownTypes are those of well-known messages.
var protoKnownTypes = []Type{{Kind: TimestampTz}, {Kind: Decimal, Precision: 21, Scale: 9}, {Kind: Date}, {Kind: Time}}

// strict says that fields which the schema does not have make a record bad.
func (c *protoCompiler) strict() bool { return c.reject || c.Add }

// unknown is told of a field that is no column of the struct of that id, and gives why it makes records bad; empty where it is left
// out, or asked for.
func (c *protoCompiler) unknown(id int, path string, fd protoreflect.FieldDescriptor, rule *fieldRule, columns []Field) string {
	name := string(fd.Name())
	switch {
	case rule.drops(name):
		return ""
	case rule.refuses(), c.reject && !rule.ignores(name):
		return reasonUnknown
	case !c.Add || rule.ignores(name) || c.taken(id, rule, columns, name):
		return ""
	}
	room := c.free
	t, why := c.columnType(fd, 1, &room)
	switch {
	case why == "" && t.Kind != Invalid && 1+countFields(t.Fields) > c.free:
		why = c.full()
	case why == "":
		why = badNames(name, &t)
	}
	at := join(path, shownName([]byte(name)))
	switch {
	case why != "" && c.untyped != nil:
		// There is no table yet, and it is made for all fields or not at all. Once it is there, only records that have such a field are bad.
		c.refuse(at, "a field that is no column: %s", why)
	case why != "":
		return "a field that is no column: " + why
	case t.Kind != Invalid:
		c.add(id, path, name, t)
	default:
		c.seeUntyped(at)
	}
	return ""
}

// columnType is the type of a column for a field, of kind Invalid for a message without fields. why says why there is none. room is
// how many more fields there may be: messages that hold each other may stand for any number of them.
func (c *protoCompiler) columnType(fd protoreflect.FieldDescriptor, depth int, room *int) (out Type, why string) {
	if depth > deepestInferred {
		return out, fmt.Sprintf("it is nested more than %d deep", deepestInferred)
	}
	if fd.IsMap() {
		t, why := c.valueType(fd.MapValue(), depth, room)
		if why != "" || t.Kind == Invalid {
			return out, why
		}
		return Type{Kind: Map, Fields: []Field{{Name: "key", Type: protoKinds[fd.MapKey().Kind()], Required: true}, {Name: "value", Type: t}}}, ""
	}
	t, why := c.valueType(fd, depth, room)
	if why != "" || t.Kind == Invalid || !fd.IsList() {
		return t, why
	}
	return Type{Kind: List, Fields: []Field{{Name: "element", Type: t}}}, ""
}

func (c *protoCompiler) full() string {
	return fmt.Sprintf("records may not add any beyond %d columns in all", c.MaxColumns)
}

// valueType is that of one value of a field.
func (c *protoCompiler) valueType(fd protoreflect.FieldDescriptor, depth int, room *int) (out Type, why string) {
	if *room--; *room < 0 {
		return out, c.full()
	}
	md := fd.Message()
	if md == nil {
		return protoKinds[fd.Kind()], ""
	}
	if in := wrapped(md); in != nil {
		return protoKinds[in.Kind()], ""
	}
	for _, t := range protoKnownTypes {
		if knownValue(md, t.Kind) != nil && md.FullName() != "confluent.type.Decimal" {
			return t, ""
		}
	}
	switch md.FullName() {
	case "confluent.type.Decimal":
		return out, "a Decimal, whose digits each record tells; add the column to the table"
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return out, fmt.Sprintf("the message %s, which holds values of any type", md.FullName())
	}
	if c.open[md.FullName()] {
		return out, fmt.Sprintf("the message %s is recursive (it holds itself)", md.FullName())
	}
	c.open[md.FullName()] = true
	defer delete(c.open, md.FullName())
	out.Kind = Struct
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		t, why := c.columnType(fd, depth+1, room)
		if why != "" {
			return Type{}, why
		}
		if t.Kind != Invalid {
			out.Fields = append(out.Fields, Field{Name: string(fd.Name()), Type: t})
		}
	}
	if len(out.Fields) == 0 {
		out.Kind = Invalid
	}
	return out, ""
}

// wider is the type that takes every value of a field and that its column may be widened to; nil where there is none.
func (c *protoCompiler) wider(fd protoreflect.FieldDescriptor, f *Field) *Type {
	if !c.Widen || f.fixed() || f.cast().rule != castNone {
		return nil
	}
	t := protoKinds[fd.Kind()]
	if md := fd.Message(); md != nil && f.Type.Kind == Decimal && knownValue(md, Decimal) != nil && md.FullName() == "google.protobuf.Duration" {
		t = protoKnownTypes[1]
	}
	switch k := f.Type.Kind; {
	case k == Int && (t.Kind == Long || t.Kind == Decimal):
		t = Type{Kind: Long}
	case k == Float && t.Kind == Double:
	case k == Decimal && t.Kind == Decimal && t.Scale == f.Type.Scale && t.Precision > f.Type.Precision:
	default:
		return nil
	}
	return &t
}

// lacks is the error of a record that was refused: what a change of the schema may mend is asked for.
func (m *protoMapper) lacks() error {
	bad, f := m.bad, m.failed
	m.failed = nil
	if f == nil || f.field == nil {
		return &bad
	}
	switch {
	case bad.Code == CodeRequired && m.evolution.Optional && f.field.Required && !f.field.fixed() && !f.needed:
		return &EvolveError{Changes: []Change{{Kind: MakeOptional, ID: f.field.ID, Path: bad.Column}}, Bad: &bad}
	case (bad.Code == CodeRange || bad.Code == CodePrecision) && f.wide != nil:
		return &EvolveError{Changes: []Change{{Kind: WidenType, ID: f.field.ID, Type: *f.wide, Path: bad.Column}}, Bad: &bad}
	}
	return &bad
}
