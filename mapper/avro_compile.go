package mapper

import (
	"fmt"

	"github.com/twmb/avro"
)

// avroCompiler makes the plan for records written as one schema, read as one (the same, where there is no reader's), and
// a table. It gives up at the first thing that does not fit.
type avroCompiler struct {
	unknowns UnknownPolicy
	wishes
	// columns are those of types that were looked at.
	columns map[*avroType]avroColumn
}

// plan makes a plan; where none can be made it says why.
func (c *avroCompiler) plan(s *Schema, w, r *avroSchema) *avroPlan {
	if w != r {
		if err := avro.CheckCompatibility(w.parsed, r.parsed); err != nil {
			return &avroPlan{bad: &BadRecordError{Code: CodeSchema, Reason: fmt.Sprintf("the reader schema can't read it: %v", err)}}
		}
	}
	root := avroOp{at: -1}
	c.row(&root, w.root, r.root, s)
	if c.bad != nil {
		return &avroPlan{bad: c.bad}
	}
	return &avroPlan{root: &root, evolve: c.needs()}
}

// row is the op of the record itself.
func (c *avroCompiler) row(op *avroOp, w, r *avroType, s *Schema) {
	if w.kind == avroUnion {
		op.code = opUnion
		for _, wb := range w.branches {
			kid := avroOp{at: -1}
			if wb.kind == avroNull {
				kid.code, kid.fault = opMissing, faultNullRecord
			} else if rb := matchAvro(wb, r); rb != nil {
				c.row(&kid, wb, rb, s)
			}
			op.kids = append(op.kids, kid)
		}
		return
	}
	if r = matchAvro(w, r); w.kind != avroRecord || r == nil || r.kind != avroRecord {
		c.refuse("", fmt.Sprintf("it is of type %s, and a row needs a record", w))
		return
	}
	op.code = opStruct
	c.members(op, w, r, s.rule, s.Fields, "", 0)
	for i := range op.kids {
		if k := &op.kids[i]; k.code == opMissing && c.bad == nil {
			c.bad = &BadRecordError{Code: CodeRequired, Column: k.path, Reason: "the column is required, and the schema has no field of that name"}
		}
	}
}

var faultNullRecord = &fault{CodeType, "the record is null"}

func (c *avroCompiler) refuse(path, why string) {
	if c.bad == nil {
		c.bad = &BadRecordError{Code: CodeSchema, Column: path, Reason: why}
	}
}

// unknown is told of a field that is no column.
func (c *avroCompiler) unknown(id int, path string, f *avroField, rule *fieldRule, columns []Field) {
	if c.Add && !c.taken(id, rule, columns, f.name) {
		c.grow(id, path, f)
	}
	if (c.unknowns == UnknownReject || rule.refuses()) && c.bad == nil {
		c.bad = &BadRecordError{Code: CodeUnknown, Column: join(path, shownName([]byte(f.name))), Reason: reasonUnknown}
	}
}

// members gives op a kid for each field of the written record, in its order, and behind them one for each column that has
// no such field.
func (c *avroCompiler) members(op *avroOp, w, r *avroType, rule *fieldRule, columns []Field, path string, id int) {
	at := indexFields(rule, columns)
	filled := make([]bool, len(columns))
	taken := make([]*avroField, len(w.fields)) // by a field of the reader
	for i := range r.fields {
		rf := &r.fields[i]
		if k := rf.writtenIn(w); k >= 0 {
			taken[k] = rf // no other: the library refuses names and aliases that are there twice
		}
	}
	for i := range w.fields {
		wf, kid := &w.fields[i], avroOp{at: -1, typ: w.fields[i].typ}
		if rf := taken[i]; rf != nil {
			if n := at.find(rf.name); n >= 0 {
				if filled[n] {
					c.refuse(join(path, columns[n].Name), "two of its fields have the column's name in another case")
				}
				filled[n] = true
				kid = c.value(wf.typ, rf.typ, &columns[n], join(path, columns[n].Name), n)
			} else if !rule.ignores(rf.name) {
				c.unknown(id, path, rf, rule, columns)
			}
		}
		op.kids = append(op.kids, kid)
	}
	for i := range columns {
		if !filled[i] {
			op.kids = append(op.kids, c.unwritten(r, at, &columns[i], join(path, columns[i].Name), i))
		}
	}
}

// writtenIn is the number of the field in w that f reads, -1 where there is none.
func (f *avroField) writtenIn(w *avroType) int {
	for i := range w.fields {
		if w.fields[i].name == f.name {
			return i
		}
	}
	for _, a := range f.aliases {
		for i := range w.fields {
			if w.fields[i].name == a {
				return i
			}
		}
	}
	return -1
}

// unwritten is the op of a column whose field no record has.
func (c *avroCompiler) unwritten(r *avroType, names nameIndex, f *Field, path string, at int) avroOp {
	op := avroOp{at: at, path: path, required: f.Required, fixed: f.fixed(), code: opAbsent}
	for i := range r.fields {
		if rf := &r.fields[i]; rf.def != nil && names.find(rf.name) == at {
			op.code, op.def = opDefault, rf.def
			op.kids = []avroOp{c.value(rf.typ, rf.typ, f, path, at)}
			return op
		}
	}
	if f.mustHave() {
		op.code, op.fault = opMissing, faultMissing
		if c.Optional && !f.fixed() {
			op.code = opAbsent
			c.optional(f, path)
		}
	}
	return op
}

// value is the op that brings a value, written as w and read as r, into a column.
func (c *avroCompiler) value(w, r *avroType, f *Field, path string, at int) avroOp {
	op := avroOp{at: at, path: path, required: f.Required, fixed: f.fixed(), typ: w}
	switch {
	case w.kind == avroUnion:
		c.union(&op, w, r, f)
		return op
	case w.kind == avroNull:
		op.code = opNull
		return op
	}
	got := matchAvro(w, r)
	if got == nil {
		c.refuse(path, fmt.Sprintf("a field of type %s is not read as %s", w, r))
		return op
	}
	c.convert(&op, w, got, c.wider(got, f, path))
	return op
}

// union reads a union with null as a value that may be null, and any other one branch by branch.
func (c *avroCompiler) union(op *avroOp, w, r *avroType, f *Field) {
	if len(w.branches) == 2 {
		for i := range w.branches {
			other := w.branches[1-i]
			if w.branches[i].kind != avroNull || other.kind == avroNull {
				continue
			}
			path, at := op.path, op.at
			*op = c.value(other, r, f, path, at)
			op.nulls = uint8(i) + 1
			return
		}
	}
	op.code = opUnion
	for _, b := range w.branches {
		op.kids = append(op.kids, c.value(b, r, f, op.path, op.at))
	}
}

// matchAvro is the type that w is read as: r, or the branch of it that fits best. Nil where none does.
func matchAvro(w, r *avroType) *avroType {
	if r.kind != avroUnion {
		if rank(w, r) == 0 {
			return nil
		}
		return r
	}
	var best *avroType
	score := 0
	for _, b := range r.branches {
		if n := rank(w, b); n > score {
			best, score = b, n
		}
	}
	return best
}

// rank says how well w is read as r: 3 as the same type (and name), 2 under the same short name, 1 by promotion, 0 not.
func rank(w, r *avroType) int {
	if w == r {
		return 4
	}
	if w.kind != r.kind {
		if promotes(w.kind, r.kind) {
			return 1
		}
		return 0
	}
	switch w.kind {
	case avroRecord, avroEnum, avroFixed:
	default:
		return 3
	}
	if w.kind == avroFixed && w.size != r.size {
		return 0
	}
	if w.name == r.name {
		return 3
	}
	for _, a := range r.aliases {
		if a == w.name {
			return 3
		}
	}
	if shortName(w.name) == shortName(r.name) {
		return 2
	}
	for _, a := range r.aliases {
		if shortName(a) == shortName(w.name) {
			return 2
		}
	}
	return 0
}

func shortName(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}

// promotes says that Avro lets a value written as w be read as r.
func promotes(w, r avroKind) bool {
	switch w {
	case avroInt:
		return r == avroLong || r == avroFloat || r == avroDouble
	case avroLong:
		return r == avroFloat || r == avroDouble
	case avroFloat:
		return r == avroDouble
	case avroString:
		return r == avroBytes
	case avroBytes:
		return r == avroString
	}
	return false
}
