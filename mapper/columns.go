package mapper

// Columns are the typed buffers of rows of one schema. Rows are appended, taken back to a mark, moved by row numbers,
// and the buffers are reused after Reset. They belong to one goroutine.
type Columns struct {
	Schema *Schema
	// Cols are in the schema's order.
	Cols []*Column
	// Rows is the number of complete rows.
	Rows int
}

// Column is the buffer of one column: which of the slices is used depends on the kind.
type Column struct {
	Field *Field
	// Len is the number of values, nulls included.
	Len int
	// Valid has bit i set where value i is not null (least significant bit first, as Arrow); it always spans Len bits.
	Valid []byte
	// Nulls counts the nulls among the values.
	Nulls int

	Bits []byte    // Boolean: a bit a value
	I32  []int32   // Int, Date
	I64  []int64   // Long, Time, timestamps
	F32  []float32 // Float
	F64  []float64 // Double
	// Off has Len+1 entries into Data (String, Binary) or into Kids (List, Map).
	Off  []int32
	Data []byte
	Kids []*Column
}
