package parquetfile

import "github.com/stormfloe/floe/mapper"

// levels are the definition and repetition levels of some rows of one leaf, and which of its slots hold a value.
type levels struct {
	// n is the number of levels; where dense is set there are none of them: every row has its value.
	n        int
	dense    bool
	def, rep []uint8
	picks    []int32
	first    int // the slot of the first row's value, where dense is set
}

// of finds the levels of rows [from, to).
func (lv *levels) of(lf *leaf, cs *mapper.Columns, from, to int) {
	lv.def, lv.rep, lv.picks = lv.def[:0], lv.rep[:0], lv.picks[:0]
	lv.dense = false
	switch {
	case lf.maxRep > 0:
		for row := from; row < to; row++ {
			lv.walk(lf.steps, cs.Cols, row, 0, 0, 0)
		}
		lv.n = len(lv.def)
	case lf.hasNulls(cs):
		lv.flat(lf, cs, from, to)
		lv.n = to - from
	default:
		lv.dense, lv.n, lv.first = true, to-from, from
	}
}

// hasNulls says whether a value of a leaf outside of lists may be missing.
func (lf *leaf) hasNulls(cs *mapper.Columns) bool {
	cols := cs.Cols
	for _, s := range lf.steps {
		c := cols[s.at]
		if s.optional && c.Nulls > 0 {
			return true
		}
		cols = c.Kids
	}
	return false
}

// flat is for leaves outside of lists: a level a row.
func (lv *levels) flat(lf *leaf, cs *mapper.Columns, from, to int) {
	for row := from; row < to; row++ {
		var def uint8
		cols, there := cs.Cols, true
		for _, s := range lf.steps {
			c := cols[s.at]
			if s.optional {
				if c.Nulls > 0 && c.IsNull(row) {
					there = false
					break
				}
				def++
			}
			cols = c.Kids
		}
		lv.def = append(lv.def, def)
		if there {
			lv.picks = append(lv.picks, int32(row))
		}
	}
}

// walk gives the levels of what lies below slot at of the first step's column. rep is the repetition level of its first
// value, depth the number of lists above.
func (lv *levels) walk(steps []step, cols []*mapper.Column, at int, def, rep, depth uint8) {
	for len(steps) > 0 {
		s := steps[0]
		c := cols[s.at]
		if s.optional {
			if c.Nulls > 0 && c.IsNull(at) {
				lv.emit(def, rep)
				return
			}
			def++
		}
		steps, cols = steps[1:], c.Kids
		if !s.repeated {
			continue
		}
		lo, hi := int(c.Off[at]), int(c.Off[at+1])
		if lo == hi {
			lv.emit(def, rep)
			return
		}
		for e := lo; e < hi; e++ {
			lv.walk(steps, cols, e, def+1, rep, depth+1)
			rep = depth + 1
		}
		return
	}
	lv.emit(def, rep)
	lv.picks = append(lv.picks, int32(at))
}

func (lv *levels) emit(def, rep uint8) {
	lv.def, lv.rep = append(lv.def, def), append(lv.rep, rep)
}
