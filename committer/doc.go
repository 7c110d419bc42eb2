// Package committer makes sealed batches visible: group commit, contiguity, positions, the outcome of a commit, and the
// settlement of what an earlier life left behind.
//
//	c, err := committer.New(committer.Config{Topology: "orders", Interval: 5 * time.Second}, loader, log)
//	pos, err := c.Load(ctx)                // where the table stands; a *StopError asks a person
//	err = c.Settle(ctx, assigned)          // what an earlier life noted and did not finish
//	pos, err = c.Begin(ctx, starts)        // first positions of partitions the table does not know
//	go c.Run(ctx)
//	err = c.Submit(ctx, committer.Submission{Descriptor: d, Owner: "writer/0", Epoch: 1, Done: answer})
//
// # What it promises
//
// A batch becomes visible in one snapshot together with the positions behind it, or not at all. It is committed only where
// the table's position equals the start of each of its ranges, on metadata loaded for that attempt, by a request that the
// catalog refuses if the branch's head or the table is no longer the one just checked. So neither a crash, nor a second
// instance under the same name, nor a request that arrives late can lose a row or write it twice.
//
// An error is no verdict. After any answer but yes, the table is loaded again: if the commit id is on the branch, it landed
// (for the batches that the positions cover); if the positions have passed a batch, it is superseded; if the commit id is
// on a retained snapshot off the branch, it landed and was rolled back, and its files are never used again; otherwise the
// same files are sent again, pinned to the head just seen. A catalog that is away is waited for, for ever and never
// silently: nothing is dropped, nothing is read again, and Submit holds the writers back.
//
// Before an attempt every data file is looked at, so that what the storage lost, or somebody's clean-up took, is read again
// instead of made visible. After a commit that landed late they are looked at once more: a snapshot that names what is gone
// is a *StopError with the way out. No file is deleted that a retained snapshot of any branch names.
//
// These decisions are functions in internal/protocol. This package fetches what they judge and carries them out.
//
// # What is in the table
//
// Each commit's snapshot summary has storm.iceberg.commit-id, storm.iceberg.topology, storm.iceberg.instance,
// storm.iceberg.positions and, once every partition has shown a record time, storm.iceberg.valid-through-ms: the lowest of
// the partitions' highest record times. The same transaction sets the table property storm.iceberg.positions.<branch> to
// the same value with the id of the snapshot that it makes. The value is JSON:
//
//	{"v":1,"snapshot":4711,"topologies":{
//	  "orders":{"cluster":"5L6g3nSh","topics":{
//	    "orders":{"incarnation":"AAAB","next":[[120,2],98],"skipped":[2,[0,2]],"latest":1700000000000,"behind":[0,5,0]}}},
//	  "billing":{"unclear":true}}}
//
// Lists are indexed by partition number and run-length coded: an element is a number or [number, how often], null is a
// partition without a position. next is the next position, start where the partition was first read, rejects, filtered and
// skipped are cumulative counts; a list of zeros is left out, and rows are what is left: start + rows + rejects + filtered
// + skipped is next. latest is the highest record time, behind how far each partition's own lies below it. "snapshot" is in
// the property alone. An unknown version is refused.
//
// A commit carries the entries of all topologies forward from its base, byte for byte, so that the newest value on a line
// of history is complete, and a property lists every topology that ever committed to its branch. Where a topology's place
// could not be told when another one committed (a rollback to before its first commit, a cherry-pick, lost history), its
// entry says "unclear", so that the new commit does not hide the reason to ask.
//
// # Rejects
//
// Records that can't become rows are files of a second table, the rejects table. The commit that passes them names the files in
// its topology's outbox, a part of the positions value that every commit carries forward:
//
//	"outbox":[{"commit":"…","seq":12,"at":1700000000000,"table":"…","files":[{"path":"…","rows":3,"bytes":2048}]}]
//
// Run's finisher, and whoever else finds an outbox, appends what the rejects table does not hold, under the commit's id and
// pinned to the head that was searched for it. The process that has seen it there takes it off with its next commit. What the
// rejects table holds it says in each snapshot that floe makes, and in a property: docs/formats.md has the bytes,
// docs/adr/0009-rejects.md why they are bounded. It is away: the stream goes on until the outbox is full. It can't be told
// what it holds: nothing is appended, Observer.Outbox says why, and AnswerRejects is a person's answer. It is another table than
// the one an entry was written for: Run ends with a *StopError until AnswerRejects has settled that.
//
// # Limits
//
// If somebody sets the branch back to the very base of a request that is still on its way (requests have deadlines:
// seconds), it can land after its own retry was rolled back. The rows are right, but an expiry that deletes what the
// rolled-back snapshot added could take their file.
//
// iceberg-go writes the files of one spec into one manifest, so a file of the partition value "" can't be given a manifest
// of its own here, where its null bound would hide no other file. What is done about such values is up to the writer.
//
// A catalog that refuses table properties refuses every commit, with its own words, unless Config.NoProperty is set.
package committer
