package mapper

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Path leads to a field or a column: one name a level, of the record's own object or row first. A list's element is called
// "element", a map's sides "key" and "value". A dot is part of a name.
type Path []string

// String gives the names in quotes where there are several: a dot in a name shows as one.
func (p Path) String() string {
	if len(p) == 1 {
		return fmt.Sprintf("%q", p[0])
	}
	return fmt.Sprintf("%q", []string(p))
}

// Rename says that a field of records goes to a column of another name.
type Rename struct {
	// Field is where records have it, by the names that records have.
	Field Path
	// Column is its name in the table, beside the column or the table that holds the field.
	Column string
}

// ColumnCast says how the values of a column are read.
type ColumnCast struct {
	// Column leads to it by the names of the table.
	Column Path
	Cast   Cast
}

// Rules say which field of a record goes to which column, and how values are read, for every format. The zero value is the
// rule without rules: a field goes to the column of exactly its name.
//
// Every format follows them all; in CSV, whose fields are text, a cast reads that.
type Rules struct {
	// FoldCase lets the names of a record's fields be written in any case (Unicode's simple case folding). Names of columns
	// that differ in nothing but case are refused, and a record that has a column's field twice is bad. Keys of maps stay as they are.
	FoldCase bool
	// Renames: a field of that name goes to the column, and the column takes no other.
	Renames []Rename
	// Drop are fields that go to no column. A column of that name is null, and must not be required.
	Drop []Path
	// Casts choose a rule for a column's values. See Cast.
	Casts []ColumnCast
	// Zone is where timestamps without an offset were written that come into a column with a time zone. A local time that the zone
	// has twice, or skips, makes the record bad. Nil: such timestamps are bad. time.Local is refused.
	Zone *time.Location
}

// off says that there is no rule.
func (r *Rules) off() bool {
	return !r.FoldCase && len(r.Renames) == 0 && len(r.Drop) == 0 && len(r.Casts) == 0 && r.Zone == nil
}

// Validate names what is wrong with the rules by themselves.
func (r *Rules) Validate() error {
	for _, n := range r.Renames {
		if err := n.Field.validate(); err != nil {
			return fmt.Errorf("mapper: rename: %w", err)
		}
		if n.Column == "" {
			return fmt.Errorf("mapper: rename of %s: the column has no name", n.Field)
		}
	}
	for _, p := range r.Drop {
		if err := p.validate(); err != nil {
			return fmt.Errorf("mapper: drop: %w", err)
		}
	}
	for _, c := range r.Casts {
		if err := c.Column.validate(); err != nil {
			return fmt.Errorf("mapper: cast: %w", err)
		}
		if c.Cast.rule == castNone {
			return fmt.Errorf("mapper: cast of %s: no rule is given", c.Column)
		}
	}
	if r.Zone == time.Local {
		return errors.New("mapper: the time zone is the machine's own: name one, such as Europe/Berlin")
	}
	return nil
}

func (p Path) validate() error {
	if len(p) == 0 {
		return errors.New("a path has no name")
	}
	for _, name := range p {
		if name == "" {
			return fmt.Errorf("the path %s has an empty name", p)
		}
	}
	return nil
}

// WithRules makes a factory whose mappers follow the rules. The factory refuses rules that the schema does not fit: columns
// that it does not have, names that are taken twice, casts that a column's type does not have.
//
// Without any rule it is f itself. The rules are looked at when a mapper is made, and never for a record.
func WithRules(rules Rules, f Factory) Factory {
	if rules.off() {
		return f
	}
	return func(s *Schema) (Mapper, error) {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		ruled, err := rules.apply(s)
		if err != nil {
			return nil, err
		}
		return f(ruled)
	}
}

// fieldRule is what the rules say of one column, or of the row. A nil one says nothing.
type fieldRule struct {
	// name is the field's in records where it is not the column's.
	name string
	// hidden: no field of a record goes to the column.
	hidden bool
	// fold and drop are of what is inside: its members are found in any case; and which fields are no member. Where fold is set
	// the names are folded.
	fold bool
	drop map[string]bool
	// open: fields inside that are no member are left out, whatever the policy for them; closed: they make the record bad.
	open, closed bool
	// fixed: records may not ask for a change of the column, and of what is inside.
	fixed bool
	// connect is the schema beside the payload of what is inside; nil where there is none.
	connect *connectSchema
	cast    Cast
	zone    *time.Location
}

// source is the name of the field that the column is filled from.
func (f *Field) source() string {
	if f.rule != nil && f.rule.name != "" {
		return f.rule.name
	}
	return f.Name
}

func (f *Field) hidden() bool { return f.rule != nil && f.rule.hidden }

func (f *Field) fixed() bool { return f.rule != nil && f.rule.fixed }

func (f *Field) cast() Cast {
	if f.rule == nil {
		return Cast{}
	}
	return f.rule.cast
}

func (f *Field) zone() *time.Location {
	if f.rule == nil {
		return nil
	}
	return f.rule.zone
}

// folds says that names inside are found in any case.
func (r *fieldRule) folds() bool { return r != nil && r.fold }

// drops says that a field of that name is dropped.
func (r *fieldRule) drops(name string) bool {
	return r != nil && r.drop != nil && r.drop[r.key(name)]
}

// ignores says that a field of that name, which is no column, is left out whatever the policy.
func (r *fieldRule) ignores(name string) bool { return r != nil && (r.open || r.drops(name)) }

// stays says that no field becomes a member.
func (r *fieldRule) stays() bool { return r != nil && r.fixed }

// refuses says that fields that are no column make the record bad, also where the policy is another.
func (r *fieldRule) refuses() bool { return r != nil && r.closed }

// key is the form in which names are compared.
func (r *fieldRule) key(name string) string {
	if r.folds() {
		return foldName(name)
	}
	return name
}

// ruler applies rules to a schema.
type ruler struct {
	rules *Rules
	// renames are the fields' names by where they are and their column; casts by column; drops by field.
	renames map[string]string
	casts   map[string]Cast
	drops   map[string]map[string]bool
	used    map[string]bool
}

// apply gives a copy of s whose fields carry what the rules say of them.
func (r *Rules) apply(s *Schema) (*Schema, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	a := &ruler{rules: r, renames: map[string]string{}, casts: map[string]Cast{}, drops: map[string]map[string]bool{}, used: map[string]bool{}}
	for _, n := range r.Renames {
		last := len(n.Field) - 1
		key := "rename " + a.key(n.Field[:last], n.Column)
		if _, twice := a.renames[key]; twice {
			return nil, fmt.Errorf("mapper: rename of %s: another field goes to the column %q too", n.Field, n.Column)
		}
		a.renames[key] = n.Field[last]
	}
	for _, p := range r.Drop {
		last := len(p) - 1
		at := a.key(p[:last], "")
		if a.drops[at] == nil {
			a.drops[at] = map[string]bool{}
		}
		a.drops[at][a.fold(p[last])] = true
	}
	for _, c := range r.Casts {
		key := "cast " + fmt.Sprintf("%q", []string(c.Column))
		if _, twice := a.casts[key]; twice {
			return nil, fmt.Errorf("mapper: cast of %s: the column has two rules", c.Column)
		}
		a.casts[key] = c.Cast
	}
	out := &Schema{ID: s.ID, elsewhere: s.elsewhere, rule: &fieldRule{}}
	var err error
	if out.Fields, err = a.members(out.rule, s.Fields, nil, nil); err != nil {
		return nil, err
	}
	return out, a.unused()
}

// unused refuses a rule for a column that is not there.
func (a *ruler) unused() error {
	for _, n := range a.rules.Renames {
		if !a.used["rename "+a.key(n.Field[:len(n.Field)-1], n.Column)] {
			return fmt.Errorf("mapper: rename of %s: there is no column %q in the table", n.Field, strings.Join(append(n.Field[:len(n.Field)-1:len(n.Field)-1], n.Column), "."))
		}
	}
	for _, c := range a.rules.Casts {
		if !a.used["cast "+fmt.Sprintf("%q", []string(c.Column))] {
			return fmt.Errorf("mapper: cast of %s: there is no such column in the table", c.Column)
		}
	}
	return nil
}

func (a *ruler) fold(name string) string {
	if a.rules.FoldCase {
		return foldName(name)
	}
	return name
}

// key is one text for a path of fields and a name beside them, which is not folded: it is a column's.
func (a *ruler) key(at []string, name string) string {
	folded := make([]string, len(at), len(at)+1)
	for i := range at {
		folded[i] = a.fold(at[i])
	}
	return fmt.Sprintf("%q", append(folded, name))
}

// members applies the rules to the members of a struct, or of the row. in is the struct's own rule; from are the names that
// records have, to those of columns.
func (a *ruler) members(in *fieldRule, fields []Field, from, to []string) ([]Field, error) {
	in.fold, in.drop = a.rules.FoldCase, a.drops[a.key(from, "")]
	out := make([]Field, len(fields))
	taken := map[string]string{}
	for i := range fields {
		f := fields[i]
		rule := fieldRule{}
		if name, ok := a.renames["rename "+a.key(from, f.Name)]; ok {
			rule.name = name
			a.used["rename "+a.key(from, f.Name)] = true
		}
		f.rule = &rule
		name := f.source()
		if other, twice := taken[a.fold(name)]; twice {
			return nil, fmt.Errorf("mapper: the columns %q and %q would both take the field %q: rename one of them, or read names with case: exact",
				strings.Join(append(to[:len(to):len(to)], other), "."), strings.Join(append(to[:len(to):len(to)], f.Name), "."), name)
		}
		taken[a.fold(name)] = f.Name
		if rule.hidden = in.drops(name); rule.hidden && f.Required {
			return nil, fmt.Errorf("mapper: drop of %s: the column %q is required, and nothing else fills it", Path(append(from[:len(from):len(from)], name)), f.Name)
		}
		if err := a.field(&f, append(from[:len(from):len(from)], name), append(to[:len(to):len(to)], f.Name)); err != nil {
			return nil, err
		}
		out[i] = f
	}
	return out, nil
}

// field applies the rules to a column and what is inside it; f is the copy that is changed, and has a rule.
func (a *ruler) field(f *Field, from, to []string) error {
	key := "cast " + fmt.Sprintf("%q", to)
	if c, ok := a.casts[key]; ok {
		a.used[key] = true
		if err := c.fits(&f.Type); err != nil {
			return fmt.Errorf("mapper: cast of %s: %w", Path(to), err)
		}
		f.rule.cast = c
	}
	if f.Type.Kind == TimestampTz || f.Type.Kind == TimestampTzNs {
		f.rule.zone = a.rules.Zone
	}
	var err error
	var names []string
	switch f.Type.Kind {
	default:
		return nil
	case Struct:
		f.Type.Fields, err = a.members(f.rule, f.Type.Fields, from, to)
		return err
	case List:
		names = []string{"element"}
	case Map:
		names = []string{"key", "value"}
	}
	inner := make([]Field, len(names))
	for i, name := range names {
		inner[i] = f.Type.Fields[i]
		inner[i].rule = &fieldRule{}
		if _, cast := a.casts["cast "+fmt.Sprintf("%q", append(to[:len(to):len(to)], name))]; cast && name == "key" {
			return fmt.Errorf("mapper: cast of %s: keys of maps have no casts", Path(append(to[:len(to):len(to)], name)))
		}
		if err := a.field(&inner[i], append(from[:len(from):len(from)], name), append(to[:len(to):len(to)], name)); err != nil {
			return err
		}
	}
	f.Type.Fields = inner
	return nil
}
