package kafka

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/stormfloe/floe/source"
)

// records parses the records of one batch in place; c holds data. On an error the records of this batch that were not handed over
// yet are taken back.
func (d *decoder) records(ctx context.Context, h *header, data []byte, c *chunk) error {
	last, end := int64(-1), 0
	mark := d.mark()
	for i := 0; i < h.count; i++ {
		if d.out == nil {
			if err := d.budget.wait(ctx); err != nil {
				return err
			}
			d.out = newBuffers(d.set.partition, d.emitted)
			mark = d.mark()
		}
		var start int
		if start, end = cutRecord(data, end); end < 0 {
			d.rollback(mark)
			return d.corrupt(h.base, "record %d of %d reaches beyond it", i, h.count)
		}
		out := &d.out.batch.Records
		if len(*out) == cap(*out) {
			*out = slices.Grow(*out, likely(h, len(data)))
		}
		*out = (*out)[:len(*out)+1]
		r := &(*out)[len(*out)-1]
		offset, time, headers, ok := parseRecord(data[start:end], r, d.out.headers)
		if !ok || offset <= last || offset > h.last-h.base {
			d.rollback(mark)
			return d.corrupt(h.base, "record %d of %d is damaged", i, h.count)
		}
		last = offset
		r.Position = source.Position(h.base + offset)
		if r.Position < d.next {
			*out = (*out)[:len(*out)-1]
			continue
		}
		d.out.headers = headers
		if r.TimestampMs = h.baseTime + time; h.attributes&attrAppended != 0 {
			r.TimestampMs = h.maxTime
		}
		d.out.hold(c)
		if len(*out) >= batchRecords {
			d.next, d.nextEpoch = r.Position+1, h.epoch
			if err := d.flush(ctx); err != nil {
				return err
			}
		}
	}
	if end < len(data) {
		d.rollback(mark)
		return d.corrupt(h.base, "%d bytes follow its last record", len(data)-end)
	}
	return nil
}

// mark is how much was gathered, so that a damaged batch can be taken back whole.
type mark struct{ records, headers int }

func (d *decoder) mark() mark {
	if d.out == nil {
		return mark{}
	}
	return mark{len(d.out.batch.Records), len(d.out.headers)}
}

func (d *decoder) rollback(m mark) {
	if d.out != nil {
		d.out.batch.Records = d.out.batch.Records[:m.records]
		d.out.headers = d.out.headers[:m.headers]
	}
}

// Reading the records is, beside decompression, most of what a fetch costs. Hence the shape of what follows: one index into the
// slice instead of ever shorter slices, and a failure that sticks, as an index below zero, and is looked at once.

// varint reads the varint at b[i], still in zigzag, and gives where it ends; below zero where it is cut off or too long, or where
// i was below zero. Nearly all have up to three bytes.
func varint(b []byte, i int) (uint64, int) {
	if uint(i) >= uint(len(b)) {
		return 0, -1
	}
	p := b[i:]
	if p[0] < 0x80 {
		return uint64(p[0]), i + 1
	}
	if len(p) >= 3 {
		u := uint64(p[0]&0x7f) | uint64(p[1]&0x7f)<<7
		if p[1] < 0x80 {
			return u, i + 2
		}
		if p[2] < 0x80 {
			return u | uint64(p[2])<<14, i + 3
		}
	}
	u, k := binary.Uvarint(p)
	if k <= 0 {
		return 0, -1
	}
	return u, i + k
}

func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// minusOne is -1 in zigzag: the length of what is nil.
const minusOne = 1

// cutRecord finds the record that begins at b[i] with its length: it is b[start:end]. end is below zero where it is damaged.
func cutRecord(b []byte, i int) (start, end int) {
	u, start := varint(b, i)
	if n := zigzag(u); start < 0 || n < 0 || n > int64(len(b)-start) {
		return 0, -1
	}
	return start, start + int(u>>1)
}

// parseRecord reads the record b into r, all but its position and time; what r held is overwritten. Key, value and headers
// point into b. It gives the record's offset and time, relative to its batch, and hs with the headers appended.
func parseRecord(b []byte, r *source.Record, hs []source.Header) (offset, time int64, _ []source.Header, ok bool) {
	ut, i := varint(b, 1) // behind the attributes, which are unused
	uo, i := varint(b, i)
	r.Key, i = cutBytes(b, i)
	r.Value, i = cutBytes(b, i)
	un, i := varint(b, i)
	r.Headers = nil
	time, offset = zigzag(ut), zigzag(uo)
	if un == 0 {
		return offset, time, hs, i == len(b) && offset >= 0
	}
	n := zigzag(un)
	if i < 0 || offset < 0 || n < 0 || n > int64(len(b)-i)/2 {
		return 0, 0, hs, false
	}
	at := len(hs)
	for ; n > 0; n-- {
		var h source.Header
		h.Key, i = cutBytes(b, i)
		h.Value, i = cutBytes(b, i)
		if i < 0 || h.Key == nil {
			return 0, 0, hs[:at], false
		}
		hs = append(hs, h)
	}
	r.Headers = hs[at:len(hs):len(hs)]
	return offset, time, hs, i == len(b)
}

// cutBytes reads a length and that many bytes at b[i]; nil where the length is -1. The end is below zero where they are damaged.
func cutBytes(b []byte, i int) (v []byte, end int) {
	u, i := varint(b, i)
	if u == minusOne {
		return nil, i
	}
	n := zigzag(u)
	if i < 0 || n < 0 || n > int64(len(b)-i) {
		return nil, -1
	}
	end = i + int(n)
	return b[i:end:end], end
}

// likely is how many records a range takes, guessed from the batch h with size bytes of content, so that its slice is made once
// instead of growing.
func likely(h *header, size int) int {
	return max(1, min(h.coming, h.count*batchBytes/max(size, 1), batchRecords))
}
