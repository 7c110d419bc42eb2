// Package bench measures floe from end to end: from a broker that holds the records to the last visible row, commits
// included, by the code that `floe run` runs.
//
//	res, err := bench.Run(ctx, bench.Options{Workload: "a", Records: 5_000_000, Broker: child, Runner: r})
//
// # What is measured
//
// The broker is a process of its own (Serve is what runs in it): the same binary, started as a child, which makes the
// records, packs them into batches and holds them before the clock starts. So CPU time, memory and allocations of the
// measuring process are those of the sink. With a real broker the child only produces.
//
// A warm-up reads the first records of the topic into a table of its own and is thrown away. Then the clock starts with
// the topology and ends with the last commit; what was read is all that the topic holds. CPU time and allocations are
// those of the whole process between the two, the end of the topology included. At the end the ids in the table are
// compared with those that were produced.
//
// # Records
//
// A record is a pure function of the workload, the seed and its number, and so is its place: batch n of a fixed size goes
// to partition n modulo the number of partitions. Two runs with the same settings read the same bytes.
//
// # The child ends with its parent
//
// It lives until its standard input is at its end, which the operating system sees to however the parent ends, and
// ignores the signals of a terminal, which reach it together with the parent.
package bench
