package mapper

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Evolution says which changes of the table's schema records may ask for. The zero value is none, which costs nothing.
type Evolution struct {
	// Add: columns, and members of structs, for fields that are none. UnknownOptions must then ignore them.
	Add bool
	// Widen: int to long, float to double, and a decimal to more digits of the same scale.
	Widen bool
	// Optional: a required column to an optional one, where a record has no value for it.
	Optional bool
	// MaxColumns is how many fields the schema may have for a record to add one, those inside of others counted. Default
	// DefaultMaxColumns.
	MaxColumns int

	// untyped is told the paths of fields that would be added, and have no type yet. Nil: nobody asks.
	untyped func(path string)
}

// DefaultMaxColumns is MaxColumns where it is not set.
const DefaultMaxColumns = 1000

// of is what records may ask for that are read into s.
func (e Evolution) of(s *Schema) Evolution {
	if s.fixed {
		return Evolution{}
	}
	return e
}

// On says that any change is allowed.
func (e *Evolution) On() bool { return e.Add || e.Widen || e.Optional }

func (e *Evolution) validate(o *UnknownOptions) error {
	switch {
	case e.MaxColumns < 0:
		return fmt.Errorf("mapper: evolution: MaxColumns is %d, and can't be negative", e.MaxColumns)
	case e.Add && o.Policy != UnknownIgnore:
		return fmt.Errorf("mapper: evolution: fields are to become columns, and another policy for unknown fields is set: set one of the two")
	}
	return nil
}

// ChangeKind is what a Change does.
type ChangeKind uint8

const (
	// AddColumn adds an optional field.
	AddColumn ChangeKind = iota
	// WidenType gives a field a wider type.
	WidenType
	// MakeOptional lets a field be null.
	MakeOptional
)

// Change is one change of a schema that a record asks for. Fields are named by id: somebody may rename them meanwhile.
type Change struct {
	Kind ChangeKind
	// ID is the field's; for AddColumn that of the struct that it goes into (a column, or the element of a list or the value of
	// a map), 0 for the row itself.
	ID int
	// Name is that of the field to add.
	Name string
	// Type is the new field's, or the wider one. All ids in it are 0, and everything in it is optional but the keys of maps.
	Type Type
	// Path says what is meant to people.
	Path string
}

// EvolveError says that a record fits the schema once it is changed. The columns are as before. Change the table's schema,
// and map the record again with a mapper for the new one; or take it for what Bad says.
type EvolveError struct {
	Changes []Change
	// Bad is what the record is if the changes are not made.
	Bad *BadRecordError
}

func (e *EvolveError) Error() string {
	return fmt.Sprintf("the record needs %d changes of the table's schema: %s", len(e.Changes), e.Bad)
}

// Unwrap gives Bad: whoever does not change schemas sees a bad record.
func (e *EvolveError) Unwrap() error { return e.Bad }

// MergeChanges adds those of more that into does not have. Two types for one field become the one that takes both, where
// there is one; else the first stays, and what does not fit it is bad.
func MergeChanges(into []Change, more ...Change) []Change {
	type key struct {
		kind ChangeKind
		id   int
		name string
	}
	at := make(map[key]int, len(into)+len(more))
	for i := range into {
		at[key{into[i].Kind, into[i].ID, into[i].Name}] = i
	}
	for _, c := range more {
		k := key{c.Kind, c.ID, c.Name}
		i, there := at[k]
		if !there {
			at[k] = len(into)
			into = append(into, c)
			continue
		}
		if t, ok := mergeTypes(into[i].Type, c.Type, exactly); ok {
			into[i].Type = t
		}
	}
	return into
}

// exactly has two names be the same where they are.
func exactly(name string) string { return name }

// mergeTypes is the type that takes what both take: the wider number, all members of two structs, which are the same where their
// keys are.
func mergeTypes(a, b Type, key func(string) string) (Type, bool) {
	if a.Kind > b.Kind {
		a, b = b, a
	}
	b.mixed = a.mixed || b.mixed || a.Kind == Long && b.Kind == Double
	b.inexact = a.inexact || b.inexact
	switch {
	case a.Kind == Int && b.Kind == Long, a.Kind == Float && b.Kind == Double, a.Kind == Long && b.Kind == Double:
		return b, true
	case a.Kind != b.Kind:
		return a, false
	}
	switch a.Kind {
	case Decimal:
		if a.Scale != b.Scale {
			return a, false
		}
		a.Precision = max(a.Precision, b.Precision)
		return a, true
	case Struct:
		return mergeStructs(a, b, key)
	case List, Map:
		last := len(a.Fields) - 1
		t, ok := mergeTypes(a.Fields[last].Type, b.Fields[last].Type, key)
		a.Fields = slices.Clone(a.Fields)
		a.Fields[last].Type = t
		return a, ok
	}
	return b, typeEqual(&a, &b)
}

func mergeStructs(a, b Type, key func(string) string) (Type, bool) {
	a.Fields = slices.Clone(a.Fields)
	at := make(map[string]int, len(a.Fields))
	for i := range a.Fields {
		at[key(a.Fields[i].Name)] = i
	}
	for _, f := range b.Fields {
		i, there := at[key(f.Name)]
		if !there {
			at[key(f.Name)] = len(a.Fields)
			a.Fields = append(a.Fields, f)
			continue
		}
		t, ok := mergeTypes(a.Fields[i].Type, f.Type, key)
		if !ok {
			return a, false
		}
		a.Fields[i].Type = t
	}
	return a, true
}

// wishes collects the changes that a record, or a schema, asks for.
type wishes struct {
	Evolution
	changes []Change
	// free is how many more fields may be added.
	free int
	// elsewhere are columns that other parts of a record fill. A field of such a name is no column, and does not become one.
	elsewhere []Field
	// envelope is nil where the row is in none.
	envelope *envelopeRow
	bad      *BadRecordError
}

func newWishes(e Evolution, s *Schema) wishes {
	if e.MaxColumns == 0 {
		e.MaxColumns = DefaultMaxColumns
	}
	w := wishes{Evolution: e, free: e.MaxColumns - countFields(s.Fields) - countFields(s.elsewhere), elsewhere: s.elsewhere, envelope: s.envelope}
	if s.envelope != nil {
		w.free = e.MaxColumns - s.envelope.columns
	}
	return w
}

// seeUntyped tells of a field that has no type yet.
func (w *wishes) seeUntyped(path string) {
	if w.untyped != nil {
		w.untyped(path)
	}
}

// taken says that a field of the struct of that id, whose rule and columns those are, has the name of a column that something else
// fills.
func (w *wishes) taken(id int, rule *fieldRule, columns []Field, name string) bool {
	same := func(f Field) bool { return rule.key(f.Name) == rule.key(name) }
	return rule.stays() || slices.ContainsFunc(columns, same) || id == 0 && slices.ContainsFunc(w.elsewhere, same)
}

func countFields(fields []Field) int {
	n := len(fields)
	for i := range fields {
		if fields[i].Type.Kind != Variant {
			n += countFields(fields[i].Type.Fields)
		}
	}
	return n
}

func (w *wishes) fail(path, why string) {
	if w.bad == nil {
		w.bad = &BadRecordError{Code: CodeUnknown, Column: path, Reason: why}
	}
}

// add asks for a field in the struct of that id. A name that no column should have makes the record bad.
func (w *wishes) add(id int, path, name string, t Type) {
	path = join(path, shownName([]byte(name)))
	if why := badNames(name, &t); why != "" {
		w.fail(path, why)
		return
	}
	if w.free -= 1 + countFields(t.Fields); w.free < 0 {
		w.fail(path, w.tooMany())
		return
	}
	w.changes = append(w.changes, Change{Kind: AddColumn, ID: id, Name: name, Type: t, Path: path})
}

func (w *wishes) tooMany() string {
	return fmt.Sprintf("a field that is no column, and records may not add any beyond %d columns in all", w.MaxColumns)
}

func (w *wishes) widen(f *Field, path string, t Type) {
	w.changes = append(w.changes, Change{Kind: WidenType, ID: f.ID, Type: t, Path: path})
}

func (w *wishes) optional(f *Field, path string) {
	w.changes = append(w.changes, Change{Kind: MakeOptional, ID: f.ID, Path: path})
}

// needs is what a plan asks for, nil where the schema is as it should be.
func (w *wishes) needs() *EvolveError {
	if len(w.changes) == 0 {
		return nil
	}
	// The branches of a union may ask for the same.
	changes := MergeChanges(nil, w.changes...)
	bad := &BadRecordError{Code: CodeUnknown, Column: changes[0].Path, Reason: reasonUnknown}
	if changes[0].Kind != AddColumn {
		bad.Code, bad.Reason = CodeSchema, "the schema that the record was written with does not fit the column"
	}
	return &EvolveError{Changes: changes, Bad: bad}
}

// longestName is the longest name of a column that records add, in bytes.
const longestName = 255

// badNames says what is wrong with the name of a new field, or one inside it.
func badNames(name string, t *Type) string {
	switch {
	case name == "":
		return "a field without a name can't become a column"
	case len(name) > longestName:
		return fmt.Sprintf("a field with a name of more than %d bytes can't become a column", longestName)
	}
	for _, r := range name {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return "a field with a character in its name that does not print can't become a column"
		}
	}
	if t.Kind == Struct {
		for i := range t.Fields {
			if why := badNames(t.Fields[i].Name, &t.Fields[i].Type); why != "" {
				return why
			}
		}
		return ""
	}
	for i := range t.Fields {
		if why := badNames("element", &t.Fields[i].Type); why != "" {
			return why
		}
	}
	return ""
}
