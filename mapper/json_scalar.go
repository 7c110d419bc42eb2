package mapper

import "unicode/utf8"

var (
	faultNotString = &fault{CodeType, "not a string"}
	faultNotObject = &fault{CodeType, "not an object"}
	faultNotArray  = &fault{CodeType, "not an array"}
)

// textValue reads the string at b[i:], behind its opening quote.
func (m *jsonMapper) textValue(n *jsonNode, b []byte, i int) int {
	c := n.col
	j, high := scanString(b, i)
	if j < len(b) && b[j] == '"' && (high == 0 || utf8.Valid(b[i:j])) {
		c.Data = append(c.Data, b[i:j]...)
		j++
	} else {
		var f *fault
		if c.Data, j, f = unescape(c.Data, b, i); f != nil {
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
	lit, end := m.literal(n, b, i, faultNotNumber)
	if end < 0 {
		return end
	}
	v, f := float64Of(lit)
	if f != nil {
		return m.fail(n, f)
	}
	n.col.F64 = append(n.col.F64, v)
	n.col.Len++
	return end
}

func (m *jsonMapper) float(n *jsonNode, b []byte, i int) int {
	lit, end := m.literal(n, b, i, faultNotNumber)
	if end < 0 {
		return end
	}
	v, f := float32Of(lit)
	if f != nil {
		return m.fail(n, f)
	}
	n.col.F32 = append(n.col.F32, v)
	n.col.Len++
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
	if n.casts != nil {
		return m.cast(n, b, i)
	}
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
