package memory

import (
	"fmt"
	"sort"
	"sync"

	"github.com/stormfloe/floe/source"
)

// Log holds topics, their partitions and records, and what readers acked. All methods may be called from any goroutine.
type Log struct {
	cluster string

	mu struct {
		sync.Mutex
		topics  map[string]*topic
		order   []string // topics in the order they were made
		lives   int      // incarnations given out so far
		acked   map[source.Partition]source.Position
		closed  bool
		changed chan struct{} // closed and replaced at each change
	}
}

type topic struct {
	incarnation string
	parts       []*partition
}

// partition keeps its records in ascending position; positions between them are gaps.
type partition struct {
	records     []source.Record
	first, next source.Position
}

// NewLog makes an empty log of the cluster "memory".
func NewLog() *Log { return NewCluster("memory") }

// NewCluster makes an empty log with the given cluster id.
func NewCluster(id string) *Log {
	l := &Log{cluster: id}
	l.mu.topics = map[string]*topic{}
	l.mu.acked = map[source.Partition]source.Position{}
	l.mu.changed = make(chan struct{})
	return l
}

// changedLocked wakes everyone who waits for news.
func (l *Log) changedLocked() {
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
}

// CreateTopic makes a topic with the given number of partitions. A topic that exists grows to that number; it never
// shrinks.
func (l *Log) CreateTopic(name string, partitions int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topicLocked(name, partitions)
	l.changedLocked()
}

func (l *Log) topicLocked(name string, partitions int) *topic {
	t := l.mu.topics[name]
	if t == nil {
		l.mu.lives++
		t = &topic{incarnation: fmt.Sprintf("memory-%d", l.mu.lives)}
		l.mu.topics[name] = t
		l.mu.order = append(l.mu.order, name)
	}
	for len(t.parts) < partitions {
		t.parts = append(t.parts, &partition{})
	}
	return t
}

// Recreate deletes a topic and makes it again, empty and with another incarnation.
func (l *Log) Recreate(name string, partitions int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.mu.topics[name]; ok {
		delete(l.mu.topics, name)
		for i, n := range l.mu.order {
			if n == name {
				l.mu.order = append(l.mu.order[:i], l.mu.order[i+1:]...)
				break
			}
		}
	}
	l.topicLocked(name, partitions)
	l.changedLocked()
}

// Append adds records to a partition, making topic and partition where they are missing, and gives the position of the
// first. The records' own positions are overwritten. Their slices belong to the log from now on. Appending to a closed
// log panics: the caller said that there is nothing more.
func (l *Log) Append(name string, id int32, records ...source.Record) source.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		panic("memory: Append after Close")
	}
	p := l.topicLocked(name, int(id)+1).parts[id]
	at := p.next
	for _, r := range records {
		r.Position = p.next
		p.records = append(p.records, r)
		p.next++
	}
	l.changedLocked()
	return at
}

// AppendValues adds one record per value, without key, with its position as its time in milliseconds.
func (l *Log) AppendValues(name string, id int32, values ...[]byte) source.Position {
	records := make([]source.Record, len(values))
	l.mu.Lock()
	next := l.topicLocked(name, int(id)+1).parts[id].next
	l.mu.Unlock()
	for i, v := range values {
		records[i] = source.Record{Value: v, TimestampMs: int64(next) + int64(i)}
	}
	return l.Append(name, id, records...)
}

// Skip uses up n positions without a record, as transaction markers, aborted records and compaction do.
func (l *Log) Skip(name string, id int32, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topicLocked(name, int(id)+1).parts[id].next += source.Position(n)
	l.changedLocked()
}

// Truncate moves a partition's first position, as retention does. Records below it are gone.
func (l *Log) Truncate(name string, id int32, first source.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.topicLocked(name, int(id)+1).parts[id]
	p.first = max(p.first, first)
	p.next = max(p.next, first)
	i := sort.Search(len(p.records), func(i int) bool { return p.records[i].Position >= p.first })
	p.records = p.records[i:]
	l.changedLocked()
}

// Close says that no record comes any more. A source ends its run once everything was delivered.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	l.changedLocked()
}

// Partition gives the full name of a partition of the topic's present incarnation, and whether it exists.
func (l *Log) Partition(name string, id int32) (source.Partition, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.mu.topics[name]
	if t == nil || int(id) >= len(t.parts) || id < 0 {
		return source.Partition{}, false
	}
	return l.nameLocked(name, t, id), true
}

// Acked gives the position up to which readers acked p; 0 where nobody did.
func (l *Log) Acked(p source.Partition) source.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.acked[p]
}

// Bounds lists every partition with what it holds, in the order the topics were made.
func (l *Log) Bounds() []source.Bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []source.Bounds
	for _, name := range l.mu.order {
		t := l.mu.topics[name]
		for id, p := range t.parts {
			out = append(out, source.Bounds{Partition: l.nameLocked(name, t, int32(id)), First: p.first, Last: p.next})
		}
	}
	return out
}

func (l *Log) nameLocked(name string, t *topic, id int32) source.Partition {
	return source.Partition{Cluster: l.cluster, Topic: name, Incarnation: t.incarnation, ID: id}
}

// findLocked gives the partition's log, or nil and the present incarnation's log where the incarnation is another.
func (l *Log) findLocked(p source.Partition) (here, other *partition) {
	t := l.mu.topics[p.Topic]
	if t == nil || p.ID < 0 || int(p.ID) >= len(t.parts) {
		return nil, nil
	}
	if t.incarnation != p.Incarnation || p.Cluster != l.cluster {
		return nil, t.parts[p.ID]
	}
	return t.parts[p.ID], nil
}
