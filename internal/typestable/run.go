package typestable

import (
	"errors"
	"fmt"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// Run maps each input of a cell and gives what came of it, as Case.Want has it. An error is one of the table itself, or of
// a mapper that is broken.
func (f *Form) Run(c Cell) ([]string, error) {
	schema, err := schemaOf(c.Type)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(c.Cases))
	m, err := f.Factory(schema)
	if err != nil {
		// The format refuses the pair before a record comes.
		for i := range out {
			out[i] = "!" + string(mapper.CodeSchema)
		}
		return out, nil
	}
	cols, err := mapper.NewColumns(schema)
	if err != nil {
		return nil, err
	}
	for i, cs := range c.Cases {
		if out[i], err = runOne(m, cols, f.Record(i, cs.In), i); err != nil {
			return nil, fmt.Errorf("%s to %s: input %s: %w", f.Name, c.Type, cs.In, err)
		}
	}
	return out, nil
}

func runOne(m mapper.Mapper, cols *mapper.Columns, value []byte, id int) (string, error) {
	cols.Reset()
	err := m.Map(&source.Record{Value: value}, cols)
	var bad *mapper.BadRecordError
	switch {
	case errors.As(err, &bad):
		if cols.Rows != 0 {
			return "", errors.New("refused, and yet a row")
		}
		return "!" + string(bad.Code), nil
	case err != nil:
		return "", err
	case cols.Rows != 1 || cols.Cols[0].I64[0] != int64(id):
		return "", errors.New("not one row with the record's id")
	}
	return Text(cols.Cols[1], 0), nil
}
