package mapper

// The codes of bad records. They are part of the interface: metrics and tables keep them.
const (
	// CodeEmpty: the record has a value of no bytes.
	CodeEmpty Code = "empty"
	// CodeSyntax: the value is not one JSON text by RFC 8259, not Avro or Protobuf of its schema, or not one record of CSV; or its
	// header is not that of a schema registry.
	CodeSyntax Code = "syntax"
	// CodeUTF8: text that is not valid UTF-8, or half of a surrogate pair.
	CodeUTF8 Code = "utf8"
	// CodeType: a value of another type than the column takes, or text that is not of the column's form.
	CodeType Code = "type"
	// CodeRange: the value lies outside what the column can hold.
	CodeRange Code = "range"
	// CodePrecision: the value is finer than the column: a fraction for an integer, more digits after the point than a
	// decimal's scale, parts of a microsecond, an integer with more digits than a float has.
	CodePrecision Code = "precision"
	// CodeLength: bytes for a fixed column that are not of its length.
	CodeLength Code = "length"
	// CodeRequired: a required column without a value.
	CodeRequired Code = "required"
	// CodeDuplicateKey: a column, or a key of a map, is there twice.
	CodeDuplicateKey Code = "duplicate_key"
	// CodeWidth: a CSV record with more or fewer fields than it should have.
	CodeWidth Code = "width"
	// CodeDepth: values are nested deeper than allowed.
	CodeDepth Code = "depth"
	// CodeSize: the record is larger than columns can ever hold, or would fill far more of them than it has bytes.
	CodeSize Code = "size"
	// CodeSchema: the record was written with a schema that nobody knows, that can't be read, or that does not fit the table.
	CodeSchema Code = "schema"
	// CodeUnknown: a field that is no column, where such fields are refused.
	CodeUnknown Code = "unknown_field"
	// CodeEnvelope: not a change event in the envelope that records are in, or one that no row tells.
	CodeEnvelope Code = "envelope"
	// CodeUnavailable: a placeholder that stands for a value which the record does not have.
	CodeUnavailable Code = "unavailable"
)

// fault is why a value does not fit, told without the value. The faults are constants: making a record bad costs one
// allocation, that of its BadRecordError.
type fault struct {
	code   Code
	reason string
}

var (
	faultOnlyNull      = &fault{CodeType, "a value for a column of type unknown, which holds nulls alone"}
	faultNotInteger    = &fault{CodeType, "not an integer"}
	faultNotNumber     = &fault{CodeType, "not a number"}
	faultFraction      = &fault{CodePrecision, "a number with a fraction, for an integer"}
	faultIntRange      = &fault{CodeRange, "outside the range of a 32-bit integer"}
	faultLongRange     = &fault{CodeRange, "outside the range of a 64-bit integer"}
	faultFloatRange    = &fault{CodeRange, "larger than the largest 32-bit float"}
	faultDoubleRange   = &fault{CodeRange, "larger than the largest 64-bit float"}
	faultDecimalForm   = &fault{CodeType, "not a decimal number"}
	faultDecimalScale  = &fault{CodePrecision, "more digits behind the point than the column's scale"}
	faultDecimalDigits = &fault{CodeRange, "more digits than the column's precision and scale allow"}
	faultBoolean       = &fault{CodeType, "neither true nor false"}
	faultDateForm      = &fault{CodeType, "not a date of the form YYYY-MM-DD"}
	faultDateRange     = &fault{CodeRange, "no day of the years 1 to 9999"}
	faultTimeForm      = &fault{CodeType, "not a time of the form HH:MM:SS, with or without a fraction"}
	faultTimeRange     = &fault{CodeRange, "no time of a day (00:00:00 to 23:59:59, without leap seconds)"}
	faultStampForm     = &fault{CodeType, "not a timestamp of RFC 3339 (YYYY-MM-DDTHH:MM:SS, with or without a fraction)"}
	faultStampRange    = &fault{CodeRange, "outside the years 1 to 9999 (numbers are milliseconds since 1970)"}
	faultNanoRange     = &fault{CodeRange, "outside what nanoseconds since 1970 can tell (1677 to 2262; numbers are milliseconds)"}
	faultMicros        = &fault{CodePrecision, "finer than a microsecond"}
	faultNanos         = &fault{CodePrecision, "finer than a nanosecond"}
	faultZoneMissing   = &fault{CodeType, "a timestamp without an offset (Z or +hh:mm), for a column with a time zone"}
	faultZoneGiven     = &fault{CodeType, "a timestamp with an offset, for a column without a time zone"}
	faultUUID          = &fault{CodeType, "not a UUID of the form 8-4-4-4-12"}
	faultBase64        = &fault{CodeType, "not base64 (the standard alphabet, with padding)"}
	faultFixedLength   = &fault{CodeLength, "not of the column's length in bytes"}
	faultUTF8          = &fault{CodeUTF8, "text that is not valid UTF-8"}
	faultSurrogate     = &fault{CodeUTF8, "an escape of half a surrogate pair"}
)
