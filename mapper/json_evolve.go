package mapper

import "slices"

// evolve is called for a record that was mapped and has fields that are no column, or that was refused for something that
// a change of the schema mends. It reads the record again, slowly, for all that it asks for. The columns hold what was
// mapped, or nothing: bad is nil for the former.
func (m *jsonMapper) evolve(b []byte, bad *BadRecordError) error {
	i := skipSpace(b, 0)
	if end := m.skip(b, i, 0); end < 0 {
		bad := m.bad
		return &bad // broken behind what was refused
	}
	w := jsonWishes{m: m, wishes: newWishes(m.evolution, m.schema)}
	w.object(&m.root, 0, b, i)
	switch {
	case w.bad != nil:
		return w.bad
	case len(w.changes) == 0 && bad == nil:
		return nil
	case bad != nil && !w.mends(bad):
		return bad
	case bad == nil:
		bad = &BadRecordError{Code: CodeUnknown, Column: w.changes[0].Path, Reason: reasonUnknown}
	}
	return &EvolveError{Changes: w.changes, Bad: bad}
}

// mends says that one of the changes is about the column that the record is refused for.
func (w *wishes) mends(bad *BadRecordError) bool {
	return slices.ContainsFunc(w.changes, func(c Change) bool { return c.Kind != AddColumn && c.Path == bad.Column })
}

// evolvable says that a change of the schema may mend what a record is refused for.
func (m *jsonMapper) evolvable() bool {
	switch m.bad.Code {
	case CodeRequired:
		return m.evolution.Optional
	case CodeRange, CodePrecision:
		return m.evolution.Widen
	}
	// What was found first may hide a field that asks for a column; it is still bad without it.
	return false
}

// jsonWishes walks over a record that is valid JSON.
type jsonWishes struct {
	wishes
	m *jsonMapper
	// rule is that of the object in which the new field is whose type is inferred: its names are compared likewise.
	rule *fieldRule
	// absent says that a part of the new field's value is Debezium's placeholder.
	absent bool
}

// object looks at the object at b[i:], the value of n's struct of that id, and gives its end.
func (w *jsonWishes) object(n *jsonNode, id int, b []byte, i int) int {
	seen := make(map[*jsonNode]bool, len(n.kids))
	names := map[string]bool{} // of those that are no column
	for i = skipSpace(b, i+1); b[i] != '}'; {
		key, at := w.m.str(nil, b, i+1)
		name := string(key)
		at = skipSpace(b, skipSpace(b, at)+1)
		kid := n.members[name]
		if kid == nil && n.folded != nil {
			kid = n.folded[foldName(name)]
		}
		switch {
		case kid != nil:
			seen[kid] = true
			i = w.value(kid, b, at)
		case n.rule.ignores(name):
			i = w.m.skip(b, at, 0) // it has been read: no deeper than it may be
		default:
			i = w.unknown(n, id, name, b, at)
			if names[n.rule.key(name)] {
				w.bad = &BadRecordError{Code: CodeDuplicateKey, Column: join(n.path, shownName([]byte(name))), Reason: faultTwice.reason}
			}
			names[n.rule.key(name)] = true
		}
		if i = skipSpace(b, i); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	for _, k := range n.kids {
		if k.field.mustHave() && !k.field.fixed() && !seen[k] && w.Optional {
			w.optional(k.field, k.path)
		}
	}
	return i + 1
}

func (w *jsonWishes) unknown(n *jsonNode, id int, name string, b []byte, i int) int {
	columns := w.m.schema.Fields
	if n.field != nil {
		columns = n.field.Type.Fields
	}
	if !w.Add || w.taken(id, n.rule, columns, name) {
		return w.m.skip(b, i, 0)
	}
	w.rule = n.rule
	path := join(n.path, shownName([]byte(name)))
	t, end, why := w.typed(n.rule.told(name), b, i, path)
	switch {
	case why != "":
		w.fail(path, why)
	case t.Kind != Invalid:
		w.add(id, n.path, w.asked(id, n.rule, name), t)
	}
	return end
}

// asked is the name by which the record asks for a field already, name itself where it does not: other elements of a list may have it
// in another case.
func (w *jsonWishes) asked(id int, rule *fieldRule, name string) string {
	if rule.folds() {
		for i := range w.changes {
			if c := &w.changes[i]; c.Kind == AddColumn && c.ID == id && rule.key(c.Name) == rule.key(name) {
				return c.Name
			}
		}
	}
	return name
}

// value looks at a value of n's column.
func (w *jsonWishes) value(n *jsonNode, b []byte, i int) int {
	switch c := b[i]; {
	case n.field.fixed() || w.envelope.has(w.m, b, i):
	case c == 'n':
		if n.required && w.Optional {
			w.optional(n.field, n.path)
		}
	case c == '{' && n.kind == Struct:
		return w.object(n, n.field.ID, b, i)
	case c == '{' && n.kind == Map:
		for i = skipSpace(b, i+1); b[i] != '}'; {
			at, _ := skipString(b, i+1)
			i = w.next(n.kids[1], b, skipSpace(b, skipSpace(b, at)+1))
		}
		return i + 1
	case c == '[' && n.kind == List:
		for i = skipSpace(b, i+1); b[i] != ']'; {
			i = w.next(n.kids[0], b, i)
		}
		return i + 1
	case w.Widen && n.casts != nil && n.field.Type.Kind == Decimal && (c == '"' || c == '-' || c >= '0' && c <= '9'):
		w.castDecimal(n, b, i)
	case w.Widen:
		w.number(n, b, i)
	}
	return w.m.skip(b, i, 0)
}

// next looks at an element and goes behind the comma that follows it.
func (w *jsonWishes) next(n *jsonNode, b []byte, i int) int {
	if i = skipSpace(b, w.value(n, b, i)); b[i] == ',' {
		return skipSpace(b, i+1)
	}
	return i
}

// number asks for a wider type where the value is a number that needs one.
func (w *jsonWishes) number(n *jsonNode, b []byte, i int) {
	var num []byte
	switch {
	case b[i] == '"' && n.kind == Decimal:
		num, _ = w.m.str(nil, b, i+1)
		if len(num) == 0 || numberEnd(num, 0) != len(num) {
			return
		}
	case b[i] == '-' || b[i] >= '0' && b[i] <= '9':
		num = b[i:numberEnd(b, i)]
	default:
		return
	}
	t := &n.field.Type
	switch n.kind {
	case Int:
		if v, f := split(num).int64(); f == nil && v != int64(int32(v)) {
			w.widen(n.field, n.path, Type{Kind: Long})
		}
	case Float:
		_, f := float32Of(num)
		if _, g := float64Of(num); f != nil && g == nil {
			w.widen(n.field, n.path, Type{Kind: Double})
		}
	case Decimal:
		v := split(num)
		exp := v.exp + int64(t.Scale)
		if p := v.count + exp; exp >= 0 && p > int64(t.Precision) && p <= 38 {
			w.widen(n.field, n.path, Type{Kind: Decimal, Precision: int(p), Scale: t.Scale})
		}
	}
}

// castDecimal asks for as many digits as the value has by the column's rule.
func (w *jsonWishes) castDecimal(n *jsonNode, b []byte, i int) {
	t, form, _ := w.m.scalar(n, b, i)
	f := *n.field
	for ; f.Type.Precision <= 38; f.Type.Precision++ {
		if n.casts.put(newColumn(&f), t, form, nil) != nil {
			continue
		}
		if f.Type.Precision > n.field.Type.Precision {
			w.widen(n.field, n.path, f.Type)
		}
		return
	}
}
