package mapper

import (
	"math"

	"github.com/stormfloe/floe/internal/variant"
)

// A variant is two byte strings in Parquet's binary form: the metadata, with the keys of its objects, and the value. They are the
// members of a struct that has no ids, as columns and files have it.

// variantFields are the members of each column of type variant.
var variantFields = []Field{
	{ID: -1, Name: "metadata", Type: Type{Kind: Binary}, Required: true},
	{ID: -1, Name: "value", Type: Type{Kind: Binary}, Required: true},
}

// VariantType is the type of a column that holds values of any shape (format version 3).
func VariantType() Type { return Type{Kind: Variant, Fields: variantFields} }

// reasonVariantInside: iceberg-go 0.7 does not project a column that holds variants in lists.
const reasonVariantInside = "a variant can't lie in a list or a map: make all of it one variant"

// variantGrowth is how many bytes of a variant a byte of JSON makes at most: an empty array is three bytes and an offset of four.
const variantGrowth = 8

// holdsVariant says that one of the fields, or of what they consist of, is a variant.
func holdsVariant(fields []Field) bool {
	for i := range fields {
		if t := &fields[i].Type; t.Kind == Variant || holdsVariant(t.Fields) {
			return true
		}
	}
	return false
}

// variantValue reads a JSON value of any type but null into a variant column.
func (m *jsonMapper) variantValue(n *jsonNode, b []byte, i, depth int) int {
	var to variant.Builder
	if i = m.variantPart(n, &to, b, i, depth); i < 0 {
		return i
	}
	metadata, value, err := to.Build()
	if err != nil {
		return m.fail(n, faultVariantKeys)
	}
	c := n.col // value has made room in its bitmap
	for k, part := range [...][]byte{metadata, value} {
		c.Kids[k].ensure(1)
		c.Kids[k].appendBytes(part)
	}
	c.Len++
	return i
}

var faultVariantKeys = &fault{CodeSize, "an object with more keys than a variant can have"}

// variantPart appends one value, as strictly checked as skip does; unlike there, a key must not come twice.
func (m *jsonMapper) variantPart(n *jsonNode, to *variant.Builder, b []byte, i, depth int) int {
	if i = skipSpace(b, i); i >= len(b) {
		return m.syntax(b, i, "")
	}
	switch b[i] {
	case '"':
		t, end := m.str(n, b, i+1)
		if end >= 0 {
			to.String(text(t))
		}
		return end
	case '{':
		return m.variantObject(n, to, b, i, depth+1)
	case '[':
		return m.variantArray(n, to, b, i, depth+1)
	case 't':
		to.Bool(true)
		return m.skipWord(b, i, "true")
	case 'f':
		to.Bool(false)
		return m.skipWord(b, i, "false")
	case 'n':
		to.Null()
		return m.skipWord(b, i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		end := numberEnd(b, i)
		if end < 0 {
			return m.syntax(b, i, "a number that JSON does not have")
		}
		if f := appendVariantNumber(to, b[i:end]); f != nil {
			return m.fail(n, f)
		}
		return end
	}
	return m.syntax(b, i, "a value was expected")
}

func (m *jsonMapper) variantArray(n *jsonNode, to *variant.Builder, b []byte, i, depth int) int {
	if depth > m.depth {
		return m.tooDeep()
	}
	start, offsets := to.Offset(), []int(nil)
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		to.FinishArray(start, nil)
		return i + 1
	}
	for {
		offsets = append(offsets, to.NextElement(start))
		if i = m.variantPart(n, to, b, i, depth); i < 0 {
			return i
		}
		if i = skipSpace(b, i); i >= len(b) {
			return m.syntax(b, i, "")
		}
		switch b[i] {
		case ',':
			i++
		case ']':
			to.FinishArray(start, offsets)
			return i + 1
		default:
			return m.syntax(b, i, "a comma or the array's end was expected")
		}
	}
}

func (m *jsonMapper) variantObject(n *jsonNode, to *variant.Builder, b []byte, i, depth int) int {
	if depth > m.depth {
		return m.tooDeep()
	}
	start, fields := to.Offset(), []variant.Field(nil)
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		to.FinishObject(start, nil)
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return m.syntax(b, i, "a key was expected")
		}
		key, end := m.str(n, b, i+1)
		if end < 0 {
			return end
		}
		fields = append(fields, to.NextField(start, string(key)))
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return m.syntax(b, i, "a colon was expected")
		}
		if i = m.variantPart(n, to, b, i+1, depth); i < 0 {
			return i
		}
		if i = skipSpace(b, i); i >= len(b) {
			return m.syntax(b, i, "")
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			if !to.FinishObject(start, fields) {
				return m.fail(n, faultTwice)
			}
			return i + 1
		default:
			return m.syntax(b, i, "a comma or the object's end was expected")
		}
	}
}

// appendVariantNumber appends an integer of 64 bits as one, every other number of up to 38 digits and places as a decimal, and
// the rest as the nearest double. An integer that none of them holds is refused.
func appendVariantNumber(to *variant.Builder, lit []byte) *fault {
	n := split(lit)
	if v, f := n.int64(); f == nil {
		to.Int(v)
		return nil
	}
	scale := max(0, -n.exp)
	if scale <= 38 && n.count+n.exp+scale <= 38 {
		var room [16]byte
		slot, f := n.decimal(room[:0], 38, int(scale))
		if f != nil {
			return f
		}
		to.Decimal(load(slot, 8), load(slot, 0), int(n.count+n.exp+scale), int(scale))
		return nil
	}
	v, f := float64Of(lit)
	if f != nil {
		return f
	}
	to.Double(v)
	return nil
}

// variantRoom is the room that a record of n bytes asks for.
func (m *jsonMapper) variantRoom(n int) int {
	if !m.variants {
		return n
	}
	return min(n, math.MaxInt32/variantGrowth) * variantGrowth
}
