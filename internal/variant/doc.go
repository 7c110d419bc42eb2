// Package variant encodes values of no fixed shape in Parquet's variant binary form (its specification of the encoding, version 1):
// metadata, which are the keys of the objects, and the value. The encoder is arrow-go's; this package keeps its types away from the
// mapper, and decodes for tests.
//
// A Builder encodes one value and is thrown away: one that is reset keeps the size of its old keys (arrow-go 18.8). It belongs to one
// goroutine.
package variant
