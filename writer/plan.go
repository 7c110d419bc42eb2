package writer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/internal/parquetfile"
	"github.com/stormfloe/floe/mapper"
)

// plan is what a batch is written against: one schema, one spec and the properties of one moment. It never changes, so
// the encoders share it.
type plan struct {
	uuid          uuid.UUID
	formatVersion int
	schema        *iceberg.Schema
	spec          iceberg.PartitionSpec
	props         iceberg.Properties
	location      string

	rows    *mapper.Schema
	leaves  []leaf
	layout  *parquetfile.Layout
	set     *settings
	parquet parquetfile.Options
	loc     *locations
	// parts are the spec's fields, none for an unpartitioned table.
	parts []*partField
}

// leaf is one primitive column, nested or not, in the order of the Parquet file.
type leaf struct {
	id int
	// name is the field's full name in Iceberg's words ("tags.element"), parquetPath its path in the file.
	name, parquetPath string
	typ               mapper.Type
	required          bool
	// path leads to it: an index into Columns.Cols, then into Kids.
	path []int
	// repeated leaves lie below a list or a map. Like Iceberg's own writer, floe gives no bounds for them.
	repeated bool
	mode     metricsMode
}

// nameless says that the leaf is part of a variant: it has no id, so the table's metadata say nothing of it.
func (l *leaf) nameless() bool { return l.id < 0 }

func (l *leaf) isFloat() bool { return l.typ.Kind == mapper.Float || l.typ.Kind == mapper.Double }

// compile makes the plan for a table, or says why it can't be written.
func compile(tbl *table.Table) (p *plan, err error) {
	// iceberg-go panics on some damaged schemas while it builds its indexes.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("writer: the table's schema or spec can't be understood: %v", r)
		}
	}()
	if err := checkProperties(tbl); err != nil {
		return nil, err
	}
	p = &plan{
		uuid: tbl.Metadata().TableUUID(), formatVersion: tbl.Metadata().Version(),
		schema: tbl.Schema(), spec: tbl.Spec(), props: writeProps(tbl), location: tbl.Location(),
	}
	if p.rows, err = MapperSchema(p.schema); err != nil {
		return nil, err
	}
	if p.set, err = parseSettings(p.props); err != nil {
		return nil, err
	}
	if err := p.findLeaves(); err != nil {
		return nil, err
	}
	p.parquet = p.set.options(p.leaves)
	if p.loc, err = newLocations(tbl); err != nil {
		return nil, err
	}
	p.parts, err = partFields(p.spec, p.schema, p.rows)
	return p, err
}

// fits says whether a batch for tbl may be written with p.
func (p *plan) fits(tbl *table.Table) bool {
	spec := tbl.Spec()
	return p.uuid == tbl.Metadata().TableUUID() && p.formatVersion == tbl.Metadata().Version() &&
		p.schema.ID == tbl.Schema().ID && p.spec.ID() == spec.ID() && p.location == tbl.Location() &&
		maps.Equal(p.props, writeProps(tbl))
}

// ownPrefix begins the properties in which floe keeps its place. They change with every commit and say nothing of files.
const ownPrefix = "storm.iceberg."

// writeProps are the table's properties that a plan can depend on.
func writeProps(tbl *table.Table) iceberg.Properties {
	props := maps.Clone(tbl.Properties())
	maps.DeleteFunc(props, func(key, _ string) bool { return strings.HasPrefix(key, ownPrefix) })
	return props
}

// Alike says that what can be written for a can be written for b, by the same plan: they differ in nothing but their
// snapshots and floe's own properties.
func Alike(a, b *table.Table) bool {
	sa, sb := a.Spec(), b.Spec()
	return a.Metadata().TableUUID() == b.Metadata().TableUUID() && a.Metadata().Version() == b.Metadata().Version() &&
		a.Schema().ID == b.Schema().ID && sa.ID() == sb.ID() && a.Location() == b.Location() &&
		maps.Equal(writeProps(a), writeProps(b))
}

func (p *plan) findLeaves() error {
	var walk func(prefix string, fields []mapper.Field, path []int, repeated bool)
	walk = func(prefix string, fields []mapper.Field, path []int, repeated bool) {
		for i := range fields {
			f := &fields[i]
			if f.Type.Kind == mapper.Unknown {
				continue // in no file
			}
			name, at := joinPath(prefix, f.Name), append(slices.Clone(path), i)
			if len(f.Type.Fields) > 0 {
				walk(name, f.Type.Fields, at, repeated || f.Type.Kind == mapper.List || f.Type.Kind == mapper.Map)
				continue
			}
			p.leaves = append(p.leaves, leaf{id: f.ID, name: name, typ: f.Type, required: f.Required, path: at, repeated: repeated})
		}
	}
	walk("", p.rows.Fields, nil, false)
	file, err := parquetSchema(p.schema)
	if err != nil {
		return fmt.Errorf("writer: schema %d as Parquet: %w", p.schema.ID, err)
	}
	if file.NumColumns() != len(p.leaves) {
		return fmt.Errorf("writer: schema %d has %d leaves and %d in Parquet", p.schema.ID, len(p.leaves), file.NumColumns())
	}
	for i := range p.leaves {
		l := &p.leaves[i]
		if id := file.Column(i).SchemaNode().FieldID(); int(id) != l.id {
			return fmt.Errorf("writer: column %q has id %d and in Parquet %d", l.name, l.id, id)
		}
		l.parquetPath = file.Column(i).Path()
		if !l.nameless() {
			l.mode = p.set.metrics.of(l.name, i)
		}
	}
	p.layout, err = parquetfile.NewLayout(p.rows, file)
	return err
}

// parquetSchema gives the schema of the files, as the libraries derive it.
func parquetSchema(sc *iceberg.Schema) (*schema.Schema, error) {
	as, err := table.SchemaToArrowSchema(stored(sc), nil, true, false)
	if err != nil {
		return nil, err
	}
	props := parquet.NewWriterProperties(parquet.WithVersion(parquet.V2_LATEST), parquet.WithRootName("table"), parquet.WithStoreDecimalAsInteger(true))
	return pqarrow.ToParquet(as, props, pqarrow.DefaultWriterProps())
}

// column finds the leaf's column; parents are the structs above it.
func (l *leaf) column(cs *mapper.Columns, parents []*mapper.Column) (*mapper.Column, []*mapper.Column) {
	return follow(cs, l.path, parents)
}

func follow(cs *mapper.Columns, path []int, parents []*mapper.Column) (*mapper.Column, []*mapper.Column) {
	c := cs.Cols[path[0]]
	for _, i := range path[1:] {
		parents = append(parents, c)
		c = c.Kids[i]
	}
	return c, parents
}

// columnsNamed finds primitive columns outside of lists and maps by their full names.
func (p *plan) columnsNamed(names []string) ([]*leaf, error) {
	out := make([]*leaf, len(names))
	for i, name := range names {
		j := slices.IndexFunc(p.leaves, func(l leaf) bool { return l.name == name && !l.nameless() })
		if j < 0 {
			return nil, fmt.Errorf("writer: group_by names %q, which is no primitive column of the table: write one of its columns (a member of a struct as struct.member)", name)
		}
		if p.leaves[j].repeated {
			return nil, fmt.Errorf("writer: group_by names %q, which lies in a list or a map: write a column that has one value a row", name)
		}
		out[i] = &p.leaves[j]
	}
	return out, nil
}
