package mapper

import "fmt"

// The types that Avro's have where no column says: exactly what the schema means. Everything in a new column is optional,
// but the keys of maps.

// avroColumn is what a column for a type would be.
type avroColumn struct {
	// Type is of kind Invalid for null alone. Types that are used in several places share what is in them.
	Type
	// why says why there is none.
	why string
	// inside is how many fields the type has in it, counted to mostInside: records that hold each other may stand for any number.
	inside int
}

const mostInside = 1 << 30

// column is the column for a field that is read as t. Each type is looked at once.
func (c *avroCompiler) column(t *avroType) avroColumn {
	if out, known := c.columns[t]; known {
		return out
	}
	if c.columns == nil {
		c.columns = map[*avroType]avroColumn{}
	}
	var out avroColumn
	switch t.kind {
	case avroRecord:
		out = c.recordColumn(t)
	case avroArray, avroMap:
		out = c.itemsColumn(t)
	case avroUnion:
		out = c.unionColumn(t)
	default:
		out.Type, out.why = scalarColumn(t)
		// What the integers are is not in the schema.
		out.inexact = c.untyped != nil && out.Kind == Long
	}
	c.columns[t] = out
	return out
}

// scalarColumn is the type of a column for one that has no others in it.
func scalarColumn(t *avroType) (out Type, why string) {
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

func (c *avroCompiler) recordColumn(t *avroType) (out avroColumn) {
	for i := range t.fields {
		f := c.column(t.fields[i].typ)
		if f.why != "" {
			return avroColumn{why: f.why}
		}
		if f.Kind != Invalid {
			out.Kind = Struct
			out.Fields = append(out.Fields, Field{Name: t.fields[i].name, Type: f.Type})
			out.inside = min(out.inside+1+f.inside, mostInside)
		}
	}
	return out
}

func (c *avroCompiler) itemsColumn(t *avroType) avroColumn {
	items := c.column(t.items)
	switch {
	case items.why != "" || items.Kind == Invalid:
		return avroColumn{why: items.why}
	case t.kind == avroArray:
		return avroColumn{Type: Type{Kind: List, Fields: []Field{{Name: "element", Type: items.Type}}}, inside: min(1+items.inside, mostInside)}
	}
	return avroColumn{Type: Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: String}, Required: true}, {Name: "value", Type: items.Type}}},
		inside: min(2+items.inside, mostInside)}
}

func (c *avroCompiler) unionColumn(t *avroType) (out avroColumn) {
	var one *avroType
	for _, b := range t.branches {
		switch {
		case b.kind == avroNull:
		case one != nil:
			return avroColumn{why: "a union of several types, which no type of column takes"}
		default:
			one = b
		}
	}
	if one != nil {
		out = c.column(one)
	}
	return out
}

// grow asks for a field that is no column.
func (c *avroCompiler) grow(id int, path string, f *avroField) {
	t := c.column(f.typ)
	switch at := join(path, shownName([]byte(f.name))); {
	case t.why != "":
		c.fail(at, "a field that is no column: "+t.why)
	case t.Kind == Invalid:
		c.seeUntyped(at)
	case t.inside >= c.free:
		c.fail(at, c.tooMany()) // before anybody looks at each of them
	default:
		c.add(id, path, f.name, t.Type)
	}
}

// wider is the column's field with the type that the written one needs, where it is asked for.
func (c *avroCompiler) wider(w *avroType, f *Field, path string) *Field {
	t, _ := scalarColumn(w)
	switch k := f.Type.Kind; {
	case !c.Widen, f.fixed(), w.logical != "" && w.logical != "decimal":
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
