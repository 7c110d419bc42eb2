// Package rejects is the table that records go to which can't become a row: what it is made of, whether one that exists
// will do, and how a reject becomes a row of it.
//
//	made, err := rejects.Ensure(ctx, catalog, table.Identifier{"db", "orders_rejects"})
//	err = rejects.Check(tbl)
//	rows, err := rejects.NewRows(schema) // the row type of that table
//	err = rows.Append(&rejects.Reject{Topology: "orders", Partition: p, Record: rec, Err: bad, At: now, Batch: id}, columns)
//
// It is an ordinary, unpartitioned Iceberg table of format version 2 or later:
//
//	topology     string       required  the topology that refused the record
//	cluster      string                 the identity of the cluster, where the source has one
//	topic        string       required
//	incarnation  string                 the identity of the topic's life, where the source has one
//	partition    int          required
//	offset       long         required  the record's position
//	timestamp    timestamptz            the record's own time
//	key, value   binary                 the record's bytes, whole; null where it has none
//	headers      list<struct<key: required binary, value: binary>>
//	code         string       required  why, in a stable word (package mapper)
//	reason       string       required  why, in a sentence without contents
//	column       string                 the column that it failed at, null where the whole record is meant
//	rejected_at  timestamptz  required
//	batch        string       required  the UUID of the batch that refused it
//	replayed     string                 the commit id of the main table's commit that took the record in by a replay; null: none has
//
// Columns are found by name, and written by field id. Others may be added to the table, as long as they are optional.
// The contents of records are kept out of the manifests: key and value have counts there, and no bounds.
package rejects
