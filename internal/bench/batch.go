package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// batchRecords and batchBytes are how many records a record batch holds at most, and how many bytes of them, one
	// record at least.
	batchRecords = 1000
	batchBytes   = 512 << 10
)

// codecs by the names that Kafka has for them.
var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// Codecs are the names of the codecs.
func Codecs() []string { return slices.Sorted(maps.Keys(codecs)) }

// packer makes record batches, as a producer would send them.
type packer struct {
	gen  *generator
	per  int64
	comp kgo.Compressor
	// value, records and out are reused.
	value, records []byte
	out            bytes.Buffer
}

func newPacker(j Job) (*packer, error) {
	w, err := WorkloadOf(j.Workload)
	if err != nil {
		return nil, err
	}
	p := &packer{gen: newGenerator(w, j.Seed, j.RecordBytes)}
	size := len(p.gen.append(nil, 0))
	p.per = max(1, min(batchRecords, int64(batchBytes/size)))
	codec, ok := codecs[j.Codec]
	if !ok {
		return nil, fmt.Errorf("there is no codec %q", j.Codec)
	}
	p.comp, err = kgo.DefaultCompressor(codec)
	return p, err
}

// fill makes the records of one batch and gives their bytes without the framing.
func (p *packer) fill(batch, total int64) (n int32, valueBytes int64) {
	p.records = p.records[:0]
	for i := batch * p.per; i < min(total, (batch+1)*p.per); i++ {
		p.value = p.gen.append(p.value[:0], i)
		valueBytes += int64(len(p.value))
		p.record(n)
		n++
	}
	return n, valueBytes
}

// apart is how many milliseconds there are from a record to the next.
const apart = 3

// record frames value as record n of the batch: no key, no headers.
func (p *packer) record(n int32) {
	var head [5 * binary.MaxVarintLen32]byte
	h := append(head[:0], 0) // attributes
	h = binary.AppendVarint(h, int64(n)*apart)
	h = binary.AppendVarint(h, int64(n))
	h = binary.AppendVarint(h, -1) // no key
	h = binary.AppendVarint(h, int64(len(p.value)))
	p.records = binary.AppendVarint(p.records, int64(len(h)+len(p.value)+1))
	p.records = append(append(append(p.records, h...), p.value...), 0) // no headers
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pack makes batch number batch. The result is the caller's.
func (p *packer) pack(batch, total int64) (wire []byte, n int32, valueBytes int64) {
	n, valueBytes = p.fill(batch, total)
	records, attributes := p.records, int16(0)
	if p.comp != nil {
		p.out.Reset()
		packed, codec := p.comp.Compress(&p.out, p.records)
		records, attributes = packed, int16(codec)
	}
	ms := startOf + batch*p.per*apart
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: attributes, LastOffsetDelta: n - 1, FirstTimestamp: ms,
		MaxTimestamp: ms + int64(n-1)*apart, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: n, Records: records,
	}
	const lengthEnd, crcAt, crcFrom = 12, 17, 21
	wire = b.AppendTo(make([]byte, 0, crcFrom+40+len(records)))
	binary.BigEndian.PutUint32(wire[8:], uint32(len(wire)-lengthEnd))
	binary.BigEndian.PutUint32(wire[crcAt:], crc32.Checksum(wire[crcFrom:], castagnoli))
	return wire, n, valueBytes
}
