package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/stormfloe/floe/source"
)

func FuzzDecodeRecordSet(f *testing.F) {
	for codec := codecNone; codec <= codecZstd; codec++ {
		tb := simple(5, 20)
		tb.codec = codec
		tb.records[3].headers = []source.Header{{Key: []byte("k"), Value: []byte("v")}}
		f.Add(tb.encode(), int64(7), true)
		f.Add(tb.encode()[:70], int64(7), false)
	}
	f.Add(testBatch{base: 1, attributes: attrControl | attrTxn, records: []testRecord{{key: []byte{0, 0, 0, 0}}}}.encode(), int64(0), false)
	f.Fuzz(func(t *testing.T, data []byte, from int64, mend bool) {
		if from < 0 {
			return
		}
		data = bytes.Clone(data)
		// Let the fuzzer get past the checksum of the first batch.
		if mend && len(data) >= batchHeader {
			size := int(int32(binary.BigEndian.Uint32(data[8:]))) + batchPrefix
			if size >= batchHeader && size <= len(data) {
				binary.BigEndian.PutUint32(data[17:], crc32.Checksum(data[21:size], castagnoli))
			}
		}
		c, res, _ := decodeAll(t, 1<<20, source.Position(from), []abortedTxn{{1, 1}}, data)
		last := source.Position(from) - 1
		for _, r := range c.records {
			if r.Position <= last || r.Position >= res.next {
				t.Fatalf("record at %d after %d, next is %d", r.Position, last, res.next)
			}
			last = r.Position
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for codec, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		b.Run(name, func(b *testing.B) {
			const perBatch, batches = 1000, 10
			var data []byte
			for i := range batches {
				tb := simple(int64(i*perBatch), perBatch)
				for k := range tb.records {
					tb.records[k].value = fmt.Appendf(nil, `{"id":%d,"user_id":%d,"event_type":"click","value":%d.5,"info":"some text that is here","ts":"2026-01-01T00:00:00Z"}`, i*perBatch+k, k*7919%1000, k)
				}
				tb.codec = codec
				data = append(data, tb.encode()...)
			}
			n := 0
			d := newDecoder(1<<20, newBudget(1<<30), func(_ context.Context, x *source.Batch) error {
				n += len(x.Records)
				x.Release()
				return nil
			})
			b.ReportAllocs()
			began := cpu()
			for b.Loop() {
				raw := newChunk(len(data))
				raw.b = append(raw.b, data...)
				if _, err := d.decode(context.Background(), &recordSet{partition: testPartition, raw: raw}); err != nil {
					b.Fatal(err)
				}
				raw.release()
			}
			b.ReportMetric(float64((cpu()-began).Nanoseconds())/float64(n), "cpu-ns/record")
		})
	}
}
