// Package kafka reads Kafka topics as a source.Source. It is the only package that knows kafka-go.
//
//	src, err := kafka.New(kafka.Config{
//		Brokers: []string{"localhost:9092"},
//		Topics:  []string{"orders"},
//		Group:   "floe-orders",
//	})
//
// # A record's way
//
//   - kafka-go's ConsumerGroup gives the assignment, a Generation. The source asks the handler where to open each
//     partition; the group's offsets decide nothing.
//   - One fetch loop per broker asks for all its owned partitions in one request that waits on the broker until there
//     is something (long poll).
//   - The answer is read straight from the socket: each partition's record set into one pooled buffer. Record batches
//     are checked (CRC32C), decompressed into pooled memory and parsed in place; nothing is allocated per record.
//   - Records of aborted transactions and control records are dropped, but their offsets are inside the batch's range.
//     A batch without a record still moves the position, so that a trailing marker does not hold it back.
//   - Ack remembers the ends; one goroutine commits the newest of them to the group.
//
// # What bounds it
//
// CPU time of reading JSON records of 143 bytes from lz4 batches: about half decompression, a quarter parsing, the rest socket and
// checksum; it hardly depends on the number of partitions. zstd takes two to three times as long as lz4 and gzip five times; no
// codec at all takes the least CPU time and the most of the network.
//
// Each broker has one goroutine and one connection: while it works through an answer, what its reader has delivered is being
// written by others, and the broker's next answer is not on its way yet. An answer has up to FetchMaxBytes and
// PartitionMaxBytes of each partition, so that with one partition and a broker far away a larger PartitionMaxBytes hides more
// of the round trip. Memory is bounded by MaxBufferedBytes whatever the number of partitions, since one record set at a time is
// read from a connection; one decompressed record batch per broker, of up to MaxRecordBatchBytes, may come on top.
//
// # Identity of a topic
//
// Kafka's topic id (brokers from 2.8 on) is a partition's Incarnation. Fetch requests name the topic by its id where the
// broker can do that (version 13, Kafka 3.1): a topic that was deleted and made again then can't be mistaken for the old
// one, not even between two looks at the metadata. Brokers of 2.8 to 3.0 give ids, but are asked by name: there a new
// incarnation is found when the metadata is looked at, before the first fetch and each MetadataInterval. Older brokers give no id: Incarnation is empty and a recreated topic is
// only noticed when the wanted position is outside its log. There a partition's leader epoch going backwards is a hint;
// it is logged, not acted upon, since brokers with stale metadata show it too.
//
// # Logs that lose records
//
// A position below the log's start or above its end stops its partition with a source.PositionError; so does an answer that begins
// behind the position because the head of the log went while the broker read it. Nothing is ever read from elsewhere instead.
//
// A leader that was elected without being in sync, or that lost what it had not written to its disk, may end below what
// was read, and then grow beyond it with other records. Brokers from Kafka 3.1 on are told with each fetch in which leader epoch
// the record before the position was written, and say where the log went another way: the partition stops. The process knows this
// of what it has read itself, over rebalances too. Where the log was cut off and has grown again beyond the table's position before
// another process opens the partition (a replica, or the next life), or where the broker is older, it can't be told from a log that
// merely grew: what is there from the position on is read. No record of the table is read again, and none of what replaced it comes.
//
// # Rebalancing
//
// Only eager rebalancing, without static membership: that is what kafka-go's group offers. When a generation ends,
// kafka-go's own heartbeats have ended too, but the broker keeps the member until its session times out and takes its
// commits until the next generation begins. So the source goes on sending heartbeats of its own while Revoked runs, commits the last acks, and
// only then lets the group join again. Revoked has until RebalanceTimeout; where the broker says that the member is
// already out, its context ends at once and nothing is committed any more.
//
// While a subscribed topic is missing, kafka-go's group leader hands out no partition at all. So a member that saw a topic
// vanish joins anew without it at the end of its generation, and again when the topic is back.
//
// A follower that joins again because it saw new partitions gets its old assignment back until the group's leader sees them too (within
// MetadataInterval). A topic that a pattern finds needs another subscription: the source leaves the group and joins anew.
//
// The leader of a group lets kafka-go list the partitions of the subscribed topics by a request that also makes missing topics,
// where the broker has auto.create.topics.enable. A topic deleted while it is being read may come back that way, empty and
// with another id.
//
// # Limits
//
// Kafka 0.11 or later. Record sets in the old message formats (v0, v1) are refused with a RecordError that names the
// place: brokers convert or have converted them since 0.11, except for topics pinned by log.message.format.version.
package kafka
