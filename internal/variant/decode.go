package variant

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/parquet/variant"
)

// Kind names the type of a value: "int8", "decimal4", "double", "string", "object".
func Kind(metadata, value []byte) (string, error) {
	v, err := variant.New(metadata, value)
	if err != nil {
		return "", err
	}
	return kinds[v.Type()], nil
}

var kinds = map[variant.Type]string{
	variant.Null: "null", variant.Bool: "boolean", variant.Int8: "int8", variant.Int16: "int16", variant.Int32: "int32", variant.Int64: "int64",
	variant.Double: "double", variant.Decimal4: "decimal4", variant.Decimal8: "decimal8", variant.Decimal16: "decimal16",
	variant.String: "string", variant.Array: "array", variant.Object: "object",
}

// Decode gives a value that a Builder made: nil, bool, string, *big.Rat for integers and decimals, float64, []any or map[string]any.
// It is for tests: arrow-go 18.8 fails, and may panic, on metadata of more than some hundred keys.
func Decode(metadata, value []byte) (any, error) {
	v, err := variant.New(metadata, value)
	if err != nil {
		return nil, err
	}
	return plain(v), nil
}

func plain(v variant.Value) any {
	switch x := v.Value().(type) {
	case int8:
		return big.NewRat(int64(x), 1)
	case int16:
		return big.NewRat(int64(x), 1)
	case int32:
		return big.NewRat(int64(x), 1)
	case int64:
		return big.NewRat(x, 1)
	case variant.DecimalValue[decimal.Decimal32]:
		return rational(big.NewInt(int64(x.Value.(decimal.Decimal32))), x.Scale)
	case variant.DecimalValue[decimal.Decimal64]:
		return rational(big.NewInt(int64(x.Value.(decimal.Decimal64))), x.Scale)
	case variant.DecimalValue[decimal.Decimal128]:
		return rational(x.Value.(decimal.Decimal128).BigInt(), x.Scale)
	case variant.ArrayValue:
		out := []any{}
		for e := range x.Values() {
			out = append(out, plain(e))
		}
		return out
	case variant.ObjectValue:
		out := map[string]any{}
		for k, e := range x.Values() {
			out[k] = plain(e)
		}
		return out
	default:
		return x
	}
}

func rational(n *big.Int, scale uint8) *big.Rat {
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
}
