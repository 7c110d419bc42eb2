package evolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/mapper"
)

// Refusal is a change that can't be made.
type Refusal struct {
	Change mapper.Change
	// Why is the rest of a sentence, without what records hold.
	Why string
}

// plan is a schema that is being changed.
type plan struct {
	meta    table.Metadata
	fields  map[int]place
	names   map[string]bool
	sources map[int]bool // of partition fields
	count   int

	adds     map[int][]iceberg.NestedField // by the id of the struct
	types    map[int]iceberg.Type
	optional map[int]bool
	refused  []Refusal
}

// place is a field and where it stands.
type place struct {
	iceberg.NestedField
	path string
	// key says that it is a map's key, or lies in one.
	key bool
	// in is the field that it lies in, 0 for a column.
	in int
}

// Plan gives the schema that has the changes which m's current one lacks, with field ids, nil where it lacks none. A
// schema has at most maxColumns fields after one is added. What can't be done is refused, and the rest is planned without
// it.
func Plan(m table.Metadata, changes []mapper.Change, maxColumns int) (*iceberg.Schema, []Refusal) {
	p := &plan{meta: m, fields: map[int]place{}, names: map[string]bool{}, sources: map[int]bool{},
		adds: map[int][]iceberg.NestedField{}, types: map[int]iceberg.Type{}, optional: map[int]bool{}}
	sc := m.CurrentSchema()
	for _, f := range sc.Fields() {
		p.index("", f, false, 0)
	}
	for _, spec := range m.PartitionSpecs() {
		for _, f := range spec.Fields() {
			for _, id := range f.SourceIDs {
				p.sources[id] = true
			}
		}
	}
	for _, c := range changes {
		why := ""
		switch c.Kind {
		case mapper.AddColumn:
			why = p.add(c, maxColumns)
		case mapper.WidenType:
			why = p.widen(c)
		case mapper.MakeOptional:
			why = p.makeOptional(c)
		}
		if why != "" {
			p.refused = append(p.refused, Refusal{c, why})
		}
	}
	if len(p.adds)+len(p.types)+len(p.optional) == 0 {
		return nil, p.refused
	}
	next := m.LastColumnID() + 1
	for _, id := range slices.Sorted(mapKeys(p.adds)) {
		tableio.AssignIDs(p.adds[id], &next)
	}
	return iceberg.NewSchemaWithIdentifiers(sc.ID, slices.Clone(sc.IdentifierFieldIDs), p.rebuild(sc.Fields(), 0)...), p.refused
}

func mapKeys[V any](m map[int]V) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// index notes a field, its full names, and what is inside it.
func (p *plan) index(prefix string, f iceberg.NestedField, key bool, in int) {
	p.count++
	path := prefix + f.Name
	p.fields[f.ID] = place{f, path, key, in}
	p.names[path] = true
	nested, ok := f.Type.(iceberg.NestedType)
	if !ok {
		return
	}
	_, isStruct := f.Type.(*iceberg.StructType)
	_, isMap := f.Type.(*iceberg.MapType)
	for _, inner := range nested.Fields() {
		p.index(path+".", inner, key || isMap && inner.Name == "key", f.ID)
		if st, ok := inner.Type.(*iceberg.StructType); ok && !isStruct && inner.Name != "key" {
			// Members of a struct in a list or map have a short name too.
			for _, m := range st.FieldList {
				p.names[path+"."+m.Name] = true
			}
		}
	}
}

func (p *plan) add(c mapper.Change, maxColumns int) string {
	siblings, prefix := p.meta.CurrentSchema().Fields(), ""
	if c.ID != 0 {
		f, there := p.fields[c.ID]
		st, ok := f.Type.(*iceberg.StructType)
		switch {
		case !there || !ok:
			return "the struct that it belongs to is no longer in the table"
		case f.key:
			return "the key of a map can't be changed"
		}
		siblings, prefix = st.FieldList, f.path+"."
	}
	for _, in := range [2][]iceberg.NestedField{siblings, p.adds[c.ID]} {
		for i := range in {
			switch s := &in[i]; {
			case s.Name == c.Name:
				return "" // it is there: by somebody else, or asked for twice
			case strings.EqualFold(s.Name, c.Name):
				return fmt.Sprintf("its name differs from that of the column %q in upper and lower case alone, which many engines can't tell apart", s.Name)
			}
		}
	}
	if likeNames(&c.Type) {
		return "the names of two of its members differ in upper and lower case alone, which many engines can't tell apart"
	}
	if c.ID == 0 && slices.Contains(reserved, strings.ToLower(c.Name)) {
		return "it is the name of a column that Iceberg itself has in every table"
	}
	if p.names[prefix+c.Name] {
		return "its full name, with dots between the parts, is that of another column"
	}
	t := icebergType(&c.Type)
	f := iceberg.NestedField{Name: c.Name, Type: t}
	if err := tableio.CheckFields([]iceberg.NestedField{f}, p.meta.Version()); err != nil {
		return err.Error()
	}
	before := p.count
	p.count += 1 + countInside(t)
	if p.count > maxColumns {
		p.count = before
		return fmt.Sprintf("records may not add any column beyond %d in all", maxColumns)
	}
	for _, name := range tableio.FullNames(prefix, f) {
		if p.names[name] {
			p.count = before
			return "the full name of a part of it, with dots between the parts, is that of another column"
		}
	}
	for _, name := range tableio.FullNames(prefix, f) {
		p.names[name] = true
	}
	p.adds[c.ID] = append(p.adds[c.ID], f)
	return ""
}

// reserved are the names of Iceberg's metadata columns. Engines refuse to change rows of a table with one of its own.
var reserved = []string{"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number",
	"_change_type", "_change_ordinal", "_commit_snapshot_id"}

// likeNames says that a struct in t has two members whose names differ in case alone.
func likeNames(t *mapper.Type) bool {
	seen := make(map[string]bool, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		name := strings.ToLower(strings.ToUpper(f.Name))
		if t.Kind == mapper.Struct && seen[name] || likeNames(&f.Type) {
			return true
		}
		seen[name] = true
	}
	return false
}

func countInside(t iceberg.Type) (n int) {
	if nested, ok := t.(iceberg.NestedType); ok {
		for _, f := range nested.Fields() {
			n += 1 + countInside(f.Type)
		}
	}
	return n
}

func (p *plan) widen(c mapper.Change) string {
	f, there := p.fields[c.ID]
	if !there {
		return "the column is no longer in the table"
	}
	have, want := f.Type, icebergType(&c.Type)
	if planned, ok := p.types[c.ID]; ok {
		have = planned
	}
	switch {
	case have.Equals(want) || promotes(want, have):
		return ""
	case !promotes(have, want):
		return fmt.Sprintf("a column of type %s can't become one of type %s", tableio.FormatType(have), tableio.FormatType(want))
	case p.sources[c.ID]:
		return "the table is partitioned by the column, and its partitions' values would change their type"
	case f.key:
		return "the key of a map can't be changed"
	}
	p.types[c.ID] = want
	return ""
}

// promotes says that Iceberg lets a column of type from become one of type to.
func promotes(from, to iceberg.Type) bool {
	switch from := from.(type) {
	case iceberg.Int32Type:
		return to.Equals(iceberg.PrimitiveTypes.Int64)
	case iceberg.Float32Type:
		return to.Equals(iceberg.PrimitiveTypes.Float64)
	case iceberg.DecimalType:
		d, ok := to.(iceberg.DecimalType)
		return ok && d.Scale() == from.Scale() && d.Precision() > from.Precision()
	}
	return false
}

func (p *plan) makeOptional(c mapper.Change) string {
	f, there := p.fields[c.ID]
	switch {
	case !there:
		return "the column is no longer in the table"
	case !f.Required:
		return ""
	case f.key:
		return "the key of a map can't be null"
	case p.identifies(c.ID):
		return "the column identifies rows, and can't be null"
	}
	p.optional[c.ID] = true
	return ""
}

// identifies says that a field identifies rows, or that one inside it does: catalogs refuse both as optional.
func (p *plan) identifies(id int) bool {
	return slices.ContainsFunc(p.meta.CurrentSchema().IdentifierFieldIDs, func(at int) bool {
		for at != id && at != 0 {
			at = p.fields[at].in
		}
		return at != 0
	})
}

// rebuild gives the members of the struct of that id as they will be.
func (p *plan) rebuild(in []iceberg.NestedField, id int) []iceberg.NestedField {
	out := make([]iceberg.NestedField, len(in), len(in)+len(p.adds[id]))
	for i, f := range in {
		f.Type = p.rebuildType(f.Type, f.ID)
		f.Required = f.Required && !p.optional[f.ID]
		out[i] = f
	}
	return append(out, p.adds[id]...)
}

// rebuildType gives the type of the field of that id as it will be.
func (p *plan) rebuildType(t iceberg.Type, id int) iceberg.Type {
	if to, ok := p.types[id]; ok {
		return to
	}
	switch t := t.(type) {
	case *iceberg.StructType:
		return &iceberg.StructType{FieldList: p.rebuild(t.FieldList, id)}
	case *iceberg.ListType:
		return &iceberg.ListType{ElementID: t.ElementID, Element: p.rebuildType(t.Element, t.ElementID),
			ElementRequired: t.ElementRequired && !p.optional[t.ElementID]}
	case *iceberg.MapType:
		return &iceberg.MapType{KeyID: t.KeyID, KeyType: t.KeyType, ValueID: t.ValueID, ValueType: p.rebuildType(t.ValueType, t.ValueID),
			ValueRequired: t.ValueRequired && !p.optional[t.ValueID]}
	}
	return t
}
