package mapper

import "unicode/utf8"

// Each function here reads at b[i:] and gives the index behind what it read, or one below zero after it has set m.bad.

// object reads an object into the kids of n as their value number row.
func (m *jsonMapper) object(n *jsonNode, b []byte, i, row, depth int) int {
	if depth > m.depth {
		return m.tooDeep()
	}
	i = skipSpace(b, i+1)
	found := 0
	if i < len(b) && b[i] == '}' {
		return m.complete(n, i+1, row, found)
	}
	guess := &n.first
	for {
		kid := *guess
		if kid != nil && kid.key != "" && len(b)-i >= len(kid.key) && string(b[i:i+len(kid.key)]) == kid.key {
			i += len(kid.key)
			guess = &kid.next
		} else if kid, guess, i = m.member(n, guess, b, i); i < 0 {
			return i
		}
		if kid == nil {
			i = m.skip(b, i, depth)
		} else {
			if kid.col.Len != row {
				return m.fail(kid, faultTwice)
			}
			found++
			i = m.value(kid, b, i, depth)
		}
		if i < 0 {
			return i
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return m.syntax(b, i, "")
		}
		switch b[i] {
		case ',':
			if i++; i < len(b) && b[i] <= ' ' {
				i = skipSpace(b, i)
			}
		case '}':
			return m.complete(n, i+1, row, found)
		default:
			return m.syntax(b, i, "a comma or the object's end was expected")
		}
	}
}

var faultTwice = &fault{CodeDuplicateKey, "the key is there twice"}

// member reads a key and its colon where the guess at *guess was wrong. It gives the kid of that name, nil where there is
// none, and where the guess for the next place is kept.
func (m *jsonMapper) member(n *jsonNode, guess **jsonNode, b []byte, i int) (*jsonNode, **jsonNode, int) {
	if g := *guess; g != nil && g.next != nil {
		// One member was left out: try the one behind it before the index.
		g = g.next
		if k := g.key; k != "" && len(b)-i >= len(k) && string(b[i:i+len(k)]) == k {
			return g, &g.next, i + len(k)
		}
	}
	if i >= len(b) || b[i] != '"' {
		return nil, nil, m.syntax(b, i, "a key was expected")
	}
	key, i := m.str(nil, b, i+1)
	if i < 0 {
		return nil, nil, i
	}
	kid := n.members[string(key)]
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return nil, nil, m.syntax(b, i, "a colon was expected")
	}
	if kid != nil {
		*guess = kid
		guess = &kid.next
	}
	return kid, guess, i + 1
}

// complete fills the members that the object did not have.
func (m *jsonMapper) complete(n *jsonNode, i, row, found int) int {
	if found == len(n.kids) {
		return i
	}
	for _, k := range n.kids {
		if k.col.Len == row {
			if k.required {
				return m.fail(k, faultMissing)
			}
			k.col.appendNull()
		}
	}
	return i
}

var (
	faultMissing = &fault{CodeRequired, "the column is required, and the record has no value for it"}
	faultNull    = &fault{CodeRequired, "the column is required, and the record has null for it"}
)

// str reads the string at b[i:], behind its opening quote. The bytes are valid until the next call.
func (m *jsonMapper) str(n *jsonNode, b []byte, i int) ([]byte, int) {
	j, high := scanString(b, i)
	if j < len(b) && b[j] == '"' && (high == 0 || utf8.Valid(b[i:j])) {
		return b[i:j], j + 1
	}
	var f *fault
	if m.tmp, j, f = unescape(m.tmp[:0], b, i); f != nil {
		return nil, m.badString(n, j, f)
	}
	return m.tmp, j
}

// value reads a value into n's column.
func (m *jsonMapper) value(n *jsonNode, b []byte, i, depth int) int {
	if i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if i >= len(b) {
		return m.syntax(b, i, "")
	}
	c := n.col
	if b[i] == 'n' {
		return m.null(n, b, i)
	}
	if c.Len>>3 >= len(c.Valid) {
		c.growBits(1)
	}
	switch n.kind {
	case String:
		if b[i] != '"' {
			return m.mismatch(n, b, i, faultNotString)
		}
		j, high := scanString(b, i+1)
		if j >= len(b) || b[j] != '"' || high != 0 {
			return m.textValue(n, b, i+1, j)
		}
		c.Data = append(c.Data, b[i+1:j]...)
		c.Off = append(c.Off, int32(len(c.Data)))
		c.Len++
		return j + 1
	case Long:
		v, end := m.integer(n, b, i)
		if end < 0 {
			return end
		}
		c.I64 = append(c.I64, v)
		c.Len++
		return end
	case Double:
		return m.double(n, b, i)
	case Int:
		v, end := m.integer(n, b, i)
		if end < 0 {
			return end
		}
		if v != int64(int32(v)) {
			return m.fail(n, faultIntRange)
		}
		c.I32 = append(c.I32, int32(v))
		c.Len++
		return end
	case Float:
		return m.float(n, b, i)
	case Boolean:
		return m.boolean(n, b, i)
	case Struct:
		return m.structValue(n, b, i, depth)
	case List:
		return m.list(n, b, i, depth)
	case Map:
		return m.mapValue(n, b, i, depth)
	}
	return m.formed(n, b, i)
}

func (m *jsonMapper) null(n *jsonNode, b []byte, i int) int {
	if !hasWord(b, i, "null") {
		return m.syntax(b, i, "a value was expected")
	}
	if n.required {
		return m.fail(n, faultNull)
	}
	n.col.appendNull()
	return i + 4
}

// mismatch tells a value of the wrong type from one that is no JSON.
func (m *jsonMapper) mismatch(n *jsonNode, b []byte, i int, f *fault) int {
	switch b[i] {
	case '"', '{', '[', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return m.fail(n, f)
	case 't', 'f', 'n':
		if hasWord(b, i, "true") || hasWord(b, i, "false") {
			return m.fail(n, f)
		}
	}
	return m.syntax(b, i, "a value was expected")
}
