// Package protocol holds the decisions of the commit protocol as pure functions on plain values: no catalog, no files, no
// clock. What surrounds them (package committer) fetches facts and carries decisions out; every decision is made here, so
// that the functions which a test explores through all their states are the very ones that run.
//
// They are:
//
//   - Find: which positions does this table hold? (a walk of the branch's history)
//   - Judge, JudgeGroup: what becomes of a sealed batch, given positions?
//   - AfterLook: what did an attempt mean whose answer was an error, now that the table has been looked at again?
//   - JudgeEntry: what becomes of a WAL entry that an earlier life left behind?
//   - Holds, Fits, Replaceable: does the rejects table hold what a commit passed, how many rejects may wait for it, and may a
//     replay take the place of some?
//
// The invariants they hold: a batch is committed only where the table's position equals the start of each of its ranges,
// an unknown answer is never taken for a verdict, files of a commit that was rolled back are never used again, and a file
// is deleted only by proof that no attempt by anyone can still make it visible.
package protocol
