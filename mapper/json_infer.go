package mapper

import "math/bits"

// The types that JSON's values have where no column says. A number without a point and without an exponent is a long, one
// beyond 64 bits has no type; any other number is a double. Text is a string, whatever it looks like. An object is a struct
// of its members, an array a list of a type that takes all its elements. Null, an empty array and an empty object have no
// type yet.

// deepestInferred is how deep the type of a new column may be nested.
const deepestInferred = 20

// infer gives the type of the valid value at b[i:], of the field at that path: of kind Invalid where it has none yet; and the
// value's end. why says why it can have none.
func (w *jsonWishes) infer(b []byte, i int, path string, depth int) (t Type, end int, why string) {
	end = w.m.skip(b, i, 0)
	if depth > deepestInferred {
		return t, end, "a field that is no column, and is nested too deep to become one"
	}
	if w.unavailable(b, i, path) {
		return t, end, ""
	}
	switch b[i] {
	case 'n':
	case 't', 'f':
		t.Kind = Boolean
	case '"':
		t.Kind = String
	case '{':
		t, why = w.inferStruct(b, i, path, depth)
	case '[':
		t, why = w.inferList(b, i, path, depth)
	default:
		t, why = inferNumber(b[i:end])
		t.inexact = t.inexact && w.untyped != nil
	}
	if t.Kind == Invalid && why == "" {
		w.seeUntyped(path)
	}
	return t, end, why
}

func inferNumber(num []byte) (Type, string) {
	for _, c := range num {
		if c == '.' || c == 'e' || c == 'E' {
			if _, f := float64Of(num); f != nil {
				return Type{}, "a field that is no column, and a number that no type is inferred for: " + f.reason
			}
			return Type{Kind: Double}, ""
		}
	}
	v, f := split(num).int64()
	if f != nil {
		return Type{}, "a field that is no column, and an integer beyond 64 bits, which no type is inferred for"
	}
	return Type{Kind: Long, inexact: !fitsDouble(v)}, ""
}

// fitsDouble says that a double holds the integer exactly: without the zeros at its end it has at most 53 bits.
func fitsDouble(v int64) bool {
	u := uint64(max(v, -v)) // of the least integer the same bits
	return u == 0 || bits.Len64(u>>bits.TrailingZeros64(u)) <= 53
}

func (w *jsonWishes) inferStruct(b []byte, i int, path string, depth int) (Type, string) {
	t := Type{Kind: Struct}
	names := map[string]bool{}
	for i = skipSpace(b, i+1); b[i] != '}'; {
		key, at := w.m.str(nil, b, i+1)
		f := Field{Name: string(key)}
		if names[w.rule.key(f.Name)] {
			return t, "a field that is no column, and has a key twice"
		}
		names[w.rule.key(f.Name)] = true
		var why string
		if f.Type, i, why = w.infer(b, skipSpace(b, skipSpace(b, at)+1), join(path, shownName(key)), depth+1); why != "" {
			return t, why
		}
		if f.Type.Kind != Invalid {
			t.Fields = append(t.Fields, f)
		}
		if i = skipSpace(b, i); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	if len(t.Fields) == 0 {
		t.Kind = Invalid
	}
	return t, ""
}

func (w *jsonWishes) inferList(b []byte, i int, path string, depth int) (Type, string) {
	element := Type{}
	for i = skipSpace(b, i+1); b[i] != ']'; {
		var t Type
		var why string
		if t, i, why = w.infer(b, i, join(path, "element"), depth+1); why != "" {
			return t, why
		}
		switch {
		case t.Kind == Invalid:
		case element.Kind == Invalid:
			element = t
		default:
			var ok bool
			if element, ok = mergeTypes(element, t, w.rule.key); !ok {
				return t, "a field that is no column, and an array whose elements have no type in common"
			}
		}
		if i = skipSpace(b, i); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	if element.Kind == Invalid {
		return Type{}, ""
	}
	return Type{Kind: List, Fields: []Field{{Name: "element", Type: element}}}, ""
}
