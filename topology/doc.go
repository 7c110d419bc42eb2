// Package topology builds a pipeline and runs it: a source, writer tasks and the committer of one table.
//
//	t, err := topology.New(topology.Config{
//		Name:   "orders",
//		Source: src,    // package source/kafka or source/memory
//		Mapper: m,      // package mapper
//		Table:  topology.LoadFrom(cat, "db", "orders"), // cat is a catalog of iceberg-go
//	})
//	if err != nil { … }
//	err = t.Run(ctx) // until ctx ends
//
// New validates and starts nothing; Run owns every goroutine and returns when all have ended.
//
// # The way of a record
//
// The source calls the topology as its source.Handler. Assigned settles what an earlier life left in the WAL, reads the
// table's positions, records a first position for every partition that has none, and opens each partition where the
// table stands: what the consumer group says decides nothing. Deliver hands a batch to the one writer task that its
// partition is pinned to, over a bounded queue. The task appends it to its open batch, seals when a threshold is
// crossed, and submits the descriptor. When the committer answers that it landed, the source is told (Ack).
//
// # Goroutines
//
// One per writer task, which owns its writer.Task and all that is known of its partitions; what others want of it
// arrives as a function on its control channel. A second one per task waits in Committer.Submit in its stead, so that a
// stalled committer never keeps a task from giving up a partition. One acknowledges, one looks whether the table was
// rolled back while the stream is quiet, one per committer commits.
//
// # Rewinds
//
// The table is the truth. When a descriptor turns out to be stale, its task drops its open batch and everything of it
// that is in flight, reads the table's positions afresh and makes the source deliver from there. A failure to write a
// file drops the open batch alone. Neither loses or doubles a row, because a descriptor is only ever committed where
// the table stands at its beginning.
//
// # Rejects
//
// With Config.Rejects a record that can't become a row goes to that table, whole, and the stream goes on: the files of rejects
// are part of the batch, and the committer appends them to their table once the commit that passed them has landed.
// Config.RejectLimit stops the topology when there are too many: by default when more than half of the first 1,000 records
// are rejects. Then what is open is not committed, since it is rather the configuration that is wrong.
//
// # Sources without positions
//
// A source that declares itself not replayable gets at-least-once delivery: its batches go round-robin to the tasks,
// and a batch is acknowledged when it, and all of its partition before it, is in the table. What is not acknowledged
// must be redelivered by the source; Reopen tells it to do so at once.
//
// # Stages
//
// WriterStage, CommitterStage and Sink are the same parts for somebody else's engine, which brings the records itself.
package topology
