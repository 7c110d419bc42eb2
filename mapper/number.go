package mapper

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
)

// numberEnd checks the grammar of the JSON number at b[i:] and gives the index behind it, or -1. It does not look at
// what follows.
func numberEnd(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = digitsEnd(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = digitsEnd(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i
}

// digitsEnd gives the index behind the digits at b[i:], or -1 where there is none.
func digitsEnd(b []byte, i int) int {
	s := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == s {
		return -1
	}
	return i
}

// number is a JSON number taken apart without loss: digits times ten to the power of exp.
type number struct {
	neg bool
	// digits goes from the first to the last digit that is not zero; a point may be among them. Empty for zero.
	digits []byte
	// count is the number of digits.
	count int64
	// exp is the power of ten of the last digit. A written exponent is cut at maxExp, far outside of every type.
	exp int64
}

const maxExp = 1 << 40

// split takes a literal apart whose grammar has been checked.
func split(lit []byte) (n number) {
	if lit[0] == '-' {
		n.neg = true
		lit = lit[1:]
	}
	end, point, first, last := len(lit), -1, -1, 0
scan:
	for i, c := range lit {
		switch {
		case c == '.':
			point = i
		case c|0x20 == 'e':
			end = i
			break scan
		case c != '0':
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return n
	}
	if point < 0 {
		point = end
	}
	n.digits = lit[first : last+1]
	n.count = int64(len(n.digits))
	if first < point && point < last {
		n.count--
	}
	n.exp = int64(point - last)
	if last < point {
		n.exp--
	}
	if end < len(lit) {
		n.exp += exponent(lit[end+1:])
	}
	return n
}

func exponent(s []byte) int64 {
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		s = s[1:]
	}
	var e int64
	for _, c := range s {
		if e = e*10 + int64(c-'0'); e > maxExp {
			e = maxExp
		}
	}
	if neg {
		return -e
	}
	return e
}

// int64 is the number's value, where it is exactly an integer in range.
func (n number) int64() (int64, *fault) {
	if n.count == 0 {
		return 0, nil
	}
	if n.exp < 0 {
		return 0, faultFraction
	}
	if n.count+n.exp > 19 {
		return 0, faultLongRange
	}
	v := n.uint64(n.exp)
	switch {
	case v <= math.MaxInt64 && n.neg:
		return -int64(v), nil
	case v <= math.MaxInt64:
		return int64(v), nil
	case n.neg && v == 1<<63:
		return math.MinInt64, nil
	}
	return 0, faultLongRange
}

// uint64 is digits times ten to the power of exp, which together have 19 digits at most.
func (n number) uint64(exp int64) uint64 {
	var v uint64
	for _, c := range n.digits {
		if c != '.' {
			v = v*10 + uint64(c-'0')
		}
	}
	return v * pow10u[exp]
}

var pow10u = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// decimal appends the number as an unscaled decimal128 of the precision and scale, exactly.
func (n number) decimal(dst []byte, precision, scale int) ([]byte, *fault) {
	if n.count == 0 {
		return append(dst, zero16[:]...), nil
	}
	exp := n.exp + int64(scale)
	if n.count+exp > int64(precision) {
		return dst, faultDecimalDigits
	}
	if exp < 0 {
		return dst, faultDecimalScale
	}
	var hi, lo uint64
	if n.count+exp <= 19 {
		lo = n.uint64(exp)
	} else {
		for _, c := range n.digits {
			if c != '.' {
				hi, lo = mulAdd(hi, lo, 10, uint64(c-'0'))
			}
		}
		for ; exp > 0; exp -= min(exp, 19) {
			hi, lo = mulAdd(hi, lo, pow10u[min(exp, 19)], 0)
		}
	}
	return appendInt128(dst, n.neg, hi, lo), nil
}

// mulAdd is hi:lo * m + a, whose result fits (38 digits do).
func mulAdd(hi, lo, m, a uint64) (uint64, uint64) {
	h, l := bits.Mul64(lo, m)
	l, carry := bits.Add64(l, a, 0)
	return hi*m + h + carry, l
}

// appendInt128 appends in two's complement, little endian.
func appendInt128(dst []byte, neg bool, hi, lo uint64) []byte {
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	dst = binary.LittleEndian.AppendUint64(dst, lo)
	return binary.LittleEndian.AppendUint64(dst, hi)
}

// text gives b as a string without a copy; the string must not outlive the call it is made for.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// float64Of is the double nearest to a literal whose grammar has been checked. An integer must be one that it holds.
func float64Of(lit []byte) (float64, *fault) {
	f, err := strconv.ParseFloat(text(lit), 64)
	switch {
	case err != nil:
		return 0, faultDoubleRange
	case math.Abs(f) >= 1<<53 && !holds(f, 64, lit):
		return 0, faultIntForFloat
	}
	return f, nil
}

// float32Of is the float nearest to a literal whose grammar has been checked. It is rounded once, not by way of a double. An
// integer must be one that it holds.
func float32Of(lit []byte) (float32, *fault) {
	f, err := strconv.ParseFloat(text(lit), 32)
	switch {
	case err != nil:
		return 0, faultFloatRange
	case math.Abs(f) >= 1<<24 && !holds(f, 32, lit):
		return 0, faultIntForFloat
	}
	return float32(f), nil
}

// holds says that f is what the literal tells: an integer without a point and an exponent has all of its digits, or those by
// which a float of its size is told from every other and zeros behind them, as JavaScript writes large numbers. Other
// literals tell a number as near as it goes.
func holds(f float64, size int, lit []byte) bool {
	for _, c := range lit {
		if c == '.' || c|0x20 == 'e' {
			return true
		}
	}
	var room [400]byte
	return text(strconv.AppendFloat(room[:0], f, 'f', 0, size)) == text(lit) || text(strconv.AppendFloat(room[:0], f, 'f', -1, size)) == text(lit)
}

// Powers of ten that a double and a float hold exactly. An integer they hold exactly too, times or through such a power,
// is rounded once: it is the nearest.
var (
	pow10f64 = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
		1e18, 1e19, 1e20, 1e21, 1e22}
	pow10f32 = [11]float32{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10}
)

// simple reads a number of few digits without an exponent: mant through ten to the power of frac. end is 0 where it is not
// one, or is too near to the end of b; then the slow way decides what it is.
func simple(b []byte, i int) (neg bool, mant uint64, frac, end int) {
	if i+9 > len(b) {
		return false, 0, 0, 0
	}
	if b[i] == '-' {
		neg = true
		i++
	}
	mant, n := digitWord(b, i)
	if end = i + n; n == 8 {
		mant, end = digits(b, end, mant)
		n = end - i
	}
	if n <= 0 || n > 18 || n > 1 && b[i] == '0' {
		return false, 0, 0, 0
	}
	if b[end] == '.' {
		if i = end + 1; i+8 > len(b) {
			return false, 0, 0, 0
		}
		var v uint64
		v, frac = digitWord(b, i)
		mant = mant*pow10u[frac] + v
		if end = i + frac; frac == 8 {
			mant, end = digits(b, end, mant)
			frac = end - i
		}
		if frac <= 0 || n+frac > 18 {
			return false, 0, 0, 0
		}
	}
	if b[end]|0x20 == 'e' {
		return false, 0, 0, 0
	}
	return neg, mant, frac, end
}

// simpleInt is simple for what has no point.
func simpleInt(b []byte, i int) (v int64, end int) {
	if i+9 > len(b) {
		return 0, 0
	}
	neg := b[i] == '-'
	if neg {
		i++
	}
	mant, n := digitWord(b, i)
	for end = i + n; n == 8; end += n {
		if end+8 > len(b) {
			return 0, 0
		}
		var w uint64
		w, n = digitWord(b, end)
		mant = mant*pow10u[n] + w
	}
	n = end - i
	if n == 0 || n > 18 || n > 1 && b[i] == '0' || b[end] == '.' || b[end]|0x20 == 'e' {
		return 0, 0
	}
	if v = int64(mant); neg {
		v = -v
	}
	return v, end
}
