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
		out := &d.out.batch.Records
		if len(*out) == cap(*out) {
			*out = slices.Grow(*out, likely(h, len(data)))
		}
		*out = (*out)[:len(*out)+1]
		r := &(*out)[len(*out)-1]
		headers := d.out.headers
		offset, time, next := shortRecord(data, end, r)
		ok := next >= 0
		if !ok {
			offset, time, next, headers, ok = longRecord(data, end, r, headers)
		}
		if next < 0 {
			d.rollback(mark)
			return d.corrupt(h.base, "record %d of %d reaches beyond it", i, h.count)
		}
		end = next
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

// longRecord reads the record that begins at b[i] with its length, in any shape; next is below zero where it reaches beyond b.
func longRecord(b []byte, i int, r *source.Record, hs []source.Header) (offset, time int64, next int, _ []source.Header, ok bool) {
	start, next := cutRecord(b, i)
	if next < 0 {
		return 0, 0, next, hs, false
	}
	offset, time, hs, ok = parseRecord(b[start:next], r, hs)
	return offset, time, next, hs, ok
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

// shortRecord reads the record that begins at b[i] with its length where it has the shape of nearly all: no varint of more than two
// bytes, a value, no headers, and enough bytes behind its fields. Otherwise, also where it is damaged, next is below zero, and
// nothing is said of it. It takes a third of the time that longRecord does.
func shortRecord(b []byte, i int, r *source.Record) (offset, time int64, next int) {
	if len(b)-i < window {
		return 0, 0, -1
	}
	w := (*[window]byte)(b[i:])
	size, k := shortVarint(w, 0)
	next = i + k + int(size>>1)
	ut, k := shortVarint(w, k+1)
	uo, k := shortVarint(w, k)
	uk, k := shortVarint(w, k)
	r.Key = nil
	i += k
	if uk != minusOne {
		end := i + int(uk>>1)
		if len(b)-end < window {
			return 0, 0, -1
		}
		r.Key = b[i:end:end]
		w, i, k = (*[window]byte)(b[end:]), end, 0
	}
	uv, m := shortVarint(w, k)
	i += m - k
	end := i + int(uv>>1)
	// A number of more than 14 bits is the beginning of a longer varint; an odd one is below zero.
	switch {
	case (size|ut|uo|uk|uv)>>14 != 0, (size|uo|uv)&1 != 0, uk&1 != 0 && uk != minusOne:
		return 0, 0, -1
	case end >= len(b), b[end] != 0, end+1 != next: // no headers, and nothing behind that
		return 0, 0, -1
	}
	r.Value, r.Headers = b[i:end:end], nil
	return int64(uo >> 1), zigzag(uint64(ut)), next
}

// window is how many bytes shortRecord looks at without asking whether they are there.
const window = 16

// shortVarint reads a varint of one or two bytes at w[i]; where it has more, the number has more than 14 bits.
func shortVarint(w *[window]byte, i int) (uint32, int) {
	u := uint32(w[i%window])
	if u < 0x80 {
		return u, i + 1
	}
	return u&0x7f | uint32(w[(i+1)%window])<<7, i + 2
}

// likely is how many records a range takes, guessed from the batch h with size bytes of content, so that its slice is made once
// instead of growing.
func likely(h *header, size int) int {
	return max(1, min(h.coming, h.count*batchBytes/max(size, 1), batchRecords))
}
