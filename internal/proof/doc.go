// Package proof compares an Iceberg table with what was produced into it: which rows are lost, doubled or altered, and which
// snapshot did it.
//
//	r, err := proof.Check(ctx, tbl, truth, proof.Options{Topologies: []string{"orders"}, Topic: "orders", Partitions: 8, Whole: true})
//	if err == nil {
//		err = r.Err()
//	}
//
// # What it reads
//
// A row says of which record it is: the columns part (int), off (long) and payload (string); others are not looked at. Where
// the topologies stand is read from the snapshots' summaries. The checker knows floe by its formats alone and shares no code
// with it; manifest lists and manifests it reads by itself, too, and not with the library that floe writes them by.
//
// # What it holds
//
// The oldest retained snapshot of the branch has exactly the rows below its positions, once for each topology. Each later one
// changes the rows by what its positions moved: a floe append adds the rows of those ranges, each once and with its payload;
// anything else, a compaction by another engine, leaves every row there as often as it was. No position is lower than in
// the parent, and the counts beside the positions add up to the rows. So every snapshot of the history is right, and the one that is not is named.
//
// # Rejects
//
// CheckRejects compares a rejects table with what the truth says of the records that can't become a row: each once, whole, and
// with its code. What the positions count as rejects is held against the truth as well.
//
// # Positions that a person set
//
// After `floe positions set` a partition starts anew at its next position, in a snapshot without rows. With
// Options.SetByHand this is no finding, and what follows is judged from there.
package proof
