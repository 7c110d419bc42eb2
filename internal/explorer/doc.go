// Package explorer runs randomised schedules over whole topologies in the process, and looks for one that loses a row,
// doubles it, acknowledges too early, or comes to a standstill.
//
//	s := explorer.Generate(seed)
//	found := explorer.Run(t, s)          // in a bubble of its own: an hour of backoff costs nothing
//	if found != nil {
//		s, found = explorer.Shrink(t, s, found) // the shortest schedule that still does it
//		t.Errorf("%v\n%s", found, s)            // a literal, ready to become a named test
//	}
//
// A schedule is a list of events: records are produced, up to three processes are started, killed, frozen, given
// partitions and robbed of them, the catalog and the storage fail in one way or another, other engines and people change
// the table, and time passes. Every effect of a process takes a few milliseconds of virtual time, drawn from the seed, so
// that events fall between any two of them. An event that makes no sense where it comes is skipped, so that any part of a
// schedule is a schedule.
//
// # What is looked at
//
// Whenever the branch's head has moved, by whomever: the rows are exactly those of the records below the positions, each
// once for each topology, with its payload (audit.go). At each acknowledgement: the table has held what is acknowledged.
// After the last event everything is mended, and then what still runs must catch up by itself, end when it is told to, and
// end with an error only where the schedule gives a reason; one more life without faults must catch up for each topology;
// and the table's history must satisfy the checker of internal/proof, which shares no code with floe.
//
// Where floe must stop and ask (a rollback to before its first commit, a cherry-picked snapshot), the explorer answers as a
// person would who knows what the rows are.
//
// # How it is run
//
//	go test ./internal/explorer                                     some from a fixed seed, as many from a fresh one
//	go test ./internal/explorer -run Explore -v -args -for 5m       the long tier, with counts of what was done
//	go test ./internal/explorer -run Explore -v -args -schedules 1 -seed 4711 -show    one again, with its log
//
// -keep goes on after a schedule that fails, -shrink=false leaves it as long as it is, -trace prints each seed before it runs,
// for one that takes the process down.
//
// # What is out of bounds
//
// Nobody can promise anything where a request is under way for longer than files are safe, or where the branch is set back
// to the base of one that is, and the clean-up then takes files of what had landed. The explorer does not do these
// (heldUp, sending); package committer names the limit.
//
// # What is not deterministic
//
// Commit ids, snapshot ids, the jitter of backoffs, and the order in which goroutines run that are ready at the same time.
// A seed that failed once usually fails again, not always: Shrink tries each candidate several times.
package explorer
