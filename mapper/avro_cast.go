package mapper

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// avroCast reads a field's values by a rule.
type avroCast struct {
	Cast
	zone *zone
	// from is how the value is written.
	from avroKind
	// variable is the plan of a decimal that brings its scale along, into a column of its own.
	variable *avroOp
}

// variableName is what Debezium calls a decimal that brings its scale along.
const variableName = "io.debezium.data.VariableScaleDecimal"

// cast makes op one that reads by the field's rule, or in its time zone; false where the types alone decide: what the schema
// says of a value (its logical type) is not overruled.
func (c *avroCompiler) cast(op *avroOp, w, r *avroType, f *Field) bool {
	k, z := f.cast(), f.zone()
	switch {
	case r.kind == avroRecord && f.Type.Kind == Decimal && (k.rule == castVariable || r.name == variableName):
		return c.variable(op, w, r)
	case k.rule == castNone && z == nil:
		return false
	case z != nil && strings.HasPrefix(r.logical, "local-timestamp-"):
		k = Cast{rule: castEpoch, unit: avroUnits[r.logical[len("local-timestamp-"):]], any: true, local: true}
	case r.logical != "":
		return false
	case k.rule == castNone && r.kind == avroString:
		k.rule = castUnitless
	}
	ok := false
	switch w.kind {
	case avroInt, avroLong:
		if k.rule == castUnscaled || k.rule == castVariable {
			c.refuse(op.path, faultAvroForm)
		}
		ok = r.kind <= avroLong && (k.rule == castText || k.rule == castBoolean || k.rule == castEpoch || k.rule == castMidnight || k.rule == castDays)
	case avroFloat, avroDouble, avroBoolean:
		ok = r.kind == w.kind && k.rule == castText
	case avroString:
		if k.rule == castVariable {
			c.refuse(op.path, faultAvroForm)
		}
		ok = r.kind == avroString && k.rule != castText && k.rule != castNone
	case avroBytes, avroFixed:
		if ok = r.kind == w.kind && k.rule == castUnscaled; ok {
			op.size = -1
			if w.kind == avroFixed {
				op.size = w.size
			}
			op.code, op.shift = opDecimal, f.Type.Scale-int(k.scale)
			return true
		}
	}
	if ok {
		op.code, op.cast = opCast, &avroCast{Cast: k, zone: newZone(z), from: w.kind}
		op.wide = w.kind == avroLong
	}
	return ok
}

const faultAvroForm = "the field is not written as the column's cast says"

var avroUnits = map[string]int8{"millis": 3, "micros": 6, "nanos": 9}

func (c *avroCompiler) variable(op *avroOp, w, r *avroType) bool {
	col := newColumn(&variableField)
	inner := avroOp{code: opStruct}
	c.members(&inner, w, r, nil, variableField.Type.Fields, op.path, 0)
	inner.bind([]*Column{col})
	op.code, op.cast = opCast, &avroCast{from: avroRecord, variable: &inner}
	return true
}

// cast reads a value by a rule.
func (m *avroMapper) cast(op *avroOp, b []byte, i int) int {
	k := op.cast
	switch k.from {
	case avroRecord:
		return m.variable(op, b, i)
	case avroString:
		n, next := m.length(b, i)
		if next < 0 {
			return next
		}
		t := b[next : next+n]
		if !utf8.Valid(t) {
			return m.fail(op, faultUTF8)
		}
		if f := k.put(op.col, t, formText, k.zone); f != nil {
			return m.fail(op, f)
		}
		return next + n
	case avroInt, avroLong:
		v, next := m.number(op.wide, b, i)
		if next < 0 || !m.grow(longestNumber) {
			return -1
		}
		if f := k.putInteger(op.col, v); f != nil {
			return m.fail(op, f)
		}
		return next
	}
	return m.castToText(op, b, i)
}

// longestNumber is more than any number of 64 bits has as text.
const longestNumber = 32

// castToText reads a boolean or a float into text.
func (m *avroMapper) castToText(op *avroOp, b []byte, i int) int {
	size, bits, c := 1, 32, op.col
	switch op.cast.from {
	case avroFloat:
		size = 4
	case avroDouble:
		size, bits = 8, 64
	}
	if len(b)-i < size {
		return m.short(b)
	}
	if !m.grow(longestNumber) {
		return -1
	}
	switch {
	case size == 1 && b[i] > 1:
		return m.syntax(i, "a boolean that is neither 0 nor 1")
	case size == 1:
		c.Data = strconv.AppendBool(c.Data, b[i] == 1)
	default:
		v := float64(math.Float32frombits(uint32(le(b[i : i+size]))))
		if size == 8 {
			v = math.Float64frombits(le(b[i : i+size]))
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return m.fail(op, faultNotFinite)
		}
		c.Data = strconv.AppendFloat(c.Data, v, 'g', -1, bits)
	}
	c.Off = append(c.Off, int32(len(c.Data)))
	c.Len++
	return i + size
}

var faultNotFinite = &fault{CodeType, "NaN or an infinity, which no text of a number tells"}

// le is a number of up to eight bytes, little endian.
func le(b []byte) (v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// putInteger appends an integer by the rule.
func (k *avroCast) putInteger(c *Column, v int64) *fault {
	switch k.rule {
	case castText:
		c.Data = strconv.AppendInt(c.Data, v, 10)
		c.Off = append(c.Off, int32(len(c.Data)))
		c.Len++
		return nil
	case castBoolean:
		if v>>1 != 0 {
			return faultCastBoolean
		}
		c.appendBool(v == 1)
		return nil
	}
	var text [20]byte
	return k.putTime(c, split(strconv.AppendInt(text[:0], v, 10)), k.zone)
}

func (m *avroMapper) variable(op *avroOp, b []byte, i int) int {
	v := op.cast.variable
	end := m.value(v, b, i)
	if end >= 0 {
		if f := op.col.putVariable(v.col); f != nil {
			end = m.fail(op, f)
		}
	}
	v.col.truncate(0)
	return end
}
