package mapper

import (
	"encoding/binary"
	"math/bits"
)

// What is read eight bytes at a time: a word holds the byte at the lowest index in its lowest bits. A mark is the highest
// bit of a byte; where bytes are marked by a sum or a difference, a carry may set wrong marks above the lowest one, so only
// that one is used.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
	zeros = ones * '0'
)

func load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

func store(b []byte, i int, w uint64) { binary.LittleEndian.PutUint64(b[i:], w) }

// firstMark is the index of the first byte that is marked in two words, one behind the other; one is.
func firstMark(m0, m1 uint64) int {
	at := bits.TrailingZeros64(m1)>>3 + 8
	if m0 != 0 {
		at = bits.TrailingZeros64(m0) >> 3
	}
	return at
}

// stringMarks marks the bytes of w that end a string or make it more than plain: the quote, the backslash, control
// characters and whatever is not ASCII. Exchanging 0x20 and 0x22 puts the quote right behind the control characters.
func stringMarks(w uint64) uint64 {
	return (((w ^ ones*2) - ones*0x21) | ((w ^ ones*'\\') - ones) | w) & highs
}

// digitRun is the number of digits that a word begins with, 0 to 8. It is given the word with each digit's value in its
// place (w ^ zeros).
func digitRun(x uint64) int { return bits.TrailingZeros64((x+ones*(0x80-10)|x)&highs) >> 3 }

// eight is the number that eight digits write; it is given their values, the first digit in the lowest byte.
func eight(x uint64) uint64 {
	x = (x*10 + x>>8) & 0x00ff00ff00ff00ff
	x = (x*100 + x>>16) & 0x0000ffff0000ffff
	return (x*10000 + x>>32) & 0xffffffff
}

// digitWord reads the digits that the eight bytes at b[i:] begin with: their value, and how many they are.
func digitWord(b []byte, i int) (v uint64, n int) {
	x := load(b, i) ^ zeros
	n = digitRun(x)
	// Shifted up, the bytes behind the digits are gone, and zeros stand before them.
	return eight(x << (64 - 8*uint(n))), n
}

// digits reads the digits at b[i:] as the continuation of v, and gives the index of the byte behind them. end is 0 where it
// would have to look behind b. More than 19 digits overflow v: the caller counts them.
func digits(b []byte, i int, v uint64) (_ uint64, end int) {
	for i+8 <= len(b) {
		w, n := digitWord(b, i)
		v = v*pow10u[n] + w
		if i += n; n < 8 {
			return v, i
		}
	}
	return 0, 0
}
