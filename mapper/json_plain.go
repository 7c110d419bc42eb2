package mapper

// A shortcut appends the value at b[i:] to a column where it is written the usual way, and gives the index behind it; or it
// gives 0 and has changed nothing, and the strict way decides what the value is. i may be len(b).
type shortcut func(c *Column, b []byte, i int) int

// shortcutOf is the shortcut of a kind; every kind has one, so that the plan need not ask.
func shortcutOf(k Kind) shortcut {
	switch k {
	case String:
		return (*Column).plainText
	case Boolean:
		return (*Column).plainBool
	case Long:
		return (*Column).plainLong
	case Int:
		return (*Column).plainInt
	case Double:
		return (*Column).plainDouble
	case Float:
		return (*Column).plainFloat
	case Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		return (*Column).plainStamp
	}
	return func(*Column, []byte, int) int { return 0 }
}

const (
	// plainString is how many bytes of a string the shortcut copies while it looks for the end: the room that it asks for
	// without knowing whether it is needed.
	plainString = 256
	// plainStep is how many bytes it looks at together.
	plainStep = 16
)

// plainText takes a string of ASCII without escapes that is not long. It is copied while it is read: what lies behind its
// end is in the column's reserve, and counts for nothing.
func (c *Column) plainText(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return 0
	}
	i++
	if c.full() {
		c.growBits(1)
	}
	n := len(c.Data)
	if cap(c.Data)-n < plainString {
		c.growData(plainString)
	}
	out := c.Data[n : n+plainString]
	for k := 0; k <= plainString-plainStep && i+plainStep <= len(b); k += plainStep {
		in := b[i : i+plainStep : i+plainStep]
		to := out[k : k+plainStep : k+plainStep]
		w0, w1 := load(in, 0), load(in, 8)
		store(to, 0, w0)
		store(to, 8, w1)
		m0, m1 := stringMarks(w0), stringMarks(w1)
		if m0|m1 == 0 {
			i += plainStep
			continue
		}
		at := firstMark(m0, m1)
		if in[at&(plainStep-1)] != '"' {
			return 0
		}
		n += k + at
		c.Data = c.Data[:n]
		c.Off = append(c.Off, int32(n))
		c.Len++
		return i + at + 1
	}
	return 0
}

// plainBool takes a boolean without a branch on which it is: no branch predictor knows the data.
func (c *Column) plainBool(b []byte, i int) int {
	if i+8 > len(b) {
		return 0
	}
	w := load(b, i)
	yes, no := same(w&(1<<32-1), wordTrue), same(w&(1<<40-1), wordFalse)
	if yes|no == 0 {
		return 0
	}
	if c.full() {
		c.growBits(1)
	}
	k := c.Len & 7
	at := &c.Bits[c.Len>>3]
	*at = *at&^(1<<k) | byte(yes)<<k
	c.Len++
	return i + 5 - yes
}

const (
	wordTrue  = 't' | 'r'<<8 | 'u'<<16 | 'e'<<24
	wordFalse = 'f' | 'a'<<8 | 'l'<<16 | 's'<<24 | 'e'<<32
)

// same is 1 where a and b are equal, else 0.
func same(a, b uint64) int {
	n := 0
	if a == b {
		n = 1
	}
	return n
}

func (c *Column) plainLong(b []byte, i int) int {
	v, end := simpleInt(b, i)
	if end > 0 {
		c.appendI64(v)
	}
	return end
}

func (c *Column) plainInt(b []byte, i int) int {
	v, end := simpleInt(b, i)
	if end == 0 || v != int64(int32(v)) {
		return 0
	}
	if c.full() {
		c.growBits(1)
	}
	c.I32 = append(c.I32, int32(v))
	c.Len++
	return end
}

// plainDouble takes a number whose digits a double holds exactly, as an integer and a power of ten: their quotient is
// rounded once, so it is the nearest.
func (c *Column) plainDouble(b []byte, i int) int {
	neg, mant, frac, end := simple(b, i)
	if end == 0 || mant > 1<<53 {
		return 0
	}
	v := float64(mant) / pow10f64[frac]
	if neg {
		v = -v
	}
	if c.full() {
		c.growBits(1)
	}
	c.F64 = append(c.F64, v)
	c.Len++
	return end
}

// plainFloat is plainDouble for 32 bits.
func (c *Column) plainFloat(b []byte, i int) int {
	neg, mant, frac, end := simple(b, i)
	if end == 0 || mant > 1<<24 || frac >= len(pow10f32) {
		return 0
	}
	v := float32(mant) / pow10f32[frac]
	if neg {
		v = -v
	}
	if c.full() {
		c.growBits(1)
	}
	c.F32 = append(c.F32, v)
	c.Len++
	return end
}

// plainStamp takes a number of milliseconds; or a timestamp as text of the minute that the column remembers, with Z or
// without an offset as its kind demands.
func (c *Column) plainStamp(b []byte, i int) int {
	if i < len(b) && b[i] != '"' {
		return c.plainMillis(b, i)
	}
	i++
	d := &c.day
	if i+24 > len(b) || load(b, i) != d.minute[0] || load(b, i+8) != d.minute[1] || b[i+16] != ':' {
		return 0
	}
	sec, end := two(b, i+17), i+19
	if sec > 59 {
		return 0
	}
	nanos := uint64(0)
	if b[end] == '.' {
		// Up to three digits are among the bytes looked at already, and end before them.
		end++
		x := load(b, i+16)>>32 ^ zeros
		n := digitRun(x)
		nanos = eight(x << (64 - 8*uint(n)))
		if end += n; n == 4 {
			nanos, end = digits(b, i+20, 0)
		}
		n = end - (i + 20)
		if n < 1 || n > 9 {
			return 0
		}
		nanos *= pow10u[9-n]
	}
	if c.kind == TimestampTz || c.kind == TimestampTzNs {
		if end >= len(b) || b[end] != 'Z' {
			return 0
		}
		end++
	}
	if end >= len(b) || b[end] != '"' {
		return 0
	}
	v, f := stampOf(d.start+int64(sec), int(nanos), c.kind)
	if f != nil {
		return 0
	}
	c.appendI64(v)
	return end + 1
}

func (c *Column) plainMillis(b []byte, i int) int {
	ms, end := simpleInt(b, i)
	if end == 0 {
		return 0
	}
	v, f := stampMillis(ms, c.kind)
	if f != nil {
		return 0
	}
	c.appendI64(v)
	return end
}
