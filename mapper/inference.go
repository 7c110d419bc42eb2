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
			continue
		}
		have := &i.columns[at].Type
		if e := apart(c.Path, have, &c.Type); e != nil {
			return e
		}
		*have, _ = mergeTypes(*have, c.Type, exactly)
	}
	return nil
}

// Columns are those that were asked for, in the order in which they were.
func (i *Inference) Columns() []Change { return i.columns }

// Untyped are the dotted paths of fields that were null, or empty, wherever they were.
func (i *Inference) Untyped() []string {
	typed := map[string]bool{}
	for _, c := range i.columns {
		typedPaths(c.Path, &c.Type, typed)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(i.untyped)), func(path string) bool { return typed[path] })
}

func typedPaths(path string, t *Type, into map[string]bool) {
	into[path] = true
	for i := range t.Fields {
		typedPaths(join(path, shownName([]byte(t.Fields[i].Name))), &t.Fields[i].Type, into)
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
