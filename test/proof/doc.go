// Command proof shows that floe writes each record into the table once, whatever happens to its processes: it produces
// records that can be computed from their partition and offset, kills floe while it works, and compares the table and every
// snapshot of its history with what was produced.
//
//	go run ./test/proof soak                    nothing but Go: an in-process broker, an SQLite catalog, a local warehouse
//	go run ./test/proof soak --brokers HOST:PORT --catalog type=rest --catalog uri=http://HOST:PORT --kills 1000
//	go run -tags cloud ./test/proof faults      on Kafka, REST catalog and S3, which it starts and breaks, one fault a minute
//	go run ./test/proof produce ...             the records alone, into a topic
//	go run ./test/proof check ... CONFIG        the checker alone, on the table of a configuration of floe run
//	go run ./test/proof proxy ...               a proxy that loses a catalog's answers
//
// Catalogs and storage beside SQLite, Postgres and local files need -tags cloud, as floe itself does.
//
// # How a soak goes
//
// A soak is a sequence of rounds. Each has a topic and a table of its own, and a shape (partitioning, grouping, number of
// writer tasks) drawn from its seed. A producer with transactions, some of them aborted, writes without a pause; two
// replicas of `floe run`, real processes in one consumer group, bring the records into the table. A killer waits for signs
// of life (the process runs, has partitions, has committed) and a random moment, and sends SIGKILL; now and then SIGTERM; or
// SIGSTOP, and SIGCONT when the group has long given the partitions away: a zombie. What ended is started again. Every few
// kills the table is checked while everything runs. At the end of a round floe catches up, and the table with all its
// history is checked against everything that was produced.
//
// A fault run is one such round on real services, with longer intervals: in each turn floe is killed or stopped, the broker or the
// catalog is killed and started again, the store is away, hangs, is slow, or answers get lost. Each turn waits until both
// replicas have committed again. The replica that is never killed shows whether memory stays flat.
//
// A process that ends though nobody ended it, one that gives another exit code than it should, and a time without a commit are
// findings, too. The seed is printed: it repeats the order of the faults, not the scheduling of the operating system.
package main
