package mapper

import (
	"bytes"
	"cmp"
	"slices"
)

var faultDepth = &fault{CodeDepth, "values are nested deeper than the mapper allows"}

func (m *jsonMapper) tooDeep() int { return m.fail(nil, faultDepth) }

func (m *jsonMapper) list(n *jsonNode, b []byte, i, depth int) int {
	if b[i] != '[' {
		return m.mismatch(n, b, i, faultNotArray)
	}
	if depth++; depth > m.depth {
		return m.tooDeep()
	}
	c, element := n.col, n.kids[0]
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		i++
	} else {
		for {
			if c.spread > 0 && !m.spread.take(c, 1) {
				return m.fail(n, faultSpread)
			}
			if end := element.shortcut(element.col, b, i); end > 0 {
				i = end
			} else if i = m.value(element, b, i, depth); i < 0 {
				return i
			}
			if i = skipSpace(b, i); i >= len(b) {
				return m.syntax(b, i, "")
			}
			i++
			if b[i-1] == ']' {
				break
			}
			if b[i-1] != ',' {
				return m.syntax(b, i-1, "a comma or the array's end was expected")
			}
		}
	}
	c.Off = append(c.Off, int32(element.col.Len))
	c.Len++
	return i
}

func (m *jsonMapper) mapValue(n *jsonNode, b []byte, i, depth int) int {
	if b[i] != '{' {
		return m.mismatch(n, b, i, faultNotObject)
	}
	if depth++; depth > m.depth {
		return m.tooDeep()
	}
	c, key, value := n.col, n.kids[0], n.kids[1]
	from := key.col.Len
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		i++
	} else {
		for {
			if c.spread > 0 && !m.spread.take(c, 1) {
				return m.fail(n, faultSpread)
			}
			if i = m.mapKey(key, b, i); i < 0 {
				return i
			}
			if end := value.shortcut(value.col, b, i); end > 0 {
				i = end
			} else if i = m.value(value, b, i, depth); i < 0 {
				return i
			}
			if i = skipSpace(b, i); i >= len(b) {
				return m.syntax(b, i, "")
			}
			i++
			if b[i-1] == '}' {
				break
			}
			if b[i-1] != ',' {
				return m.syntax(b, i-1, "a comma or the object's end was expected")
			}
			i = skipSpace(b, i)
		}
	}
	if keysTwice(key.col, from, &m.order) {
		return m.fail(key, faultTwice)
	}
	c.Off = append(c.Off, int32(key.col.Len))
	c.Len++
	return i
}

// mapKey reads a key and its colon into the key's column.
func (m *jsonMapper) mapKey(n *jsonNode, b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return m.syntax(b, i, "a key was expected")
	}
	t, i := m.str(n, b, i+1)
	if i < 0 {
		return i
	}
	if f := n.col.appendKey(t); f != nil {
		return m.fail(n, f)
	}
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return m.syntax(b, i, "a colon was expected")
	}
	return i + 1
}

// appendKey appends a map's key, which JSON has as text only: text as it is; booleans and numbers as JSON writes them;
// the other kinds in their form as text.
func (c *Column) appendKey(t []byte) *fault {
	c.ensure(1)
	switch c.kind {
	case String:
		c.Data = append(c.Data, t...)
		c.Off = append(c.Off, int32(len(c.Data)))
		c.Len++
		return nil
	case Boolean:
		if s := string(t); s != "true" && s != "false" {
			return faultBoolean
		}
		c.appendBool(t[0] == 't')
		return nil
	case Int, Long, Float, Double:
		return c.appendNumberText(t)
	}
	return c.appendText(t)
}

// appendNumberText appends the number that t is in the grammar of JSON.
func (c *Column) appendNumberText(t []byte) *fault {
	if len(t) == 0 || numberEnd(t, 0) != len(t) {
		return faultNotNumber
	}
	switch c.kind {
	case Int, Long:
		v, f := split(t).int64()
		if f != nil {
			return f
		}
		if c.kind == Long {
			c.I64 = append(c.I64, v)
			break
		}
		if v != int64(int32(v)) {
			return faultIntRange
		}
		c.I32 = append(c.I32, int32(v))
	case Float:
		v, f := float32Of(t)
		if f != nil {
			return f
		}
		c.F32 = append(c.F32, v)
	case Double:
		v, f := float64Of(t)
		if f != nil {
			return f
		}
		c.F64 = append(c.F64, v)
	}
	c.Len++
	return nil
}

// fewKeys is the number of keys up to which each is compared with each.
const fewKeys = 12

// keysTwice says whether two of the keys from number from on are equal. Large maps are sorted by number (in scratch), so
// that a hostile record costs no quadratic time.
func keysTwice(c *Column, from int, scratch *[]int32) bool {
	n := c.Len - from
	if n <= fewKeys {
		for i := from + 1; i < c.Len; i++ {
			for j := from; j < i; j++ {
				if c.compare(i, j) == 0 {
					return true
				}
			}
		}
		return false
	}
	order := slices.Grow((*scratch)[:0], n)
	for i := from; i < c.Len; i++ {
		order = append(order, int32(i))
	}
	slices.SortFunc(order, func(a, b int32) int { return c.compare(int(a), int(b)) })
	twice := false
	for i := 1; i < n; i++ {
		if c.compare(int(order[i-1]), int(order[i])) == 0 {
			twice = true
			break
		}
	}
	if *scratch = order; cap(order) > keepScratch/4 {
		*scratch = nil
	}
	return twice
}

// compare orders two values of a primitive column in some total order.
func (c *Column) compare(i, j int) int {
	switch c.kind {
	case Boolean:
		a, b := c.Bool(i), c.Bool(j)
		switch {
		case a == b:
			return 0
		case a:
			return 1
		}
		return -1
	case Int, Date:
		return cmp.Compare(c.I32[i], c.I32[j])
	case Float:
		return cmp.Compare(c.F32[i], c.F32[j])
	case Double:
		return cmp.Compare(c.F64[i], c.F64[j])
	case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		return cmp.Compare(c.I64[i], c.I64[j])
	}
	return bytes.Compare(c.Slot(i), c.Slot(j))
}
