package kafka

import (
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/stormfloe/floe/source"
)

// topicID is Kafka's identity of a topic; zero where the broker gives none.
type topicID [16]byte

// Versions of the fetch request that are spoken here. From 13 on topics are named by their ids.
const (
	fetchKey        = 1
	fetchMinVersion = 4
	fetchNoIDs      = 11
	fetchWithIDs    = 13
)

// tagDivergingEpoch is a field of a partition's answer, from version 12 on.
const tagDivergingEpoch = 0

// fetchPartition is one partition in a fetch request.
type fetchPartition struct {
	topic  string
	id     topicID
	part   int32
	epoch  int32 // the leader's, -1 where unknown
	offset source.Position
	// read is the leader's epoch in which the record before offset was written, -1 where unknown.
	read     int32
	maxBytes int32
}

// fetchRequest asks one broker for many partitions.
type fetchRequest struct {
	maxWaitMs, minBytes, maxBytes int32
	committed                     bool
	rack                          string
	partitions                    []fetchPartition // those of one topic stand together
}

// encode writes the request in the given version: 4 to 11, or 13.
func (q *fetchRequest) encode(w *wireWriter, version int16, correlation int32, clientID string) []byte {
	flexible := version >= 12
	w.begin(fetchKey, version, correlation, clientID, flexible)
	w.int32(-1) // we are no replica
	w.int32(q.maxWaitMs)
	w.int32(q.minBytes)
	w.int32(q.maxBytes)
	if q.committed {
		w.int8(1)
	} else {
		w.int8(0)
	}
	if version >= 7 {
		w.int32(0)  // no session
		w.int32(-1) // and none is wanted
	}
	w.count(q.topics(), flexible)
	for i := 0; i < len(q.partitions); {
		n := i + 1
		for n < len(q.partitions) && q.partitions[n].topic == q.partitions[i].topic {
			n++
		}
		q.encodeTopic(w, version, q.partitions[i:n])
		i = n
	}
	if version >= 7 {
		w.count(0, flexible) // nothing to forget
	}
	if version >= 11 {
		w.string(q.rack, flexible)
	}
	w.tags(flexible)
	return w.finish()
}

func (q *fetchRequest) topics() int {
	n := 0
	for i := range q.partitions {
		if i == 0 || q.partitions[i].topic != q.partitions[i-1].topic {
			n++
		}
	}
	return n
}

func (q *fetchRequest) encodeTopic(w *wireWriter, version int16, ps []fetchPartition) {
	flexible := version >= 12
	if version >= 13 {
		w.b = append(w.b, ps[0].id[:]...)
	} else {
		w.string(ps[0].topic, flexible)
	}
	w.count(len(ps), flexible)
	for i := range ps {
		p := &ps[i]
		w.int32(p.part)
		if version >= 9 {
			w.int32(p.epoch)
		}
		w.int64(int64(p.offset))
		if version >= 12 {
			w.int32(p.read)
		}
		if version >= 5 {
			w.int64(-1) // the log start is a replica's business
		}
		w.int32(p.maxBytes)
		w.tags(flexible)
	}
	w.tags(flexible)
}

// fetchAnswer is what a broker says of one partition. raw is nil where there are no records; the receiver owns it.
type fetchAnswer struct {
	topic            string
	id               topicID
	part             int32
	err              kafkago.Error
	highWatermark    source.Position
	lastStable       source.Position
	logStart         source.Position
	aborted          []abortedTxn
	preferredReplica int32
	// cutOff is where the log has gone another way than the one that was read: an unclean leader lost what came behind. -1
	// where it has not, or where the broker can't tell.
	cutOff source.Position
	raw    *chunk
	// oversize is the size of a record set that was above the cap and was passed over; else 0.
	oversize int
}

// readFetch reads the answer to a fetch request, behind the size. Each partition is handed to each as soon as it is there, so
// that one record set at a time is in memory. A partition's set above maxSet bytes is passed over and marked.
func readFetch(w *wireReader, version int16, correlation int32, maxSet int, each func(*fetchAnswer) error) (throttleMs int32, _ error) {
	flexible := version >= 12
	if got := w.int32(); w.err == nil && got != correlation {
		return 0, fmt.Errorf("the broker answered request %d instead of %d", got, correlation)
	}
	if flexible {
		w.tags()
	}
	throttleMs = w.int32()
	if version >= 7 {
		code := w.int16()
		w.int32() // session
		if w.err == nil && code != 0 {
			return throttleMs, kafkago.Error(code)
		}
	}
	var a fetchAnswer
	for topics := w.count(flexible, 4); topics > 0 && w.err == nil; topics-- {
		a = fetchAnswer{}
		if version >= 13 {
			a.id = w.uuid()
		} else {
			a.topic = w.string(flexible)
		}
		for parts := w.count(flexible, 16); parts > 0 && w.err == nil; parts-- {
			readFetchPartition(w, version, maxSet, &a)
			if w.err != nil {
				break
			}
			if err := each(&a); err != nil {
				return throttleMs, err
			}
		}
		if flexible {
			w.tags()
		}
	}
	if flexible {
		w.tags()
	}
	w.skip(w.remain)
	return throttleMs, w.err
}

func readFetchPartition(w *wireReader, version int16, maxSet int, a *fetchAnswer) {
	flexible := version >= 12
	a.part, a.err = w.int32(), kafkago.Error(w.int16())
	a.highWatermark = source.Position(w.int64())
	a.lastStable = source.Position(w.int64())
	a.logStart = -1
	if version >= 5 {
		a.logStart = source.Position(w.int64())
	}
	a.aborted = nil
	for n := w.count(flexible, 16); n > 0 && w.err == nil; n-- {
		a.aborted = append(a.aborted, abortedTxn{producer: w.int64(), first: w.int64()})
		if flexible {
			w.tags()
		}
	}
	a.preferredReplica = -1
	if version >= 11 {
		a.preferredReplica = w.int32()
	}
	a.raw, a.oversize, a.cutOff = nil, 0, -1
	if n := w.size(flexible); n > maxSet {
		a.oversize = n
		w.skip(n)
	} else if n > 0 {
		a.raw = newChunk(n)
		a.raw.b = a.raw.b[:n]
		w.full(a.raw.b)
	}
	if flexible {
		w.tagged(func(tag uint64) {
			if tag == tagDivergingEpoch {
				w.int32() // the newest epoch that both logs have
				a.cutOff = source.Position(w.int64())
			}
		})
	}
	if w.err != nil && a.raw != nil {
		a.raw.release()
		a.raw = nil
	}
}
