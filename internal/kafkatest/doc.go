// Package kafkatest gives tests an in-process Kafka and ways to fill it: plain records, transactions that are committed
// or aborted, all codecs, and what an operator does to topics.
//
//	k := kafkatest.Start(t, kafkatest.Options{})
//	k.CreateTopic("orders", 2)
//	k.Produce("orders", 0, kafkatest.Values(0, 100)...)
//
// It belongs to tests: every failure ends the test.
package kafkatest
