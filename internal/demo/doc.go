// Package demo is floe's first minute: an in-process Kafka broker, an SQLite catalog and a local warehouse in one
// folder, events produced into the broker, the real topology run over the real protocol, and at the end a look at every
// row of the table.
//
//	out, err := demo.Run(ctx, demo.Options{Dir: "d", Records: 100_000, Runner: r})
//
// # The folder
//
//	D/broker/     the records and the broker's own state
//	D/catalog.db  the SQLite catalog
//	D/warehouse/  the table demo.events: data, metadata and WAL
//	D/floe.yaml   the configuration that was run
//	D/demo.json   what a second run goes on from: the number of records and the broker's port
//
// # Each event once, whatever is killed
//
// An event is a pure function of its partition and offset. How far a partition was produced is asked of the broker and
// kept nowhere else, so a producer that was killed goes on with the event that belongs at the log's end. The broker
// writes a batch to its segment file before it acknowledges or serves it, and drops a torn tail when it starts: kill -9
// loses nothing that anybody has seen. (A power failure can: the files are not synced for each batch. What is missing is
// produced again, before the topology starts, and is the same.) The cluster's id and the topic's id are in files that
// are replaced atomically.
package demo
