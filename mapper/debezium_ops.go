package mapper

import (
	"errors"

	"github.com/stormfloe/floe/source"
)

// envelopeOps reads the op alone of a record whose after asks for another schema: only a record whose row that is may ask by it.
type envelopeOps struct {
	mapper Mapper
	cols   *Columns
	op     *Column
}

// newOps is nil where no record's op can be read so; what is wrong with value then has been told by the plans for rows.
func newOps(opts *DebeziumOptions, value Factory) (*envelopeOps, error) {
	s := &Schema{Fields: []Field{{Name: "op", Type: Type{Kind: String}}}, rule: &fieldRule{open: true}, fixed: true}
	if opts.Wrapped {
		s.Fields = []Field{{Name: "payload", Type: Type{Kind: Struct, Fields: s.Fields}, rule: &fieldRule{open: true}}}
	}
	o := &envelopeOps{}
	var err error
	if o.mapper, err = value(s); err != nil {
		return nil, nil //nolint:nilerr // what after asks for stands then
	}
	if o.cols, err = NewColumns(s); err != nil {
		return nil, err
	}
	if o.op = o.cols.Cols[0]; opts.Wrapped {
		o.op = o.op.Kids[0]
	}
	return o, nil
}

// after has the plan for after read the record, and gives its op. What after asks for is forgotten where it is no row: the record is
// a deletion, or will be none.
func (o *envelopeOps) after(p *envelopePlan, rec *source.Record, dst *Columns) (op string, err error) {
	if err = p.run(rec, dst); err == nil {
		return string(p.op.Slot(dst.Rows)), nil
	}
	if _, asks := errors.AsType[*EvolveError](err); !asks || o == nil {
		return "", err
	}
	defer o.cols.Reset()
	if failed := o.mapper.Map(rec, o.cols); failed != nil {
		if _, bad := errors.AsType[*BadRecordError](failed); !bad {
			err = failed
		}
		return "", err
	}
	switch op = string(o.op.Slot(0)); op {
	case "c", "u", "r":
		return "", err
	}
	return op, nil
}
