package mapper

import "fmt"

// The types that Avro's have where no column says: exactly what the schema means. Everything in a new column is optional,
// but the keys of maps.

// columnType is the type of a column for a field that is read as t, of kind Invalid for null alone. why says why there is
// none.
func columnType(t *avroType) (out Type, why string) {
	switch t.kind {
	case avroNull:
	case avroBoolean:
		out.Kind = Boolean
	case avroInt, avroLong:
		return integerColumn(t)
	case avroFloat:
		out.Kind = Float
	case avroDouble:
		out.Kind = Double
	case avroEnum:
		out.Kind = String
	case avroBytes, avroString, avroFixed:
		return bytesColumn(t)
	case avroRecord:
		return recordColumn(t)
	case avroArray, avroMap:
		return itemsColumn(t)
	case avroUnion:
		return unionColumn(t)
	}
	return out, ""
}

func integerColumn(t *avroType) (Type, string) {
	kinds := map[string]Kind{"date": Date, "time-millis": Time, "time-micros": Time,
		"timestamp-millis": TimestampTz, "timestamp-micros": TimestampTz, "timestamp-nanos": TimestampTzNs,
		"local-timestamp-millis": Timestamp, "local-timestamp-micros": Timestamp, "local-timestamp-nanos": TimestampNs}
	switch k, known := kinds[t.logical]; {
	case known:
		return Type{Kind: k}, ""
	case t.logical != "":
		return Type{}, fmt.Sprintf("there is no type of column that a field of type %s fits", t)
	case t.kind == avroLong:
		return Type{Kind: Long}, ""
	}
	return Type{Kind: Int}, ""
}

func bytesColumn(t *avroType) (Type, string) {
	switch {
	case t.logical == "decimal":
		if t.precision > 38 {
			return Type{}, fmt.Sprintf("a column has at most 38 digits, and the field has %d", t.precision)
		}
		return Type{Kind: Decimal, Precision: t.precision, Scale: t.scale}, ""
	case t.logical == "uuid":
		return Type{Kind: UUID}, ""
	case t.kind == avroString:
		return Type{Kind: String}, ""
	case t.kind == avroBytes:
		return Type{Kind: Binary}, ""
	case t.size == 0:
		return Type{}, "a column has at least one byte, and the field has none"
	}
	return Type{Kind: Fixed, Length: t.size}, ""
}

func recordColumn(t *avroType) (Type, string) {
	out := Type{Kind: Struct}
	for i := range t.fields {
		ft, why := columnType(t.fields[i].typ)
		if why != "" {
			return out, why
		}
		if ft.Kind != Invalid {
			out.Fields = append(out.Fields, Field{Name: t.fields[i].name, Type: ft})
		}
	}
	if len(out.Fields) == 0 {
		out.Kind = Invalid
	}
	return out, ""
}

func itemsColumn(t *avroType) (Type, string) {
	items, why := columnType(t.items)
	switch {
	case why != "" || items.Kind == Invalid:
		return Type{}, why
	case t.kind == avroArray:
		return Type{Kind: List, Fields: []Field{{Name: "element", Type: items}}}, ""
	}
	return Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: String}, Required: true}, {Name: "value", Type: items}}}, ""
}

func unionColumn(t *avroType) (Type, string) {
	var one *avroType
	for _, b := range t.branches {
		switch {
		case b.kind == avroNull:
		case one != nil:
			return Type{}, "a union of several types, which no type of column takes"
		default:
			one = b
		}
	}
	if one == nil {
		return Type{}, ""
	}
	return columnType(one)
}

// grow asks for a field that is no column.
func (c *avroCompiler) grow(id int, path string, f *avroField) {
	t, why := columnType(f.typ)
	switch {
	case why != "":
		c.wishes.fail(join(path, shownName([]byte(f.name))), "a field that is no column: "+why)
	case t.Kind != Invalid:
		// What the integers are is not in the schema.
		t.each("", func(_ string, t *Type) { t.inexact = c.untyped != nil && t.Kind == Long })
		c.add(id, path, f.name, t)
	default:
		c.seeUntyped(join(path, shownName([]byte(f.name))))
	}
}

// wider is the column's field with the type that the written one needs, where it is asked for.
func (c *avroCompiler) wider(w *avroType, f *Field, path string) *Field {
	t, _ := columnType(w)
	switch k := f.Type.Kind; {
	case !c.Widen, w.logical != "" && w.logical != "decimal":
		return f
	case t.Kind == Long && k == Int, t.Kind == Double && k == Float:
	case t.Kind == Decimal && k == Decimal && t.Scale == f.Type.Scale && t.Precision > f.Type.Precision:
	default:
		return f
	}
	c.widen(f, path, t)
	wide := *f
	wide.Type = t
	return &wide
}

// lacks is the error of a record that has no value for a required column, at which the mapper gave up.
func (m *avroMapper) lacks(bad *BadRecordError) error {
	f := m.failed
	if bad.Code != CodeRequired || !m.evolution.Optional || f == nil || !f.Required {
		return bad
	}
	return &EvolveError{Changes: []Change{{Kind: MakeOptional, ID: f.ID, Path: bad.Column}}, Bad: bad}
}
