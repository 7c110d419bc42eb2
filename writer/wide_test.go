package writer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

func TestATableOf5000Columns(t *testing.T) {
	const columns = 5000
	var fields []iceberg.NestedField
	var record strings.Builder
	for i := range columns {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: fmt.Sprintf("c%d", i), Type: iceberg.PrimitiveTypes.String})
		fmt.Fprintf(&record, `,"c%d":"v%d"`, i, i)
	}
	tbl, _ := newTable(t, iceberg.NewSchema(0, fields...), nil, nil)
	task := newTask(t, tbl, nil)
	appendAll(t, task, batchOf(0, 3, func(int) []byte { return []byte("{" + record.String()[1:] + "}") }))
	d := seal(t, task)
	if d.Rows != 3 || len(d.Files) != 1 {
		t.Fatalf("%d rows in %d files", d.Rows, len(d.Files))
	}
	commit(t, tbl, d)
	rd := openFile(t, filesUnder(t, tbl)[0])
	if n := rd.MetaData().Schema.NumColumns(); n != columns || rd.NumRows() != 3 {
		t.Errorf("%d columns, %d rows", n, rd.NumRows())
	}
}

// A column of type unknown takes nulls alone and is in no file; its neighbours are where they belong.
func TestColumnsOfTypeUnknown(t *testing.T) {
	p := iceberg.PrimitiveTypes
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "u", Type: iceberg.UnknownType{}},
		iceberg.NestedField{ID: 2, Name: "id", Type: p.Int64, Required: true},
		iceberg.NestedField{ID: 3, Name: "s", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{
			{ID: 4, Name: "u", Type: iceberg.UnknownType{}}, {ID: 5, Name: "x", Type: p.String}}}},
		iceberg.NestedField{ID: 6, Name: "l", Type: &iceberg.ListType{ElementID: 7, Element: &iceberg.StructType{FieldList: []iceberg.NestedField{
			{ID: 8, Name: "y", Type: p.Int32}, {ID: 9, Name: "u", Type: iceberg.UnknownType{}}}}}})
	tbl, _ := newTable(t, sc, specOf(t, sc, "id bucket[2]"), iceberg.Properties{table.PropertyFormatVersion: "3"})
	task := newTask(t, tbl, nil)
	appendAll(t, task, batchOf(0, 3, func(i int) []byte {
		return fmt.Appendf(nil, `{"u":null,"id":%d,"s":{"x":"v%d","u":null},"l":[{"u":null,"y":%d},null]}`, i, i, i)
	}))
	bad := batchOf(3, 4, func(int) []byte { return []byte(`{"u":1,"id":3}`) })
	if _, err := task.Append(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "holds nulls alone") {
		t.Errorf("a value for a column of type unknown: %v", err)
	}
	d := seal(t, task)
	tbl = commit(t, tbl, d)
	rows := scan(t, tbl, nil)
	for i, row := range rows {
		for _, want := range []string{fmt.Sprintf(`"id":%d`, i), fmt.Sprintf(`"x":"v%d"`, i), fmt.Sprintf(`"y":%d`, i)} {
			if !strings.Contains(row, want) {
				t.Errorf("%s is not in %s", want, row)
			}
		}
	}
	for _, path := range filesUnder(t, tbl) {
		if n := openFile(t, path).MetaData().Schema.NumColumns(); n != 3 {
			t.Errorf("%d columns in the file, want 3", n)
		}
	}
}
