package writer

import (
	"encoding/hex"
	"errors"
	"math"

	"github.com/apache/iceberg-go"
)

// writeDefault gives a field's write default as mapper.Field takes it, nil where there is none. iceberg-go keeps defaults
// as its JSON decoder gives them: numbers as float64, everything else that is no boolean as text.
func writeDefault(f iceberg.NestedField) (any, error) {
	switch v := f.WriteDefault.(type) {
	case float64:
		return numberDefault(f.Type, v)
	case string:
		switch f.Type.(type) {
		case iceberg.BinaryType, iceberg.FixedType:
			b, err := hex.DecodeString(v)
			if err != nil {
				return nil, errors.New("it is not hexadecimal")
			}
			return b, nil
		}
	case iceberg.BinaryLiteral:
		return []byte(v), nil
	case iceberg.FixedLiteral:
		return []byte(v), nil
	}
	return f.WriteDefault, nil
}

func numberDefault(t iceberg.Type, v float64) (any, error) {
	switch t.(type) {
	case iceberg.Int32Type, iceberg.Int64Type:
		if v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
			return nil, errors.New("it is an integer above 2^53, or has a fraction, and iceberg-go reads it as a float: set another")
		}
		return int64(v), nil
	case iceberg.Float32Type:
		return float32(v), nil // the nearest float, as it was before it was written
	}
	return v, nil
}
