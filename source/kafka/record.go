package kafka

import (
	"context"
	"encoding/binary"

	"github.com/stormfloe/floe/source"
)

// records parses the records of one batch in place; c holds data. On an error the records of this batch that were not handed over
// yet are taken back.
func (d *decoder) records(ctx context.Context, h *header, data []byte, c *chunk) error {
	last := int64(-1)
	mark := d.mark()
	for i := 0; i < h.count; i++ {
		if d.out == nil {
			if err := d.budget.wait(ctx); err != nil {
				return err
			}
			d.out = newBuffers(d.set.partition, d.emitted)
			mark = d.mark()
		}
		rec, rest, ok := cutRecord(data)
		if !ok {
			d.rollback(mark)
			return d.corrupt(h.base, "record %d of %d reaches beyond it", i, h.count)
		}
		data = rest
		out := &d.out.batch.Records
		*out = append(*out, source.Record{})
		r := &(*out)[len(*out)-1]
		offset, time, headers, ok := parseRecord(rec, r, d.out.headers)
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
	if len(data) > 0 {
		d.rollback(mark)
		return d.corrupt(h.base, "%d bytes follow its last record", len(data))
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

// varint is binary.Varint with a short way for the one byte that most of them are.
func varint(b []byte) (int64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	return binary.Varint(b)
}

// cutRecord splits off one record, without its length.
func cutRecord(b []byte) (rec, rest []byte, ok bool) {
	n, k := varint(b)
	if k <= 0 || n < 0 || n > int64(len(b)-k) {
		return nil, nil, false
	}
	return b[k : k+int(n)], b[k+int(n):], true
}

// parseRecord reads one record; key, value and headers point into b. It gives the record's offset and time, relative
// to its batch, and hs with the headers appended.
func parseRecord(b []byte, r *source.Record, hs []source.Header) (offset, time int64, _ []source.Header, ok bool) {
	if len(b) < minRecord-1 {
		return 0, 0, hs, false
	}
	b = b[1:] // attributes: unused
	time, k := varint(b)
	if k <= 0 {
		return 0, 0, hs, false
	}
	b = b[k:]
	if offset, k = varint(b); k <= 0 || offset < 0 {
		return 0, 0, hs, false
	}
	if r.Key, b, ok = cutBytes(b[k:]); !ok {
		return 0, 0, hs, false
	}
	if r.Value, b, ok = cutBytes(b); !ok {
		return 0, 0, hs, false
	}
	n, k := varint(b)
	if k <= 0 || n < 0 || n > int64(len(b)-k)/2 {
		return 0, 0, hs, false
	}
	if b = b[k:]; n == 0 {
		return offset, time, hs, len(b) == 0
	}
	at := len(hs)
	for ; n > 0; n-- {
		var h source.Header
		if h.Key, b, ok = cutBytes(b); !ok || h.Key == nil {
			return 0, 0, hs[:at], false
		}
		if h.Value, b, ok = cutBytes(b); !ok {
			return 0, 0, hs[:at], false
		}
		hs = append(hs, h)
	}
	r.Headers = hs[at:len(hs):len(hs)]
	return offset, time, hs, len(b) == 0
}

// cutBytes reads a length and that many bytes; nil where the length is -1.
func cutBytes(b []byte) (v, rest []byte, ok bool) {
	n, k := varint(b)
	if k <= 0 || n < -1 || n > int64(len(b)-k) {
		return nil, nil, false
	}
	if n < 0 {
		return nil, b[k:], true
	}
	return b[k : k+int(n) : k+int(n)], b[k+int(n):], true
}
