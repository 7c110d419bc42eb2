package mapper

import (
	"fmt"
	"math"
	"reflect"
)

// A field with a Default is filled with it where a record does not have the field at all; a null that is there stays
// null, or is refused. Below a struct that is null, or that the record does not have, nothing is filled.

// defaultColumn holds the default as its only value. The error says why the default does not fit the field.
func (f *Field) defaultColumn() (*Column, error) {
	g := Field{Name: f.Name, Type: f.Type, Required: true}
	c := newColumn(&g)
	c.ensure(1)
	r := &Row{cs: &Columns{limit: math.MaxInt32}}
	if len(f.Type.Fields) > 0 {
		return nil, fmt.Errorf("a default of a %s can't be filled in", f.Type.Kind)
	}
	if err := r.put(c, f.Default); err != nil {
		return nil, fmt.Errorf("its default does not fit: %w", err)
	}
	return c, nil
}

var firstRow = [1]int32{0}

// appendMissing appends what a row gets where the record does not have the field: the default, or null. false: the column
// is required and has no default.
func (c *Column) appendMissing() bool {
	if c.def != nil {
		return c.appendRows(c.def, firstRow[:], math.MaxInt32)
	}
	if c.Field.Required {
		return false
	}
	c.appendNull()
	return true
}

// appendAbsent is appendMissing where the plan does not require the field. The table may: an envelope's op is told apart
// behind the mapper, and has a value without meaning until then.
func (c *Column) appendAbsent() {
	if !c.appendMissing() {
		c.appendNull()
	}
}

// mustHave says that a record without the field is bad.
func (f *Field) mustHave() bool { return f.Required && f.Default == nil }

// countDefaults counts how much the defaults of texts and bytes add to a record at most: once, and in each element of a list or
// entry of a map.
func (cs *Columns) countDefaults() {
	cs.defaults, cs.elements = 0, 0
	countDefaults(cs.Cols, &cs.defaults, &cs.elements)
}

func countDefaults(cols []*Column, once, each *int) {
	for _, c := range cols {
		if c.def != nil {
			*once += len(c.def.Data)
		}
		if c.kind == List || c.kind == Map {
			countDefaults(c.Kids, each, each)
		} else {
			countDefaults(c.Kids, once, each)
		}
	}
}

func sameDefault(a, b any) bool { return a == nil && b == nil || reflect.DeepEqual(a, b) }
