package mapper

import "math"

// avroCode says what an op does: how a value is written, and what becomes of it.
type avroCode uint8

const (
	opSkip        avroCode = iota // checked, and left out
	opAbsent                      // nothing is written: the default, or null
	opMissing                     // nothing is written, and the column is required
	opDefault                     // nothing is written: kids[0] reads def instead
	opNull                        // null
	opBoolean                     // boolean
	opLong                        // long, to a long
	opInteger                     // int or long, to any column of numbers
	opScaled                      // int or long, times mul or through div, to I64
	opDate                        // int, to a date
	opFloat                       // float, to a float or a double
	opDouble                      // double, to a double or, exactly, to a float
	opString                      // string or bytes, to a string
	opBytes                       // bytes or string, to a binary
	opBytesFixed                  // bytes, to a fixed
	opText                        // string, to a column whose values have a form as text
	opFixed                       // fixed, to a fixed or a uuid
	opFixedBinary                 // fixed, to a binary
	opDecimal                     // bytes or fixed, to a decimal
	opEnum                        // enum, to a string
	opStruct                      // record
	opList                        // array
	opMap                         // map
	opUnion                       // union with several branches that are not null
	opCast                        // by a rule
)

// avroOp is a step of a plan.
type avroOp struct {
	code avroCode
	// nulls says that a union with null stands before the value: 1 where null is its first branch, 2 where it is its second.
	nulls uint8
	// wide: the integer is a long, and not an int.
	wide     bool
	required bool
	// fixed: the column stays required.
	fixed bool
	// utf8: the bytes must be text.
	utf8 bool
	// bits are those that a float of the schema has, to which an integer is promoted; 0 where it is not.
	bits int
	// at is the number of the column among its parent's, -1 where it has none.
	at   int
	col  *Column
	path string
	// typ is what is skipped; of an array the elements, of a map the values.
	typ  *avroType
	kids []avroOp

	// size of a fixed in bytes; -1 for bytes of any length.
	size int
	// lo, hi, mul and div belong to opScaled; fault is what lies outside.
	lo, hi, mul, div int64
	fault            *fault
	// shift is the column's scale less the schema's.
	shift int
	// symbols by their number.
	symbols []string
	// def is the value of a field that is not written.
	def []byte
	// cast belongs to opCast.
	cast *avroCast
}

// bind points the op at its column among cols, and what is inside it at its kids.
func (op *avroOp) bind(cols []*Column) {
	if op.at < 0 {
		for i := range op.kids {
			op.kids[i].bind(cols)
		}
		return
	}
	op.col = cols[op.at]
	kids := op.col.Kids
	if op.code == opUnion || op.code == opDefault {
		kids = cols
	}
	for i := range op.kids {
		op.kids[i].bind(kids)
	}
}

// stampOp gives the numbers of opScaled for a time unit, whose second has per parts.
func stampOp(op *avroOp, per int64, k Kind) {
	to := int64(1000000)
	lo, hi := int64(minDay)*86400, int64(maxDay+1)*86400 // in seconds, hi excluded
	op.fault = faultStampRange
	switch k {
	case Time:
		lo, hi, op.fault = 0, 86400, faultTimeRange
	case TimestampNs, TimestampTzNs:
		to, op.fault = nanosPerSecond, faultNanoRange
	}
	op.mul, op.div = 1, 1
	if to >= per {
		op.mul = to / per
	} else {
		op.div = per / to
	}
	// Seconds times per overflow for nanoseconds only, which reach less far than the years do.
	op.lo, op.hi = math.MinInt64, math.MaxInt64
	if lo >= math.MinInt64/per && hi <= math.MaxInt64/per {
		op.lo, op.hi = lo*per, hi*per-1
	}
	if k == TimestampNs || k == TimestampTzNs {
		op.lo, op.hi = max(op.lo, math.MinInt64/op.mul), min(op.hi, math.MaxInt64/op.mul)
	}
}
