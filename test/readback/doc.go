// Command readback writes the tables that engines other than floe read back (.ci/cells): every value that docs/types.md
// says is taken, through mapper and writer into Parquet and Iceberg.
//
//	go run ./test/readback DIR
//
// DIR gets an SQLite catalog (catalog.db) and its warehouse. Namespace "types" has a table for each type; cells.jsonl
// names, for each row, what the value must be. Namespace "parts" has a table for each type and each partition transform
// that takes it, with the same values and nulls; tables.jsonl names them all. What an engine finds in these with a filter
// must be what the filter gives on all rows.
package main
