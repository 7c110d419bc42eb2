package variant

import (
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet/variant"
)

// Field is a key of an object that is being built, and where its value begins.
type Field = variant.FieldEntry

// Builder builds one value. Its methods append a value, or begin a part of one; none of them keeps the text that it is given, but
// for NextField. The zero value is ready. Appending can't fail: all of it goes to memory.
type Builder struct{ to variant.Builder }

// Null appends the null of variants, which is inside of arrays and objects.
func (b *Builder) Null() { _ = b.to.AppendNull() }

// Bool appends a boolean.
func (b *Builder) Bool(v bool) { _ = b.to.AppendBool(v) }

// String appends a text, in UTF-8.
func (b *Builder) String(v string) { _ = b.to.AppendString(v) }

// Int appends an integer in the least width that holds it.
func (b *Builder) Int(v int64) { _ = b.to.AppendInt(v) }

// Double appends a double.
func (b *Builder) Double(v float64) { _ = b.to.AppendFloat64(v) }

// Decimal appends the unscaled number hi:lo, in two's complement and of so many digits, in the least width. digits and scale are 38
// at most.
func (b *Builder) Decimal(hi, lo uint64, digits, scale int) {
	switch n := max(digits, scale); {
	case n <= 9:
		_ = b.to.AppendDecimal4(uint8(scale), decimal.Decimal32(int32(lo)))
	case n <= 18:
		_ = b.to.AppendDecimal8(uint8(scale), decimal.Decimal64(int64(lo)))
	default:
		_ = b.to.AppendDecimal16(uint8(scale), decimal128.New(int64(hi), lo))
	}
}

// Offset is where the next value begins: what FinishArray and FinishObject want of their beginning.
func (b *Builder) Offset() int { return b.to.Offset() }

// NextElement begins an element of the array that began at start, and gives what FinishArray wants of it.
func (b *Builder) NextElement(start int) int { return b.to.NextElement(start) }

// NextField begins a member of the object that began at start. It keeps key.
func (b *Builder) NextField(start int, key string) Field { return b.to.NextField(start, key) }

// FinishArray ends an array.
func (b *Builder) FinishArray(start int, elements []int) { _ = b.to.FinishArray(start, elements) }

// FinishObject ends an object. false: a key is there twice.
func (b *Builder) FinishObject(start int, fields []Field) bool {
	return b.to.FinishObject(start, fields) == nil
}

// Build gives both parts, which are valid until the builder is used again. The error says that there are more keys than the form
// has room for.
func (b *Builder) Build() (metadata, value []byte, err error) {
	v, err := b.to.Build()
	return v.Metadata().Bytes(), v.Bytes(), err
}
