package mapper

import (
	"math/bits"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// protoKnownValue gathers the parts of a well-known message. They come in any order, and in several pieces; the value is made
// of them when the message around it ends.
type protoKnownValue struct {
	// parts are the numbers of the fields in their order, bytes what a field of bytes has: a piece of the record.
	parts [4]int64
	bytes []byte
	put   func(v *protoKnownValue, c *Column) *fault
	// there has a bit for each part that was written, need for those that must be.
	there, need uint8
}

func (v *protoKnownValue) reset() { v.parts, v.bytes, v.there = [4]int64{}, nil, 0 }

// knownValue says how a well-known message becomes a value of a kind; nil where it does not.
func knownValue(md protoreflect.MessageDescriptor, k Kind) *protoKnownValue {
	const (
		i32, i64 = protoreflect.Int32Kind, protoreflect.Int64Kind
		u32, raw = protoreflect.Uint32Kind, protoreflect.BytesKind
	)
	var put func(*protoKnownValue, *Column) *fault
	var kinds []protoreflect.Kind
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		if k == TimestampTz || k == TimestampTzNs {
			put, kinds = (*protoKnownValue).timestamp, []protoreflect.Kind{i64, i32}
		}
	case "google.protobuf.Duration":
		if k == Decimal {
			put, kinds = (*protoKnownValue).duration, []protoreflect.Kind{i64, i32}
		}
	case "google.type.Date":
		if k == Date {
			put, kinds = (*protoKnownValue).date, []protoreflect.Kind{i32, i32, i32}
		}
	case "google.type.TimeOfDay":
		if k == Time {
			put, kinds = (*protoKnownValue).timeOfDay, []protoreflect.Kind{i32, i32, i32, i32}
		}
	case "confluent.type.Decimal":
		if k == Decimal {
			put, kinds = (*protoKnownValue).decimal, []protoreflect.Kind{raw, u32, i32}
		}
	}
	// Somebody else's message of that name is what it is.
	if put == nil || md.Fields().Len() != len(kinds) {
		return nil
	}
	for i, kind := range kinds {
		if fd := md.Fields().Get(i); int(fd.Number()) != i+1 || fd.Kind() != kind || fd.IsList() {
			return nil
		}
	}
	return &protoKnownValue{put: put}
}

var (
	faultNanosPart     = &fault{CodeRange, "a Timestamp whose nanos are not 0 to 999,999,999"}
	faultDuration      = &fault{CodeRange, "no Duration: seconds or nanos out of range, or of different signs"}
	faultDecimalPlaces = &fault{CodeRange, "a Decimal whose scale is out of range"}
)

func (v *protoKnownValue) timestamp(c *Column) *fault {
	if v.parts[1] < 0 || v.parts[1] >= nanosPerSecond {
		return faultNanosPart
	}
	n, f := stampOf(v.parts[0], int(v.parts[1]), c.kind)
	if f == nil {
		c.I64 = append(c.I64, n)
		c.Len++
	}
	return f
}

// mostSeconds are about 10,000 years, which is what Protobuf allows.
const mostSeconds = 315576000000

// duration is a number of seconds.
func (v *protoKnownValue) duration(c *Column) *fault {
	sec, nanos := v.parts[0], v.parts[1]
	if sec < -mostSeconds || sec > mostSeconds || nanos <= -nanosPerSecond || nanos >= nanosPerSecond || sec > 0 && nanos < 0 || sec < 0 && nanos > 0 {
		return faultDuration
	}
	hi, lo := bits.Mul64(magnitude(sec), nanosPerSecond)
	lo, carry := bits.Add64(lo, magnitude(nanos), 0)
	return c.rescaled(sec < 0 || nanos < 0, hi+carry, lo, c.Field.Type.Scale-9)
}

func (v *protoKnownValue) date(c *Column) *fault {
	y, m, d := v.parts[0], v.parts[1], v.parts[2]
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > int64(daysIn(int(y), int(m))) {
		return faultDateRange
	}
	c.I32 = append(c.I32, daysFromCivil(int(y), int(m), int(d)))
	c.Len++
	return nil
}

func (v *protoKnownValue) timeOfDay(c *Column) *fault {
	h, m, s, n := v.parts[0], v.parts[1], v.parts[2], v.parts[3]
	switch {
	case h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 || n < 0 || n >= nanosPerSecond:
		return faultTimeRange
	case n%1000 != 0:
		return faultMicros
	}
	c.I64 = append(c.I64, (h*3600+m*60+s)*1000000+n/1000)
	c.Len++
	return nil
}

// decimal is an integer in two's complement, big endian, and where its point stands.
func (v *protoKnownValue) decimal(c *Column) *fault {
	if s := v.parts[2]; s < -1000 || s > 1000 {
		return faultDecimalPlaces
	}
	return c.unscaled(v.bytes, c.Field.Type.Scale-int(v.parts[2]))
}
