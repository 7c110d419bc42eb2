package writer

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/mapper"
)

const (
	microsPerHour = 3600_000_000
	hoursPerDay   = 24
)

// bind chooses the functions of the transform for the column's type.
func (pf *partField) bind(t iceberg.Transform) error {
	switch t := t.(type) {
	case iceberg.IdentityTransform:
		pf.identity()
	case iceberg.BucketTransform:
		if t.NumBuckets < 1 || t.NumBuckets > math.MaxInt32 {
			return fmt.Errorf("bucket[%d]: the number of buckets must be positive", t.NumBuckets)
		}
		pf.bucket(t.NumBuckets)
	case iceberg.TruncateTransform:
		if t.Width < 1 || t.Width > math.MaxInt32 {
			return fmt.Errorf("truncate[%d]: the width must be positive", t.Width)
		}
		pf.truncate(t.Width)
	case iceberg.YearTransform:
		pf.fromHours(func(h int64) int64 { y, _ := civil(floorDiv(h, hoursPerDay)); return y - 1970 }, int32Value)
	case iceberg.MonthTransform:
		pf.fromHours(func(h int64) int64 { y, m := civil(floorDiv(h, hoursPerDay)); return (y-1970)*12 + m - 1 }, int32Value)
	case iceberg.DayTransform:
		pf.fromHours(func(h int64) int64 { return floorDiv(h, hoursPerDay) }, func(v *vector, i int) any { return iceberg.Date(v.num[i]) })
	case iceberg.HourTransform:
		pf.fromHours(func(h int64) int64 { return h }, int32Value)
	default:
		return fmt.Errorf("floe cannot apply the transform %s: replace the field", t)
	}
	return nil
}

func int32Value(v *vector, i int) any { return int32(v.num[i]) }

// numbers makes an apply function for results that are numbers; get says false where the row has no result, with why.
func (pf *partField) numbers(get func(c *mapper.Column, i int) (int64, string)) {
	pf.apply = func(c *mapper.Column, m *mask, from, to int, v *vector) *rowError {
		for i := from; i < to; i++ {
			if v.null[i] = !m.has(i); v.null[i] {
				continue
			}
			n, reason := get(c, i)
			if reason != "" {
				return &rowError{row: i, reason: reason}
			}
			v.num[i] = n
		}
		return nil
	}
}

// texts is numbers for results that are byte strings, parts of the column's own data.
func (pf *partField) texts(get func(b []byte) []byte) {
	pf.bytes = true
	pf.apply = func(c *mapper.Column, m *mask, from, to int, v *vector) *rowError {
		for i := from; i < to; i++ {
			if v.null[i] = !m.has(i); v.null[i] {
				continue
			}
			if v.str[i] = get(c.Slot(i)); len(v.str[i]) == 0 {
				// The manifest list would say that the partition holds nulls only, and every reader that prunes by it
				// would skip the row, and all that lies in the same manifest.
				return &rowError{row: i, reason: "an empty value in a partition column cannot be found again by readers: the manifest list has no bound for it"}
			}
		}
		return nil
	}
}

// number reads a column of numbers as int64.
func number(c *mapper.Column, i int) int64 {
	switch c.Field.Type.Kind {
	case mapper.Int, mapper.Date:
		return int64(c.I32[i])
	case mapper.Boolean:
		if c.Bool(i) {
			return 1
		}
		return 0
	}
	return c.I64[i]
}

func (pf *partField) identity() {
	switch pf.kind {
	case mapper.Float:
		pf.numbers(func(c *mapper.Column, i int) (int64, string) {
			if f := c.F32[i]; f == f {
				return int64(math.Float32bits(f)), ""
			}
			return int64(math.Float32bits(float32(math.NaN()))), "" // one partition for all bit patterns of NaN
		})
		pf.value = func(v *vector, i int) any { return math.Float32frombits(uint32(v.num[i])) }
	case mapper.Double:
		pf.numbers(func(c *mapper.Column, i int) (int64, string) {
			if f := c.F64[i]; f == f {
				return int64(math.Float64bits(f)), ""
			}
			return int64(math.Float64bits(math.NaN())), ""
		})
		pf.value = func(v *vector, i int) any { return math.Float64frombits(uint64(v.num[i])) }
	case mapper.String, mapper.Binary, mapper.Fixed, mapper.UUID, mapper.Decimal:
		pf.texts(func(b []byte) []byte { return b })
		pf.value = pf.bytesValue
	default:
		pf.numbers(func(c *mapper.Column, i int) (int64, string) { return number(c, i), "" })
		pf.value = pf.numberValue
	}
}

// numberValue gives the Go type of a number of the source's type.
func (pf *partField) numberValue(v *vector, i int) any {
	n := v.num[i]
	switch pf.kind {
	case mapper.Boolean:
		return n != 0
	case mapper.Int:
		return int32(n)
	case mapper.Date:
		return iceberg.Date(n)
	case mapper.Time:
		return iceberg.Time(n)
	case mapper.Timestamp, mapper.TimestampTz:
		return iceberg.Timestamp(n)
	case mapper.TimestampNs, mapper.TimestampTzNs:
		return iceberg.TimestampNano(n)
	}
	return n
}

// bytesValue gives the Go type of a byte string of the source's type; it does not alias the column.
func (pf *partField) bytesValue(v *vector, i int) any {
	b := v.str[i]
	switch pf.kind {
	case mapper.String:
		return string(b)
	case mapper.UUID:
		return uuid.UUID(b)
	case mapper.Decimal:
		return iceberg.Decimal{Val: decimal(b), Scale: pf.scale}
	}
	return slices.Clone(b)
}

func decimal(b []byte) decimal128.Num {
	return decimal128.New(int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b))
}

func (pf *partField) bucket(n int) {
	pf.value = int32Value
	var hash func(c *mapper.Column, i int) uint32
	switch pf.kind {
	case mapper.Decimal:
		hash = func(c *mapper.Column, i int) uint32 { return murmur3(decimalBytes(c.Slot(i))) }
	case mapper.String, mapper.Binary, mapper.Fixed, mapper.UUID:
		hash = func(c *mapper.Column, i int) uint32 { return murmur3(c.Slot(i)) }
	case mapper.TimestampNs, mapper.TimestampTzNs:
		// Hashed as microseconds, so that a column keeps its buckets when its precision grows.
		hash = func(c *mapper.Column, i int) uint32 { return murmur3Int(floorDiv(c.I64[i], 1000)) }
	default:
		hash = func(c *mapper.Column, i int) uint32 { return murmur3Int(number(c, i)) }
	}
	pf.numbers(func(c *mapper.Column, i int) (int64, string) { return bucket(hash(c, i), n), "" })
}

// belowRange is why a record has no partition by truncate: no reader could hold its partition's value.
const belowRange = "the truncated value lies below the range of the column's type"

func (pf *partField) truncate(w int) {
	switch pf.kind {
	case mapper.String:
		pf.texts(func(b []byte) []byte { return lowerText(b, w) })
		pf.value = pf.bytesValue
	case mapper.Binary:
		pf.texts(func(b []byte) []byte { return lowerBytes(b, w) })
		pf.value = pf.bytesValue
	case mapper.Decimal:
		pf.truncateDecimal(uint64(w), pf.precision)
		pf.value = pf.bytesValue
	default:
		lowest := int64(math.MinInt64)
		if pf.kind == mapper.Int {
			lowest = math.MinInt32
		}
		pf.numbers(func(c *mapper.Column, i int) (int64, string) {
			v := number(c, i)
			m := floorMod(v, int64(w))
			if v < lowest+m {
				return 0, belowRange
			}
			return v - m, ""
		})
		pf.value = pf.numberValue
	}
}

// fromHours makes the transforms of time. All of them follow from the hour, which floors also before 1970.
func (pf *partField) fromHours(result func(hour int64) int64, value func(v *vector, i int) any) {
	var hour func(c *mapper.Column, i int) int64
	switch pf.kind {
	case mapper.Date:
		hour = func(c *mapper.Column, i int) int64 { return int64(c.I32[i]) * hoursPerDay }
	case mapper.TimestampNs, mapper.TimestampTzNs:
		hour = func(c *mapper.Column, i int) int64 { return floorDiv(c.I64[i], microsPerHour*1000) }
	default:
		hour = func(c *mapper.Column, i int) int64 { return floorDiv(c.I64[i], microsPerHour) }
	}
	pf.value = value
	pf.numbers(func(c *mapper.Column, i int) (int64, string) {
		n := result(hour(c, i))
		if n < math.MinInt32 || n > math.MaxInt32 {
			return 0, fmt.Sprintf("the time is too far from 1970 for the transform %s, whose results have 32 bits", pf.transform)
		}
		return n, ""
	})
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// civil gives the year and the month (1 to 12) of a day since 1970-01-01, in the proleptic Gregorian calendar. It counts
// years from March, so that a leap day comes last, in cycles of 400 years.
func civil(day int64) (year, month int64) {
	day += 719468 // days from 0000-03-01
	era := floorDiv(day, 146097)
	doe := day - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year, month = yoe+era*400, mp+3
	if month > 12 {
		month -= 12
		year++
	}
	return year, month
}
