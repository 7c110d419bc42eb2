package writer

import "github.com/stormfloe/floe/mapper"

// mask says which values of a column are there: neither null themselves nor below a null struct.
type mask struct {
	c       *mapper.Column
	parents []*mapper.Column // only those with nulls
	dense   bool
}

func (m *mask) has(i int) bool {
	if m.dense {
		return true
	}
	if m.c.IsNull(i) {
		return false
	}
	for _, p := range m.parents {
		if p.IsNull(i) {
			return false
		}
	}
	return true
}
