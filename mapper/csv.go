package mapper

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stormfloe/floe/source"
)

// CSVOptions of a CSV mapper. Either Columns or Header is set.
type CSVOptions struct {
	// Columns are the names of a record's fields, in their order. An empty name leaves its field out; every other is a column.
	Columns []string
	// Header says that each record brings its names along, in a line before its own. Names that are no column are left out.
	Header bool
	// Delimiter stands between two fields: one ASCII character. Default a comma.
	Delimiter string
	// Quote is one ASCII character, or "none": then a quote is a character like any other. Default a double quote.
	Quote string
	// Null is the text of a field without a value; a field in quotes always has one. Default nothing: the empty field.
	Null string
}

// noQuote is CSVOptions.Quote where fields are never quoted.
const noQuote = "none"

// maxCSVFields bounds the names of one header.
const maxCSVFields = 10000

// Validate names what is wrong with the options.
func (o *CSVOptions) Validate() error {
	o.setDefaults()
	switch {
	case len(o.Columns) == 0 && !o.Header:
		return fmt.Errorf("mapper: csv: neither Columns nor Header is set: say what the fields' names are")
	case len(o.Columns) > 0 && o.Header:
		return fmt.Errorf("mapper: csv: both Columns and Header are set: fields are named once")
	case !isDelimiter(o.Delimiter):
		return fmt.Errorf("mapper: csv: Delimiter is %q, but must be one ASCII character, and no line end", o.Delimiter)
	case o.Quote != noQuote && !isDelimiter(o.Quote):
		return fmt.Errorf("mapper: csv: Quote is %q, but must be one ASCII character, and no line end, or %q", o.Quote, noQuote)
	case o.Quote == o.Delimiter:
		return fmt.Errorf("mapper: csv: Quote and Delimiter are both %q", o.Quote)
	case !utf8.ValidString(o.Null) || strings.ContainsAny(o.Null, "\r\n"+o.Delimiter) || o.Quote != noQuote && strings.Contains(o.Null, o.Quote):
		return fmt.Errorf("mapper: csv: Null is %q, which no field is without quotes", o.Null)
	}
	seen := map[string]bool{}
	for _, name := range o.Columns {
		if name != "" && seen[name] {
			return fmt.Errorf("mapper: csv: the column %q is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

func isDelimiter(s string) bool {
	return len(s) == 1 && s[0] > 0 && s[0] < utf8.RuneSelf && s != "\r" && s != "\n"
}

func (o *CSVOptions) setDefaults() {
	if o.Delimiter == "" {
		o.Delimiter = ","
	}
	if o.Quote == "" {
		o.Quote = `"`
	}
}

// NewCSV makes a factory of mappers that read a record's value as one record of CSV. The package documentation has the rules.
//
// The factory refuses Columns that the schema does not have or that are no primitive type, and a schema that requires a
// column which Columns does not name.
func NewCSV(opts CSVOptions) Factory {
	return func(s *Schema) (Mapper, error) {
		o := opts
		if err := o.Validate(); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		m := &csvMapper{schema: s, delimiter: o.Delimiter[0], quote: -1, null: o.Null}
		if o.Quote != noQuote {
			m.quote = int(o.Quote[0])
		}
		for _, b := range []byte{m.delimiter, '\r', '\n'} {
			m.stops[b] = true
		}
		if m.quote >= 0 {
			m.stops[m.quote] = true
		}
		if o.Header {
			return m, nil
		}
		m.plan = m.compile(o.Columns, true)
		if bad := m.plan.bad; bad != nil {
			return nil, fmt.Errorf("mapper: csv: column %q: %s", bad.Column, bad.Reason)
		}
		return m, nil
	}
}

// csvMapper has one plan; where records bring their names along, that of the last record's header.
type csvMapper struct {
	schema    *Schema
	delimiter byte
	quote     int // -1: none
	null      string
	// stops are the bytes that end, or can't stand in, a field without quotes.
	stops [256]bool

	plan *csvPlan
	dst  *Columns
	// fields are those of a line, and tmp holds texts whose quotes were taken out.
	fields []csvField
	tmp    []byte
	bad    BadRecordError
}

// csvPlan says where fields go.
type csvPlan struct {
	// header is the line that the names came from, with its end; empty where they were given.
	header []byte
	// at are the fields' columns, -1 for those that are left out.
	at []int
	// casts are the rules of the fields' columns; nil where their type alone says what a text must be.
	casts []*textCast
	// absent are the columns without a field.
	absent []int
	bad    *BadRecordError
}

var (
	faultCSVNested  = &fault{CodeType, "CSV holds no structs, lists, maps or variants"}
	faultCSVCast    = &fault{CodeType, "CSV holds no such values as the column's cast is for"}
	faultCSVUnknown = &fault{CodeSchema, "the table has no such column"}
	faultCSVMissing = &fault{CodeRequired, "the column is required, and no field has its name"}
	faultCSVTwice   = &fault{CodeDuplicateKey, "two fields have its name"}
)

// compile makes the plan for fields of these names. Where they were given, each must be a column.
func (m *csvMapper) compile(names []string, given bool) *csvPlan {
	p := &csvPlan{at: make([]int, len(names)), casts: make([]*textCast, len(names))}
	fail := func(name string, f *fault) *csvPlan {
		p.bad = &BadRecordError{Code: f.code, Column: name, Reason: f.reason}
		return p
	}
	places := indexFields(m.schema.rule, m.schema.Fields)
	taken := make([]bool, len(m.schema.Fields))
	for k, name := range names {
		i := places.find(name)
		if p.at[k] = i; i < 0 {
			if given && name != "" && !m.schema.rule.drops(name) {
				return fail(name, faultCSVUnknown)
			}
			continue
		}
		if p.casts[k] = csvCast(&m.schema.Fields[i]); p.casts[k] != nil && p.casts[k].rule == castVariable {
			return fail(name, faultCSVCast)
		}
		switch m.schema.Fields[i].Type.Kind {
		case Struct, List, Map, Variant:
			return fail(name, faultCSVNested)
		}
		if taken[i] {
			return fail(name, faultCSVTwice)
		}
		taken[i] = true
	}
	for i := range taken {
		if taken[i] {
			continue
		}
		if f := &m.schema.Fields[i]; f.mustHave() {
			return fail(f.Name, faultCSVMissing)
		}
		p.absent = append(p.absent, i)
	}
	return p
}

// csvCast is how texts are read that a rule of the column, or its time zone, says more of.
func csvCast(f *Field) *textCast {
	k, z := f.cast(), f.zone()
	if k.rule == castNone {
		if z == nil {
			return nil
		}
		k.rule = castUnitless
	}
	return &textCast{Cast: k, zone: newZone(z)}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// Map has the errors of Mapper, ErrFull and ErrSchema.
func (m *csvMapper) Map(rec *source.Record, dst *Columns) error {
	if rec.Value == nil {
		return ErrFiltered
	}
	if dst != m.dst {
		if !m.schema.Equal(dst.Schema) {
			return ErrSchema
		}
		m.dst = dst
	}
	b := rec.Value
	switch {
	case len(b) == 0:
		return &BadRecordError{Code: CodeEmpty, Reason: "a value of no bytes"}
	case !utf8.Valid(b):
		return asError(faultUTF8)
	case bytes.HasPrefix(b, byteOrderMark):
		m.syntax(0, "a byte order mark")
	default:
		if err := dst.fits(len(b)); err != nil {
			return err
		}
		if m.record(b, dst) {
			dst.Rows++
			return nil
		}
	}
	dst.Truncate(dst.Rows)
	bad := m.bad
	return &bad
}

// record appends the row's values. It is false where the record is bad.
func (m *csvMapper) record(b []byte, dst *Columns) bool {
	i := 0
	if m.plan == nil || len(m.plan.header) > 0 {
		if i = m.header(b); i < 0 {
			return false
		}
	}
	p := m.plan
	if i = m.line(b, i, len(p.at)); i < 0 {
		return false
	}
	if i < len(b) {
		m.syntax(i, "more behind the record: a message holds one")
		return false
	}
	if len(m.fields) < len(p.at) {
		return m.width(len(p.at))
	}
	for k, f := range m.fields {
		if p.at[k] < 0 {
			continue
		}
		if bad := m.append(dst.Cols[p.at[k]], f, p.casts[k]); bad != nil {
			m.bad = BadRecordError{Code: bad.code, Column: m.schema.Fields[p.at[k]].Name, Reason: bad.reason}
			return false
		}
	}
	for _, at := range p.absent {
		dst.Cols[at].appendMissing()
	}
	return true
}

func (m *csvMapper) append(c *Column, f csvField, k *textCast) *fault {
	if !f.quoted && string(f.text) == m.null {
		return c.nullOr(faultNull)
	}
	if k != nil {
		return k.put(c, f.text, formText, k.zone)
	}
	return c.appendKey(f.text)
}

// header reads the line with the names, unless it is that of the record before.
func (m *csvMapper) header(b []byte) int {
	if m.plan == nil || !bytes.HasPrefix(b, m.plan.header) {
		i := m.line(b, 0, maxCSVFields)
		if i < 0 {
			return i
		}
		names := make([]string, len(m.fields))
		for k, f := range m.fields {
			names[k] = string(f.text)
		}
		if i == len(b) {
			return m.syntax(i, "the record's line is missing behind the header")
		}
		m.plan = m.compile(names, false)
		m.plan.header = bytes.Clone(b[:i])
	}
	if m.plan.bad != nil {
		m.bad = *m.plan.bad
		return -1
	}
	if len(b) == len(m.plan.header) {
		return m.syntax(len(b), "the record's line is missing behind the header")
	}
	return len(m.plan.header)
}
