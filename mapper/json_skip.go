package mapper

// skip reads a value that no column takes, at the depth of what holds it. It is checked as strictly as any other; only
// duplicate keys inside it go unseen.
func (m *jsonMapper) skip(b []byte, i, depth int) int {
	if i = skipSpace(b, i); i >= len(b) {
		return m.syntax(b, i, "")
	}
	switch b[i] {
	case '"':
		end, f := skipString(b, i+1)
		if f != nil {
			return m.badString(nil, end, f)
		}
		return end
	case '{':
		return m.skipObject(b, i, depth+1)
	case '[':
		return m.skipArray(b, i, depth+1)
	case 't':
		return m.skipWord(b, i, "true")
	case 'f':
		return m.skipWord(b, i, "false")
	case 'n':
		return m.skipWord(b, i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		end := numberEnd(b, i)
		if end < 0 {
			return m.syntax(b, i, "a number that JSON does not have")
		}
		return end
	}
	return m.syntax(b, i, "a value was expected")
}

func (m *jsonMapper) skipWord(b []byte, i int, word string) int {
	if !hasWord(b, i, word) {
		return m.syntax(b, i, "a value was expected")
	}
	return i + len(word)
}

func (m *jsonMapper) skipArray(b []byte, i, depth int) int {
	if depth > m.depth {
		return m.tooDeep()
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = m.skip(b, i, depth); i < 0 {
			return i
		}
		if i = skipSpace(b, i); i >= len(b) {
			return m.syntax(b, i, "")
		}
		switch b[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return m.syntax(b, i, "a comma or the array's end was expected")
		}
	}
}

func (m *jsonMapper) skipObject(b []byte, i, depth int) int {
	if depth > m.depth {
		return m.tooDeep()
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return m.syntax(b, i, "a key was expected")
		}
		end, f := skipString(b, i+1)
		if f != nil {
			return m.badString(nil, end, f)
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return m.syntax(b, i, "a colon was expected")
		}
		if i = m.skip(b, i+1, depth); i < 0 {
			return i
		}
		if i = skipSpace(b, i); i >= len(b) {
			return m.syntax(b, i, "")
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return m.syntax(b, i, "a comma or the object's end was expected")
		}
	}
}
