package writer

import (
	"slices"

	"github.com/stormfloe/floe/mapper"
)

// mask says which values of a column are there: neither null themselves nor below a null struct.
type mask struct {
	c       *mapper.Column
	parents []*mapper.Column // only those with nulls
	dense   bool
}

// maskOf is the mask of c below parents, which it takes over.
func maskOf(c *mapper.Column, parents []*mapper.Column) mask {
	m := mask{c: c, parents: slices.DeleteFunc(parents, func(p *mapper.Column) bool { return p.Nulls == 0 })}
	m.dense = c.Nulls == 0 && len(m.parents) == 0
	return m
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
