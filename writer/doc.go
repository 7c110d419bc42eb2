// Package writer turns records into Parquet data files of an Iceberg table, and seals them into descriptors.
//
// A Task belongs to one goroutine:
//
//	task, err := writer.New(writer.Config{Topology: "orders", Mapper: factory})
//	task.Use(tbl)
//	task.Open(ctx, positions)
//	for batch := range batches {
//		for done := false; !done; {
//			done, err = task.Append(ctx, batch) // err: see Append
//			if task.Due(time.Now()) {
//				d, err := task.Seal(ctx) // hand d to the committer
//			}
//		}
//		batch.Release()
//	}
//
// # A record's way
//
// Records are mapped into the stage, a few thousand rows of typed columns. For a partitioned table the partition tuple
// of each row is computed column by column, and the rows are copied to the columns of their partition, where they wait
// until they are worth a page. For an unpartitioned table the stage itself goes to the Parquet encoder. The encoder (package
// parquetfile) reads the columns in place. A file is made on the storage when it has grown to 256 KiB, or when the
// batch is sealed.
//
// # Bounds
//
// What a task holds is measured after each stage: columns, open row groups, what waits to be written. Beyond
// MaxBufferedBytes the largest partitions are written out as row groups of their own, and where that no longer helps,
// their files are closed early: more partitions make more and smaller files, never more memory. The same goes for
// MaxOpenFiles.
//
// # Invariants
//
//   - All files of a batch are written against one schema, spec and set of properties.
//   - When Seal returns a descriptor its files are closed, and durable as far as the table's FileIO makes them so; their
//     rows are exactly the records in the descriptor's ranges that the mapper made rows of.
//   - A file name holds the batch's UUID, which is the descriptor's ID: no file is ever overwritten.
//   - After a failure nothing of the batch is used: Discard removes its files, and its records are read again.
//
// # Rejects
//
// With Config.Rejects a record that can't become a row, because of the mapper or because of its partition value, becomes a row
// of the rejects table (package internal/rejects), whole, in a file of its own beside the batch's data files, and the batch
// goes on. It counts for the thresholds. A batch has few files of rejects: beyond that it is sealed. They are durable when
// Seal returns, and the descriptor names them; nothing of them is made before the first reject. Records that do not fit
// columns of 2 GiB stop Append still.
//
// # Parquet
//
// The table's write properties decide. Where they say nothing: zstd level 1; a dictionary only on columns whose first
// rows have few distinct values; DELTA_BINARY_PACKED for integers, dates and times; pages of 120 KiB; row groups of 256k
// rows or 128 MiB, or half of MaxBufferedBytes where that is less. Iceberg's own vectorized reader (Spark) knows the delta
// encoding from version 1.11 on: for older ones set write.parquet.page-version to v1, and integers are written plain.
// A dictionary that the first page shows not to pay is given up. Sizes and limits are exact: a page or a row group ends
// before the row with which it would pass one.
//
// Partition folders are escaped as Iceberg does, but with a tilde for the percent sign, so that no file system decodes
// them; folders longer than file systems take are cut and end in a hash.
//
// # Metrics in the manifest
//
// Counts and bounds are taken from the columns as they are written. Bounds of text end at a code point, and an upper
// bound that was cut is raised so that it is no lower than any value; where that can't be done there is none. NaN is
// never a bound. A bound of zero is the zero that all engines agree on, -0.0 below and 0.0 above. Leaves below lists and
// maps have counts, but no bounds.
//
// # Partition values
//
// An empty text or binary value in an identity or truncate partition is refused (code "partition_value"): manifest lists
// as iceberg-go writes them have no bound for it, so that readers would skip the row and its neighbours.
package writer
