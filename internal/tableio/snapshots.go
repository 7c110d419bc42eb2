package tableio

import (
	"reflect"

	"github.com/apache/iceberg-go/table"
)

// Snapshots gives the snapshots of m, oldest first, for reading alone: they are m's own. m.Snapshots copies all of them with
// their summaries, which at a thousand snapshots costs more than the rest of a look at the table. iceberg-go gives no other
// way to them, so the field is found by its name. Where there is none of that name, or where most of them have not been
// decoded yet (a REST catalog's), they are copied.
func Snapshots(m table.Metadata) []table.Snapshot {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return m.Snapshots()
	}
	list, deferred := v.Elem().FieldByName("SnapshotList"), v.Elem().FieldByName("deferredSnapshots")
	if !list.IsValid() || !list.CanInterface() || deferred.Kind() != reflect.Pointer || !deferred.IsNil() {
		return m.Snapshots()
	}
	if s, ok := list.Interface().([]table.Snapshot); ok {
		return s
	}
	return m.Snapshots()
}
