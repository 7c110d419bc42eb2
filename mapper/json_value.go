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
		var kid *jsonNode
		if kid, i = m.member(n, &guess, b, i); i < 0 {
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

// member reads a key and its colon. It gives the kid of that name, nil where there is none. *guess is where the guess for
// this place in the object is kept; it is corrected, and moved on to the next place.
func (m *jsonMapper) member(n *jsonNode, guess ***jsonNode, b []byte, i int) (*jsonNode, int) {
	if g := **guess; g != nil {
		if k := g.key; k != "" && len(b)-i >= len(k) && string(b[i:i+len(k)]) == k {
			*guess = &g.next
			return g, i + len(k)
		}
		// One member was left out: try the one behind it before the index.
		if g = g.next; g != nil {
			if k := g.key; k != "" && len(b)-i >= len(k) && string(b[i:i+len(k)]) == k {
				*guess = &g.next
				return g, i + len(k)
			}
		}
	}
	if i >= len(b) || b[i] != '"' {
		return nil, m.syntax(b, i, "a key was expected")
	}
	key, i := m.str(nil, b, i+1)
	if i < 0 {
		return nil, i
	}
	kid := n.members[string(key)]
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return nil, m.syntax(b, i, "a colon was expected")
	}
	if kid != nil {
		**guess = kid
		*guess = &kid.next
	}
	return kid, i + 1
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
		return m.stringValue(n, b, i)
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

var (
	faultNotString = &fault{CodeType, "not a string"}
	faultNotObject = &fault{CodeType, "not an object"}
	faultNotArray  = &fault{CodeType, "not an array"}
)

func (m *jsonMapper) stringValue(n *jsonNode, b []byte, i int) int {
	if b[i] != '"' {
		return m.mismatch(n, b, i, faultNotString)
	}
	c := n.col
	j, high := scanString(b, i+1)
	if j < len(b) && b[j] == '"' && (high == 0 || utf8.Valid(b[i+1:j])) {
		c.Data = append(c.Data, b[i+1:j]...)
		j++
	} else {
		var f *fault
		if c.Data, j, f = unescape(c.Data, b, i+1); f != nil {
			return m.badString(n, j, f)
		}
	}
	c.Off = append(c.Off, int32(len(c.Data)))
	c.Len++
	return j
}

// literal gives the number at b[i:] as it is written.
func (m *jsonMapper) literal(n *jsonNode, b []byte, i int, f *fault) ([]byte, int) {
	if b[i] != '-' && b[i]-'0' > 9 {
		return nil, m.mismatch(n, b, i, f)
	}
	end := numberEnd(b, i)
	if end < 0 {
		return nil, m.syntax(b, i, "a number that JSON does not have")
	}
	return b[i:end], end
}

// integer reads a number whose value is exactly an integer, however it is written: 1, 1.0 and 1e0 are one number.
func (m *jsonMapper) integer(n *jsonNode, b []byte, i int) (int64, int) {
	if neg, mant, frac, end := simple(b, i); end > 0 && frac == 0 {
		if neg {
			return -int64(mant), end
		}
		return int64(mant), end
	}
	lit, end := m.literal(n, b, i, faultNotInteger)
	if end < 0 {
		return 0, end
	}
	v, f := split(lit).int64()
	if f != nil {
		return 0, m.fail(n, f)
	}
	return v, end
}

func (m *jsonMapper) double(n *jsonNode, b []byte, i int) int {
	c := n.col
	neg, mant, frac, end := simple(b, i)
	var v float64
	if end > 0 && mant <= 1<<53 && frac < len(pow10f64) {
		v = float64(mant) / pow10f64[frac]
		if neg {
			v = -v
		}
	} else {
		var lit []byte
		var f *fault
		if lit, end = m.literal(n, b, i, faultNotNumber); end < 0 {
			return end
		}
		if v, f = float64Of(lit); f != nil {
			return m.fail(n, f)
		}
	}
	c.F64 = append(c.F64, v)
	c.Len++
	return end
}

func (m *jsonMapper) float(n *jsonNode, b []byte, i int) int {
	c := n.col
	neg, mant, frac, end := simple(b, i)
	var v float32
	if end > 0 && mant <= 1<<24 && frac < len(pow10f32) {
		v = float32(mant) / pow10f32[frac]
		if neg {
			v = -v
		}
	} else {
		var lit []byte
		var f *fault
		if lit, end = m.literal(n, b, i, faultNotNumber); end < 0 {
			return end
		}
		if v, f = float32Of(lit); f != nil {
			return m.fail(n, f)
		}
	}
	c.F32 = append(c.F32, v)
	c.Len++
	return end
}

func (m *jsonMapper) boolean(n *jsonNode, b []byte, i int) int {
	if hasWord(b, i, "true") {
		n.col.appendBool(true)
		return i + 4
	}
	if hasWord(b, i, "false") {
		n.col.appendBool(false)
		return i + 5
	}
	return m.mismatch(n, b, i, faultBoolean)
}

func (m *jsonMapper) structValue(n *jsonNode, b []byte, i, depth int) int {
	if b[i] != '{' {
		return m.mismatch(n, b, i, faultNotObject)
	}
	if i = m.object(n, b, i, n.col.Len, depth+1); i >= 0 {
		n.col.Len++
	}
	return i
}

// formed reads the kinds that have a form as text: decimal, date, time, timestamps, uuid, fixed, binary. Some take a number too.
func (m *jsonMapper) formed(n *jsonNode, b []byte, i int) int {
	if b[i] != '"' {
		return m.formedNumber(n, b, i)
	}
	t, end := m.str(n, b, i+1)
	if end < 0 {
		return end
	}
	if f := n.col.appendText(t); f != nil {
		return m.fail(n, f)
	}
	return end
}

var (
	faultNotDecimal = &fault{CodeType, "neither a number nor a decimal as text"}
	faultNotDate    = &fault{CodeType, "neither a date as text nor a number of days since 1970-01-01"}
	faultNotTime    = &fault{CodeType, "not a time as text (a number would leave its unit open)"}
	faultNotStamp   = &fault{CodeType, "neither a timestamp as text nor a number of milliseconds since 1970"}
	faultNotUUID    = &fault{CodeType, "not a UUID as text"}
	faultNotBytes   = &fault{CodeType, "not bytes as base64 text"}
)

func (m *jsonMapper) formedNumber(n *jsonNode, b []byte, i int) int {
	c := n.col
	switch n.kind {
	case Decimal:
		lit, end := m.literal(n, b, i, faultNotDecimal)
		if end < 0 {
			return end
		}
		var f *fault
		if c.Data, f = split(lit).decimal(c.Data, c.Field.Type.Precision, c.Field.Type.Scale); f != nil {
			return m.fail(n, f)
		}
		c.Len++
		return end
	case Date:
		return m.days(n, b, i)
	case Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		return m.millis(n, b, i)
	case Time:
		return m.mismatch(n, b, i, faultNotTime)
	case UUID:
		return m.mismatch(n, b, i, faultNotUUID)
	}
	return m.mismatch(n, b, i, faultNotBytes)
}

func (m *jsonMapper) days(n *jsonNode, b []byte, i int) int {
	if b[i] != '-' && b[i]-'0' > 9 {
		return m.mismatch(n, b, i, faultNotDate)
	}
	v, end := m.integer(n, b, i)
	if end < 0 {
		return end
	}
	if v < minDay || v > maxDay {
		return m.fail(n, faultDateRange)
	}
	n.col.I32 = append(n.col.I32, int32(v))
	n.col.Len++
	return end
}

func (m *jsonMapper) millis(n *jsonNode, b []byte, i int) int {
	if b[i] != '-' && b[i]-'0' > 9 {
		return m.mismatch(n, b, i, faultNotStamp)
	}
	ms, end := m.integer(n, b, i)
	if end < 0 {
		return end
	}
	v, f := stampMillis(ms, n.kind)
	if f != nil {
		return m.fail(n, f)
	}
	n.col.I64 = append(n.col.I64, v)
	n.col.Len++
	return end
}
