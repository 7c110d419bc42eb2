package committer

import (
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/descriptor"
)

// keepsRequired refuses a batch that was written before a column was made required, where it may hold nulls of it: no
// reader expects them there. Written again under the schema of now, each such record is bad.
func keepsRequired(m table.Metadata, d *descriptor.Descriptor) error {
	now := m.CurrentSchema()
	if now.ID == d.SchemaID {
		return nil
	}
	var was *iceberg.Schema
	for _, s := range m.Schemas() {
		if s.ID == d.SchemaID {
			was = s
		}
	}
	var check func(fields []iceberg.NestedField, nested bool) error
	check = func(fields []iceberg.NestedField, nested bool) error {
		for _, f := range fields {
			old, there := was.FindFieldByID(f.ID)
			if f.Required && (!there || !old.Required) && (nested || !withoutNulls(d, f.ID)) {
				return fmt.Errorf("batch %s was written against schema %d, before the column %q was made required", d.ID, d.SchemaID, f.Name)
			}
			inner, ok := f.Type.(iceberg.NestedType)
			if !ok || !there {
				continue // what is in a column that was not there is null with it
			}
			if err := check(inner.Fields(), true); err != nil {
				return err
			}
		}
		return nil
	}
	return check(now.Fields(), false)
}

// withoutNulls says that every file of d tells that it has no null in the column of that id.
func withoutNulls(d *descriptor.Descriptor, id int) bool {
	for _, f := range d.Files {
		if n, told := f.NullValueCounts()[id]; !told || n != 0 {
			return false
		}
	}
	return true
}
