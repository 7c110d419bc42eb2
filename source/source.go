package source

import (
	"context"
	"fmt"
	"time"
)

// Position is the next thing to read in a partition; it is totally ordered. For Kafka it is the next offset.
type Position int64

// Partition names one ordered stream, together with the incarnation of what it belongs to: a topic that was deleted and
// made again is another one. It is comparable, so it serves as a map key.
type Partition struct {
	// Cluster is the identity of the system the stream lives in (Kafka's cluster id). Empty where there is none.
	Cluster string
	// Topic is the broker's own name of the stream: a Kafka topic, a table, a replication slot.
	Topic string
	// Incarnation is the identity of this life of the topic (Kafka's topic id). Empty where the source has none.
	Incarnation string
	// ID numbers the partition inside its topic.
	ID int32
}

// String gives "topic/3", the form used in logs and errors.
func (p Partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.ID) }

// Range is the half-open interval [From, To) of positions in one partition.
type Range struct {
	Partition Partition
	From, To  Position
}

// Len is the number of positions in the range.
func (r Range) Len() int64 { return int64(r.To - r.From) }

// String gives "topic/3[10,20)".
func (r Range) String() string { return fmt.Sprintf("%s[%d,%d)", r.Partition, r.From, r.To) }

// Header is one header of a record. Its slices belong to the batch.
type Header struct {
	Key, Value []byte
}

// Record is one message. Its slices belong to the batch it came in and are gone when the batch is released.
type Record struct {
	Position Position
	// TimestampMs is the record's time in milliseconds since the epoch; negative where it has none.
	TimestampMs int64
	// Key is nil where the record has none.
	Key []byte
	// Value is nil for a tombstone; an empty value is not nil.
	Value   []byte
	Headers []Header
}

// Batch is a range of one partition and the records in it, in ascending position. Whoever receives it owns it until
// Release; nothing in it may be used afterwards.
type Batch struct {
	Range   Range
	Records []Record
	// Bytes is about how much memory the batch holds.
	Bytes int64
	// OnRelease gives the buffers back to the source. It may be nil.
	OnRelease func()
}

// Release gives the batch's buffers back. It must be called once.
func (b *Batch) Release() {
	if f := b.OnRelease; f != nil {
		b.OnRelease = nil
		f()
	}
}

// Traits is what a source declares of itself. The conformance suite and the topology are driven by it.
type Traits struct {
	// Name is used in logs: "kafka", "memory".
	Name string
	// Replayable says that each record is addressed by partition and position and can be read again from a position.
	// Without it floe gives at-least-once delivery.
	Replayable bool
	// Discovers says that topics can appear by themselves (a topic pattern). One that appears after the topology's first
	// start is read from its first position, whatever the configured start.
	Discovers bool
}

// Bounds says what a partition holds now.
type Bounds struct {
	Partition Partition
	// First is the lowest position that can still be read.
	First Position
	// Last is the position behind the last record that a reader may see: under read_committed the last stable offset.
	Last Position
}

// Origin says where a partition starts that the table has no position for.
type Origin int

const (
	// OriginConfigured is the start the user configured, for a topic that is new to the table.
	OriginConfigured Origin = iota
	// OriginFirst is the lowest readable position, for a partition or topic that was added after the first start.
	OriginFirst
)

// Source delivers records. All methods may be called from any goroutine.
type Source interface {
	// Traits never changes.
	Traits() Traits

	// Run joins, reads and delivers to h until ctx ends (it then returns nil, after Revoked for all that it owned) or
	// until the source as a whole fails. Trouble that can pass is retried inside, with backoff, and reported to
	// h.Trouble. It is called once.
	Run(ctx context.Context, h Handler) error

	// Partitions lists every partition of the subscription with its bounds, whoever owns it.
	Partitions(ctx context.Context) ([]Bounds, error)

	// Start gives the position where p starts when the table has none for it. It does not change what is owned.
	Start(ctx context.Context, p Partition, o Origin) (Position, error)

	// Reopen makes p deliver from pos next. Batches already on their way may still arrive; the receiver tells them by
	// their range. A partition that is not owned is ignored.
	Reopen(p Partition, pos Position)

	// Ack tells the source that everything below the ranges' ends is held by the table. It does not block on the
	// network for longer than the source's own timeout; a failure costs only work and is reported to h.Trouble. Ranges
	// of partitions that are no longer owned are ignored.
	Ack(ctx context.Context, acked []Range)
}

// Handler receives what a source delivers. Assigned and Revoked are called from one goroutine, never at once; Deliver
// is called from several, but for each partition from one at a time.
type Handler interface {
	// Assigned is called before any of ps is read, and says where to open each. A partition that is missing in the
	// answer is not opened. An error ends the assignment; the source reports it and tries again with backoff, or ends
	// Run with it where it is (or wraps) a *FatalError.
	Assigned(ctx context.Context, ps []Partition) (map[Partition]Position, error)

	// Revoked is called when ps are about to be lost, or at the end of Run. While it runs they are still owned. It
	// returns when nothing of them is in flight. ctx carries the deadline after which they are lost anyway.
	Revoked(ctx context.Context, ps []Partition)

	// Deliver hands a batch over. It blocks while there is no room: this is what holds the source back. An error ends
	// Run with that error, unless ctx has ended. A batch that Deliver returned an error for is the source's again: it
	// releases it.
	Deliver(ctx context.Context, b *Batch) error

	// Failed tells that p can't be read on; the others go on. err is usually a *PositionError.
	Failed(p Partition, err error)

	// Trouble tells of a passing failure (a broker away, an ack refused) and, with nil, that it has passed.
	Trouble(err error)
}

// PositionError says that a partition no longer has (or never had) the position that is wanted.
type PositionError struct {
	Partition Partition
	// Wanted is the position asked for.
	Wanted Position
	// First and Last are what the partition holds now, as in Bounds.
	First, Last Position
	// Reason is what happened, in a few words: "below the log's start", "another incarnation of the topic".
	Reason string
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("%s: wanted position %d, but the log holds [%d, %d): %s. Nothing was skipped. "+
		"To go on with what is there, set the position with `floe positions set`",
		e.Partition, e.Wanted, e.First, e.Last, e.Reason)
}

// FatalError wraps an error that waiting will not mend.
type FatalError struct{ Err error }

func (e *FatalError) Error() string { return e.Err.Error() }
func (e *FatalError) Unwrap() error { return e.Err }

// RevokeGrace is how long a source gives Revoked by default before a partition is lost anyway.
const RevokeGrace = 20 * time.Second
