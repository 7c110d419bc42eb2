// Package mapper turns records into rows of typed columns.
//
// A Schema is compiled into a plan once; the plan parses each record straight into column buffers, without a value, a
// map or an allocation per record. A record that cannot become a row leaves the columns as they were and is a
// *BadRecordError, which names the column and a stable Code, and never tells what the record held. The package knows
// neither Iceberg nor Arrow: the writer hands it the schema and takes the columns.
//
//	m, err := mapper.NewJSON(mapper.JSONOptions{})(schema)
//	cols, err := mapper.NewColumns(schema)
//	for i := range batch.Records {
//		err := m.Map(&batch.Records[i], cols) // nil, ErrFiltered, *BadRecordError, ErrFull, *NotReadyError (a schema registry)
//	}
//
// With an Evolution a record may ask for another schema (*EvolveError) where the table lacks a column, has too narrow a type
// or requires what the record does not have; what JSON's new columns are is in json_infer.go, what Avro's are in
// avro_evolve.go, what Protobuf's are in proto_evolve.go.
//
// Where no format fits, an embedder fills rows itself: see RowMapper.
//
// NewDebezium takes rows out of the envelope of Debezium's change events, for any format.
//
// WithRules changes which field goes to which column, and how its values are read, for any format that follows Rules.
//
// # JSON
//
// A record's value is one JSON object by RFC 8259, and each member goes to the column of exactly its name (a dot in a
// name is part of it; upper and lower case differ). Members that are no column are checked, and left out unless
// JSONOptions.Unknown says otherwise. A column that the object does not have has its
// default (Field.Default), or is null; one that it has as null is null. Where such a column is required, the record is bad. A tombstone (no value at all) is ErrFiltered; a value of no bytes is bad.
//
// What a value must be; everything else is refused, nothing wraps, is cut or is guessed:
//
//	boolean        true, false
//	int, long      a number that is exactly an integer in range, however it is written: 7, 7.0, 70e-1
//	float, double  a number with a point or an exponent: the nearest one of 32 or 64 bits, rounded once. Too large is bad; too
//	               small is 0. No NaN and no infinities, JSON has none. An integer where all its digits are kept, also beyond
//	               2^53; or where it is the shortest that tells the value, as JavaScript writes it: 9223372036854776000
//	decimal(p,s)   a number, or text with a number's grammar: "12.340". Exact: zeros may be appended or dropped, a digit may
//	               not. Exponents are allowed
//	date           "2024-02-29", or a whole number of days since 1970-01-01. Years 1 to 9999
//	time           "12:34:56" with or without a fraction of up to microseconds. No number: its unit would be a guess
//	timestamptz    "2024-02-29T12:34:56.789+01:00" (RFC 3339, with offset; T may be t or a space, Z may be z), or a whole
//	               number of milliseconds since 1970. Years 1 to 9999, which also catches numbers in microseconds
//	timestamp      as timestamptz, but text must be without an offset, and is taken as it stands
//	timestamp_ns, timestamptz_ns
//	               the same with fractions of up to nanoseconds; 1677-09-21 to 2262-04-11
//	string         text
//	uuid           text of the form 8-4-4-4-12, in either case
//	fixed, binary  text in base64: the standard alphabet (+ and /), padded, without line breaks. Fixed: exactly its length
//	struct         an object, by the rules of the record's own
//	list           an array
//	unknown        null alone
//	map            an object; its keys are text as the key's type takes it (numbers and booleans as JSON writes them).
//	               Keys must differ as values of that type: "1" and "1.0" are one integer
//
// Digits of a fraction beyond the column's unit may be zeros only. There are no leap seconds and no hour 24.
//
// Strict: invalid UTF-8 anywhere, escapes of half a surrogate pair, control characters in strings, a byte order mark,
// numbers like 012, 1., .5, +1 or NaN, comments, trailing commas and anything behind the object make a record bad, also
// inside members that are no column. Values nested deeper than JSONOptions.MaxDepth are bad.
//
// A key that is there twice makes the record bad where it is a column's, a struct member's or a map's. Among members that
// are no column it is not looked for: they are not kept, so nothing depends on which one counts.
//
// Two shortcuts make the usual spelling fast, and never decide what is right. What stands between two values (comma, key,
// colon, blanks) is compared as a whole with what the last record had there (json_gap.go); a value is taken by its field's
// shortcut if it is written plainly, eight or sixteen bytes at a time (json_plain.go, words.go). What they do not take, the
// strict way reads anew (json_value.go and what it calls); it is the shortcuts' oracle in the fuzz tests.
//
// The first thing found wrong is reported: a value of the wrong type may hide broken JSON behind it.
//
// With NewJSONSchema a header with the id of a JSON Schema stands before the object. The id must be known; the object is not
// checked against the schema.
//
// # Avro
//
// A record's value is one Avro record, in the binary encoding and nothing behind it. With AvroOptions.Resolver it begins
// with a zero byte and the id of the schema that it was written with, four bytes, big endian (the wire format of
// Confluent's registry); with AvroOptions.Schema it has no header. Each field goes to the column of exactly its name (case
// counts, and a dot in a column's name is part of it); fields that are no column are checked and left out
// (AvroOptions.Unknown may refuse them). A column that the schema has no field for has its default, or
// is null; where it is required, the record is bad. A tombstone is ErrFiltered.
//
// What each type gives; everything else is refused before a record is read, naming the column (CodeSchema where the
// schema is known by a record's id only):
//
//	boolean                  boolean
//	int, long                int and long in range, whatever the logical type: the number as it stands. Without a logical
//	                         type also decimal; float and double where no digit is lost
//	float                    float, double. NaN and the infinities too
//	double                   double; float where no digit is lost. NaN and the infinities too
//	bytes                    binary; fixed of exactly its length; string where it is text
//	string                   string; binary (its UTF-8); uuid, decimal, date, time and timestamps in the forms that JSON's
//	                         text has
//	fixed                    fixed of its size; binary
//	enum                     string, its symbol
//	decimal (bytes, fixed)   decimal: exact, zeros may be appended or dropped, a digit may not
//	uuid                     uuid; else as the string or fixed that it is
//	date                     date of the years 1 to 9999
//	time-millis, -micros, -nanos
//	                         time of a day; parts of a microsecond are bad
//	timestamp-millis, -micros, -nanos
//	                         timestamptz (years 1 to 9999, parts of a microsecond are bad), timestamptz_ns (1677 to 2262)
//	local-timestamp-…        the same to timestamp and timestamp_ns; so does timestamp-… with adjust-to-utc false
//	duration                 fixed of 12 bytes, binary: its three numbers as they stand
//	record                   struct, by the rules of the record's own
//	array, map               list, map with text as its key; a key that is there twice makes the record bad
//	null and another         what the other gives, or null
//	union of several         where each branch gives the column's type, each by its own rule; else refused
//
// An int or long without a logical type is no date, time or timestamp: its unit would be a guess. Debezium's names for them
// (connect.name: io.debezium.time.MicroTimestamp and so on) count as local-timestamp-micros and so on, and its
// VariableScaleDecimal comes into a decimal. An instant
// (timestamp-…) is not taken for a column without a time zone, nor a local time for one with it. Logical types that are
// unknown, or stand on a type that can't have them, mean nothing, as Avro has it.
//
// With AvroOptions.Reader records are read as that schema says, by Avro's rules for schema resolution: fields and types
// are found by name and alias, int is promoted to long and so on, fields that were not written have their default, symbols
// that the reader does not know are its enum's default. Its logical types count, and its names are the columns'. What Avro
// would round on the way (a long read as a float) is bad.
//
// Strict: invalid UTF-8, a boolean that is neither 0 nor 1, branches and symbols that there are not, blocks of another size
// than they tell, numbers too long, lengths that are negative or reach beyond the record, and bytes behind it make the
// record bad, also in fields that are no column. Nothing is allocated for a length before the bytes are there; elements that
// take no byte (an array of nulls) are bounded by 4,096 a record. Recursive schemas, and those nested deeper than
// AvroOptions.MaxDepth, are refused. Where the record's schema has yet to be fetched, Map gives a *NotReadyError.
//
// # CSV
//
// A record's value is one record of CSV by RFC 4180, with or without the line's end. Its fields are named by
// CSVOptions.Columns in their order; or, with CSVOptions.Header, by a first line that each value brings along (a record must
// mean the same wherever reading begins, so nothing is taken from a record before). A header's names that are no column are
// left out; a column without a field is null, and where it is required, the record is bad.
//
// A field that begins with a quote ends at the next one; two quotes inside are one, and line ends inside are kept as they
// are. A field without quotes is taken as it stands, blanks included. It is null where it is exactly CSVOptions.Null, which is
// nothing by default: so an empty field is null and "" is an empty text. What a text must be is said under JSON: numbers and
// booleans as JSON writes them, the others as JSON's text. Structs, lists and maps can't be filled.
//
// Strict: invalid UTF-8, a byte order mark, a field too many or too few (CodeWidth), a quote inside a field that does not
// begin with one, anything behind a closing quote, a carriage return on its own outside of quotes, a second record, and blank
// lines beside the record make it bad. Where a record has one field, a line end alone is that field, empty. A tombstone is
// ErrFiltered; a value of no bytes is bad.
//
// # Raw
//
// NewRaw puts the whole value into one column, as it stands: binary, string (it must be UTF-8) or fixed (exactly its length).
//
// # Key, headers, metadata and constants
//
// Compose fills a row from several parts of a record: the value, by any format's mapper, for the columns that are left; the
// key, by a mapper of its own; and what Parts names: topic, partition, offset, timestamp, headers, constants. Each part is an
// ordinary mapper for its own columns, so all of them cost one call a record. A member of the value that has the name of a
// column which another part fills is a member that is no column.
//
// Where a column tells the topic or the partition, the mapper must be told with SetPartition, as the writer does.
package mapper
