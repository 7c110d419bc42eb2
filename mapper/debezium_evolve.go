package mapper

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// envelopeRow is what has to be known of a table whose rows come in envelopes, so that records may ask for another schema. A nil one
// knows nothing.
type envelopeRow struct {
	// columns is how many the table has, those inside of others counted: the envelope's schema has structs of its own.
	columns int
	// absent is Debezium's placeholder, which says nothing of a type; null says that it is taken as null.
	absent *placeholder
	null   bool
}

func newEnvelopeRow(s *Schema, opts *DebeziumOptions) *envelopeRow {
	return &envelopeRow{columns: countFields(s.Fields) + countFields(s.elsewhere), absent: newPlaceholder(opts.Unavailable), null: opts.NullUnavailable}
}

// fix has records ask for no change of a column, which an option names, and of what is inside. f is a copy that has a rule of its own.
func fix(f *Field) {
	rule := fieldRule{}
	if f.rule != nil {
		rule = *f.rule
	}
	rule.fixed, f.rule = true, &rule
	f.Type.Fields = slices.Clone(f.Type.Fields)
	for i := range f.Type.Fields {
		fix(&f.Type.Fields[i])
	}
}

// asked is what a record asks for, by the names that the table has. The error that it is made of may be one for many records.
func (p *envelopePlan) asked(ask *EvolveError) *EvolveError {
	bad := *ask.Bad
	bad.Column = p.named(bad.Column)
	out := &EvolveError{Changes: slices.Clone(ask.Changes), Bad: &bad}
	for i := range out.Changes {
		out.Changes[i].Path = p.named(out.Changes[i].Path)
	}
	return out
}

// has says that the valid JSON at b[i:] is the placeholder, as text or as an array of its bytes.
func (e *envelopeRow) has(m *jsonMapper, b []byte, i int) bool {
	switch {
	case e == nil:
		return false
	case b[i] == '"':
		text, _ := m.str(nil, b, i+1)
		return slices.ContainsFunc(e.absent.texts, func(form []byte) bool { return bytes.Equal(text, form) })
	}
	return b[i] == '[' && e.spelled(m, b, i)
}

// spelled says that the array at b[i:] has the placeholder's bytes, one number each.
func (e *envelopeRow) spelled(m *jsonMapper, b []byte, i int) bool {
	n := 0
	for i = skipSpace(b, i+1); b[i] != ']'; n++ {
		if b[i] != '-' && (b[i] < '0' || b[i] > '9') || n == len(e.absent.bytes) {
			return false
		}
		end := numberEnd(b, i)
		if v, f := float64Of(b[i:end]); f != nil || v != float64(int8(e.absent.bytes[n])) { // Java's bytes have a sign
			return false
		}
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return n == len(e.absent.bytes)
}

// is says that the valid JSON at b[i:] is the placeholder, or an array of nothing but placeholders and nulls.
func (e *envelopeRow) is(m *jsonMapper, b []byte, i int) bool {
	switch {
	case e.has(m, b, i):
		return true
	case e == nil || b[i] != '[':
		return false
	}
	found := false
	for i = skipSpace(b, i+1); b[i] != ']'; {
		is := e.is(m, b, i)
		if !is && b[i] != 'n' {
			return false
		}
		found = found || is
		if i = skipSpace(b, m.skip(b, i, 0)); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return found
}

// unavailable says that a value in a field that is no column is not known: it is null then, or makes the record bad.
func (w *jsonWishes) unavailable(b []byte, i int, path string) bool {
	if !w.envelope.is(w.m, b, i) {
		return false
	}
	w.absent = true
	w.seeUntyped(path)
	if !w.envelope.null {
		w.refuse(path, faultUnavailable)
	}
	return true
}

func (w *jsonWishes) refuse(path string, f *fault) {
	if w.bad == nil {
		w.bad = &BadRecordError{Code: f.code, Column: path, Reason: f.reason}
	}
}

// told is the schema beside the payload of a field inside; nil where there is none.
func (r *fieldRule) told(name string) *connectSchema {
	if r == nil {
		return nil
	}
	return r.connect.member(name, r)
}

// typed is infer, for the value of a field that is no column; s is its schema beside the payload, which is believed where there is one.
func (w *jsonWishes) typed(s *connectSchema, b []byte, i int, path string) (t Type, end int, why string) {
	w.absent = false
	if s == nil {
		t, end, why = w.infer(b, i, path, 1)
	} else if end = w.m.skip(b, i, 0); b[i] == 'n' {
		w.seeUntyped(path)
	} else if !w.unavailable(b, i, path) {
		if t, why = s.columnType(w.rule, 1); why != "" {
			why = "a field that is no column: " + why
		}
	}
	if w.envelope != nil && w.bad == nil && why == "" && t.Kind != Invalid && !w.known(s, &t, b, i, path) {
		t.Kind = Invalid
	}
	return t, end, why
}

// known reads the value of a field as a column of that type will: a record that is bad by it asks for nothing. It says whether the
// column will hold anything.
func (w *jsonWishes) known(s *connectSchema, t *Type, b []byte, i int, path string) bool {
	f := Field{Name: path, Type: *t}
	w.rule.inside(&f)
	if w.bad = s.tell(&f, path); w.bad != nil {
		return false
	}
	unitless(&f)
	m := &jsonMapper{schema: &Schema{envelope: w.envelope}, depth: w.m.depth, spread: spreadOf(len(b)), evolution: w.Evolution}
	n, err := m.node(&f, path, 1)
	if err != nil {
		w.fail(path, err.Error())
		return false
	}
	c := newColumn(&f)
	n.bindTo(c)
	if m.value(n, b, i, 1) < 0 {
		if w.bad = &m.bad; w.absent {
			w.bad = &BadRecordError{Code: CodeUnavailable, Column: path, Reason: faultUnavailable.reason}
		}
		return false
	}
	if w.envelope.absent.in(c, 0) {
		if !w.envelope.null {
			w.refuse(path, faultUnavailable)
		} else if err := w.envelope.absent.remove(c, 0); err != nil {
			w.refuse(path, faultUnavailable)
		}
	}
	if m.strange { // members that its schema does not have
		inner := jsonWishes{m: m, wishes: wishes{Evolution: w.Evolution, free: w.free, envelope: w.envelope}}
		inner.value(n, b, i)
		w.bad = cmp.Or(w.bad, inner.bad)
	}
	return w.bad == nil && !c.IsNull(0)
}

// inside has the names in f, a new field of a struct whose rule that is, be compared likewise. What is inside of f is copied.
func (r *fieldRule) inside(f *Field) {
	f.rule = &fieldRule{fold: r.folds()}
	f.Type.Fields = slices.Clone(f.Type.Fields)
	for i := range f.Type.Fields {
		r.inside(&f.Type.Fields[i])
	}
}

// connectTypes are the types that Kafka Connect's have where no column says.
var connectTypes = map[string]Kind{"boolean": Boolean, "int8": Int, "int16": Int, "int32": Int, "int64": Long, "float": Float, "double": Double,
	"string": String, "bytes": Binary}

// connectNamed are those of its types that have a name, as far as connectCasts reads them.
var connectNamed = map[string]Kind{
	"io.debezium.time.Date": Date, "io.debezium.time.Time": Time, "io.debezium.time.MicroTime": Time,
	"io.debezium.time.Timestamp": Timestamp, "io.debezium.time.MicroTimestamp": Timestamp, "io.debezium.time.NanoTimestamp": TimestampNs,
	"org.apache.kafka.connect.data.Date": Date, "org.apache.kafka.connect.data.Time": Time, "org.apache.kafka.connect.data.Timestamp": TimestampTz,
}

// columnType is the type of a column for a value of that schema, of kind Invalid for a struct without members. rule is that of the
// struct that the column is in. why says why there is none.
func (s *connectSchema) columnType(rule *fieldRule, depth int) (out Type, why string) {
	switch k, known := connectTypes[s.Type]; {
	case depth > deepestInferred:
		return out, fmt.Sprintf("it is nested more than %d deep", deepestInferred)
	case s.Name == connectDecimal:
		return s.decimalType()
	case connectNamed[s.Name] != Invalid:
		return Type{Kind: connectNamed[s.Name]}, ""
	case s.Name == "io.debezium.time.NanoTime":
		return out, "there is no type of column that a field of type io.debezium.time.NanoTime fits"
	case known:
		return Type{Kind: k}, ""
	case s.Type == "struct":
		return s.structType(rule, depth)
	case s.Type == "array" && s.Items != nil:
		t, why := s.Items.columnType(rule, depth+1)
		if why != "" || t.Kind == Invalid {
			return out, why
		}
		return Type{Kind: List, Fields: []Field{{Name: "element", Type: t}}}, ""
	case s.Type == "map" && s.Values != nil && s.Keys != nil && s.Keys.Type == "string":
		t, why := s.Values.columnType(rule, depth+1)
		if why != "" || t.Kind == Invalid {
			return out, why
		}
		return Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: String}, Required: true}, {Name: "value", Type: t}}}, ""
	}
	return out, fmt.Sprintf("there is no type of column that a field of type %q in the record's schema fits", s.Type)
}

func (s *connectSchema) structType(rule *fieldRule, depth int) (Type, string) {
	out := Type{Kind: Struct}
	names := map[string]bool{}
	for i := range s.Fields {
		f := &s.Fields[i]
		if names[rule.key(f.Field)] {
			return out, "it has a key twice"
		}
		names[rule.key(f.Field)] = true
		t, why := f.columnType(rule, depth+1)
		if why != "" {
			return out, why
		}
		if t.Kind != Invalid {
			out.Fields = append(out.Fields, Field{Name: f.Field, Type: t})
		}
	}
	if len(out.Fields) == 0 {
		out.Kind = Invalid
	}
	return out, ""
}

// decimalType has as many digits as Debezium says that the column in the database has, or all that there may be.
func (s *connectSchema) decimalType() (out Type, why string) {
	k, _, err := s.cast()
	if err != nil {
		return out, err.Error()
	}
	digits := 38
	if text, ok := s.Parameters["connect.decimal.precision"]; ok {
		if digits, err = strconv.Atoi(text); err != nil || strconv.Itoa(digits) != text {
			return out, fmt.Sprintf("a precision that is no number: %q", text)
		}
	}
	if k.scale < 0 || digits > 38 || digits < 1 || int(k.scale) > digits {
		return out, fmt.Sprintf("a column has at most 38 digits and no negative scale, and the field has %d and %d", digits, k.scale)
	}
	return Type{Kind: Decimal, Precision: digits, Scale: int(k.scale)}, ""
}
