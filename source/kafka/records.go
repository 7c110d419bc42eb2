package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/stormfloe/floe/source"
)

// Sizes of what is handed over at once. A batch ends at the first bound it reaches.
const (
	batchRecords = 16 << 10
	batchBytes   = 1 << 20
)

// Layout of a record batch, message format v2.
const (
	batchPrefix   = 12 // base offset and length
	batchHeader   = 61
	minRecord     = 7
	attrCodec     = 0x07
	attrAppended  = 0x08 // the time is the broker's, and is the batch's maximum
	attrTxn       = 0x10
	attrControl   = 0x20
	markerAborted = 0
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// RecordError says that what a partition holds at a position can't be read. It carries nothing of the record.
type RecordError struct {
	Partition source.Partition
	// Position is where the record batch begins, or the position that was wanted where that is unknown.
	Position source.Position
	// Reason is what is wrong, in a few words.
	Reason string
	// Hint is what to do about it; it may be empty.
	Hint string
}

func (e *RecordError) Error() string {
	s := fmt.Sprintf("%s: the record batch at offset %d can't be read: %s", e.Partition, e.Position, e.Reason)
	if e.Hint != "" {
		s += ". " + e.Hint
	}
	return s
}

// recordSet is what a fetch answered for one partition.
type recordSet struct {
	partition source.Partition
	from      source.Position
	raw       *chunk
	aborted   []abortedTxn
}

// decoded says how far a record set reached.
type decoded struct {
	next source.Position // the position to fetch next
	// epoch is the leader's when what stands before next was written; -1 where nothing was read or it is unknown.
	epoch int32
	// needs is the size of a first batch that did not fit into the answer; 0 where something whole was read.
	needs int
}

// decoder turns record sets into batches. It belongs to one goroutine.
type decoder struct {
	codecs decompressor
	budget *budget
	emit   func(context.Context, *source.Batch) error

	// The state of one record set.
	set     *recordSet
	out     *buffers
	arena   *chunk // where small record batches are decompressed side by side
	next    source.Position
	emitted source.Position
	// Leader epochs of what stands before next and before emitted.
	nextEpoch, emittedEpoch int32

	aborts abortFilter
}

func newDecoder(maxBatch int, b *budget, emit func(context.Context, *source.Batch) error) *decoder {
	return &decoder{codecs: decompressor{limit: maxBatch}, budget: b, emit: emit}
}

// decode hands over everything in set from set.from on. What stands before an error is handed over too; the error is
// emit's or a *RecordError.
func (d *decoder) decode(ctx context.Context, set *recordSet) (decoded, error) {
	d.set, d.next, d.emitted = set, set.from, set.from
	d.nextEpoch, d.emittedEpoch = -1, -1
	d.aborts.reset(set.aborted)
	defer d.reset()
	var res decoded
	b := set.raw.b
	for len(b) >= batchPrefix {
		size, err := d.batchSize(b)
		if err == nil && size > len(b) {
			if len(b) == len(set.raw.b) {
				res.needs = size
			}
			break // cut off by the broker: left for the next fetch
		}
		if err == nil {
			err = d.batch(ctx, b[:size], len(b))
		}
		if err != nil {
			return d.failed(ctx, res, err)
		}
		b = b[size:]
	}
	err := d.flush(ctx)
	res.next, res.epoch = d.emitted, d.emittedEpoch
	return res, err
}

// failed hands over what was whole before err.
func (d *decoder) failed(ctx context.Context, res decoded, err error) (decoded, error) {
	if _, ok := errors.AsType[*RecordError](err); ok {
		if ferr := d.flush(ctx); ferr != nil {
			err = ferr
		}
	}
	res.next, res.epoch = d.emitted, d.emittedEpoch
	return res, err
}

func (d *decoder) reset() {
	if d.out != nil {
		d.out.batch.Release()
		d.out = nil
	}
	if d.arena != nil {
		d.arena.release()
		d.arena = nil
	}
	d.set = nil
}

// corrupt makes the error for a damaged batch.
func (d *decoder) corrupt(base int64, format string, args ...any) *RecordError {
	return &RecordError{
		Partition: d.set.partition, Position: source.Position(base), Reason: fmt.Sprintf(format, args...),
		Hint: "Nothing was skipped. If the broker's log is damaged there, another replica may hold it whole; " +
			"to go on behind it, set the position with `floe positions set`",
	}
}

// batchSize gives the whole size of the batch that b starts with, checked as far as b shows it.
func (d *decoder) batchSize(b []byte) (int, error) {
	base := int64(binary.BigEndian.Uint64(b))
	size := int(int32(binary.BigEndian.Uint32(b[8:]))) + batchPrefix
	if len(b) > 16 && b[16] != 2 {
		return 0, &RecordError{
			Partition: d.set.partition, Position: source.Position(base),
			Reason: fmt.Sprintf("it is in message format v%d, and floe reads v2 only", b[16]),
			Hint:   "Copy the topic with a current client, or remove log.message.format.version from it and produce anew",
		}
	}
	if size < batchHeader {
		return 0, d.corrupt(base, "it says that it is %d bytes long", size)
	}
	return size, nil
}

// firstOffset is where a record set begins; -1 where it is too short to say.
func firstOffset(b []byte) int64 {
	if len(b) < batchPrefix {
		return -1
	}
	return int64(binary.BigEndian.Uint64(b))
}

// header is the part of a batch's header that matters here.
type header struct {
	base, last        int64
	epoch             int32
	attributes        uint16
	baseTime, maxTime int64
	producer          int64
	count             int
	// coming is about how many records the set holds from here on, where the other batches are like this one.
	coming int
}

// batch reads one whole record batch; left is what remains of the set, this batch included.
func (d *decoder) batch(ctx context.Context, b []byte, left int) error {
	h := header{
		base:       int64(binary.BigEndian.Uint64(b)),
		epoch:      int32(binary.BigEndian.Uint32(b[12:])),
		attributes: binary.BigEndian.Uint16(b[21:]),
		baseTime:   int64(binary.BigEndian.Uint64(b[27:])),
		maxTime:    int64(binary.BigEndian.Uint64(b[35:])),
		producer:   int64(binary.BigEndian.Uint64(b[43:])),
		count:      int(int32(binary.BigEndian.Uint32(b[57:]))),
	}
	if want, got := binary.BigEndian.Uint32(b[17:]), crc32.Checksum(b[21:], castagnoli); want != got {
		return d.corrupt(h.base, "its checksum is %08x, but its bytes give %08x", want, got)
	}
	delta := int64(int32(binary.BigEndian.Uint32(b[23:])))
	if h.base < 0 || delta < 0 || h.base > math.MaxInt64-delta-1 || h.count < 0 {
		return d.corrupt(h.base, "its header is out of range")
	}
	h.last = h.base + delta
	h.coming = h.count * left / len(b)
	skip := d.aborts.batch(&h)
	if h.attributes&attrControl != 0 {
		if err := d.marker(&h, b[batchHeader:]); err != nil {
			return err
		}
		skip = true
	}
	if source.Position(h.last) < d.next {
		return nil // wholly below the opening position
	}
	if !skip && h.count > 0 {
		if err := d.content(ctx, &h, b[batchHeader:], left); err != nil {
			return err
		}
	}
	d.next, d.nextEpoch = source.Position(h.last)+1, h.epoch
	if d.out != nil && (len(d.out.batch.Records) >= batchRecords || d.out.batch.Bytes >= batchBytes) {
		return d.flush(ctx)
	}
	return nil
}

// marker reads a control batch: the end of a transaction.
func (d *decoder) marker(h *header, data []byte) error {
	if h.attributes&attrCodec != codecNone || h.count == 0 {
		return nil
	}
	start, end := cutRecord(data, 0)
	if end < 0 {
		return d.corrupt(h.base, "its control record is damaged")
	}
	var r source.Record
	if _, _, _, ok := parseRecord(data[start:end], &r, nil); !ok || len(r.Key) < 4 {
		return d.corrupt(h.base, "its control record is damaged")
	}
	if binary.BigEndian.Uint16(r.Key[2:]) == markerAborted {
		d.aborts.ended(h.producer)
	}
	return nil
}

// content decompresses a batch and parses its records.
func (d *decoder) content(ctx context.Context, h *header, data []byte, left int) error {
	in := d.set.raw
	if codec := int(h.attributes & attrCodec); codec != codecNone {
		// Wait before memory is taken, not after: while nobody has room, nothing is decompressed.
		if d.out == nil {
			if err := d.budget.wait(ctx); err != nil {
				return err
			}
		}
		c, out, err := d.inflate(codec, data, left)
		if err != nil {
			e := d.corrupt(h.base, "%v", err)
			if errors.Is(err, errTooLarge) {
				e.Hint = "Raise max_record_batch_bytes"
			}
			return e
		}
		defer c.release()
		in, data = c, out
	} else if len(data) > d.codecs.limit {
		e := d.corrupt(h.base, "%v", errTooLarge)
		e.Hint = "Raise max_record_batch_bytes"
		return e
	}
	if h.count > len(data)/minRecord {
		return d.corrupt(h.base, "it announces %d records in %d bytes", h.count, len(data))
	}
	return d.records(ctx, h, data, in)
}

// inflate decompresses into the arena where there is room, else into a chunk of its own. The caller gets a reference.
func (d *decoder) inflate(codec int, src []byte, left int) (*chunk, []byte, error) {
	hint := min(d.codecs.sizeHint(codec, src), d.codecs.limit)
	if d.arena == nil || cap(d.arena.b)-len(d.arena.b) < hint {
		if d.arena != nil {
			d.arena.release()
		}
		d.arena = newChunk(max(hint, min(4*left, batchBytes)))
	}
	at := len(d.arena.b)
	out, err := d.codecs.decompress(codec, d.arena.b[at:at:cap(d.arena.b)], src)
	if err != nil {
		return nil, nil, err
	}
	if len(out) > d.codecs.limit {
		return nil, nil, errTooLarge
	}
	d.codecs.learn(codec, len(src), len(out))
	if len(out) == 0 || at < cap(d.arena.b) && &out[0] == &d.arena.b[:at+1][at] { // it fitted: the same memory
		d.arena.b = d.arena.b[:at+len(out)]
		d.arena.retain()
		return d.arena, out, nil
	}
	c := &chunk{b: out}
	c.refs.Store(1)
	return c, out, nil
}

// flush hands over what has gathered; also a range without a record, where the position moved.
func (d *decoder) flush(ctx context.Context) error {
	if d.next == d.emitted {
		return nil
	}
	if d.out == nil {
		d.out = newBuffers(d.set.partition, d.emitted)
	}
	b := d.out
	d.out = nil
	b.batch.Range.To = d.next
	b.charge(d.budget)
	batch := b.batch
	if err := d.emit(ctx, batch); err != nil {
		batch.Release()
		return err
	}
	d.emitted, d.emittedEpoch = d.next, d.nextEpoch
	return nil
}
