package mapper

import "unicode/utf8"

// Each function here reads at b[i:] and gives the index behind what it read, or one below zero after it has set m.bad.

// object reads an object into the kids of n as their value number row; b[i] is its brace.
func (m *jsonMapper) object(n *jsonNode, b []byte, i, row, depth int) int {
	if depth > m.depth {
		return m.tooDeep()
	}
	found := 0
	guess := &n.first
	for lead := byte('{'); ; lead = ',' {
		// i is at the brace, or behind a value.
		kid := *guess
		if kid != nil && len(b)-i >= kid.gap.need && b[i] == lead && kid.gap.begins(b, i) && (kid.gap.size <= 16 || kid.gap.rest(b, i)) {
			i += kid.gap.size
			guess = &kid.next
		} else {
			if i < len(b) && b[i] == '}' {
				return m.complete(n, i+1, row, found)
			}
			var end bool
			if kid, guess, i, end = m.member(n, guess, b, i, lead); i < 0 {
				return i
			}
			if end {
				return m.complete(n, i, row, found)
			}
		}
		if kid == nil {
			i = m.unknown(n, b, i, depth)
		} else {
			if kid.col.Len != row {
				return m.fail(kid, faultTwice)
			}
			found++
			if end := kid.shortcut(kid.col, b, i); end > 0 {
				i = end
				continue
			}
			i = m.value(kid, b, i, depth)
		}
		if i < 0 {
			return i
		}
	}
}

var faultTwice = &fault{CodeDuplicateKey, "the key is there twice"}

// member reads what stands before a member's value, where the guess at *guess was wrong: lead, the key, the colon. It gives
// the kid of that name, nil where there is none, and where the guess for the next place is kept. end says that the object
// ends instead.
func (m *jsonMapper) member(n *jsonNode, guess **jsonNode, b []byte, i int, lead byte) (_ *jsonNode, _ **jsonNode, _ int, end bool) {
	from := i
	if g := *guess; g != nil && i < len(b) && b[i] == lead {
		if len(b)-i < g.gap.need && g.gap.at(b, i) {
			return g, &g.next, i + g.gap.size, false
		}
		// One member was left out: try the one behind it before the index.
		if g = g.next; g != nil && g.gap.at(b, i) {
			return g, &g.next, i + g.gap.size, false
		}
	}
	if i, end = m.separator(b, i, lead); i < 0 || end {
		return nil, nil, i, end
	}
	if i >= len(b) || b[i] != '"' {
		return nil, nil, m.syntax(b, i, "a key was expected"), false
	}
	at := i
	key, i := m.str(nil, b, i+1)
	if i < 0 {
		return nil, nil, i, false
	}
	kid := n.members[string(key)]
	if kid == nil && n.folded != nil {
		m.fold = appendFold(m.fold[:0], key)
		kid = n.folded[string(m.fold)]
	}
	if kid == nil {
		m.key, m.rawKey = key, b[at:i]
	}
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return nil, nil, m.syntax(b, i, "a colon was expected"), false
	}
	i = skipSpace(b, i+1)
	if kid != nil {
		if g := &kid.gap; b[from] == lead && (g.size != i-from || !g.at(b[:i], from)) {
			g.set(b[from:i])
		}
		*guess = kid
		guess = &kid.next
	}
	return kid, guess, i, false
}

// separator reads what stands before a member: the object's brace, or the comma behind a value; or the object's end.
func (m *jsonMapper) separator(b []byte, i int, lead byte) (_ int, end bool) {
	if lead == '{' {
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			return i + 1, true
		}
		return i, false
	}
	if i = skipSpace(b, i); i >= len(b) {
		return m.syntax(b, i, ""), false
	}
	switch b[i] {
	case ',':
		return skipSpace(b, i+1), false
	case '}':
		return i + 1, true
	}
	return m.syntax(b, i, "a comma or the object's end was expected"), false
}

// complete fills the members that the object did not have.
func (m *jsonMapper) complete(n *jsonNode, i, row, found int) int {
	if found == len(n.kids) {
		return i
	}
	for _, k := range n.kids {
		if k.col.Len == row {
			if k.col.def == nil && !k.required {
				k.col.appendNull()
			} else if !k.col.appendMissing() {
				return m.fail(k, faultMissing)
			}
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

// value reads a value into n's column, the strict way.
func (m *jsonMapper) value(n *jsonNode, b []byte, i, depth int) int {
	if i >= len(b) || b[i] <= ' ' {
		if i = skipSpace(b, i); i >= len(b) {
			return m.syntax(b, i, "")
		}
		if end := n.shortcut(n.col, b, i); end > 0 {
			return end
		}
	}
	if b[i] == 'n' {
		return m.null(n, b, i)
	}
	c := n.col
	if c.full() {
		c.growBits(1)
	}
	switch n.kind {
	case String:
		if b[i] != '"' {
			return m.mismatch(n, b, i, faultNotString)
		}
		return m.textValue(n, b, i+1)
	case Long:
		v, end := m.integer(n, b, i)
		if end < 0 {
			return end
		}
		c.I64 = append(c.I64, v)
		c.Len++
		return end
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
	case Double:
		return m.double(n, b, i)
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
	case Variant:
		return m.variantValue(n, b, i, depth)
	case Unknown:
		return m.mismatch(n, b, i, faultOnlyNull)
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
