package mapper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cast is a rule for reading a column's values that the column's type alone would refuse, or take as something else. The zero
// value is no rule. ParseCast makes one.
type Cast struct {
	rule castRule
	// unit is the power of ten of the parts that a second has.
	unit int8
	// any takes numbers that look as if they had a coarser unit; with unscaled numbers as they stand, beside bytes.
	any bool
	// local numbers count from 1970 without a time zone.
	local bool
	// scale of unscaled bytes.
	scale int16
}

type castRule uint8

const (
	castNone castRule = iota
	castNumber
	castText
	castBoolean
	castEpoch
	castMidnight
	castDays
	castUnscaled
	castVariable
	// castUnitless takes text only: nobody says what a number means.
	castUnitless
	// castZoned is the column's own rule, for timestamps without an offset in a time zone.
	castZoned
)

// castUnits are the units by their suffix.
var castUnits = map[string]int8{"s": 0, "ms": 3, "us": 6, "ns": 9}

const castsKnown = "number, text, boolean, epoch_s, epoch_ms, epoch_us, epoch_ns (each also with (any) behind it), " +
	"midnight_s, midnight_ms, midnight_us, midnight_ns, days, unscaled(SCALE), variable_scale"

// ParseCast reads a rule:
//
//	number              int, long, float, double: text that holds a number in JSON's grammar, or a number
//	text                string: a number or a boolean as it is written, or text. Avro and Protobuf: integers in decimal, floats in the
//	                    shortest form that reads back as the same
//	boolean             boolean: 0 and 1, as numbers or as text, "true" and "false", or a boolean
//	epoch_s, epoch_ms, epoch_us, epoch_ns
//	                    timestamps: how many seconds, milliseconds, microseconds or nanoseconds since 1970, in UTC for columns
//	                    with a time zone, on the clock's face for those without; as a number or as text that holds one, fractions
//	                    too where the column has their digits. More than 0 and less than 100 days is refused: it looks like a coarser
//	                    unit. "epoch_ms(any)" takes these too. What lies outside the years 1 to 9999, or 1677 to 2262 where the
//	                    column has nanoseconds, is refused always: it looks like a finer unit
//	midnight_s, …       time: how much since midnight
//	days                date: how many days since 1970-01-01
//	unscaled(2)         decimal: its digits without the point as an integer in two's complement, big endian (Kafka Connect's
//	                    Decimal), here with two digits behind the point; in JSON as base64
//	variable_scale      decimal: a struct of scale and value (Debezium's VariableScaleDecimal)
func ParseCast(text string) (Cast, error) {
	name, arg, has := strings.Cut(text, "(")
	if has {
		var ended bool
		if arg, ended = strings.CutSuffix(arg, ")"); !ended {
			return Cast{}, fmt.Errorf("there is no rule %q; write one of %s", text, castsKnown)
		}
	}
	switch {
	case name == "unscaled":
		scale, err := strconv.ParseInt(arg, 10, 16)
		if err != nil || scale < 0 || scale > 38 {
			return Cast{}, errors.New("unscaled needs the digits behind the point, 0 to 38: write unscaled(2)")
		}
		return Cast{rule: castUnscaled, scale: int16(scale)}, nil
	case strings.HasPrefix(name, "epoch_") && (!has || arg == "any"):
		if unit, ok := castUnits[name[len("epoch_"):]]; ok {
			return Cast{rule: castEpoch, unit: unit, any: has}, nil
		}
	case has:
	case strings.HasPrefix(name, "midnight_"):
		if unit, ok := castUnits[name[len("midnight_"):]]; ok {
			return Cast{rule: castMidnight, unit: unit}, nil
		}
	default:
		rules := map[string]castRule{"number": castNumber, "text": castText, "boolean": castBoolean, "days": castDays, "variable_scale": castVariable}
		if r, ok := rules[name]; ok {
			return Cast{rule: r}, nil
		}
	}
	return Cast{}, fmt.Errorf("there is no rule %q; write one of %s", text, castsKnown)
}

// fits says whether a column's type has the rule.
func (k Cast) fits(t *Type) error {
	ok, want := false, ""
	switch k.rule {
	case castNumber:
		ok, want = t.Kind == Int || t.Kind == Long || t.Kind == Float || t.Kind == Double || t.Kind == Decimal, "int, long, float, double or decimal"
	case castText:
		ok, want = t.Kind == String, "string"
	case castBoolean:
		ok, want = t.Kind == Boolean, "boolean"
	case castEpoch, castUnitless:
		ok, want = t.Kind >= Timestamp && t.Kind <= TimestampTzNs, "timestamp or timestamptz"
	case castMidnight:
		ok, want = t.Kind == Time, "time"
	case castDays:
		ok, want = t.Kind == Date, "date"
	case castUnscaled, castVariable:
		ok, want = t.Kind == Decimal, "decimal"
	}
	if !ok {
		return fmt.Errorf("the column is of type %s, and the rule is for columns of type %s", t, want)
	}
	return nil
}

// castForm is how a value was written.
type castForm uint8

const (
	formText castForm = iota
	formNumber
	formBoolean
)

var (
	faultCastNumber  = &fault{CodeType, "neither a number nor text that holds one"}
	faultCastBoolean = &fault{CodeType, "neither a boolean nor 0 or 1"}
	faultCastBase64  = &fault{CodeType, "not an unscaled decimal: bytes in base64 with padding"}
	faultCoarse      = &fault{CodeRange, "an instant of the first 100 days of 1970, as if the number had a coarser unit than the cast says " +
		"(add (any) to the cast where it is right)"}
	faultFine     = &fault{CodeRange, "outside the years 1 to 9999, as if the number had a finer unit than the cast says"}
	faultFineNano = &fault{CodeRange, "outside what nanoseconds since 1970 can tell (1677 to 2262), as if the number had a finer unit than the cast says"}
	faultUnitless = &fault{CodeType, "a number whose unit nobody tells: name it with a cast (epoch_ms, epoch_us, …), or have the records carry their schema"}
	faultSkipped  = &fault{CodeRange, "a local time that the time zone does not have: clocks were put forward over it"}
	faultTwofold  = &fault{CodeRange, "a local time that the time zone has twice: clocks were put back over it"}
)

// plausible are the days that a number in a finer unit than it has comes to.
const plausibleSeconds = 100 * 86400

// put appends the scalar t to c by the rule, exactly or not at all. A fault leaves c as it was. z is nil where no time zone
// is named.
func (k Cast) put(c *Column, t []byte, form castForm, z *zone) *fault {
	c.ensure(1)
	switch k.rule {
	case castText:
		c.appendBytes(t)
		return nil
	case castBoolean:
		return c.putTruth(t, form)
	case castUnscaled:
		if form == formNumber && k.any {
			return c.appendText(t)
		}
		if form != formText {
			return faultCastBase64
		}
		return c.putUnscaledText(t, c.Field.Type.Scale-int(k.scale))
	case castUnitless:
		if form != formText {
			return faultUnitless
		}
		return c.putStampText(t, z)
	}
	if form == formBoolean || form == formText && (len(t) == 0 || numberEnd(t, 0) != len(t)) {
		return faultCastNumber
	}
	if k.rule == castNumber {
		if c.kind == Decimal {
			return c.appendText(t)
		}
		return c.appendNumberText(t)
	}
	return k.putTime(c, split(t), z)
}

// putTruth appends a boolean.
func (c *Column) putTruth(t []byte, form castForm) *fault {
	switch string(t) {
	case "true", "1":
		c.appendBool(true)
		return nil
	case "false", "0":
		c.appendBool(false)
		return nil
	}
	if form == formNumber { // written another way: 1.0
		if v, f := split(t).int64(); f == nil && v>>1 == 0 {
			c.appendBool(v == 1)
			return nil
		}
	}
	return faultCastBoolean
}

// putUnscaledText appends an unscaled decimal in base64.
func (c *Column) putUnscaledText(t []byte, shift int) *fault {
	n := len(c.Data)
	if f := c.base64Text(t); f != nil {
		return faultCastBase64
	}
	raw := c.Data[n:]
	c.Data = c.Data[:n]
	return c.unscaled(raw, shift) // it has taken all of raw before it appends
}

// putStampText appends a timestamp, in the zone where the text has no offset.
func (c *Column) putStampText(t []byte, z *zone) *fault {
	f := c.appendText(t)
	if f != faultZoneMissing || z == nil {
		return f
	}
	sec, nanos, f := c.day.parseStamp(t, false)
	if f != nil {
		return f
	}
	if sec, f = z.utc(sec); f != nil {
		return f
	}
	v, f := stampOf(sec, nanos, c.kind)
	if f == nil {
		c.appendI64(v)
	}
	return f
}

// putTime appends a number of days, since midnight, or since 1970.
func (k Cast) putTime(c *Column, n number, z *zone) *fault {
	if k.rule == castDays {
		v, f := n.int64()
		switch {
		case f == faultLongRange, f == nil && (v < minDay || v > maxDay):
			return faultDateRange
		case f == nil:
			c.I32 = append(c.I32, int32(v))
			c.Len++
		}
		return f
	}
	to, fine, outside := int64(6), faultMicros, faultFine
	switch {
	case k.rule == castMidnight:
		outside = faultTimeRange
	case c.kind == TimestampNs || c.kind == TimestampTzNs:
		to, fine, outside = 9, faultNanos, faultFineNano
	}
	n.exp += to - int64(k.unit)
	v, f := n.int64()
	switch f {
	case faultFraction:
		return fine
	case faultLongRange:
		return outside
	}
	return k.putParts(c, v, outside, z)
}

// putParts appends what is a number of the column's own parts of a second.
func (k Cast) putParts(c *Column, v int64, outside *fault, z *zone) *fault {
	switch {
	case c.kind == Time && (v < 0 || v >= microsPerDay),
		(c.kind == Timestamp || c.kind == TimestampTz) && (v < minMicros || v > maxMicros):
		return outside
	case k.rule == castEpoch && !k.any && v > 0 && v < plausibleSeconds*perSecond(c.kind):
		return faultCoarse
	}
	if k.local && (c.kind == TimestampTz || c.kind == TimestampTzNs) {
		if z == nil {
			return faultLocalNumber
		}
		var f *fault
		if v, f = z.utcParts(v, c.kind); f != nil {
			return f
		}
	}
	c.appendI64(v)
	return nil
}

var faultLocalNumber = &fault{CodeType, "a local time, for a column with a time zone: name the zone of the records (Rules.Zone), or make the column a timestamp"}

// perSecond is the number of a timestamp column's parts in a second.
func perSecond(k Kind) int64 {
	if k == TimestampNs || k == TimestampTzNs {
		return nanosPerSecond
	}
	return 1000000
}
