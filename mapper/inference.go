package mapper

import (
	"fmt"
	"maps"
	"slices"
)

// Inference gathers the columns that records ask for where there is no table yet: fields of the types that Evolution gives
// new columns. The zero value has none. It belongs to one goroutine.
type Inference struct {
	columns []Change
	untyped map[string]bool
}

// Evolution lets mappers for a schema without those columns ask for them, and tell i of fields that have no type.
// maxColumns is Evolution.MaxColumns.
func (i *Inference) Evolution(maxColumns int) Evolution {
	return Evolution{Add: true, MaxColumns: maxColumns, untyped: i.see}
}

func (i *Inference) see(path string) {
	if i.untyped == nil {
		i.untyped = map[string]bool{}
	}
	// Names come from records, which may have ever new ones.
	if len(i.untyped) < DefaultMaxColumns {
		i.untyped[path] = true
	}
}

// TypeConflict is a field that records have with two types which no column takes.
type TypeConflict struct {
	// Column is the dotted path of the field.
	Column string
	A, B   Type
}

func (e *TypeConflict) Error() string {
	if e.A.Kind == Long && e.B.Kind == Double {
		return fmt.Sprintf("the field %q has numbers with a fraction or an exponent, which a long does not hold, and integers that a double may not hold exactly (from 2^53 on)", e.Column)
	}
	return fmt.Sprintf("the field %q has two types that no column takes: %s and %s", e.Column, &e.A, &e.B)
}

// Add takes the columns that an EvolveError asks for. Two types of one field become the one that takes both. Where there is
// none it gives a *TypeConflict, and i is of no use any more.
func (i *Inference) Add(changes ...Change) error {
	for _, c := range changes {
		if c.Kind != AddColumn || c.ID != 0 {
			continue // there was no column to change
		}
		at := slices.IndexFunc(i.columns, func(o Change) bool { return o.Name == c.Name })
		if at < 0 {
			i.columns = append(i.columns, c)
			if e := inexact(c.Path, &c.Type); e != nil {
				return e
			}
			continue
		}
		have := &i.columns[at].Type
		if e := apart(c.Path, have, &c.Type); e != nil {
			return e
		}
		*have, _ = mergeTypes(*have, c.Type, exactly)
		if e := inexact(c.Path, have); e != nil {
			return e
		}
	}
	return nil
}

// Columns are those that were asked for, in the order in which they were.
func (i *Inference) Columns() []Change { return i.columns }

// Untyped are the dotted paths of fields that were null, or empty, wherever they were.
func (i *Inference) Untyped() []string {
	typed := map[string]bool{}
	for _, c := range i.columns {
		c.Type.each(c.Path, func(path string, _ *Type) { typed[path] = true })
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(i.untyped)), func(path string) bool { return typed[path] })
}

// Mixed are the dotted paths of fields that become a double because some of their numbers are integers and others are not.
func (i *Inference) Mixed() []string {
	mixed := map[string]bool{}
	for _, c := range i.columns {
		c.Type.each(c.Path, func(path string, t *Type) {
			if t.Kind == Double && t.mixed {
				mixed[path] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(mixed))
}

// inexact finds a double that would have to hold what it may not hold exactly.
func inexact(path string, t *Type) (err error) {
	t.each(path, func(path string, t *Type) {
		if t.Kind == Double && t.inexact && err == nil {
			err = &TypeConflict{Column: path, A: Type{Kind: Long}, B: Type{Kind: Double}}
		}
	})
	return err
}

// each calls f with t and all types in it, and their dotted paths.
func (t *Type) each(path string, f func(path string, t *Type)) {
	f(path, t)
	for i := range t.Fields {
		t.Fields[i].Type.each(join(path, shownName([]byte(t.Fields[i].Name))), f)
	}
}

// apart finds the first place at which mergeTypes would fail.
func apart(path string, a, b *Type) error {
	switch {
	case a.Kind == Struct && b.Kind == Struct:
		for i := range b.Fields {
			f := &b.Fields[i]
			at := slices.IndexFunc(a.Fields, func(o Field) bool { return o.Name == f.Name })
			if at < 0 {
				continue
			}
			if e := apart(join(path, shownName([]byte(f.Name))), &a.Fields[at].Type, &f.Type); e != nil {
				return e
			}
		}
		return nil
	case a.Kind == b.Kind && (a.Kind == List || a.Kind == Map):
		last := len(a.Fields) - 1
		return apart(join(path, a.Fields[last].Name), &a.Fields[last].Type, &b.Fields[last].Type)
	}
	if _, ok := mergeTypes(*a, *b, exactly); !ok {
		return &TypeConflict{Column: path, A: *a, B: *b}
	}
	return nil
}
