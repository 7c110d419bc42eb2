package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stormfloe/floe/source"
)

// plainRecord reads a record with its length field by field and with nothing but encoding/binary, as the format's description has
// it: what the short ways of the reader are measured by.
func plainRecord(b []byte) (r source.Record, offset, time int64, rest []byte, ok bool) {
	bad := false
	number := func() int64 {
		v, k := binary.Varint(b)
		if k <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[k:]
		return v
	}
	value := func() []byte {
		n := number()
		if n == -1 || bad {
			return nil
		}
		if n < 0 || n > int64(len(b)) {
			bad = true
			return nil
		}
		v := b[:n]
		b = b[n:]
		return v
	}
	record := value()
	if bad || len(record) == 0 {
		return r, 0, 0, nil, false
	}
	rest, b = b, record[1:]
	time, offset = number(), number()
	r.Key, r.Value = value(), value()
	n := number()
	bad = bad || n < 0
	for ; n > 0 && !bad; n-- {
		h := source.Header{Key: value(), Value: value()}
		bad = bad || h.Key == nil
		r.Headers = append(r.Headers, h)
	}
	return r, offset, time, rest, !bad && len(b) == 0 && offset >= 0
}

// negativeKey is a record whose key has the length -2; with the sign overlooked it is well formed.
var negativeKey = []byte{16, 0, 0, 0, 3, 'k', 2, 'v', 0}

func FuzzRecordIsReadAsPlainly(f *testing.F) {
	for _, r := range []testRecord{
		{},
		{delta: 63, time: 64, key: []byte{}, value: make([]byte, 63)},
		{delta: 64, time: -65, value: make([]byte, 64)},
		{delta: 8191, time: 8192, key: make([]byte, 8191), value: make([]byte, 8192)},
		{delta: 1 << 20, time: 1<<20 - 1, value: []byte("v"), headers: []source.Header{{Key: []byte("k")}, {Key: []byte{}, Value: []byte("v")}}},
		{delta: 1<<31 - 1, time: -1 << 62},
	} {
		b := r.encode()
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(bytes.Clone(b), 0xff, 0xff, 0xff))
		f.Add(append(b, make([]byte, window)...))
	}
	f.Add([]byte{12, 0, 0x80, 0x80, 0x80, 0, 0, 1})
	f.Add(append(negativeKey, make([]byte, window)...))
	f.Add(bytes.Repeat([]byte{0xff}, 12))
	f.Fuzz(readsAsPlainly)
}

// readsAsPlainly compares all ways of reading the record that b begins with.
func readsAsPlainly(t *testing.T, b []byte) {
	want, wantOffset, wantTime, rest, wantOK := plainRecord(b)
	start, end := cutRecord(b, 0)
	got := source.Record{Key: []byte("old"), Value: []byte("old"), Headers: make([]source.Header, 1)}
	var offset, time int64
	var ok bool
	if end >= 0 {
		offset, time, _, ok = parseRecord(b[start:end], &got, make([]source.Header, 0, 1))
	}
	switch {
	case ok != wantOK:
		t.Fatalf("%x is taken: %t; %t was expected", b, ok, wantOK)
	case !ok:
		if _, _, next := shortRecord(b, 0, &got); next >= 0 {
			t.Fatalf("%x is taken by the short way", b)
		}
		return
	}
	if offset != wantOffset || time != wantTime || !bytes.Equal(b[end:], rest) {
		t.Fatalf("%x: offset %d, time %d, end %d; %d, %d, %d were expected", b, offset, time, end, wantOffset, wantTime, len(b)-len(rest))
	}
	if len(got.Headers) == 0 {
		got.Headers = nil
	}
	short := source.Record{Key: []byte("old"), Value: []byte("old"), Headers: make([]source.Header, 1)}
	if offset, time, next := shortRecord(b, 0, &short); next >= 0 {
		if offset != wantOffset || time != wantTime || next != end || !reflect.DeepEqual(short, want) {
			t.Fatalf("%x: the short way reads %+v at %d, time %d, end %d; %+v was expected", b, short, offset, time, next, want)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%x: %+v was read; %+v was expected", b, got, want)
	}
}

func TestRecordsAreReadAsPlainly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	value := func() []byte {
		switch n := r.IntN(8); n {
		case 0:
			return nil
		case 1:
			return make([]byte, r.IntN(10_000))
		default:
			return make([]byte, r.IntN(64<<(n%3)))
		}
	}
	for range 20_000 {
		rec := testRecord{delta: r.Int64N(1 << r.IntN(40)), time: r.Int64N(1<<r.IntN(40)) - 1<<r.IntN(14), key: value(), value: value()}
		for range max(0, r.IntN(10)-7) {
			rec.headers = append(rec.headers, source.Header{Key: []byte("k"), Value: value()})
		}
		b := append(rec.encode(), make([]byte, r.IntN(2*window))...)
		for range max(0, r.IntN(4)-1) {
			b[r.IntN(min(len(b), 24))] = byte(r.Int())
		}
		readsAsPlainly(t, b)
	}
}

func TestShortWayTakesTheUsualRecords(t *testing.T) {
	for _, r := range []testRecord{
		{delta: 100, time: 8000, value: make([]byte, 143)},
		{delta: 0, time: -8000, key: []byte("key"), value: []byte{}},
		{key: []byte{}, value: make([]byte, 8000)},
	} {
		b := r.encode()
		if _, _, next := shortRecord(append(b, make([]byte, window)...), 0, new(source.Record)); next != len(b) {
			t.Errorf("%x: next is %d; %d was expected", b[:10], next, len(b))
		}
	}
}

// The fetch path allocates per answer and per range, never per record.
func TestNothingIsAllocatedPerRecord(t *testing.T) {
	var data []byte
	for i := range 20 {
		tb := simple(int64(i*1000), 1000)
		tb.codec = i % (codecZstd + 1)
		data = append(data, tb.encode()...)
	}
	d := newDecoder(1<<20, newBudget(1<<30), func(_ context.Context, b *source.Batch) error {
		b.Release()
		return nil
	})
	read := func() {
		raw := newChunk(len(data))
		raw.b = append(raw.b, data...)
		if _, err := d.decode(context.Background(), &recordSet{partition: testPartition, raw: raw}); err != nil {
			t.Fatal(err)
		}
		raw.release()
	}
	read() // what is reused is made
	// A collection in between empties the pools; then the slice of each range is made again, which is few.
	if n := testing.AllocsPerRun(20, read); n > 100 {
		t.Errorf("%v allocations for 20,000 records; those of a few ranges were expected", n)
	}
}
