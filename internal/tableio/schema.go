package tableio

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
)

// Column is one column of a table to be made, as a user writes it.
type Column struct {
	Name string
	// Type is text that ParseType takes.
	Type     string
	Required bool
	Doc      string
}

// ParseSchema makes a schema with fresh field ids, numbered as Iceberg's own clients number them: all fields of one level
// before what is inside them. Errors name the column.
func ParseSchema(columns []Column) (*iceberg.Schema, error) {
	if len(columns) == 0 {
		return nil, errors.New("the schema has no columns; write at least one, as {name: id, type: long}")
	}
	fields := make([]iceberg.NestedField, len(columns))
	for i, c := range columns {
		if err := checkName(c.Name); err != nil {
			return nil, fmt.Errorf("column %d: %w", i+1, err)
		}
		if strings.TrimSpace(c.Type) == "" {
			return nil, fmt.Errorf("column %s: the type is missing; it is one of %s", c.Name, knownTypes)
		}
		t, err := ParseType(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		fields[i] = iceberg.NestedField{Name: c.Name, Type: t, Required: c.Required, Doc: c.Doc}
	}
	if err := checkUnique("", fields, map[string]struct{}{}); err != nil {
		return nil, err
	}
	next := 1
	AssignIDs(fields, &next)
	return iceberg.NewSchema(0, fields...), nil
}

// CheckFields refuses names that a table of that format version can't have, and types that it does not have. Errors are the
// rest of a sentence about the field.
func CheckFields(fields []iceberg.NestedField, version int) error {
	if err := checkUnique("", fields, map[string]struct{}{}); err != nil {
		return errors.New("a name in it can't be a column's, or is there twice")
	}
	if name, typ := needsV3("", fields); name != "" && version < 3 {
		return fmt.Errorf("type %s needs format version 3", typ)
	}
	return nil
}

// FullNames are the names that a field and everything in it go by, with dots between the parts.
func FullNames(prefix string, f iceberg.NestedField) []string {
	seen := map[string]struct{}{}
	if checkUnique(prefix, []iceberg.NestedField{f}, seen) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(seen))
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is missing")
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %q is not valid UTF-8", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the name %q has a control character in it", name)
	}
	return nil
}

// checkUnique refuses a full name that two fields have. Names with dots can meet those of nested fields, and iceberg-go's
// schema must never be given such a pair.
func checkUnique(prefix string, fields []iceberg.NestedField, seen map[string]struct{}) error {
	for _, f := range fields {
		if err := checkName(f.Name); err != nil {
			return fmt.Errorf("column %s: %w", strings.TrimSuffix(prefix, "."), err)
		}
		full := prefix + f.Name
		if _, ok := seen[full]; ok {
			return fmt.Errorf("column %s: the name is there twice; every column needs a name of its own", full)
		}
		seen[full] = struct{}{}
	}
	for _, f := range fields {
		if err := checkInside(prefix+f.Name, f.Type, seen); err != nil {
			return err
		}
	}
	return nil
}

func checkInside(full string, t iceberg.Type, seen map[string]struct{}) error {
	if st, ok := t.(*iceberg.StructType); ok {
		return checkUnique(full+".", st.FieldList, seen)
	}
	nested, ok := t.(iceberg.NestedType)
	if !ok {
		return nil
	}
	// A struct in a list or map is known by the path with "element" or "value" and also by the short one without.
	for _, f := range nested.Fields() {
		if err := checkUnique(full+".", []iceberg.NestedField{f}, seen); err != nil {
			return err
		}
		if st, ok := f.Type.(*iceberg.StructType); ok && f.Name != "key" {
			for _, inner := range st.FieldList {
				if _, ok := seen[full+"."+inner.Name]; ok {
					return fmt.Errorf("column %s.%s: the name is there twice; every column needs a name of its own", full, inner.Name)
				}
			}
		}
	}
	return nil
}

// AssignIDs numbers the fields from next on: all of one level before what is inside them.
func AssignIDs(fields []iceberg.NestedField, next *int) {
	for i := range fields {
		fields[i].ID = *next
		*next++
	}
	for i := range fields {
		assignInside(fields[i].Type, next)
	}
}

func assignInside(t iceberg.Type, next *int) {
	switch t := t.(type) {
	case *iceberg.StructType:
		AssignIDs(t.FieldList, next)
	case *iceberg.ListType:
		t.ElementID = *next
		*next++
		assignInside(t.Element, next)
	case *iceberg.MapType:
		t.KeyID, t.ValueID = *next, *next+1
		*next += 2
		assignInside(t.KeyType, next)
		assignInside(t.ValueType, next)
	}
}
