// Package source is the contract between floe and whatever records come from.
//
// A source is made of partitions: ordered streams, each addressed by positions. It hands over batches whose half-open
// ranges join up, tells its handler which partitions it owns, and can be opened again at a position. It knows nothing
// of tables, and floe knows nothing of the client library below it.
//
// Invariants every source keeps (package sourcetest checks them):
//
//   - within one opening of a partition, a batch's range starts where the range before it ended, and the first one
//     starts at the position the handler gave;
//   - a range may be wider than its records (markers, aborted and compacted records): nothing outside the records of a
//     range was readable in it;
//   - a batch is delivered only between Assigned and Revoked of its partition, one at a time per partition;
//   - after Revoked has returned, nothing of the partition is acked by this instance.
package source
