package mapper

import (
	"fmt"
	"strings"
)

// convert decides how a value that is written as w and means what r says comes into the column: exactly, or not at all.
// Neither is a union.
func (c *avroCompiler) convert(op *avroOp, w, r *avroType, f *Field) {
	if c.cast(op, w, r, f) {
		return
	}
	k := f.Type.Kind
	ok := false
	switch w.kind {
	case avroBoolean:
		op.code, ok = opBoolean, k == Boolean
	case avroInt, avroLong:
		ok = op.ofInteger(w, r, k)
	case avroFloat:
		op.code, ok = opFloat, k == Float || k == Double
	case avroDouble:
		op.code, ok = opDouble, k == Float || k == Double
	case avroBytes, avroString:
		ok = op.ofBytes(w, r, &f.Type)
	case avroFixed:
		ok = op.ofFixed(w, r, &f.Type)
	case avroEnum:
		op.code, ok = opEnum, k == String
		op.symbols = readSymbols(w, r)
	case avroRecord:
		if op.code, ok = opStruct, k == Struct; ok {
			c.members(op, w, r, f.rule, f.Type.Fields, op.path, f.ID)
		}
	case avroArray:
		if op.code, ok = opList, k == List; ok {
			op.kids = []avroOp{c.value(w.items, r.items, &f.Type.Fields[0], join(op.path, "element"), 0)}
		}
	case avroMap:
		if op.code, ok = opMap, k == Map && f.Type.Fields[0].Type.Kind == String; ok {
			key := avroOp{code: opString, utf8: true, required: true, path: join(op.path, "key")}
			op.kids = []avroOp{key, c.value(w.items, r.items, &f.Type.Fields[1], join(op.path, "value"), 1)}
		}
	}
	if !ok {
		c.refuse(op.path, whyNot(r, &f.Type))
	}
}

// whyNot says why a type does not come into a column.
func whyNot(r *avroType, t *Type) string {
	why := fmt.Sprintf("a field of type %s does not fit a column of type %s", r, t)
	switch t.Kind {
	case Date, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		switch {
		case r.logical == "" && (r.kind == avroInt || r.kind == avroLong):
			why += ": without a logical type its unit would be a guess"
		case strings.HasPrefix(r.logical, "timestamp-"):
			why += ": an instant has no date and no clock without a time zone"
		case strings.HasPrefix(r.logical, "local-timestamp-"):
			why += ": a local time is no instant without a time zone"
		}
	}
	return why
}

// readSymbols gives a reader's symbol for each of the writer's.
func readSymbols(w, r *avroType) []string {
	if w == r {
		return w.symbols
	}
	known := make(map[string]bool, len(r.symbols))
	for _, s := range r.symbols {
		known[s] = true
	}
	out := make([]string, len(w.symbols))
	for i, s := range w.symbols {
		if out[i] = s; !known[s] && r.other != nil {
			out[i] = *r.other
		}
	}
	return out
}

// ofInteger is the conversion of an int or a long.
func (op *avroOp) ofInteger(w, r *avroType, k Kind) bool {
	op.code, op.wide = opInteger, w.kind == avroLong
	switch r.kind {
	case avroFloat:
		op.bits = 24
		return k == Float || k == Double
	case avroDouble:
		op.bits = 53
		return k == Float || k == Double
	}
	switch k {
	case Long:
		if op.wide {
			op.code = opLong
		}
		return true
	case Int:
		return true
	case Float, Double, Decimal:
		return r.logical == ""
	case Date:
		op.code = opDate
		return r.logical == "date"
	}
	unit := r.logical
	var fits bool
	switch k {
	case Time:
		unit, fits = strings.CutPrefix(unit, "time-")
	case TimestampTz, TimestampTzNs:
		unit, fits = strings.CutPrefix(unit, "timestamp-")
	case Timestamp, TimestampNs:
		unit, fits = strings.CutPrefix(unit, "local-timestamp-")
	default:
		return false
	}
	per, known := map[string]int64{"millis": 1000, "micros": 1000000, "nanos": nanosPerSecond}[unit]
	if !fits || !known {
		return false
	}
	op.code = opScaled
	stampOp(op, per, k)
	return true
}

// ofBytes is the conversion of bytes or a string. Avro reads the one as the other; the bytes of a string are text always.
func (op *avroOp) ofBytes(w, r *avroType, t *Type) bool {
	op.utf8, op.size = w.kind == avroString || r.kind == avroString, -1
	if r.logical == "decimal" {
		return w.kind == avroBytes && op.ofDecimal(r, t)
	}
	switch t.Kind {
	case String:
		op.code, op.utf8 = opString, true
		return true
	case Binary:
		op.code = opBytes
		return true
	case Fixed:
		op.code = opBytesFixed
		return r.kind == avroBytes
	case UUID:
		op.code = opText
		return r.kind == avroString
	case Decimal, Date, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
		op.code = opText
		return r.kind == avroString && r.logical == ""
	}
	return false
}

func (op *avroOp) ofFixed(w, r *avroType, t *Type) bool {
	op.size = w.size
	if r.logical == "decimal" {
		return op.ofDecimal(r, t)
	}
	switch t.Kind {
	case Fixed:
		op.code = opFixed
		return w.size == t.Length
	case UUID:
		op.code = opFixed
		return r.logical == "uuid"
	case Binary:
		op.code = opFixedBinary
		return true
	}
	return false
}

// ofDecimal takes the number; where the column is bytes nobody could tell its scale.
func (op *avroOp) ofDecimal(r *avroType, t *Type) bool {
	op.code, op.shift = opDecimal, t.Scale-r.scale
	return t.Kind == Decimal
}
