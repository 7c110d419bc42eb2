package memory

import "github.com/stormfloe/floe/source"

// poisonByte fills released records; it is invalid in UTF-8, JSON and as a small varint.
const poisonByte = 0xDB

// poison replaces the batch's slices by copies that are overwritten at Release.
func poison(b *source.Batch) {
	var copies [][]byte
	clone := func(v []byte) []byte {
		if v == nil {
			return nil
		}
		c := append(make([]byte, 0, len(v)), v...)
		copies = append(copies, c)
		return c
	}
	for i := range b.Records {
		r := &b.Records[i]
		r.Key, r.Value = clone(r.Key), clone(r.Value)
		headers := make([]source.Header, len(r.Headers))
		for k, h := range r.Headers {
			headers[k] = source.Header{Key: clone(h.Key), Value: clone(h.Value)}
		}
		r.Headers = headers
	}
	records := b.Records
	b.OnRelease = func() {
		for _, c := range copies {
			for i := range c {
				c[i] = poisonByte
			}
		}
		clear(records)
	}
}
