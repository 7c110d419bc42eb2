package mapper

import "math"

// block reads the head of a block of an array or a map: how many items follow, each of least bytes or more, and where the
// block ends, -1 where that is not told. No items: the array's end.
func (m *avroMapper) block(b []byte, i, least int) (n int64, end, next int) {
	at := i
	n, i = m.long(b, i)
	if i < 0 {
		return 0, 0, i
	}
	end = -1
	if n < 0 {
		if n == math.MinInt64 {
			return 0, 0, m.syntax(at, "a block of too many items")
		}
		n = -n
		var size int
		if size, i = m.length(b, i); i < 0 {
			return 0, 0, i
		}
		end = i + size
	}
	if least > 0 {
		if n > int64((len(b)-i)/least) {
			return 0, 0, m.short(b)
		}
		return n, end, i
	}
	if n > int64(m.free) {
		m.bad = BadRecordError{Code: CodeSize, Reason: "more elements without a byte than a record may have"}
		return 0, 0, -1
	}
	m.free -= int(n)
	if !m.grow(int(n)) {
		return 0, 0, -1
	}
	return n, end, i
}

// ended checks where a block ends.
func (m *avroMapper) ended(end, i int) bool {
	if end < 0 || end == i {
		return true
	}
	m.syntax(i, "a block that does not have the size it tells")
	return false
}

func (m *avroMapper) list(op *avroOp, b []byte, i int) int {
	element := &op.kids[0]
	for {
		n, end, next := m.block(b, i, op.typ.items.min)
		if next < 0 {
			return next
		}
		if i = next; n == 0 {
			break
		}
		if op.col.spread > 0 && !m.spread.take(op.col, n) {
			return m.fail(op, faultSpread)
		}
		for ; n > 0; n-- {
			if i = m.value(element, b, i); i < 0 {
				return i
			}
		}
		if !m.ended(end, i) {
			return -1
		}
	}
	c := op.col
	c.Off = append(c.Off, int32(element.col.Len))
	c.Len++
	return i
}

func (m *avroMapper) mapValue(op *avroOp, b []byte, i int) int {
	key, value := &op.kids[0], &op.kids[1]
	from := key.col.Len
	for {
		n, end, next := m.block(b, i, 1+op.typ.items.min)
		if next < 0 {
			return next
		}
		if i = next; n == 0 {
			break
		}
		if op.col.spread > 0 && !m.spread.take(op.col, n) {
			return m.fail(op, faultSpread)
		}
		for ; n > 0; n-- {
			if i = m.value(key, b, i); i < 0 {
				return i
			}
			if i = m.value(value, b, i); i < 0 {
				return i
			}
		}
		if !m.ended(end, i) {
			return -1
		}
	}
	if keysTwice(key.col, from, &m.order) {
		return m.fail(key, faultTwice)
	}
	c := op.col
	c.Off = append(c.Off, int32(key.col.Len))
	c.Len++
	return i
}

func (m *avroMapper) union(op *avroOp, b []byte, i int) int {
	v, next := m.branch(b, i, len(op.kids))
	if next < 0 {
		return next
	}
	return m.value(&op.kids[v], b, next)
}

// branch reads which of n branches a union has.
func (m *avroMapper) branch(b []byte, i, n int) (int, int) {
	v, next := m.long(b, i)
	if next >= 0 && (v < 0 || v >= int64(n)) {
		return 0, m.syntax(i, "a branch that the union does not have")
	}
	return int(v), next
}
