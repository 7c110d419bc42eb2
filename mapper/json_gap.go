package mapper

import "math"

// A gap is what stands between two values of an object, as a record wrote it: the comma, the next member's key, the colon,
// and white space. The strict way has read it once; the same bytes again, behind a value, say the same. So one comparison
// reads a comma and a key, however they are spaced and escaped.
type gap struct {
	// words and masks are the first sixteen bytes and which of their bits count: not those behind the gap's end, and not the
	// first byte's. That is the comma, but behind the brace the brace, and compared apart.
	words, masks [2]uint64
	// size is the gap's length; 0 where none is known.
	size int
	// need is how many bytes must be there for the comparison: the gap's, or sixteen; more than there are where none is known.
	need int
	text []byte
}

// longestGap is the longest that is remembered.
const longestGap = 256

func newGap() gap { return gap{need: math.MaxInt} }

// set remembers text, whose first byte does not count.
func (g *gap) set(text []byte) {
	if len(text) > longestGap {
		return
	}
	var first, mask [16]byte
	copy(first[1:], text[1:])
	for i := 1; i < min(len(text), 16); i++ {
		mask[i] = 0xff
	}
	g.words = [2]uint64{load(first[:], 0), load(first[:], 8)}
	g.masks = [2]uint64{load(mask[:], 0), load(mask[:], 8)}
	g.size, g.need = len(text), max(len(text), 16)
	g.text = append(g.text[:0], text...)
}

// begins compares with the first sixteen bytes at b[i:], but not with b[i]. It needs g.need bytes.
func (g *gap) begins(b []byte, i int) bool {
	b = b[i : i+16 : i+16]
	return (load(b, 0)^g.words[0])&g.masks[0]|(load(b, 8)^g.words[1])&g.masks[1] == 0
}

// at compares the whole gap with b[i:], but not with b[i], however little is there.
func (g *gap) at(b []byte, i int) bool {
	if len(b)-i >= g.need {
		return g.begins(b, i) && (g.size <= 16 || g.rest(b, i))
	}
	return g.size > 0 && len(b)-i >= g.size && string(b[i+1:i+g.size]) == string(g.text[1:])
}

// rest compares what lies behind the first sixteen bytes. It needs g.need bytes.
func (g *gap) rest(b []byte, i int) bool {
	return string(b[i+16:i+g.size]) == string(g.text[16:])
}
