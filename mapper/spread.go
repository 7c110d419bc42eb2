package mapper

// An element of a list may take a byte of the record, or two, and a value in each of a hundred columns below it: null, zero or a
// default. So what a record fills is bounded by itself, and not by the record's length alone.

// mostSpread is how many values below lists and maps a record may fill besides one for each of its bytes. Where every column has
// its own bytes in the record, they are never that many.
const mostSpread = 4 << 20

// spread counts down what the record at hand may fill still.
type spread int64

func spreadOf(record int) spread { return mostSpread + spread(record) }

// take counts n elements of c, and says whether the record may have them.
func (s *spread) take(c *Column, n int64) bool {
	*s -= spread(n * c.spread)
	return *s >= 0
}

var faultSpread = &fault{CodeSize, "elements that leave out so much that a record of their size may not fill all of their columns"}

// cells is how many values one value of the column fills, what is in lists and maps below it left aside.
func (c *Column) cells() (n int64) {
	if c.kind != Struct {
		return 1
	}
	for _, k := range c.Kids {
		n += k.cells()
	}
	return n
}

// spreads sets what an element fills, for lists and maps of structs; others have a byte for each value.
func (c *Column) spreads() {
	if c.kind == List || c.kind == Map {
		if last := c.Kids[len(c.Kids)-1]; last.kind == Struct {
			c.spread = last.cells()
		}
	}
}
