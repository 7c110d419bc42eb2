package mapper

import "unicode/utf8"

// skip reads a value that no column takes. It is checked as strictly as any other, but for the keys of a map that are
// there twice.
func (m *avroMapper) skip(t *avroType, b []byte, i int) int {
	switch t.kind {
	case avroNull:
		return i
	case avroBoolean:
		if i < len(b) && b[i] > 1 {
			return m.syntax(i, "a boolean that is neither 0 nor 1")
		}
		return m.skipBytes(1, b, i)
	case avroInt, avroLong:
		_, i = m.number(t.kind == avroLong, b, i)
		return i
	case avroFloat, avroDouble:
		return m.skipBytes(t.min, b, i)
	case avroFixed:
		return m.skipBytes(t.size, b, i)
	case avroBytes, avroString:
		n, next := m.length(b, i)
		if next >= 0 && t.kind == avroString && !utf8.Valid(b[next:next+n]) {
			return m.syntax(next, "text that is not valid UTF-8")
		}
		if next < 0 {
			return next
		}
		return next + n
	case avroEnum:
		v, next := m.number(false, b, i)
		if next >= 0 && (v < 0 || v >= int64(len(t.symbols))) {
			return m.syntax(i, "a symbol that the enum does not have")
		}
		return next
	case avroRecord:
		for k := range t.fields {
			if i = m.skip(t.fields[k].typ, b, i); i < 0 {
				return i
			}
		}
		return i
	case avroUnion:
		v, next := m.branch(b, i, len(t.branches))
		if next < 0 {
			return next
		}
		return m.skip(t.branches[v], b, next)
	}
	return m.skipItems(t, b, i)
}

func (m *avroMapper) skipBytes(n int, b []byte, i int) int {
	if n > len(b)-i {
		return m.short(b)
	}
	return i + n
}

var avroKey = &avroType{kind: avroString, min: 1}

// skipItems reads an array or a map.
func (m *avroMapper) skipItems(t *avroType, b []byte, i int) int {
	least := t.items.min
	if t.kind == avroMap {
		least++
	}
	for {
		n, end, next := m.block(b, i, least)
		if next < 0 {
			return next
		}
		if i = next; n == 0 {
			return i
		}
		for ; n > 0; n-- {
			if t.kind == avroMap {
				if i = m.skip(avroKey, b, i); i < 0 {
					return i
				}
			}
			if i = m.skip(t.items, b, i); i < 0 {
				return i
			}
		}
		if !m.ended(end, i) {
			return -1
		}
	}
}
