package mapper

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Kind is the type of a column, in Iceberg's words.
type Kind uint8

// The kinds, with the buffer of Column that holds their values.
const (
	Invalid       Kind = iota
	Boolean            // Bits
	Int                // I32
	Long               // I64
	Float              // F32
	Double             // F64
	Decimal            // Data, 16 bytes a value: two's complement, little endian (Arrow's decimal128)
	Date               // I32, days since 1970-01-01
	Time               // I64, microseconds since midnight
	Timestamp          // I64, microseconds since the epoch, no zone
	TimestampTz        // I64, microseconds since the epoch, UTC
	TimestampNs        // I64, nanoseconds since the epoch, no zone (format version 3)
	TimestampTzNs      // I64, nanoseconds since the epoch, UTC (format version 3)
	String             // Off and Data, valid UTF-8
	UUID               // Data, 16 bytes a value, big endian
	Fixed              // Data, Length bytes a value
	Binary             // Off and Data
	Struct             // Kids
	List               // Off, Kids[0] is the element
	Map                // Off, Kids[0] is the key, Kids[1] the value
	Unknown            // nothing: all values are null (format version 3)
	Variant            // Kids[0] is the metadata, Kids[1] the value, both binary (format version 3); see VariantType
)

var kindNames = [...]string{"invalid", "boolean", "int", "long", "float", "double", "decimal", "date", "time", "timestamp",
	"timestamptz", "timestamp_ns", "timestamptz_ns", "string", "uuid", "fixed", "binary", "struct", "list", "map", "unknown", "variant"}

// String gives Iceberg's name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Field is a column, or a member of a nested type.
type Field struct {
	// ID is the Iceberg field id.
	ID   int
	Name string
	Type Type
	// Required columns hold no null: a record without a value for one is bad.
	Required bool
	// Default is what a row gets where the record does not have the field, as Row.Set takes it; nil: null. Primitive types
	// only.
	Default any

	// rule is what Rules say of the column.
	rule *fieldRule
}

// Type is a column's type.
type Type struct {
	Kind Kind
	// Precision and Scale belong to Decimal: 1 to 38, and 0 to Precision.
	Precision, Scale int
	// Length belongs to Fixed: bytes a value.
	Length int
	// Fields are the members of a Struct; the element of a List ("element"); the key and the value of a Map; the two
	// parts of a Variant.
	Fields []Field

	// inexact and mixed are what an Inference has seen of a number: integers that a double may not hold, or fractions beside integers.
	inexact, mixed bool
}

// String gives the type in Iceberg's words, without the members of a struct: "decimal(10,2)", "list<string>".
func (t *Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Fixed:
		return fmt.Sprintf("fixed[%d]", t.Length)
	case List:
		if len(t.Fields) == 1 {
			return "list<" + t.Fields[0].Type.String() + ">"
		}
	case Map:
		if len(t.Fields) == 2 {
			return "map<" + t.Fields[0].Type.String() + "," + t.Fields[1].Type.String() + ">"
		}
	}
	return t.Kind.String()
}

// width is the number of bytes a value takes in Data, where that is fixed.
func (t *Type) width() int {
	switch t.Kind {
	case Decimal, UUID:
		return 16
	case Fixed:
		return t.Length
	}
	return 0
}

// Schema is the row type that records are mapped to.
type Schema struct {
	// ID is the Iceberg schema id.
	ID     int
	Fields []Field

	// elsewhere are the table's columns that other parts of a record fill: they are there, though not in Fields.
	elsewhere []Field
	// rule is what Rules say of the row.
	rule *fieldRule
	// fixed: no record may ask for another one.
	fixed bool
	// envelope is what newWishes has to know where the row is in an envelope; nil elsewhere.
	envelope *envelopeRow
}

// maxSchemaDepth bounds the nesting of types. Recursion over a schema that came from a catalog is bounded with it.
const maxSchemaDepth = 1000

// Validate says what is wrong with the schema, naming the column; nil where nothing is.
func (s *Schema) Validate() error {
	if s == nil {
		return errors.New("mapper: schema: no schema given")
	}
	return validateMembers("", s.Fields, 1)
}

func validateMembers(path string, fields []Field, depth int) error {
	seen := make(map[string]struct{}, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Name == "" {
			return fmt.Errorf("mapper: schema: column %d of %q has no name", i, path)
		}
		if !utf8.ValidString(f.Name) {
			return fmt.Errorf("mapper: schema: the name %q is not valid UTF-8", join(path, f.Name))
		}
		if _, dup := seen[f.Name]; dup {
			return fmt.Errorf("mapper: schema: column %q appears twice", join(path, f.Name))
		}
		seen[f.Name] = struct{}{}
		if err := validateType(join(path, f.Name), &f.Type, depth); err != nil {
			return err
		}
		if f.Required && f.Type.Kind == Unknown {
			return fmt.Errorf("mapper: schema: column %q of type unknown must not be required: it holds nulls alone", join(path, f.Name))
		}
		if f.Default == nil {
			continue
		}
		if _, err := f.defaultColumn(); err != nil {
			return fmt.Errorf("mapper: schema: column %q of type %s: %w", join(path, f.Name), &f.Type, err)
		}
	}
	return nil
}

func validateType(path string, t *Type, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("mapper: schema: column %q is nested more than %d deep", path, maxSchemaDepth)
	}
	bad := func(what string) error {
		return fmt.Errorf("mapper: schema: column %q of type %s: %s", path, t, what)
	}
	switch t.Kind {
	case Decimal:
		if t.Precision < 1 || t.Precision > 38 {
			return bad("the precision must be 1 to 38")
		}
		if t.Scale < 0 || t.Scale > t.Precision {
			return bad("the scale must be 0 to the precision")
		}
	case Fixed:
		if t.Length < 1 {
			return bad("the length must be at least 1")
		}
	case Struct:
		return validateMembers(path, t.Fields, depth+1)
	case List:
		if len(t.Fields) != 1 {
			return bad("a list has one field, its element")
		}
		if t.Fields[0].Type.Kind == Unknown {
			return bad("its elements must have a type")
		}
		if holdsVariant(t.Fields) {
			return bad(reasonVariantInside)
		}
		return validateType(join(path, "element"), &t.Fields[0].Type, depth+1)
	case Map:
		if len(t.Fields) != 2 {
			return bad("a map has two fields, its key and its value")
		}
		if t.Fields[0].Type.Kind == Unknown || t.Fields[1].Type.Kind == Unknown {
			return bad("its keys and values must have types")
		}
		if !t.Fields[0].Required {
			return bad("the key of a map must be required")
		}
		if holdsVariant(t.Fields) {
			return bad(reasonVariantInside)
		}
		if err := validateType(join(path, "key"), &t.Fields[0].Type, depth+1); err != nil {
			return err
		}
		return validateType(join(path, "value"), &t.Fields[1].Type, depth+1)
	case Variant:
		if !fieldsEqual(t.Fields, variantFields, true) {
			return bad("make it with VariantType")
		}
	default:
		if t.Kind == Invalid || t.Kind > Variant {
			return bad("not a known kind")
		}
	}
	return nil
}

// Equal says whether both describe the same columns: names, types and requiredness in the same order. Ids do not count.
func (s *Schema) Equal(o *Schema) bool {
	return s == o || s != nil && o != nil && fieldsEqual(s.Fields, o.Fields, true)
}

// fieldsEqual compares names only where they mean something: those of a list's element and a map's sides do not.
func fieldsEqual(a, b []Field, names bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if names && x.Name != y.Name || x.Required != y.Required || !sameDefault(x.Default, y.Default) || !typeEqual(&x.Type, &y.Type) {
			return false
		}
	}
	return true
}

func typeEqual(a, b *Type) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Decimal:
		return a.Precision == b.Precision && a.Scale == b.Scale
	case Fixed:
		return a.Length == b.Length
	case Struct:
		return fieldsEqual(a.Fields, b.Fields, true)
	case List, Map:
		return fieldsEqual(a.Fields, b.Fields, false)
	}
	return true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
