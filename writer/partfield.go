package writer

import (
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
)

// CodePartitionValue is the code of records that cannot be put into a partition of the table.
const CodePartitionValue mapper.Code = "partition_value"

// partField computes one field of the partition tuple, for many rows at a time.
type partField struct {
	fieldID   int
	name      string
	transform iceberg.Transform
	source    iceberg.Type
	kind      mapper.Kind
	// column is the source column's full name, path leads to it.
	column string
	path   []int
	// precision and scale are those of a decimal.
	precision, scale int
	// bytes says that the results are byte strings, else they are numbers.
	bytes bool
	// apply computes rows [from, to) into v; a row that has no partition gives a reason.
	apply func(c *mapper.Column, m *mask, from, to int, v *vector) *rowError
	// value gives the result of a row as the Go type that iceberg-go wants in a DataFile.
	value func(v *vector, row int) any
}

// vector holds the results of one field for the rows of a stage. Null rows have neither number nor bytes.
type vector struct {
	null []bool
	num  []int64
	str  [][]byte
	// scratch holds results that are not part of the column (truncated decimals).
	scratch []byte
}

// rowError says that a row cannot be put into a partition.
type rowError struct {
	row    int
	column string
	reason string
}

// resize makes room for n rows; what it held is gone.
func (v *vector) resize(n int) {
	if cap(v.null) < n {
		v.null, v.num, v.str = make([]bool, n), make([]int64, n), make([][]byte, n)
	}
	v.null, v.num, v.str = v.null[:n], v.num[:n], v.str[:n]
}

// partFields compiles a spec. What the writer cannot compute is refused with the field's name.
func partFields(spec iceberg.PartitionSpec, sc *iceberg.Schema, rows *mapper.Schema) ([]*partField, error) {
	var out []*partField
	for _, f := range spec.Fields() {
		pf, err := newPartField(f, sc, rows)
		if err != nil {
			return nil, fmt.Errorf("writer: partition field %q of spec %d: %w", f.Name, spec.ID(), err)
		}
		out = append(out, pf)
	}
	return out, checkDecimals(spec, sc)
}

// checkDecimals refuses what iceberg-go can't write so that all can read it: tuples with two decimals, to whose types it
// gives one name in a manifest's Avro schema, so that every commit would fail; and decimals of scale 0, whose scale it
// leaves out there, so that PyIceberg fails and DuckDB reads other numbers and prunes by them. A field that was replaced
// by void keeps its type and counts.
func checkDecimals(spec iceberg.PartitionSpec, sc *iceberg.Schema) error {
	const instead = "replace it, for example by a bucket of its column"
	first := ""
	for _, f := range spec.PartitionType(sc).FieldList {
		d, ok := f.Type.(iceberg.DecimalType)
		switch {
		case !ok:
		case d.Scale() == 0:
			return fmt.Errorf("writer: partition field %q of spec %d has values of type %s, and floe can't write manifests with decimals of scale 0 that other engines read: %s", f.Name, spec.ID(), d, instead)
		case first != "":
			return fmt.Errorf("writer: partition fields %q and %q of spec %d both have decimal values, and floe can write manifests with one such field only: replace one of them, for example by a bucket of its column", first, f.Name, spec.ID())
		default:
			first = f.Name
		}
	}
	return nil
}

func newPartField(f iceberg.PartitionField, sc *iceberg.Schema, rows *mapper.Schema) (*partField, error) {
	pf := &partField{fieldID: f.FieldID, name: f.Name, transform: f.Transform}
	if _, ok := f.Transform.(iceberg.VoidTransform); ok {
		pf.apply = func(_ *mapper.Column, _ *mask, from, to int, v *vector) *rowError {
			for i := from; i < to; i++ {
				v.null[i] = true
			}
			return nil
		}
		pf.value = func(*vector, int) any { return nil }
		return pf, nil
	}
	if len(f.SourceIDs) > 1 {
		return nil, fmt.Errorf("transforms of several columns are not supported: replace the field")
	}
	path, field, err := findSource(rows.Fields, f.SourceID(), nil)
	if err != nil {
		return nil, err
	}
	if field == nil {
		return nil, fmt.Errorf("its source column (id %d) is not in the schema: remove the field from the spec", f.SourceID())
	}
	src, ok := sc.FindFieldByID(f.SourceID())
	if !ok {
		return nil, fmt.Errorf("its source column (id %d) is not in the schema: remove the field from the spec", f.SourceID())
	}
	pf.path, pf.kind, pf.source = path, field.Type.Kind, src.Type
	pf.precision, pf.scale = field.Type.Precision, field.Type.Scale
	pf.column, _ = sc.FindColumnName(f.SourceID())
	if _, unknown := f.Transform.(iceberg.UnknownTransform); unknown || pf.kind == mapper.Unknown || !f.Transform.CanTransform(src.Type) {
		return nil, fmt.Errorf("floe cannot apply the transform %s to column %q of type %s: replace the field", f.Transform, pf.column, src.Type)
	}
	if err := pf.bind(f.Transform); err != nil {
		return nil, err
	}
	return pf, nil
}

// findSource looks for a field by its id among columns and the members of structs; field is nil where there is none.
func findSource(fields []mapper.Field, id int, path []int) ([]int, *mapper.Field, error) {
	for i := range fields {
		f, at := &fields[i], append(path[:len(path):len(path)], i)
		if f.ID == id {
			if len(f.Type.Fields) > 0 {
				return nil, nil, fmt.Errorf("its source column %q is a %s: partition by a primitive column", f.Name, f.Type.Kind)
			}
			return at, f, nil
		}
		if f.Type.Kind == mapper.Struct {
			if p, found, err := findSource(f.Type.Fields, id, at); found != nil || err != nil {
				return p, found, err
			}
		}
	}
	return nil, nil, nil
}

// compute fills v for rows [from, to) of cs; what v holds of other rows means nothing.
func (pf *partField) compute(cs *mapper.Columns, from, to int, v *vector) *rowError {
	v.resize(to)
	if pf.path == nil {
		return pf.apply(nil, nil, from, to, v)
	}
	var buf [8]*mapper.Column
	c, parents := follow(cs, pf.path, buf[:0])
	m := maskOf(c, parents)
	if err := pf.apply(c, &m, from, to, v); err != nil {
		err.column = pf.column
		return err
	}
	return nil
}
