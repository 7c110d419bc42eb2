package kafka

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/stormfloe/floe/source"
)

func reader(b []byte) *wireReader { return &wireReader{r: bytes.NewReader(b), remain: len(b)} }

// response frames what kmsg encodes: correlation 9, tags where flexible.
func response(r kmsg.Response, flexible bool) []byte {
	b := []byte{0, 0, 0, 9}
	if flexible {
		b = append(b, 0)
	}
	return r.AppendTo(b)
}

func sampleMetadata(version int16) []byte {
	r := kmsg.NewPtrMetadataResponse()
	r.Version = version
	cluster := "the-cluster"
	r.ClusterID = &cluster
	r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "h", Port: 9092}, {NodeID: 2, Host: "::1", Port: 9093}}
	name := "topic"
	r.Topics = []kmsg.MetadataResponseTopic{{Topic: &name, TopicID: [16]byte{1, 2, 3}, Partitions: []kmsg.MetadataResponseTopicPartition{
		{Partition: 0, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1, 2}, ISR: []int32{1}},
		{Partition: 1, Leader: -1, LeaderEpoch: 5, ErrorCode: 5},
	}}}
	return response(r, true)
}

func TestReadMetadata(t *testing.T) {
	for version := int16(metadataFirstID); version <= metadataLastOwn; version++ {
		m, err := readMetadata(reader(sampleMetadata(version)), version, 9)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		topic := m.topics["topic"]
		if m.clusterID != "the-cluster" || m.brokers[2] != "[::1]:9093" || topic == nil || topic.incarnation() != "AQIDAAAAAAAAAAAAAAAAAA" {
			t.Fatalf("version %d: %+v", version, m)
		}
		if p := topic.parts[0]; p.leader != 1 || p.epoch != 4 || p.err != 0 {
			t.Errorf("version %d: partition 0 is %+v", version, p)
		}
		if p := topic.parts[1]; p.leader != -1 || p.err != 5 {
			t.Errorf("version %d: partition 1 is %+v", version, p)
		}
	}
	if _, err := readMetadata(reader(sampleMetadata(12)), 12, 8); err == nil {
		t.Error("the answer to another request was taken")
	}
}

func TestMetadataRequestIsReadByOthers(t *testing.T) {
	for version := int16(metadataFirstID); version <= metadataLastOwn; version++ {
		for _, topics := range [][]string{nil, {}, {"a", "b"}} {
			var w wireWriter
			b := encodeMetadata(&w, version, 9, "client", topics)
			var r kmsg.MetadataRequest
			r.Version = version
			body := b[4+2+2+4+2+len("client")+1:]
			if err := r.ReadFrom(body); err != nil {
				t.Fatalf("version %d, topics %v: %v", version, topics, err)
			}
			if (r.Topics == nil) != (topics == nil) || len(r.Topics) != len(topics) || r.AllowAutoTopicCreation {
				t.Errorf("version %d, topics %v: read as %+v", version, topics, r)
			}
		}
	}
}

func TestFetchRequestIsReadByOthers(t *testing.T) {
	q := fetchRequest{maxWaitMs: 500, minBytes: 1, maxBytes: 1 << 20, committed: true, rack: "r1", partitions: []fetchPartition{
		{topic: "a", id: topicID{1}, part: 0, epoch: 3, offset: 10, maxBytes: 100},
		{topic: "a", id: topicID{1}, part: 5, epoch: -1, offset: 11, read: 7, maxBytes: 101},
		{topic: "b", id: topicID{2}, part: 1, epoch: 4, offset: 12, maxBytes: 102},
	}}
	for version := int16(fetchMinVersion); version <= fetchWithIDs; version++ {
		var w wireWriter
		b := q.encode(&w, version, 9, "client")
		var r kmsg.FetchRequest
		r.Version = version
		body := b[4+2+2+4+2+len("client"):]
		if version >= 12 {
			body = body[1:]
		}
		if err := r.ReadFrom(body); err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if len(r.Topics) != 2 || len(r.Topics[0].Partitions) != 2 || r.IsolationLevel != 1 || r.MaxBytes != 1<<20 ||
			version >= 7 && r.SessionEpoch != -1 || version >= 11 && r.Rack != "r1" {
			t.Fatalf("version %d: read as %+v", version, r)
		}
		p := r.Topics[0].Partitions[1]
		if version >= 12 && p.LastFetchedEpoch != 7 || p.Partition != 5 || p.FetchOffset != 11 || p.PartitionMaxBytes != 101 {
			t.Errorf("version %d: partition read as %+v", version, p)
		}
		if version >= 13 && r.Topics[1].TopicID != [16]byte{2} || version < 13 && r.Topics[1].Topic != "b" {
			t.Errorf("version %d: topic read as %+v", version, r.Topics[1])
		}
	}
}

// The bytes of a small request, so that a change of the encoding shows.
func TestFetchRequestGolden(t *testing.T) {
	q := fetchRequest{maxWaitMs: 500, minBytes: 1, maxBytes: 1024, partitions: []fetchPartition{{topic: "t", id: topicID{0xaa}, part: 1, epoch: 2, offset: 3, read: -1, maxBytes: 4}}}
	var w wireWriter
	const want = "0000006a0001000d00000009000163" + "00" + "ffffffff000001f40000000100000400" + "00" + "00000000ffffffff" +
		"02aa000000000000000000000000000000" + "02000000010000000200000000000000" + "03ffffffffffffffffffffffff00000004" + "00" + "00" + "01" + "01" + "00"
	if got := hex.EncodeToString(q.encode(&w, 13, 9, "c")); got[8:] != want[8:] {
		t.Errorf("the request is\n%s, expected\n%s", got, want)
	}
}

func sampleFetch(version int16, records []byte) []byte {
	r := kmsg.NewPtrFetchResponse()
	r.Version = version
	r.ThrottleMillis = 3
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = 4, 100, 90, 10
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 20}}
	p.PreferredReadReplica, p.RecordBatches = 2, records
	p.UnknownTags.Set(9, []byte("a field from the future"))
	q := kmsg.NewFetchResponseTopicPartition()
	q.Partition, q.ErrorCode = 5, 1
	q.DivergingEpoch.Epoch, q.DivergingEpoch.EndOffset = 3, 77
	r.Topics = []kmsg.FetchResponseTopic{{Topic: "topic", TopicID: [16]byte{9}, Partitions: []kmsg.FetchResponseTopicPartition{p, q}}}
	return response(r, version >= 12)
}

func TestReadFetch(t *testing.T) {
	for version := int16(fetchMinVersion); version <= fetchWithIDs; version++ {
		var got []fetchAnswer
		throttle, err := readFetch(reader(sampleFetch(version, []byte("records"))), version, 9, 100, func(a *fetchAnswer) error {
			got = append(got, *a)
			return nil
		})
		if err != nil || throttle != 3 || len(got) != 2 {
			t.Fatalf("version %d: %+v, %v", version, got, err)
		}
		a := got[0]
		if a.part != 4 || a.highWatermark != 100 || a.lastStable != 90 || string(a.raw.b) != "records" || len(a.aborted) != 1 ||
			a.aborted[0] != (abortedTxn{7, 20}) || version >= 11 && a.preferredReplica != 2 || version >= 5 && a.logStart != 10 {
			t.Errorf("version %d: %+v", version, a)
		}
		if version >= 13 && a.id != (topicID{9}) || version < 13 && a.topic != "topic" {
			t.Errorf("version %d: topic of %+v", version, a)
		}
		cutOff := source.Position(-1)
		if version >= 12 {
			cutOff = 77
		}
		if b := got[1]; b.part != 5 || b.err != 1 || b.raw != nil || b.aborted != nil || b.cutOff != cutOff || a.cutOff != -1 {
			t.Errorf("version %d: %+v", version, b)
		}
	}
}

func TestRecordSetAboveTheCapIsPassedOver(t *testing.T) {
	n := 0
	_, err := readFetch(reader(sampleFetch(13, make([]byte, 200))), 13, 9, 100, func(a *fetchAnswer) error {
		if n++; n == 1 && (a.oversize != 200 || a.raw != nil) {
			t.Errorf("got %+v", a)
		}
		return nil
	})
	if err != nil || n != 2 {
		t.Errorf("%d partitions, %v; the one behind was expected too", n, err)
	}
}

func TestTruncatedAnswersAreErrors(t *testing.T) {
	fetch, meta := sampleFetch(13, []byte("records")), sampleMetadata(12)
	for i := range fetch {
		if _, err := readFetch(reader(fetch[:i]), 13, 9, 100, func(a *fetchAnswer) error {
			if a.raw != nil {
				a.raw.release()
			}
			return nil
		}); err == nil {
			t.Fatalf("%d of %d bytes of a fetch answer were taken", i, len(fetch))
		}
	}
	for i := range meta {
		if _, err := readMetadata(reader(meta[:i]), 12, 9); err == nil {
			t.Fatalf("%d of %d bytes of a metadata answer were taken", i, len(meta))
		}
	}
}

func FuzzReadFetch(f *testing.F) {
	for version := int16(fetchMinVersion); version <= fetchWithIDs; version++ {
		f.Add(sampleFetch(version, simple(0, 3).encode()), version)
	}
	f.Fuzz(func(t *testing.T, data []byte, version int16) {
		if version < fetchMinVersion || version > fetchWithIDs {
			return
		}
		readFetch(reader(data), version, 9, 1<<20, func(a *fetchAnswer) error {
			if a.raw != nil {
				if len(a.raw.b) > len(data) {
					t.Fatal("more records than bytes")
				}
				a.raw.release()
			}
			return nil
		})
	})
}

func FuzzReadMetadata(f *testing.F) {
	for version := int16(metadataFirstID); version <= metadataLastOwn; version++ {
		f.Add(sampleMetadata(version), version)
	}
	f.Fuzz(func(t *testing.T, data []byte, version int16) {
		if m, err := readMetadata(reader(data), version, 9); err == nil {
			_ = m.subscription()
			for name, topic := range m.topics {
				for id := range topic.parts {
					m.leader(topicPart{name, id})
				}
			}
		}
	})
}

func TestLengthsAreCheckedBeforeMemoryIsTaken(t *testing.T) {
	r := reader([]byte{0x7f, 0xff, 0xff, 0xff, 1, 2, 3})
	if n := r.size(false); n != 0 || !errors.Is(r.err, errShort) {
		t.Errorf("got %d, %v", n, r.err)
	}
	r = reader([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	if n := r.count(true, 1); n != 0 || r.err == nil {
		t.Errorf("got %d, %v", n, r.err)
	}
}
