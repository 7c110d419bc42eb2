package mapper

import (
	"encoding/json"
	"math"
	"math/big"
	"time"
	"unicode/utf8"
)

var (
	faultFloatForInt  = &fault{CodeType, "a float for an integer column (json.Number keeps integers whole)"}
	faultIntForFloat  = &fault{CodePrecision, "an integer that a float of this size cannot hold exactly"}
	faultFloatDigits  = &fault{CodePrecision, "a 64-bit float that a 32-bit float cannot hold exactly"}
	faultGoType       = &fault{CodeType, "a Go value of a type that the column does not take"}
	faultNotUTC       = &fault{CodeType, "a time in a location other than UTC, for a column without a time zone"}
	faultClock        = &fault{CodePrecision, "a time that is not midnight, for a date"}
	faultNoMember     = &fault{CodeType, "a key that the struct has no member for"}
	faultUUIDLength   = &fault{CodeLength, "not the 16 bytes of a UUID"}
	faultMapKeyIsNull = &fault{CodeRequired, "a map's key is null"}
)

// put appends a Go value to a column of the row. The common types are told apart here, the others by reflection.
func (r *Row) put(c *Column, v any) error {
	switch v := v.(type) {
	case nil:
		return putNull(c)
	case bool:
		return asError(c.putBool(v))
	case int:
		return asError(c.putInt(int64(v)))
	case int64:
		return asError(c.putInt(v))
	case int32:
		return asError(c.putInt(int64(v)))
	case uint64:
		return asError(c.putUint(v))
	case float64:
		return asError(c.putFloat(v))
	case float32:
		return asError(c.putFloat(float64(v)))
	case json.Number:
		return asError(c.putNumber(string(v)))
	case string:
		return r.putString(c, v)
	case []byte:
		return r.putBytes(c, v)
	case time.Time:
		return asError(c.putTime(v))
	case time.Duration:
		return asError(c.putDuration(v))
	case *big.Int:
		if v == nil {
			return putNull(c)
		}
		return asError(c.putBig(v))
	}
	return r.putReflect(c, v)
}

func putNull(c *Column) error {
	if c.Field.Required {
		return asError(faultNull)
	}
	c.appendNull()
	return nil
}

func (c *Column) putBool(v bool) *fault {
	if c.kind != Boolean {
		return faultGoType
	}
	c.appendBool(v)
	return nil
}

func (c *Column) putInt(v int64) (f *fault) {
	c.ensure(1)
	switch c.kind {
	case Long:
		c.I64 = append(c.I64, v)
	case Int:
		if v != int64(int32(v)) {
			return faultIntRange
		}
		c.I32 = append(c.I32, int32(v))
	case Date:
		if v < minDay || v > maxDay {
			return faultDateRange
		}
		c.I32 = append(c.I32, int32(v))
	case Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		if v, f = stampMillis(v, c.kind); f != nil {
			return f
		}
		c.I64 = append(c.I64, v)
	case Float:
		// Above 2^62 the nearest float may lie outside of int64.
		if v > 1<<62 || int64(float32(v)) != v {
			return c.putBigFloat(big.NewInt(v), 24)
		}
		c.F32 = append(c.F32, float32(v))
	case Double:
		if v > 1<<62 || int64(float64(v)) != v {
			return c.putBigFloat(big.NewInt(v), 53)
		}
		c.F64 = append(c.F64, float64(v))
	case Decimal:
		return c.putBig(big.NewInt(v))
	default:
		return faultGoType
	}
	c.Len++
	return nil
}

func (c *Column) putUint(v uint64) *fault {
	if v <= math.MaxInt64 {
		return c.putInt(int64(v))
	}
	return c.putBig(new(big.Int).SetUint64(v))
}

func (c *Column) putBig(v *big.Int) *fault {
	c.ensure(1)
	switch c.kind {
	case Decimal:
		if v.BitLen() > 128 {
			return faultDecimalDigits
		}
		return c.decimalOf([]byte(v.String()))
	case Float:
		return c.putBigFloat(v, 24)
	case Double:
		return c.putBigFloat(v, 53)
	}
	if v.IsInt64() {
		return c.putInt(v.Int64())
	}
	switch c.kind {
	case Int:
		return faultIntRange
	case Long:
		return faultLongRange
	case Date:
		return faultDateRange
	case Timestamp, TimestampTz:
		return faultStampRange
	case TimestampNs, TimestampTzNs:
		return faultNanoRange
	}
	return faultGoType
}

// decimalOf appends a decimal in JSON's grammar; room must have been made.
func (c *Column) decimalOf(t []byte) *fault {
	if f := c.decimalText(t); f != nil {
		return f
	}
	c.Len++
	return nil
}

// putBigFloat appends an integer whose bits from the first to the last that is set are no more than a float holds.
func (c *Column) putBigFloat(v *big.Int, bits uint) *fault {
	if v.Sign() != 0 && v.BitLen()-int(v.TrailingZeroBits()) > int(bits) {
		return faultIntForFloat
	}
	f, _ := new(big.Float).SetInt(v).Float64()
	if c.kind == Double {
		if math.IsInf(f, 0) {
			return faultDoubleRange
		}
		c.F64 = append(c.F64, f)
	} else {
		if math.Abs(f) > math.MaxFloat32 {
			return faultFloatRange
		}
		c.F32 = append(c.F32, float32(f))
	}
	c.Len++
	return nil
}

func (c *Column) putFloat(v float64) *fault {
	c.ensure(1)
	switch c.kind {
	case Double:
		c.F64 = append(c.F64, v)
	case Float:
		if float64(float32(v)) != v && v == v {
			if math.Abs(v) > math.MaxFloat32 {
				return faultFloatRange
			}
			return faultFloatDigits
		}
		c.F32 = append(c.F32, float32(v))
	case Int, Long:
		return faultFloatForInt
	default:
		return faultGoType
	}
	c.Len++
	return nil
}

// putNumber appends a JSON number by the rules of the JSON mapper.
func (c *Column) putNumber(s string) *fault {
	c.ensure(1)
	switch c.kind {
	case Int, Long, Float, Double:
		return c.appendNumberText([]byte(s))
	case Decimal:
		return c.decimalOf([]byte(s))
	case Date, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		if s == "" || numberEnd([]byte(s), 0) != len(s) {
			return faultNotNumber
		}
		v, f := split([]byte(s)).int64()
		if f != nil {
			return f
		}
		return c.putInt(v)
	}
	return faultGoType
}

func (r *Row) putString(c *Column, v string) error {
	switch c.kind {
	case String:
		if err := r.room(len(v)); err != nil {
			return err
		}
		if !utf8.ValidString(v) {
			return asError(faultUTF8)
		}
		c.ensure(1)
		c.Data = append(c.Data, v...)
		c.Off = append(c.Off, int32(len(c.Data)))
		c.Len++
		return nil
	case Decimal, Date, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs, UUID:
		return asError(c.appendText([]byte(v)))
	}
	return asError(faultGoType)
}

func (r *Row) putBytes(c *Column, v []byte) error {
	if v == nil {
		return putNull(c)
	}
	switch c.kind {
	case Binary:
		if err := r.room(len(v)); err != nil {
			return err
		}
		c.Data = append(c.Data, v...)
		c.Off = append(c.Off, int32(len(c.Data)))
	case Fixed, UUID:
		if len(v) != c.width {
			if c.kind == UUID {
				return asError(faultUUIDLength)
			}
			return asError(faultFixedLength)
		}
		c.Data = append(c.Data, v...)
	default:
		return r.putReflect(c, v)
	}
	c.ensure(1)
	c.Len++
	return nil
}

func (c *Column) putTime(v time.Time) *fault {
	c.ensure(1)
	switch c.kind {
	case Date:
		y, mo, d := v.Date()
		if h, m, s := v.Clock(); h|m|s|v.Nanosecond() != 0 {
			return faultClock
		}
		if y < 1 || y > 9999 {
			return faultDateRange
		}
		c.I32 = append(c.I32, daysFromCivil(y, int(mo), d))
	case Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		if (c.kind == Timestamp || c.kind == TimestampNs) && v.Location() != time.UTC {
			return faultNotUTC
		}
		n, f := stampOf(v.Unix(), v.Nanosecond(), c.kind)
		if f != nil {
			return f
		}
		c.I64 = append(c.I64, n)
	default:
		return faultGoType
	}
	c.Len++
	return nil
}

func (c *Column) putDuration(v time.Duration) *fault {
	switch {
	case c.kind != Time:
		return faultGoType
	case v < 0 || v >= 24*time.Hour:
		return faultTimeRange
	case v%time.Microsecond != 0:
		return faultMicros
	}
	c.ensure(1)
	c.I64 = append(c.I64, v.Microseconds())
	c.Len++
	return nil
}
