package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/internal/typestable"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// cell is a row of a table, and what its column c must be.
type cell struct {
	Table string `json:"table"`
	ID    int    `json:"id"`
	Want  string `json:"want"`
	From  string `json:"from"`
}

// written is a table.
type written struct {
	Table string `json:"table"`
	Type  string `json:"type"`
	// By is the partition field, empty for none.
	By   string `json:"by"`
	Rows int    `json:"rows"`
}

type builder struct {
	cat    catalog.Catalog
	cells  []cell
	tables []written
}

// types are all that a cell takes a value in, in the page's order.
func types() []string {
	var out []string
	for _, f := range typestable.Formats() {
		for _, form := range f.Forms {
			for _, c := range form.AllCells() {
				if c.How != typestable.Refused && !slices.Contains(out, c.Type) {
					out = append(out, c.Type)
				}
			}
		}
	}
	return out
}

// partitions are the types with the transforms that take them.
var partitions = []struct {
	typ        string
	transforms []string
}{
	{"boolean", []string{"c"}},
	{"int", []string{"c", "bucket(3, c)", "truncate(10, c)"}},
	{"long", []string{"c", "bucket(3, c)", "truncate(1000, c)"}},
	{"float", []string{"c"}},
	{"double", []string{"c"}},
	{"decimal(10,2)", []string{"c", "bucket(3, c)", "truncate(50, c)"}},
	{"decimal(38,0)", []string{"bucket(3, c)"}},
	{"decimal(38,1)", []string{"c", "bucket(3, c)", "truncate(1000, c)"}},
	{"decimal(38,38)", []string{"c", "truncate(1000, c)"}},
	{"date", []string{"c", "bucket(3, c)", "year(c)", "month(c)", "day(c)"}},
	{"time", []string{"c", "bucket(3, c)"}},
	{"timestamp", []string{"c", "bucket(3, c)", "year(c)", "month(c)", "day(c)", "hour(c)"}},
	{"timestamptz", []string{"c", "bucket(3, c)", "year(c)", "month(c)", "day(c)", "hour(c)"}},
	{"timestamp_ns", []string{"c", "bucket(3, c)", "year(c)", "month(c)", "day(c)", "hour(c)"}},
	{"timestamptz_ns", []string{"c", "bucket(3, c)", "year(c)", "month(c)", "day(c)", "hour(c)"}},
	{"string", []string{"c", "bucket(3, c)", "truncate(2, c)", "void(c)"}},
	{"uuid", []string{"c", "bucket(3, c)"}},
	{"fixed(3)", []string{"c", "bucket(3, c)"}},
	{"binary", []string{"c", "bucket(3, c)", "truncate(2, c)"}},
}

// fits says whether a value can be put into a partition: the writer refuses empty ones, and those whose truncated value
// lies below the type's range (TestRecordsWithoutAPartitionAreBad in package writer).
func fits(want, by string) bool {
	if by == "" || strings.HasPrefix(by, "bucket") || strings.HasPrefix(by, "void") {
		return true
	}
	low := want == "-2147483648" || want == "-9223372036854775808" || strings.HasPrefix(want, "-99999999") || strings.HasPrefix(want, "-0.99999999")
	return want != `""` && want != "0x" && !(low && strings.HasPrefix(by, "truncate"))
}

// table makes a table of the type and fills it with all that the type takes.
func (b *builder) table(ctx context.Context, namespace, name, typ, by string) error {
	tbl, err := b.create(ctx, table.Identifier{namespace, name}, typ, by)
	if err != nil {
		return err
	}
	id := 0
	var files []iceberg.DataFile
	for _, f := range typestable.Formats() {
		for _, form := range f.Forms {
			var records [][]byte
			first := id
			for _, c := range form.AllCells() {
				for _, cs := range c.Cases {
					if c.Type != typ || cs.Refused() || !fits(cs.Want, by) {
						continue
					}
					records = append(records, form.Record(id, cs.In))
					b.cells = append(b.cells, cell{namespace + "." + name, id, cs.Want, f.Name + ", " + form.Name + ": " + cs.In})
					id++
				}
			}
			if len(records) == 0 {
				continue
			}
			more, err := seal(ctx, tbl, form, first, records)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", f.Name, form.Name, err)
			}
			files = append(files, more...)
		}
	}
	b.tables = append(b.tables, written{namespace + "." + name, typ, by, id})
	return commit(ctx, tbl, files)
}

func (b *builder) create(ctx context.Context, ident table.Identifier, typ, by string) (*table.Table, error) {
	schema, err := tableio.ParseSchema(typestable.Columns(typ))
	if err != nil {
		return nil, err
	}
	def := tableio.Definition{Schema: schema, Properties: iceberg.Properties{}}
	if strings.HasSuffix(typ, "_ns") || typ == "unknown" || typ == "variant" {
		def.Properties[table.PropertyFormatVersion] = "3"
	}
	if by != "" {
		if def.Spec, err = tableio.ParsePartition(schema, []string{by}); err != nil {
			return nil, err
		}
	}
	if _, err := tableio.Ensure(ctx, b.cat, ident, def); err != nil {
		return nil, err
	}
	return b.cat.LoadTable(ctx, ident)
}

// seal writes the records as one batch.
func seal(ctx context.Context, tbl *table.Table, form *typestable.Form, first int, records [][]byte) (files []iceberg.DataFile, err error) {
	task, err := writer.New(writer.Config{Topology: "readback", Mapper: form.Factory})
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := task.Close(); err == nil {
			err = cerr
		}
	}()
	part := source.Partition{Cluster: "c", Topic: "types"}
	task.Use(tbl)
	task.Open(ctx, map[source.Partition]source.Position{part: source.Position(first)})
	batch := &source.Batch{Range: source.Range{Partition: part, From: source.Position(first), To: source.Position(first + len(records))}}
	for i, r := range records {
		batch.Records = append(batch.Records, source.Record{Position: source.Position(first + i), Value: r})
	}
	if done, err := task.Append(ctx, batch); err != nil || !done {
		return nil, fmt.Errorf("append: done %t: %w", done, err)
	}
	d, err := task.Seal(ctx)
	if err != nil {
		return nil, err
	}
	return d.Files, nil
}

func commit(ctx context.Context, tbl *table.Table, files []iceberg.DataFile) error {
	tx := tbl.NewTransaction()
	if err := tx.NewRowDelta(nil).AddRows(files...).Commit(ctx); err != nil {
		return err
	}
	_, err := tx.Commit(ctx)
	return err
}
