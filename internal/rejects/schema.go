package rejects

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
)

// The names of the columns.
const (
	Topology    = "topology"
	Cluster     = "cluster"
	Topic       = "topic"
	Incarnation = "incarnation"
	Partition   = "partition"
	Offset      = "offset"
	Timestamp   = "timestamp"
	Key         = "key"
	Value       = "value"
	Headers     = "headers"
	Code        = "code"
	Reason      = "reason"
	Column      = "column"
	RejectedAt  = "rejected_at"
	Batch       = "batch"
	Replayed    = "replayed"
)

// HeaderKey and HeaderValue are the members of an element of Headers.
const (
	HeaderKey   = "key"
	HeaderValue = "value"
)

// Columns are those that the table is made with, in order.
func Columns() []tableio.Column {
	return []tableio.Column{
		{Name: Topology, Type: "string", Required: true, Doc: "the topology that refused the record"},
		{Name: Cluster, Type: "string", Doc: "the identity of the cluster"},
		{Name: Topic, Type: "string", Required: true},
		{Name: Incarnation, Type: "string", Doc: "the identity of this life of the topic"},
		{Name: Partition, Type: "int", Required: true},
		{Name: Offset, Type: "long", Required: true},
		{Name: Timestamp, Type: "timestamptz", Doc: "the record's own time"},
		{Name: Key, Type: "binary"},
		{Name: Value, Type: "binary"},
		{Name: Headers, Type: "list<struct<key: required binary, value: binary>>"},
		{Name: Code, Type: "string", Required: true, Doc: "why the record could not become a row, in a stable word"},
		{Name: Reason, Type: "string", Required: true, Doc: "the same in a sentence"},
		{Name: Column, Type: "string", Doc: "the column of the main table that it failed at"},
		{Name: RejectedAt, Type: "timestamptz", Required: true},
		{Name: Batch, Type: "string", Required: true, Doc: "the batch of the main table that refused it"},
		{Name: Replayed, Type: "string", Doc: "the commit of the main table that took the record in by a replay"},
	}
}

// Properties are those that the table is made with.
func Properties() iceberg.Properties {
	return iceberg.Properties{
		"write.metadata.metrics.column." + Key:   "counts",
		"write.metadata.metrics.column." + Value: "counts",
	}
}

// Ensure makes the table where it does not exist; made says that it was this call. One that exists is for Check.
func Ensure(ctx context.Context, cat catalog.Catalog, ident table.Identifier) (made bool, err error) {
	sc, err := tableio.ParseSchema(Columns())
	if err != nil {
		return false, err
	}
	return tableio.Ensure(ctx, cat, ident, tableio.Definition{Schema: sc, Properties: Properties()})
}

// Check refuses a table that rejects can't be written to; the error is a sentence that says what to do.
func Check(tbl *table.Table) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the table %s can't take rejects: %s; mend it, or name another table as rejects.table (floe makes one that does "+
			"not exist)", strings.Join(tbl.Identifier(), "."), fmt.Sprintf(format, args...))
	}
	if v := tbl.Metadata().Version(); v < 2 {
		return wrong("its format version is %d and must be 2 or later", v)
	}
	if spec := tbl.Spec(); !spec.IsUnpartitioned() {
		return wrong("it is partitioned")
	}
	sc, err := tableio.ParseSchema(Columns())
	if err != nil {
		return err
	}
	have := map[string]iceberg.NestedField{}
	for _, f := range tbl.Schema().Fields() {
		have[f.Name] = f
	}
	for _, want := range sc.Fields() {
		f, ok := have[want.Name]
		switch {
		case !ok:
			return wrong("it has no column %q (%s)", want.Name, typeText(want.Name))
		case !sameType(f.Type, want.Type):
			return wrong("its column %q has the type %s and not %s", want.Name, f.Type, typeText(want.Name))
		case f.Required && !want.Required:
			return wrong("its column %q is required and must be optional", want.Name)
		}
		delete(have, want.Name)
	}
	for _, f := range tbl.Schema().Fields() {
		if _, other := have[f.Name]; other && f.Required {
			return wrong("it has a required column %q, which rejects have no value for", f.Name)
		}
	}
	return nil
}

func typeText(column string) string {
	for _, c := range Columns() {
		if c.Name == column {
			return c.Type
		}
	}
	return ""
}

// sameType compares types by the names of their members; ids may differ. A list's element and a header's key may be
// optional or required; members that rejects do not know must be optional.
func sameType(have, want iceberg.Type) bool {
	switch want := want.(type) {
	case *iceberg.ListType:
		have, ok := have.(*iceberg.ListType)
		return ok && sameType(have.Element, want.Element)
	case *iceberg.StructType:
		have, ok := have.(*iceberg.StructType)
		if !ok {
			return false
		}
		left := map[string]iceberg.NestedField{}
		for _, f := range want.FieldList {
			left[f.Name] = f
		}
		for _, f := range have.FieldList {
			w, known := left[f.Name]
			if known && !sameType(f.Type, w.Type) || f.Required && !(known && w.Required) {
				return false
			}
			delete(left, f.Name)
		}
		return len(left) == 0
	}
	return have.Equals(want)
}
