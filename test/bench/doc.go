// Command bench makes tables and plots of what floe bench measures, and holds floe's memory under a steady load.
//
//	go run ./test/bench table --out runs.jsonl       runs floe bench for each row of the scaling table, prints the table
//	go run ./test/bench print runs.jsonl             the table of runs that were made
//	go run ./test/bench plot runs.jsonl > plot.svg   their plot
//	go run ./test/bench steady --for 30m --rate 100000
//
// # The scaling table
//
// Each group of rows turns one thing and leaves the rest: the workload, the writers, Kafka's partitions, Iceberg's partitions,
// the snapshots before, the size of a record. A figure is the median over the runs; a ratio is to the group's base row. The
// runs of a group's rows alternate, so that what else the machine does falls on all of them.
//
// # Steady
//
// A broker gets records at a rate and forgets the old ones; `floe run` writes them, a process of its own whose resident set
// is read each second. It fails where the median of the last third of the time is more than 5 % above that of the second
// third, and where the peak is above --memory and --overhead together: memory bounds what floe counts and what Go's runtime
// holds, the overhead is for the pages of the binary itself and for what the runtime takes before it notices.
package main
