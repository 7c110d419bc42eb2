package target

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/internal/tableio"
)

// Define asks Create.Infer, where there is one, for what Schema, CheckCreate and DDL are about. Once it is content it asks no
// more. No other goroutine may use the Table meanwhile.
func (t *Table) Define(ctx context.Context) error {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	return t.infer(ctx)
}

func (t *Table) infer(ctx context.Context) error {
	if t.cfg.Create == nil || t.def.Schema != nil {
		return nil
	}
	sc, err := t.cfg.Create.Infer(ctx)
	if err != nil {
		return &inferError{err}
	}
	if err := t.define(sc); err != nil {
		return &createError{err}
	}
	return nil
}

// define sets what the table is made from.
func (t *Table) define(sc *iceberg.Schema) error {
	spec, err := tableio.ParsePartition(sc, t.cfg.Create.PartitionBy)
	if err != nil {
		return fmt.Errorf("table.create.partition_by: %w", err)
	}
	t.def.Schema, t.def.Spec = sc, spec
	return nil
}

// inferError is not the catalog's.
type inferError struct{ err error }

func (e *inferError) Error() string { return e.err.Error() }
func (e *inferError) Unwrap() error { return e.err }

// DDL is the statement that would make the table, for people to read; empty where it must exist, or Define was not content.
func (t *Table) DDL() string {
	c := t.cfg.Create
	if c == nil || t.def.Schema == nil {
		return ""
	}
	columns := c.Columns
	if c.Infer != nil {
		columns = nil
		for _, f := range t.def.Schema.Fields() {
			columns = append(columns, tableio.Column{Name: f.Name, Type: tableio.FormatType(f.Type), Required: f.Required})
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (\n", t.cfg.Table)
	for i, col := range columns {
		fmt.Fprintf(&b, "  %s %s", col.Name, col.Type)
		if col.Required {
			b.WriteString(" NOT NULL")
		}
		if i+1 < len(columns) {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(")")
	if len(c.PartitionBy) > 0 {
		fmt.Fprintf(&b, "\nPARTITIONED BY (%s)", strings.Join(c.PartitionBy, ", "))
	}
	if len(c.Properties) > 0 {
		var props []string
		for _, k := range slices.Sorted(maps.Keys(c.Properties)) {
			props = append(props, fmt.Sprintf("'%s' = '%s'", k, c.Properties[k]))
		}
		fmt.Fprintf(&b, "\nTBLPROPERTIES (%s)", strings.Join(props, ", "))
	}
	return b.String()
}
