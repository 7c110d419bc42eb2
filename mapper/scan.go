package mapper

import (
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// scanString gives the index of the first quote, backslash or control character at b[i:], or len(b), and in high a value
// other than zero where a byte before it has its highest bit set. It looks at eight bytes at once: x-ones & ^x & highs
// marks bytes of x that are zero.
func scanString(b []byte, i int) (end int, high uint64) {
	for i+8 <= len(b) {
		w := load(b, i)
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		mark := ((quote - ones) & ^quote) | ((slash - ones) & ^slash) | ((w - ones*0x20) & ^w)
		if mark &= highs; mark != 0 {
			n := bits.TrailingZeros64(mark)
			return i + n>>3, high | w&highs&(1<<uint(n)-1)
		}
		high |= w & highs
		i += 8
	}
	for i < len(b) {
		c := b[i]
		if c == '"' || c == '\\' || c < 0x20 {
			return i, high
		}
		high |= uint64(c & 0x80)
		i++
	}
	return i, high
}

// skipSpace gives the index of the first byte at b[i:] that is no white space of JSON.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

var (
	faultStringEnd = &fault{CodeSyntax, "a string that does not end"}
	faultControl   = &fault{CodeSyntax, "a control character in a string that is not escaped"}
	faultEscape    = &fault{CodeSyntax, "an escape that JSON does not have"}
)

// stringStop says what is wrong where scanString stopped at something other than a quote or a backslash.
func stringStop(b []byte, i int) *fault {
	if i >= len(b) {
		return faultStringEnd
	}
	return faultControl
}

// unescape appends the string at b[i:] (behind its opening quote) to dst, and gives the index behind its closing quote.
// The string is taken apart fully; a fault leaves what was appended so far.
func unescape(dst, b []byte, i int) ([]byte, int, *fault) {
	for {
		j, high := scanString(b, i)
		if j >= len(b) || b[j] < 0x20 {
			return dst, j, stringStop(b, j)
		}
		if high != 0 && !utf8.Valid(b[i:j]) {
			return dst, i, faultUTF8
		}
		dst = append(dst, b[i:j]...)
		if b[j] == '"' {
			return dst, j + 1, nil
		}
		r, n, f := escape(b, j+1)
		if f != nil {
			return dst, j, f
		}
		dst = utf8.AppendRune(dst, r)
		i = n
	}
}

// skipString checks the string at b[i:] (behind its opening quote) and gives the index behind its closing quote.
func skipString(b []byte, i int) (int, *fault) {
	for {
		j, high := scanString(b, i)
		if j >= len(b) || b[j] < 0x20 {
			return j, stringStop(b, j)
		}
		if high != 0 && !utf8.Valid(b[i:j]) {
			return i, faultUTF8
		}
		if b[j] == '"' {
			return j + 1, nil
		}
		_, n, f := escape(b, j+1)
		if f != nil {
			return j, f
		}
		i = n
	}
}

// escape reads the escape at b[i:], behind its backslash.
func escape(b []byte, i int) (r rune, end int, f *fault) {
	if i >= len(b) {
		return 0, i, faultStringEnd
	}
	switch b[i] {
	case '"', '\\', '/':
		return rune(b[i]), i + 1, nil
	case 'b':
		return '\b', i + 1, nil
	case 'f':
		return '\f', i + 1, nil
	case 'n':
		return '\n', i + 1, nil
	case 'r':
		return '\r', i + 1, nil
	case 't':
		return '\t', i + 1, nil
	case 'u':
		return unicodeEscape(b, i+1)
	}
	return 0, i, faultEscape
}

// unicodeEscape reads the four digits at b[i:], and a second escape behind them where they are half of a pair.
func unicodeEscape(b []byte, i int) (rune, int, *fault) {
	r, ok := hex4(b, i)
	if !ok {
		return 0, i, faultEscape
	}
	i += 4
	if !utf16.IsSurrogate(r) {
		return r, i, nil
	}
	if i+2 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, i, faultSurrogate
	}
	low, ok := hex4(b, i+2)
	if !ok {
		return 0, i, faultEscape
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, i, faultSurrogate
	}
	return r, i + 6, nil
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	a, c, d, e := hexDigits[b[i]], hexDigits[b[i+1]], hexDigits[b[i+2]], hexDigits[b[i+3]]
	if a|c|d|e > 15 {
		return 0, false
	}
	return rune(a)<<12 | rune(c)<<8 | rune(d)<<4 | rune(e), true
}

// hasWord says whether the literal word stands at b[i:].
func hasWord(b []byte, i int, word string) bool {
	return len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}
