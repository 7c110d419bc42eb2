// Package memory is a source that lives in the process: for tests, for examples, and for embedders who produce their
// records themselves.
//
// A Log holds topics and their records; it outlives the sources that read it, so that a topology can be ended and
// started again on the same records. A Source reads a log.
//
//	log := memory.NewLog()
//	log.CreateTopic("orders", 2)
//	log.AppendValues("orders", 0, []byte(`{"id":1}`), []byte(`{"id":2}`))
//	log.Close() // end of input: Run returns once everything was delivered
//	src := log.Source(memory.Options{})
//
// Records are delivered from one goroutine, partitions take turns, and nothing waits on a clock, so a run is
// deterministic and works under testing/synctest.
//
// # Invariants
//
//   - A position, once given to a record or skipped, is never used again in the same incarnation of a topic.
//   - A batch that Deliver refused because an assignment changed meanwhile is delivered again, unless its partition
//     was lost.
//   - An unreplayable source opens a partition where its acks ended and ignores the position it is given.
package memory
