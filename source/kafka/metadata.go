package kafka

import (
	"encoding/base64"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// Versions of the metadata request that are encoded here, because kafka-go's own stops below them: from 10 on topics
// have ids.
const (
	metadataKey        = 3
	metadataMinVersion = 4 // the first that can be told not to make missing topics
	metadataFirstID    = 10
	metadataLastOwn    = 12
)

// clusterMeta is what the brokers say of the cluster.
type clusterMeta struct {
	clusterID string
	brokers   map[int32]string // address by node id
	topics    map[string]*topicMeta
}

type topicMeta struct {
	name     string
	id       topicID
	internal bool
	err      kafkago.Error // 0 where the topic can be used
	parts    map[int32]partMeta
}

type partMeta struct {
	err    kafkago.Error
	leader int32 // -1 where there is none
	epoch  int32 // -1 where unknown
}

// incarnation gives the topic's id as Kafka's tools print it; empty where there is none.
func (t *topicMeta) incarnation() string {
	if t.id == (topicID{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(t.id[:])
}

// encodeMetadata writes a metadata request of version 10 to 12; topics nil asks for all. It never makes a topic.
func encodeMetadata(w *wireWriter, version int16, correlation int32, clientID string, topics []string) []byte {
	w.begin(metadataKey, version, correlation, clientID, true)
	if topics == nil {
		w.b = append(w.b, 0)
	} else {
		w.count(len(topics), true)
		for _, t := range topics {
			w.b = append(w.b, make([]byte, len(topicID{}))...)
			w.string(t, true)
			w.tags(true)
		}
	}
	w.bool(false) // make missing topics
	if version <= 10 {
		w.bool(false) // cluster's authorized operations
	}
	w.bool(false) // topics' authorized operations
	w.tags(true)
	return w.finish()
}

// errMetadata is what a damaged metadata answer gives.
var errMetadata = errors.New("the metadata answer can't be read")

// readMetadata reads the answer to encodeMetadata, behind the size.
func readMetadata(w *wireReader, version int16, correlation int32) (*clusterMeta, error) {
	if got := w.int32(); w.err == nil && got != correlation {
		return nil, fmt.Errorf("the broker answered request %d instead of %d", got, correlation)
	}
	w.tags()
	w.int32() // throttle time
	m := &clusterMeta{brokers: map[int32]string{}, topics: map[string]*topicMeta{}}
	for n := w.count(true, 11); n > 0 && w.err == nil; n-- {
		id, host, port := w.int32(), w.string(true), w.int32()
		w.string(true) // rack
		w.tags()
		m.brokers[id] = address(host, port)
	}
	m.clusterID = w.string(true)
	w.int32() // controller
	for n := w.count(true, 26); n > 0 && w.err == nil; n-- {
		t := readMetadataTopic(w)
		m.topics[t.name] = t
	}
	if version <= 10 {
		w.int32()
	}
	w.tags()
	if w.err != nil {
		return nil, fmt.Errorf("%w: %w", errMetadata, w.err)
	}
	w.skip(w.remain)
	return m, w.err
}

func readMetadataTopic(w *wireReader) *topicMeta {
	t := &topicMeta{err: kafkago.Error(w.int16()), name: w.string(true), id: w.uuid(), internal: w.int8() != 0}
	t.parts = map[int32]partMeta{}
	for n := w.count(true, 17); n > 0 && w.err == nil; n-- {
		p := partMeta{err: kafkago.Error(w.int16())}
		id := w.int32()
		p.leader, p.epoch = w.int32(), w.int32()
		for range 3 { // replicas, those in sync, those offline
			w.skip(4 * w.count(true, 4))
		}
		w.tags()
		t.parts[id] = p
	}
	w.int32() // authorized operations
	w.tags()
	return t
}

// fromKafkaGo takes the answer of a broker that knows no topic ids.
func fromKafkaGo(r *metadata.Response) *clusterMeta {
	m := &clusterMeta{clusterID: r.ClusterID, brokers: map[int32]string{}, topics: map[string]*topicMeta{}}
	for _, b := range r.Brokers {
		m.brokers[b.NodeID] = address(b.Host, b.Port)
	}
	for _, rt := range r.Topics {
		t := &topicMeta{name: rt.Name, internal: rt.IsInternal, err: kafkago.Error(rt.ErrorCode), parts: map[int32]partMeta{}}
		for _, p := range rt.Partitions {
			epoch := p.LeaderEpoch
			if epoch == 0 {
				epoch = -1 // also what versions below 7 leave here
			}
			t.parts[p.PartitionIndex] = partMeta{err: kafkago.Error(p.ErrorCode), leader: p.LeaderID, epoch: epoch}
		}
		m.topics[t.name] = t
	}
	return m
}
