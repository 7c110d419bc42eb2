package mapper

import (
	"errors"
	"maps"
	"slices"

	"github.com/stormfloe/floe/source"
)

// envelopePlan reads envelopes whose row is in one of after and before. It has a view of the table's columns: a schema
// of the envelope, whose structs hold the very columns.
type envelopePlan struct {
	opts   *DebeziumOptions
	name   string // after or before
	schema *Schema
	mapper Mapper
	// members are what the envelope's own object is made of.
	members []envelopeMember
	view    *Columns

	op, side, source *Column
	// structs are the view's own.
	structs []*Column
}

// envelopeMember is a member of the envelope, or of a struct in it.
type envelopeMember struct {
	field Field
	// at is the number of the table's column, -1 where there is none.
	at   int
	kids []envelopeMember
}

// sides makes the plans for after and before. units is the schema beside the payload, nil where there is none.
func (e *envelope) sides(units *connectSchema, value Factory) (*envelopePlans, error) {
	out := &envelopePlans{}
	for i, side := range []string{"after", "before"} {
		row := units.member(side, nil)
		rows, bad := e.told(row)
		if bad != nil {
			return &envelopePlans{bad: bad}, nil
		}
		var err error
		if out.sides[i], err = e.plan(side, row, rows, value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// told are the fields of the row, with the rules for their values that the schema says.
func (e *envelope) told(row *connectSchema) ([]Field, *BadRecordError) {
	out := make([]Field, len(e.rows))
	for k, i := range e.rows {
		f := e.schema.Fields[i]
		if bad := row.member(f.source(), e.schema.rule).tell(&f, f.Name); bad != nil {
			return nil, bad
		}
		unitless(&f)
		out[k] = f
	}
	return out, nil
}

// plan makes the plan for after or before, with the fields of the row; told is its schema beside the payload.
func (e *envelope) plan(side string, told *connectSchema, rows []Field, value Factory) (*envelopePlan, error) {
	p := &envelopePlan{opts: e.opts, name: side}
	row := envelopeMember{at: -1, field: Field{Name: side, Type: Type{Kind: Struct}, rule: &fieldRule{}}}
	if e.schema.rule != nil {
		*row.field.rule = *e.schema.rule
	}
	row.field.rule.connect = told
	for k, i := range e.rows {
		row.kids = append(row.kids, envelopeMember{at: i, field: rows[k]})
	}
	op := e.column("op", e.opts.Op, "op")
	op.field.Required = false // what has no op is told by Map
	p.members = append(p.members, row, op)
	for name, fields := range map[string]map[string]string{"source": e.opts.Source, "transaction": e.opts.Transaction} {
		if len(fields) == 0 {
			continue
		}
		m := envelopeMember{at: -1, field: Field{Name: name, Type: Type{Kind: Struct}, rule: &fieldRule{open: true}}}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			m.kids = append(m.kids, e.column(fields[field], fields[field], field))
		}
		p.members = append(p.members, m)
	}
	if e.opts.TSMs != "" {
		p.members = append(p.members, e.column("ts_ms", e.opts.TSMs, "ts_ms"))
	}
	if e.opts.Wrapped {
		p.members = []envelopeMember{{at: -1, kids: p.members, field: Field{Name: "payload", Type: Type{Kind: Struct}, rule: &fieldRule{open: true}}},
			{at: -1, field: Field{Name: "schema", Type: Type{Kind: Struct}, rule: &fieldRule{open: true}}}} // once at most
	}
	p.schema = &Schema{ID: e.schema.ID, Fields: fieldsOf(p.members), rule: &fieldRule{open: true},
		elsewhere: slices.Clone(e.schema.elsewhere), envelope: e.row}
	for _, i := range e.taken {
		p.schema.elsewhere = append(p.schema.elsewhere, e.schema.Fields[i])
	}
	var err error
	p.mapper, err = value(p.schema)
	return p, err
}

// fieldsOf fills in the types of structs.
func fieldsOf(members []envelopeMember) []Field {
	out := make([]Field, len(members))
	for i := range members {
		m := &members[i]
		if m.kids != nil {
			m.field.Type.Fields = fieldsOf(m.kids)
		}
		out[i] = m.field
	}
	return out
}

// column is the member that fills a column of the table.
func (e *envelope) column(name, column, field string) envelopeMember {
	at := e.taken[column]
	f := e.schema.Fields[at]
	rule := fieldRule{}
	if f.rule != nil {
		rule = *f.rule
	}
	rule.name, rule.hidden = field, false
	f.Name, f.rule = name, &rule
	if k := f.Type.Kind; k >= Timestamp && k <= TimestampTzNs && rule.cast.rule == castNone {
		switch field {
		case "ts_ms", "ts_us", "ts_ns":
			rule.cast = Cast{rule: castEpoch, unit: castUnits[field[len("ts_"):]], any: true}
		default:
			rule.cast.rule = castUnitless
		}
	}
	fix(&f)
	return envelopeMember{at: at, field: f}
}

// unitless has timestamps refuse numbers, unless a rule says what they mean. f is a copy, whose inside is copied.
func unitless(f *Field) {
	if k := f.Type.Kind; k >= Timestamp && k <= TimestampTzNs && f.cast().rule == castNone {
		rule := fieldRule{}
		if f.rule != nil {
			rule = *f.rule
		}
		rule.cast.rule = castUnitless
		f.rule = &rule
	}
	f.Type.Fields = slices.Clone(f.Type.Fields)
	for i := range f.Type.Fields {
		if f.Type.Kind != Map || i > 0 { // keys have no casts
			unitless(&f.Type.Fields[i])
		}
	}
}

// bind makes the view of dst.
func (p *envelopePlan) bind(dst *Columns) {
	p.structs = nil
	p.view = &Columns{Schema: p.schema, Cols: p.columns(p.members, p.schema.Fields, dst), limit: dst.limit}
	p.view.countDefaults()
}

func (p *envelopePlan) columns(members []envelopeMember, fields []Field, dst *Columns) []*Column {
	cols := make([]*Column, len(members))
	for i := range members {
		m, f := &members[i], &fields[i]
		if m.at >= 0 {
			cols[i] = dst.Cols[m.at]
		} else {
			c := &Column{Field: f, kind: Struct}
			c.Kids = p.columns(m.kids, f.Type.Fields, dst)
			p.structs = append(p.structs, c)
			cols[i] = c
		}
		p.keep(f.Name, m, cols[i])
	}
	return cols
}

// keep notes the columns that Map looks at. Only the envelope's own members have these names, or a column whose number is known.
func (p *envelopePlan) keep(name string, m *envelopeMember, c *Column) {
	switch {
	case c.kind == Struct && m.at < 0 && name == p.name:
		p.side = c
	case c.kind == Struct && m.at < 0 && name == "source":
		p.source = c
	case m.at >= 0 && m.field.Name == "op" && c.Field.Name == p.opts.Op:
		p.op = c
	}
}

// run reads the record into the row behind dst's last. Without an error the columns hold it, and dst.Rows is as before.
func (p *envelopePlan) run(rec *source.Record, dst *Columns) error {
	v := p.view
	v.Rows, v.bound, v.limit = dst.Rows, dst.bound, dst.limit
	for _, c := range p.structs {
		if c.Len > dst.Rows {
			c.truncateNulls(dst.Rows)
		} else {
			c.ensure(dst.Rows - c.Len)
		}
		c.Len = dst.Rows
	}
	err := p.mapper.Map(rec, v)
	dst.bound = v.bound
	if ask, ok := errors.AsType[*EvolveError](err); ok {
		return p.asked(ask)
	}
	if bad, ok := errors.AsType[*BadRecordError](err); ok {
		bad.Column = p.named(bad.Column)
	}
	return err
}

// undo takes back the row that run has read.
func (p *envelopePlan) undo(dst *Columns) { p.view.Truncate(dst.Rows) }

func (p *envelopePlan) null(c *Column, row int) bool { return c.IsNull(row) }
