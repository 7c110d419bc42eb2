package tableio

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
)

// FormatType gives a type as ParseType reads it: decimal(18,4), list<string>, struct<a: int, b: map<string, double>>.
// Names that ParseType could not read stand as they are.
func FormatType(t iceberg.Type) string {
	required := func(yes bool, t iceberg.Type) string {
		if yes {
			return "required " + FormatType(t)
		}
		return FormatType(t)
	}
	switch t := t.(type) {
	case iceberg.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision(), t.Scale())
	case iceberg.FixedType:
		return fmt.Sprintf("fixed(%d)", t.Len())
	case *iceberg.ListType:
		return "list<" + required(t.ElementRequired, t.Element) + ">"
	case *iceberg.MapType:
		return "map<" + FormatType(t.KeyType) + ", " + required(t.ValueRequired, t.ValueType) + ">"
	case *iceberg.StructType:
		parts := make([]string, len(t.FieldList))
		for i, f := range t.FieldList {
			parts[i] = f.Name + ": " + required(f.Required, f.Type)
		}
		return "struct<" + strings.Join(parts, ", ") + ">"
	}
	return t.String()
}
