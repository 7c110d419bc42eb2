// Package harness runs whole topologies in the process, on a memory source, an in-memory catalog and in-memory files, and
// compares what their table holds with what was produced.
//
//	w := harness.New(t, harness.Shape{Partitions: 3})
//	w.Produce(100)
//	plan := fault.New(fault.At(17, fault.Crash))
//	w.Live(t, w.Config(plan), plan)            // dies at the seventeenth external effect
//	w.CatchUp(t, w.Config(nil))                // the next life
//	w.Check(t)                                 // every record once, in every snapshot
//
// A World is what is durable: the source's log, the catalog and the files. A life is a topology on it; a fault.Plan
// between the two makes it die or its requests fail.
//
// # What Check holds
//
// In every snapshot of the branch's history, for each topology: the rows are exactly those of the records below the
// positions that the snapshot carries, each once and with its payload, and no position is lower than in the parent. Package
// proof says it; here it is fed with the world's log.
//
// Where there is a rejects table: what the commits on main's line have passed as rejects is live in it once, or waits in the
// outbox of the head, and is exactly the records below the positions that can't become rows; and no other file is in it but those
// of commits that were rolled back.
//
// # What its tests go through
//
// A life ends at step k for every k, from five beginnings (an empty table, and what an earlier life can leave in the WAL), in
// ten shapes (one and three writers, by partition and by fields, split and one-stage, and the stages for other engines), and
// a second one at step j of the next life. Each commit of a run ends in each way: its answer is lost, it is not applied, it
// is applied late, at fourteen moments of this life and the next. `go test` takes a sample of this, another one each time,
// with each kind of effect and each outcome in it;
//
//	go test ./internal/harness -run 'TestCrash|TestTwoCrashes|TestEvery' -v -timeout 30m -args -every
//
// takes all, and prints tables of counts. -seed repeats a sample that failed.
package harness
