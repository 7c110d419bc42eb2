package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/stormfloe/floe/source"
)

// testBatch describes a record batch to build. Its bytes are made here by hand, apart from the code under test.
type testBatch struct {
	base       int64
	lastDelta  int32 // 0: that of the last record
	attributes uint16
	producer   int64
	time, max  int64
	records    []testRecord
	codec      int
	count      int32 // 0: the number of records
}

type testRecord struct {
	delta, time int64
	key, value  []byte
	headers     []source.Header
}

func varbytes(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(v))), v...)
}

func (r *testRecord) encode() []byte {
	b := []byte{0}
	b = binary.AppendVarint(b, r.time)
	b = binary.AppendVarint(b, r.delta)
	b = varbytes(varbytes(b, r.key), r.value)
	b = binary.AppendVarint(b, int64(len(r.headers)))
	for _, h := range r.headers {
		b = varbytes(varbytes(b, h.Key), h.Value)
	}
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}

func (tb testBatch) encode() []byte {
	var records []byte
	for i := range tb.records {
		records = append(records, tb.records[i].encode()...)
	}
	return tb.encodeRaw(compress(tb.codec, records))
}

func (tb testBatch) encodeRaw(content []byte) []byte {
	last, count := tb.lastDelta, tb.count
	if last == 0 && len(tb.records) > 0 {
		last = int32(tb.records[len(tb.records)-1].delta)
	}
	if count == 0 {
		count = int32(len(tb.records))
	}
	be := binary.BigEndian
	b := be.AppendUint64(nil, uint64(tb.base))
	b = be.AppendUint32(b, uint32(49+len(content)))
	b = be.AppendUint32(b, 7) // leader epoch
	b = append(b, 2)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint16(b, tb.attributes|uint16(tb.codec))
	b = be.AppendUint32(b, uint32(last))
	b = be.AppendUint64(b, uint64(tb.time))
	b = be.AppendUint64(b, uint64(tb.max))
	b = be.AppendUint64(b, uint64(tb.producer))
	b = be.AppendUint16(b, 0)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint32(b, uint32(count))
	b = append(b, content...)
	be.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func compress(codec int, data []byte) []byte {
	var out bytes.Buffer
	switch codec {
	case codecNone:
		return data
	case codecGzip:
		w := gzip.NewWriter(&out)
		w.Write(data)
		w.Close()
	case codecSnappy:
		return s2.EncodeSnappy(nil, data)
	case codecLZ4:
		w := lz4.NewWriter(&out)
		w.Apply(lz4.BlockSizeOption(lz4.Block64Kb))
		w.Write(data)
		w.Close()
	case codecZstd:
		w, _ := zstd.NewWriter(nil)
		return w.EncodeAll(data, nil)
	}
	return out.Bytes()
}

// xerialFrame is what the Java client writes for snappy: blocks of 32 KiB.
func xerialFrame(data []byte) []byte {
	out := append([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}, 0, 0, 0, 1, 0, 0, 0, 1)
	for len(data) > 0 {
		n := min(len(data), 32<<10)
		block := s2.EncodeSnappy(nil, data[:n])
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
		data = data[n:]
	}
	return out
}

func simple(base int64, n int) testBatch {
	tb := testBatch{base: base, producer: -1, time: 1000, max: 1000 + int64(n)}
	for i := range n {
		tb.records = append(tb.records, testRecord{delta: int64(i), time: int64(i), value: fmt.Appendf(nil, "v%d", base+int64(i))})
	}
	return tb
}

var testPartition = source.Partition{Topic: "topic", ID: 3}

// collected is what a decoder handed over, copied.
type collected struct {
	ranges  []source.Range
	records []source.Record
}

func decodeAll(t testing.TB, limit int, from source.Position, aborted []abortedTxn, data ...[]byte) (collected, decoded, error) {
	t.Helper()
	var c collected
	b := newBudget(1 << 30)
	d := newDecoder(limit, b, func(_ context.Context, b *source.Batch) error {
		c.ranges = append(c.ranges, b.Range)
		for _, r := range b.Records {
			r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
			c.records = append(c.records, r)
		}
		b.Release()
		return nil
	})
	raw := newChunk(0)
	for _, p := range data {
		raw.b = append(raw.b, p...)
	}
	res, err := d.decode(context.Background(), &recordSet{partition: testPartition, from: from, raw: raw, aborted: aborted})
	raw.release()
	if n := b.inUse(); n != 0 {
		t.Errorf("%d bytes of the budget were not given back", n)
	}
	next := from
	for _, r := range c.ranges {
		if r.From != next || r.To <= r.From {
			t.Errorf("%s does not join up: %d was next", r, next)
		}
		next = r.To
	}
	if res.next != next {
		t.Errorf("the decoder says %d is next, its ranges %d", res.next, next)
	}
	return c, res, err
}

func (c collected) positions() string {
	var s []string
	for _, r := range c.records {
		s = append(s, fmt.Sprint(r.Position))
	}
	return strings.Join(s, " ")
}

func TestDecodePlaces(t *testing.T) {
	marker := func(base, producer int64, kind byte) testBatch {
		return testBatch{base: base, producer: producer, attributes: attrTxn | attrControl,
			records: []testRecord{{key: []byte{0, 0, 0, kind}, value: make([]byte, 6)}}}
	}
	txn := func(base, producer int64, n int) testBatch {
		tb := simple(base, n)
		tb.attributes, tb.producer = attrTxn, producer
		return tb
	}
	cut := simple(20, 5).encode()
	for _, tt := range []struct {
		name    string
		from    source.Position
		aborted []abortedTxn
		data    [][]byte
		want    string
		next    source.Position
		needs   int
	}{
		{name: "nothing", from: 5, next: 5},
		{name: "records below the opening position are skipped", from: 12, data: [][]byte{simple(10, 4).encode()}, want: "12 13", next: 14},
		{name: "a batch wholly below is skipped", from: 12, data: [][]byte{simple(5, 4).encode(), simple(12, 2).encode()}, want: "12 13", next: 14},
		{name: "a gap before the first batch is inside the range", from: 3, data: [][]byte{simple(10, 2).encode()}, want: "10 11", next: 12},
		{name: "a truncated last batch is left", from: 10, data: [][]byte{simple(10, 2).encode(), cut[:len(cut)-1]}, want: "10 11", next: 12},
		{name: "a truncated first batch tells its size", from: 20, data: [][]byte{cut[:30]}, next: 20, needs: len(cut)},
		{name: "a compacted tail moves the position", from: 0, data: [][]byte{{}, testBatch{base: 0, lastDelta: 9, producer: -1, records: simple(0, 2).records}.encode()}, want: "0 1", next: 10},
		{name: "a batch without records moves the position", from: 0, data: [][]byte{testBatch{base: 0, lastDelta: 4, producer: -1}.encode()}, next: 5},
		{name: "a marker moves the position", from: 0, data: [][]byte{txn(0, 1, 2).encode(), marker(2, 1, 1).encode()}, want: "0 1", next: 3},
		{name: "an aborted transaction gives nothing", from: 0, aborted: []abortedTxn{{1, 0}}, data: [][]byte{txn(0, 1, 2).encode(), marker(2, 1, 0).encode()}, next: 3},
		{name: "after its marker the producer's next transaction counts", from: 0, aborted: []abortedTxn{{1, 0}},
			data: [][]byte{txn(0, 1, 2).encode(), marker(2, 1, 0).encode(), txn(3, 1, 2).encode(), marker(5, 1, 1).encode()}, want: "3 4", next: 6},
		{name: "other producers are not touched", from: 0, aborted: []abortedTxn{{1, 0}},
			data: [][]byte{txn(0, 1, 1).encode(), txn(1, 2, 1).encode(), simple(2, 1).encode(), txn(3, 1, 1).encode(), marker(4, 1, 0).encode()}, want: "1 2", next: 5},
		{name: "an abort that began before the opening position", from: 5, aborted: []abortedTxn{{1, 2}},
			data: [][]byte{txn(4, 1, 3).encode(), marker(7, 1, 0).encode(), simple(8, 1).encode()}, want: "8", next: 9},
		{name: "two aborts of one producer", from: 0, aborted: []abortedTxn{{1, 4}, {1, 0}},
			data: [][]byte{txn(0, 1, 1).encode(), marker(1, 1, 0).encode(), txn(2, 1, 1).encode(), marker(3, 1, 1).encode(), txn(4, 1, 1).encode(), marker(5, 1, 0).encode()}, want: "2", next: 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, res, err := decodeAll(t, 1<<20, tt.from, tt.aborted, tt.data...)
			if err != nil || c.positions() != tt.want || res.next != tt.next || res.needs != tt.needs {
				t.Errorf("got records %q, %+v, %v; records %q, next %d, needs %d were expected", c.positions(), res, err, tt.want, tt.next, tt.needs)
			}
		})
	}
}

func TestDecodeTimes(t *testing.T) {
	tb := simple(0, 2)
	c, _, _ := decodeAll(t, 1<<20, 0, nil, tb.encode())
	if c.records[1].TimestampMs != 1001 {
		t.Errorf("the record's time is %d; 1001 was expected", c.records[1].TimestampMs)
	}
	tb.attributes |= attrAppended
	c, _, _ = decodeAll(t, 1<<20, 0, nil, tb.encode())
	if c.records[0].TimestampMs != tb.max {
		t.Errorf("the time is %d; the broker's %d was expected", c.records[0].TimestampMs, tb.max)
	}
}

func TestDecodeSplitsLargeBatches(t *testing.T) {
	n := 3*batchRecords + 5
	for codec := codecNone; codec <= codecZstd; codec++ {
		tb := simple(100, n)
		tb.codec = codec
		c, res, err := decodeAll(t, 64<<20, 100, nil, tb.encode())
		if err != nil || len(c.records) != n || int(res.next) != 100+n || len(c.ranges) != 4 {
			t.Errorf("codec %d: %d records in %d ranges, next %d, %v", codec, len(c.records), len(c.ranges), res.next, err)
		}
	}
}

func TestDecodeGathersSmallBatches(t *testing.T) {
	var data []byte
	for i := range 500 {
		tb := simple(int64(2*i), 2)
		tb.codec = i % (codecZstd + 1)
		data = append(data, tb.encode()...)
	}
	c, _, err := decodeAll(t, 1<<20, 0, nil, data)
	if err != nil || len(c.ranges) != 1 || len(c.records) != 1000 {
		t.Fatalf("%d records in %d ranges, %v; one range was expected", len(c.records), len(c.ranges), err)
	}
	for i, r := range c.records {
		if string(r.Value) != fmt.Sprintf("v%d", i) {
			t.Fatalf("record %d is %q", i, r.Value)
		}
	}
}

func TestXerialFraming(t *testing.T) {
	tb := simple(0, 5000)
	tb.codec = codecSnappy
	var plain []byte
	for i := range tb.records {
		plain = append(plain, tb.records[i].encode()...)
	}
	c, _, err := decodeAll(t, 1<<20, 0, nil, tb.encodeRaw(xerialFrame(plain)))
	if err != nil || len(c.records) != 5000 {
		t.Errorf("%d records, %v", len(c.records), err)
	}
}

func TestDamageIsNamed(t *testing.T) {
	good := simple(0, 3).encode()
	flip := func(at int) []byte {
		b := simple(10, 3).encode()
		b[at] ^= 0x40
		return b
	}
	old := simple(10, 3).encode()
	old[16] = 1
	bad := func(edit func(*testBatch)) []byte {
		tb := simple(10, 3)
		edit(&tb)
		return tb.encode()
	}
	zeros := make([]byte, 10<<20)
	for _, tt := range []struct {
		name, words string
		data        []byte
	}{
		{"a flipped bit in a record", "checksum", flip(len(good) - 2)},
		{"a flipped bit in the header", "checksum", flip(30)},
		{"a negative length", "bytes long", append(append([]byte{}, simple(10, 1).encode()[:8]...), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 2)},
		{"an old message format", "message format v1", old},
		{"too many records", "announces", bad(func(tb *testBatch) { tb.count = 1 << 30 })},
		{"fewer records than bytes", "follow its last record", bad(func(tb *testBatch) { tb.count = 2 })},
		{"more records than bytes", "reaches beyond", bad(func(tb *testBatch) { tb.count = 4 })},
		{"offsets that go back", "damaged", bad(func(tb *testBatch) { tb.records[1].delta = 2; tb.records[2].delta = 1; tb.lastDelta = 2 })},
		{"offsets beyond the batch", "damaged", bad(func(tb *testBatch) { tb.lastDelta = 1 })},
		{"an unknown codec", "unknown compression codec 6", bad(func(tb *testBatch) { tb.attributes = 6 })},
		{"a zstd bomb", "max_record_batch_bytes", testBatch{base: 10, codec: codecZstd, count: 1}.encodeRaw(compress(codecZstd, zeros))},
		{"a gzip bomb", "max_record_batch_bytes", testBatch{base: 10, codec: codecGzip, count: 1}.encodeRaw(compress(codecGzip, zeros))},
		{"an lz4 bomb", "max_record_batch_bytes", testBatch{base: 10, codec: codecLZ4, count: 1}.encodeRaw(compress(codecLZ4, zeros))},
		{"a snappy bomb", "max_record_batch_bytes", testBatch{base: 10, codec: codecSnappy, count: 1}.encodeRaw(compress(codecSnappy, zeros))},
		{"a xerial bomb", "max_record_batch_bytes", testBatch{base: 10, codec: codecSnappy, count: 1}.encodeRaw(xerialFrame(zeros))},
		{"damaged lz4", "lz4", testBatch{base: 10, codec: codecLZ4, count: 1}.encodeRaw([]byte("not lz4 at all"))},
		{"damaged snappy", "snappy", testBatch{base: 10, codec: codecSnappy, count: 1}.encodeRaw([]byte{200, 1, 2, 3})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, res, err := decodeAll(t, 1<<20, 0, nil, good, tt.data)
			var re *RecordError
			if !errors.As(err, &re) || re.Partition != testPartition || re.Position != 10 || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v; a RecordError at 10 with %q was expected", err, tt.words)
			}
			if len(c.records) != 3 || res.next != 3 {
				t.Errorf("%d records, next %d; the 3 before the damage were expected", len(c.records), res.next)
			}
		})
	}
}

func TestEmitErrorStopsAndGivesBack(t *testing.T) {
	b := newBudget(1 << 30)
	broken := errors.New("broken")
	d := newDecoder(1<<20, b, func(context.Context, *source.Batch) error { return broken })
	raw := newChunk(0)
	raw.b = append(raw.b, simple(0, 10).encode()...)
	res, err := d.decode(t.Context(), &recordSet{partition: testPartition, raw: raw})
	if !errors.Is(err, broken) || res.next != 0 || b.inUse() != 0 {
		t.Errorf("got %+v, %v, %d bytes in use", res, err, b.inUse())
	}
}

func TestSecondReleaseDoesNothing(t *testing.T) {
	b := newBudget(1 << 30)
	var kept []*source.Batch
	d := newDecoder(1<<20, b, func(_ context.Context, x *source.Batch) error {
		kept = append(kept, x)
		return nil
	})
	for range 2 {
		raw := newChunk(0)
		raw.b = append(raw.b, simple(0, 10).encode()...)
		if _, err := d.decode(t.Context(), &recordSet{partition: testPartition, raw: raw}); err != nil {
			t.Fatal(err)
		}
		raw.release()
	}
	kept[0].Release()
	kept[0].Release()
	if got := string(kept[1].Records[9].Value); got != "v9" {
		t.Errorf("the other batch's record is %q", got)
	}
	if n := b.inUse(); n != kept[1].Bytes {
		t.Errorf("%d bytes are in use; the other batch's %d were expected", n, kept[1].Bytes)
	}
	kept[1].Release()
}
