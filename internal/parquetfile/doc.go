// Package parquetfile writes Parquet files straight from typed columns.
//
//	layout, err := parquetfile.NewLayout(rows, schema)
//	enc := parquetfile.NewEncoder(16 << 20) // one a goroutine
//	f := enc.NewFile(layout, &options, dict, w)
//	err = f.Write(columns, 0, columns.Rows)
//	stats, err := f.Finish()
//
// arrow-go's writer takes an object a row for a dictionary, and several times the work; it is the oracle of the tests.
// Its schema is used, and its codecs but for zstd.
//
// # Encodings
//
// Values are PLAIN, RLE_DICTIONARY, or DELTA_BINARY_PACKED for integers, dates and times; booleans are PLAIN. A page ends
// before the row with which it would pass Options.PageBytes. Data pages are of version 1 or 2. There are no page indexes
// and no statistics of pages; a row group has statistics of each leaf: nulls, and bounds where no value is longer than
// 4 KiB. A Bloom filter lies behind the row group it belongs to.
//
// # Memory
//
// An open row group holds its finished pages, compressed, and a page a leaf that is being filled. All buffers come from
// the Encoder's pool and go back to it; nothing is allocated for a row. Encoder.Memory and File.Memory count them.
//
// # Invariants
//
//   - A File belongs to its Encoder's goroutine. Nothing runs beside it, and no channel is shared with another Encoder.
//   - Columns are read in place, and only during a call.
//   - The machine is little endian, as Arrow's layout has it.
package parquetfile
