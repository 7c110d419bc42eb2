package writer

import (
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
)

// maxDepth bounds the nesting of types, and with it the recursion over a schema that came from a catalog.
const maxDepth = 100

// MapperSchema gives the row type that records are mapped to for an Iceberg schema. Types that the writer does not have
// are refused by name, with what to do.
func MapperSchema(sc *iceberg.Schema) (*mapper.Schema, error) {
	if sc == nil {
		return nil, fmt.Errorf("writer: schema: none given")
	}
	if !slices.ContainsFunc(sc.Fields(), isStored) {
		return nil, fmt.Errorf("writer: schema %d has no columns with a type: add one to the table", sc.ID)
	}
	names := map[string]struct{}{}
	ids := map[int]string{}
	fields, err := mapperFields("", sc.Fields(), 1, names, ids)
	if err != nil {
		return nil, err
	}
	out := &mapper.Schema{ID: sc.ID, Fields: fields}
	if err := out.Validate(); err != nil {
		return nil, fmt.Errorf("writer: schema %d: %w", sc.ID, err)
	}
	return out, nil
}

// mapperFields also looks for two fields of one full name (a column "a.b" beside a struct a with a member b) and of one
// id: Iceberg's metrics and Parquet's paths cannot tell them apart.
func mapperFields(prefix string, in []iceberg.NestedField, depth int, names map[string]struct{}, ids map[int]string) ([]mapper.Field, error) {
	out := make([]mapper.Field, len(in))
	for i := range in {
		name := joinPath(prefix, in[i].Name)
		if _, dup := names[name]; dup {
			return nil, fmt.Errorf("writer: schema: two fields have the full name %q: rename one of them", name)
		}
		names[name] = struct{}{}
		if other, dup := ids[in[i].ID]; dup {
			return nil, fmt.Errorf("writer: schema: fields %q and %q have the same id %d: the table's metadata is damaged", other, name, in[i].ID)
		}
		ids[in[i].ID] = name
		t, err := mapperType(name, in[i].Type, depth, names, ids)
		if err != nil {
			return nil, err
		}
		def, err := writeDefault(in[i])
		if err != nil {
			return nil, fmt.Errorf("writer: schema: column %q has a write default that floe can't fill in: %w", name, err)
		}
		out[i] = mapper.Field{ID: in[i].ID, Name: in[i].Name, Type: t, Required: in[i].Required, Default: def}
	}
	return out, nil
}

func mapperType(name string, t iceberg.Type, depth int, names map[string]struct{}, ids map[int]string) (mapper.Type, error) {
	if depth > maxDepth {
		return mapper.Type{}, fmt.Errorf("writer: schema: column %q is nested more than %d deep", name, maxDepth)
	}
	nested := func(kind mapper.Kind, in []iceberg.NestedField) (mapper.Type, error) {
		fields, err := mapperFields(name, in, depth+1, names, ids)
		return mapper.Type{Kind: kind, Fields: fields}, err
	}
	switch t := t.(type) {
	case iceberg.DecimalType:
		return mapper.Type{Kind: mapper.Decimal, Precision: t.Precision(), Scale: t.Scale()}, nil
	case iceberg.FixedType:
		return mapper.Type{Kind: mapper.Fixed, Length: t.Len()}, nil
	case iceberg.VariantType:
		return mapper.VariantType(), nil
	case *iceberg.StructType:
		if !slices.ContainsFunc(t.FieldList, isStored) {
			return mapper.Type{}, fmt.Errorf("writer: schema: struct %q has no members with a type, which Parquet cannot hold: add one or drop the column", name)
		}
		return nested(mapper.Struct, t.FieldList)
	case *iceberg.ListType:
		return nested(mapper.List, []iceberg.NestedField{t.ElementField()})
	case *iceberg.MapType:
		return nested(mapper.Map, []iceberg.NestedField{t.KeyField(), t.ValueField()})
	}
	if k, ok := primitiveKinds[t]; ok {
		return mapper.Type{Kind: k}, nil
	}
	return mapper.Type{}, fmt.Errorf("writer: schema: column %q has the type %s, which floe cannot write: drop the column or write to another table", name, t)
}

var primitiveKinds = map[iceberg.Type]mapper.Kind{
	iceberg.BooleanType{}:       mapper.Boolean,
	iceberg.Int32Type{}:         mapper.Int,
	iceberg.Int64Type{}:         mapper.Long,
	iceberg.Float32Type{}:       mapper.Float,
	iceberg.Float64Type{}:       mapper.Double,
	iceberg.DateType{}:          mapper.Date,
	iceberg.TimeType{}:          mapper.Time,
	iceberg.TimestampType{}:     mapper.Timestamp,
	iceberg.TimestampTzType{}:   mapper.TimestampTz,
	iceberg.TimestampNsType{}:   mapper.TimestampNs,
	iceberg.TimestampTzNsType{}: mapper.TimestampTzNs,
	iceberg.StringType{}:        mapper.String,
	iceberg.UUIDType{}:          mapper.UUID,
	iceberg.BinaryType{}:        mapper.Binary,
	iceberg.UnknownType{}:       mapper.Unknown,
}

// isStored says that a field is in files: those of type unknown, which hold nulls alone, are not.
func isStored(f iceberg.NestedField) bool {
	_, unknown := f.Type.(iceberg.UnknownType)
	return !unknown
}

// stored is the schema of what files hold.
func stored(sc *iceberg.Schema) *iceberg.Schema {
	return iceberg.NewSchema(sc.ID, storedFields(sc.Fields())...)
}

func storedFields(in []iceberg.NestedField) []iceberg.NestedField {
	var out []iceberg.NestedField
	for _, f := range in {
		if isStored(f) {
			f.Type = storedType(f.Type)
			out = append(out, f)
		}
	}
	return out
}

func storedType(t iceberg.Type) iceberg.Type {
	switch t := t.(type) {
	case *iceberg.StructType:
		return &iceberg.StructType{FieldList: storedFields(t.FieldList)}
	case *iceberg.ListType:
		c := *t
		c.Element = storedType(t.Element)
		return &c
	case *iceberg.MapType:
		c := *t
		c.KeyType, c.ValueType = storedType(t.KeyType), storedType(t.ValueType)
		return &c
	}
	return t
}

func joinPath(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}
