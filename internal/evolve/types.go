package evolve

import (
	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
)

var primitives = map[mapper.Kind]iceberg.Type{
	mapper.Boolean: iceberg.PrimitiveTypes.Bool, mapper.Int: iceberg.PrimitiveTypes.Int32, mapper.Long: iceberg.PrimitiveTypes.Int64,
	mapper.Float: iceberg.PrimitiveTypes.Float32, mapper.Double: iceberg.PrimitiveTypes.Float64, mapper.Date: iceberg.PrimitiveTypes.Date,
	mapper.Time: iceberg.PrimitiveTypes.Time, mapper.Timestamp: iceberg.PrimitiveTypes.Timestamp,
	mapper.TimestampTz: iceberg.PrimitiveTypes.TimestampTz, mapper.TimestampNs: iceberg.PrimitiveTypes.TimestampNs,
	mapper.TimestampTzNs: iceberg.PrimitiveTypes.TimestampTzNs, mapper.String: iceberg.PrimitiveTypes.String,
	mapper.UUID: iceberg.PrimitiveTypes.UUID, mapper.Binary: iceberg.PrimitiveTypes.Binary,
}

// icebergType gives the type in Iceberg's terms, with the ids that are in it.
func icebergType(t *mapper.Type) iceberg.Type {
	switch t.Kind {
	case mapper.Decimal:
		return iceberg.DecimalTypeOf(t.Precision, t.Scale)
	case mapper.Fixed:
		return iceberg.FixedTypeOf(t.Length)
	case mapper.Struct:
		return &iceberg.StructType{FieldList: fieldsOf(t.Fields)}
	case mapper.List:
		e := &t.Fields[0]
		return &iceberg.ListType{ElementID: e.ID, Element: icebergType(&e.Type), ElementRequired: e.Required}
	case mapper.Map:
		k, v := &t.Fields[0], &t.Fields[1]
		return &iceberg.MapType{KeyID: k.ID, KeyType: icebergType(&k.Type), ValueID: v.ID, ValueType: icebergType(&v.Type), ValueRequired: v.Required}
	}
	return primitives[t.Kind]
}

// fieldsOf gives a mapper's fields in Iceberg's terms, with the ids that they have.
func fieldsOf(in []mapper.Field) []iceberg.NestedField {
	out := make([]iceberg.NestedField, len(in))
	for i := range in {
		out[i] = iceberg.NestedField{ID: in[i].ID, Name: in[i].Name, Type: icebergType(&in[i].Type), Required: in[i].Required}
	}
	return out
}
