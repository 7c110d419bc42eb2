package mapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stormfloe/floe/source"
)

// bytesTest is a Match, ready to be asked.
type bytesTest struct {
	values map[string]struct{}
	// want is whether one of values, or without values anything, is to be there.
	want bool
}

func newBytesTest(m *Match) (bytesTest, error) {
	if err := oneCondition(m.In, m.NotIn, m.Exists); err != nil {
		return bytesTest{}, err
	}
	if m.Exists != nil {
		return bytesTest{want: *m.Exists}, nil
	}
	t := bytesTest{want: len(m.In) > 0, values: map[string]struct{}{}}
	for _, v := range slices.Concat(m.In, m.NotIn) {
		t.values[v] = struct{}{}
	}
	return t, nil
}

// meets says whether b, nil where there is none, meets the condition.
func (t *bytesTest) meets(b []byte) bool {
	if t.values == nil {
		return (b != nil) == t.want
	}
	return (b != nil && t.has(b)) == t.want
}

func (t *bytesTest) has(b []byte) bool {
	_, ok := t.values[string(b)]
	return ok
}

func (t *bytesTest) meetsHeaders(name string, headers []source.Header) bool {
	for i := range headers {
		if h := &headers[i]; string(h.Key) == name && (t.values == nil || h.Value != nil && t.has(h.Value)) {
			return t.want
		}
	}
	return !t.want
}

// columnTest is a ColumnMatch, ready to be asked about rows of one schema.
type columnTest struct {
	// path are the places of the column and its members, in the schema's order.
	path []int
	// exists is set where only that is asked.
	exists bool
	// want is whether the value is to be there, or to be one of those below.
	want bool
	// Of the sets, the one for the column's kind is filled.
	ints   map[int64]struct{}
	floats map[float64]struct{}
	texts  map[string]struct{}
}

func newColumnTest(s *Schema, c *ColumnMatch) (*columnTest, error) {
	name := strings.Join(c.Path, ".")
	t := &columnTest{}
	field, err := t.find(s.Fields, c.Path)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", name, err)
	}
	if c.Exists != nil {
		t.exists, t.want = true, *c.Exists
		return t, nil
	}
	switch field.Type.Kind {
	case Struct, List, Map, Variant:
		return nil, fmt.Errorf("column %q is of type %s, which is not compared; only exists can be asked of it", name, &field.Type)
	}
	t.want = len(c.In) > 0
	t.ints, t.floats, t.texts = map[int64]struct{}{}, map[float64]struct{}{}, map[string]struct{}{}
	for _, v := range slices.Concat(c.In, c.NotIn) {
		if err := t.add(field, v); err != nil {
			return nil, fmt.Errorf("column %q of type %s: the value %s: %w", name, &field.Type, v, err)
		}
	}
	return t, nil
}

// find resolves the path, and gives the field at its end.
func (t *columnTest) find(fields []Field, path []string) (*Field, error) {
	var at *Field
	for _, name := range path {
		if at != nil {
			if at.Type.Kind != Struct {
				return nil, fmt.Errorf("%q is of type %s and has no members", at.Name, &at.Type)
			}
			fields = at.Type.Fields
		}
		i := 0
		for i < len(fields) && fields[i].Name != name {
			i++
		}
		if i == len(fields) {
			return nil, errors.New("the table has no such column")
		}
		at, t.path = &fields[i], append(t.path, i)
	}
	return at, nil
}

// add reads a value as the JSON mapper reads it for such a column, so that both mean the same.
func (t *columnTest) add(f *Field, text string) error {
	s := &Schema{Fields: []Field{{ID: 1, Name: "v", Type: f.Type, Required: true}}}
	m, err := NewJSON(JSONOptions{})(s)
	if err != nil {
		return err
	}
	cols, err := NewColumns(s)
	if err != nil {
		return err
	}
	if !json.Valid([]byte(text)) {
		return errors.New("it is not one JSON value")
	}
	var bad *BadRecordError
	switch err := m.Map(&source.Record{Value: []byte(`{"v":` + text + `}`)}, cols); {
	case errors.As(err, &bad):
		return errors.New(bad.Reason)
	case err != nil:
		return err
	}
	c := cols.Cols[0]
	switch c.kind {
	case Float:
		t.floats[float64(c.F32[0])] = struct{}{}
	case Double:
		t.floats[c.F64[0]] = struct{}{}
	case String, Binary, Decimal, UUID, Fixed:
		t.texts[string(c.Slot(0))] = struct{}{}
	default:
		t.ints[c.integer(0)] = struct{}{}
	}
	return nil
}

// meets asks about the last row.
func (t *columnTest) meets(cs *Columns) bool {
	c, row := cs.Cols[t.path[0]], cs.Rows-1
	null := c.IsNull(row)
	for _, i := range t.path[1:] {
		c = c.Kids[i]
		null = null || c.IsNull(row)
	}
	if t.exists {
		return null != t.want
	}
	return (!null && t.has(c, row)) == t.want
}

func (t *columnTest) has(c *Column, row int) (ok bool) {
	switch c.kind {
	case Float:
		_, ok = t.floats[float64(c.F32[row])]
	case Double:
		_, ok = t.floats[c.F64[row]]
	case String, Binary, Decimal, UUID, Fixed:
		_, ok = t.texts[string(c.Slot(row))]
	default:
		_, ok = t.ints[c.integer(row)]
	}
	return ok
}

// integer gives value i of a column of booleans, whole numbers, dates, times or timestamps.
func (c *Column) integer(i int) int64 {
	switch c.kind {
	case Boolean:
		if c.Bool(i) {
			return 1
		}
		return 0
	case Int, Date:
		return int64(c.I32[i])
	default:
		return c.I64[i]
	}
}
