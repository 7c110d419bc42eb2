package mapper

import (
	"fmt"
	"math"
	"slices"

	"github.com/stormfloe/floe/source"
)

// JSONOptions of a JSON mapper. The zero value is useful.
type JSONOptions struct {
	// MaxDepth is how deep arrays and objects may be nested in a record, the record's own object included, also in values
	// that no column takes. Deeper records are bad (CodeDepth). Default 100, at most 10,000. It must be at least the
	// depth of the schema.
	MaxDepth int
	// Unknown says what becomes of members that are no column. Default: they are checked and left out.
	Unknown UnknownOptions
	// Evolve says which changes of the schema a record may ask for, with an *EvolveError. A new column gets the type that its
	// value has: see the package documentation. Default: none.
	Evolve Evolution
}

const (
	defaultDepth = 100
	largestDepth = 10000
)

// Validate names what is wrong with the options.
func (o *JSONOptions) Validate() error {
	if o.MaxDepth < 0 || o.MaxDepth > largestDepth {
		return fmt.Errorf("mapper: json: MaxDepth is %d, but must be 1 to %d, or 0 for %d", o.MaxDepth, largestDepth, defaultDepth)
	}
	if err := o.Unknown.Validate(); err != nil {
		return err
	}
	return o.Evolve.validate(&o.Unknown)
}

// NewJSON makes a factory of mappers that read a record's value as one JSON object, member by member into the columns of
// the same names. The package documentation says what each type takes.
//
// The factory refuses a schema that JSON cannot fill: a map with a struct, list or map as its key.
func NewJSON(opts JSONOptions) Factory {
	return func(s *Schema) (Mapper, error) {
		if err := opts.Validate(); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m := &jsonMapper{schema: s, depth: opts.MaxDepth, unknowns: opts.Unknown.Policy, evolution: opts.Evolve.of(s)}
		if m.depth == 0 {
			m.depth = defaultDepth
		}
		m.variants = holdsVariant(s.Fields)
		m.root.kids = make([]*jsonNode, len(s.Fields))
		if err := m.compile(&m.root, "", s.rule, s.Fields, 1); err != nil {
			return nil, err
		}
		if m.unknowns == UnknownKeep {
			var err error
			if m.keep, err = newKeeper(opts.Unknown.Column, s.Fields); err != nil {
				return nil, err
			}
			m.root.remove(m.keep.at)
		}
		return m, nil
	}
}

// jsonMapper is a plan for one schema: a tree of nodes as the columns', bound to the columns it last appended to.
type jsonMapper struct {
	schema *Schema
	depth  int
	// variants says that values may take more room than their JSON.
	variants bool
	root     jsonNode
	dst      *Columns
	// bad is why the parser gave up: a function that gives an index below zero has set it.
	bad BadRecordError
	// tmp holds a string whose escapes were resolved.
	tmp []byte
	// spread is what the record may fill still.
	spread spread
	// order is scratch for finding duplicate keys of large maps.
	order []int32
	// fold holds a key that was folded.
	fold []byte

	unknowns UnknownPolicy
	// keep is nil where nothing is kept.
	keep *keeper
	// key and rawKey are those of the last member that was found to be no column: its text, and as it is written.
	key, rawKey []byte

	evolution Evolution
	// strange says that the record has fields that are no column, and may ask for one.
	strange bool
}

// jsonNode is the plan for one column, or for the record's object.
type jsonNode struct {
	col *Column
	// at is the number of the column among its parent's.
	at       int
	field    *Field
	kind     Kind
	required bool
	path     string
	shortcut shortcut
	// gap is what stood before the member's value, first as it is usually written.
	gap gap
	// next is the member that followed this one in the last record, first the one that began the object: the guess that
	// is tried before the index.
	next, first *jsonNode
	kids        []*jsonNode
	// members finds the kids of a struct by name; folded, which is nil where case counts, by their folded names.
	members, folded map[string]*jsonNode
	// rule is that of a struct's members, and of the row's.
	rule *fieldRule
	// casts is nil where values are read as the column's type has it.
	casts *jsonCast
}

func (m *jsonMapper) compile(n *jsonNode, path string, rule *fieldRule, fields []Field, depth int) error {
	if depth > m.depth {
		return fmt.Errorf("mapper: json: column %q is nested deeper than MaxDepth %d: raise MaxDepth", path, m.depth)
	}
	n.rule = rule
	n.members = make(map[string]*jsonNode, len(fields))
	if rule.folds() {
		n.folded = make(map[string]*jsonNode, len(fields))
	}
	for i := range fields {
		kid, err := m.node(&fields[i], join(path, fields[i].Name), depth)
		if err != nil {
			return err
		}
		kid.at = i
		n.kids[i] = kid
		n.member(kid, &fields[i])
	}
	n.link()
	return nil
}

// link makes the guesses of an object whose members come in the order of the columns.
func (n *jsonNode) link() {
	for i, k := range n.kids {
		if i > 0 {
			n.kids[i-1].next = k
		}
	}
	if len(n.kids) > 0 {
		n.first = n.kids[0]
	}
}

// remove makes column number at one that no member goes to.
func (n *jsonNode) remove(at int) {
	for _, members := range [2]map[string]*jsonNode{n.members, n.folded} {
		for name, k := range members {
			if k == n.kids[at] {
				delete(members, name)
			}
		}
	}
	n.kids = slices.Delete(n.kids, at, at+1)
	n.first = nil
	n.link()
}

// member lets kid be found by the name that records have for its field.
func (n *jsonNode) member(kid *jsonNode, f *Field) {
	if f.hidden() {
		return
	}
	name := f.source()
	if isPlain(name) {
		kid.gap.set([]byte(`,"` + name + `":`))
	}
	n.members[name] = kid
	if n.folded != nil {
		n.folded[foldName(name)] = kid
	}
}

func (m *jsonMapper) node(f *Field, path string, depth int) (*jsonNode, error) {
	n := &jsonNode{field: f, kind: f.Type.Kind, required: f.Required, path: path, shortcut: shortcutOf(f.Type.Kind), gap: newGap()}
	if f.Type.Kind == Variant {
		return n, nil
	}
	n.kids = make([]*jsonNode, len(f.Type.Fields))
	names := [2]string{"key", "value"}
	switch f.Type.Kind {
	default:
		return n, n.setCast(f, m)
	case Struct:
		return n, m.compile(n, path, f.rule, f.Type.Fields, depth+1)
	case List:
		names[0] = "element"
	case Map:
		switch k := f.Type.Fields[0].Type.Kind; k {
		case Struct, List, Map:
			return nil, fmt.Errorf("mapper: json: column %q: a key of type %s cannot be written in JSON", path, k)
		}
	}
	if depth >= m.depth {
		return nil, fmt.Errorf("mapper: json: column %q is nested deeper than MaxDepth %d: raise MaxDepth", path, m.depth)
	}
	for i := range n.kids {
		kid, err := m.node(&f.Type.Fields[i], join(path, names[i]), depth+1)
		if err != nil {
			return nil, err
		}
		kid.at = i
		n.kids[i] = kid
	}
	return n, nil
}

// isPlain says whether the name is written as it is, without an escape.
func isPlain(name string) bool {
	end, _ := scanString([]byte(name), 0)
	return end == len(name)
}

// bind points the plan at the columns of dst.
func (m *jsonMapper) bind(dst *Columns) error {
	if !m.schema.Equal(dst.Schema) {
		return ErrSchema
	}
	m.root.bind(dst.Cols)
	if m.keep != nil {
		m.keep.col = dst.Cols[m.keep.at]
	}
	m.dst = dst
	return nil
}

func (n *jsonNode) bind(cols []*Column) {
	for _, k := range n.kids {
		k.col = cols[k.at]
		k.bind(k.col.Kids)
	}
}

// keepScratch is how much scratch memory a mapper keeps from one record to the next.
const keepScratch = 1 << 20

// Map appends the record's row to dst. Besides the errors of Mapper: ErrFull where dst must be written out first, and
// ErrSchema where dst was made for another schema.
func (m *jsonMapper) Map(rec *source.Record, dst *Columns) error {
	if rec.Value == nil {
		return ErrFiltered
	}
	if dst != m.dst {
		if err := m.bind(dst); err != nil {
			return err
		}
	}
	b := rec.Value
	if len(b) == 0 {
		return &BadRecordError{Code: CodeEmpty, Reason: "a value of no bytes"}
	}
	if len(b) >= math.MaxInt32 || !dst.room(m.variantRoom(len(b)+1)) {
		if len(b) < math.MaxInt32 && dst.Rows > 0 {
			return ErrFull
		}
		return &BadRecordError{Code: CodeSize, Reason: "the value is too large for 32-bit offsets"}
	}
	m.spread = spreadOf(len(b))
	i := m.record(b, dst.Rows)
	if cap(m.tmp) > keepScratch || cap(m.fold) > keepScratch {
		m.tmp, m.fold = nil, nil
	}
	if i < 0 || m.strange {
		return m.unusual(b, dst, i < 0)
	}
	dst.Rows++
	return nil
}

// unusual ends a record that is refused, or that has fields which may become columns.
func (m *jsonMapper) unusual(b []byte, dst *Columns, refused bool) error {
	m.strange = false
	var err error
	switch bad := m.bad; {
	case refused && m.evolvable():
		err = m.evolve(b, &bad)
	case refused:
		err = &bad
	default:
		err = m.evolve(b, nil)
	}
	if err != nil {
		dst.Truncate(dst.Rows)
		return err
	}
	dst.Rows++
	return nil
}

func (m *jsonMapper) record(b []byte, row int) int {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return m.notAnObject(b, i)
	}
	if m.keep != nil {
		m.keep.begin()
	}
	if i = m.object(&m.root, b, i, row, 1); i < 0 {
		return i
	}
	if m.keep != nil && m.keep.end(m) < 0 {
		return -1
	}
	if i = skipSpace(b, i); i < len(b) {
		return m.syntax(b, i, "more behind the record's object")
	}
	return i
}

// notAnObject tells broken JSON from JSON that is no object.
func (m *jsonMapper) notAnObject(b []byte, i int) int {
	end := m.skip(b, i, 0)
	if end < 0 {
		return end
	}
	if end = skipSpace(b, end); end < len(b) {
		return m.syntax(b, end, "more behind the record's value")
	}
	return m.fail(nil, &fault{CodeType, "the record is no JSON object"})
}

// fail sets why the record is bad; n is nil where no column is to blame.
func (m *jsonMapper) fail(n *jsonNode, f *fault) int {
	m.bad = BadRecordError{Code: f.code, Reason: f.reason}
	if n != nil {
		m.bad.Column = n.path
	}
	return -1
}

// syntax tells where the value breaks the grammar.
func (m *jsonMapper) syntax(b []byte, i int, what string) int {
	if i >= len(b) {
		m.bad = BadRecordError{Code: CodeSyntax, Reason: fmt.Sprintf("not valid JSON: the value ends early, after %d bytes", len(b))}
		return -1
	}
	m.bad = BadRecordError{Code: CodeSyntax, Reason: fmt.Sprintf("not valid JSON at byte %d: %s", i, what)}
	return -1
}

// badString tells what is wrong with a string, and where.
func (m *jsonMapper) badString(n *jsonNode, i int, f *fault) int {
	m.fail(n, f)
	m.bad.Reason = fmt.Sprintf("not valid JSON at byte %d: %s", i, f.reason)
	return -1
}
