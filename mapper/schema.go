package mapper

// Kind is the type of a column, in Iceberg's words.
type Kind uint8

// The kinds, with the buffer of Column that holds their values.
const (
	Invalid        Kind = iota
	Boolean             // Bits
	Int                 // I32
	Long                // I64
	Float               // F32
	Double              // F64
	Decimal             // Data, 16 bytes a value: two's complement, little endian (Arrow's decimal128)
	Date                // I32, days since 1970-01-01
	Time                // I64, microseconds since midnight
	Timestamp           // I64, microseconds since the epoch, no zone
	TimestampTz         // I64, microseconds since the epoch, UTC
	TimestampNs         // I64, nanoseconds since the epoch, no zone (format version 3)
	TimestampTzNs       // I64, nanoseconds since the epoch, UTC (format version 3)
	String              // Off and Data, valid UTF-8
	UUID                // Data, 16 bytes a value, big endian
	Fixed               // Data, Length bytes a value
	Binary              // Off and Data
	Struct              // Kids
	List                // Off, Kids[0] is the element
	Map                 // Off, Kids[0] is the key, Kids[1] the value
)

// Field is a column, or a member of a nested type.
type Field struct {
	// ID is the Iceberg field id.
	ID   int
	Name string
	Type Type
	// Required columns hold no null: a record without a value for one is bad.
	Required bool
}

// Type is a column's type.
type Type struct {
	Kind Kind
	// Precision and Scale belong to Decimal: 1 to 38, and 0 to Precision.
	Precision, Scale int
	// Length belongs to Fixed: bytes a value.
	Length int
	// Fields are the members of a Struct; the element of a List ("element"); the key and the value of a Map.
	Fields []Field
}

// Schema is the row type that records are mapped to.
type Schema struct {
	// ID is the Iceberg schema id.
	ID     int
	Fields []Field
}
