package mapper

// The shrink policy of Reset: a column's buffers are let go when they hold more than keepFactor times the use that is
// remembered, and more than keepBytes. What is remembered is the largest recent use: it fades by an eighth a Reset, so
// one oversized batch is forgotten after about ten ordinary ones, while a load that swings keeps its buffers.
const (
	keepFactor = 4
	keepBytes  = 64 << 10
)

// Reset removes all rows and keeps the buffers for the next, unless they have become much larger than what recent use
// asks for: then they are given back, so that one large batch does not hold memory for ever.
func (cs *Columns) Reset() {
	for _, c := range cs.Cols {
		c.reset()
	}
	cs.Rows, cs.bound = 0, 0
}

func (c *Column) reset() {
	use := c.ownBytes()
	if c.kind == List || c.kind == Map {
		use += 4 * int64(c.Kids[0].Len) // the scratch of AppendRows
	}
	c.peak = max(use, c.peak-c.peak/8)
	if have := c.ownCap(); have > keepBytes && have > keepFactor*c.peak {
		c.release()
	}
	if c.Nulls > 0 {
		used := c.Valid[:min(len(c.Valid), (c.Len+7)/8)]
		for i := range used {
			used[i] = 0xff
		}
	}
	c.Len, c.Nulls = 0, 0
	c.I32, c.I64, c.F32, c.F64 = c.I32[:0], c.I64[:0], c.F32[:0], c.F64[:0]
	c.Data = c.Data[:0]
	if c.Off != nil {
		c.Off = c.Off[:1]
	}
	for _, k := range c.Kids {
		k.reset()
	}
}

// Release removes all rows and gives all buffers back.
func (cs *Columns) Release() {
	for _, c := range cs.Cols {
		c.releaseAll()
	}
	cs.Rows, cs.bound = 0, 0
}

func (c *Column) releaseAll() {
	c.release()
	c.Len, c.Nulls, c.peak = 0, 0, 0
	for _, k := range c.Kids {
		k.releaseAll()
	}
}

func (c *Column) release() {
	c.Valid, c.Bits, c.I32, c.I64, c.F32, c.F64, c.Data, c.rows = nil, nil, nil, nil, nil, nil, nil, nil
	if c.Off != nil {
		c.Off = make([]int32, 1, 64)
	}
}
