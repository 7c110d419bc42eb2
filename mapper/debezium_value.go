package mapper

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// placeholder is what Debezium has in place of a value that it was not told, in each form that it gives it.
type placeholder struct {
	bytes []byte
	// texts are its forms as text.
	texts [][]byte
	uuid  [16]byte
	// shapes are those of geometries, as WKB: a point that is none, whatever the placeholder.
	shapes [][]byte
}

// newPlaceholder takes it as Debezium does: octets in hexadecimal digits behind hex:, else text.
func newPlaceholder(text string) *placeholder {
	b := []byte(text)
	if digits, ok := strings.CutPrefix(text, "hex:"); ok {
		if octets, err := hex.DecodeString(digits); err == nil && len(octets) > 0 {
			b, text = octets, string([]rune(string(octets)))
		}
	}
	p := &placeholder{bytes: b, texts: [][]byte{[]byte(text)}, uuid: md5.Sum(b)}
	p.texts = append(p.texts, []byte(base64.StdEncoding.EncodeToString(b)), []byte(base64.URLEncoding.EncodeToString(b)), []byte(hex.EncodeToString(b)))
	p.uuid[6], p.uuid[8] = p.uuid[6]&0x0f|0x30, p.uuid[8]&0x3f|0x80 // a name-based UUID, version 3
	p.texts = append(p.texts, fmt.Appendf(nil, "%x-%x-%x-%x-%x", p.uuid[:4], p.uuid[4:6], p.uuid[6:8], p.uuid[8:10], p.uuid[10:]))
	if name, err := json.Marshal(text); err == nil { // an hstore, by default as JSON
		p.texts = append(p.texts, fmt.Appendf(nil, "{%s:%s}", name, name))
	}
	for _, shape := range []string{"0101000020E6100000000000FC83D797C1000000FC83D797C1", "0101000020E61000000C21E7FDFF7F66401842CEFBFF7F5640"} {
		wkb, err := hex.DecodeString(shape)
		if err == nil {
			p.shapes = append(p.shapes, wkb)
			p.texts = append(p.texts, []byte(base64.StdEncoding.EncodeToString(wkb)))
		}
	}
	return p
}

var faultUnavailable = &fault{CodeUnavailable, "Debezium's placeholder for a value that the update did not change and the database did not tell " +
	"(replica identity full, or the reselect post-processor, has it told)"}

// in says whether value i of c is the placeholder, or has it inside.
func (p *placeholder) in(c *Column, i int) bool {
	switch c.kind {
	case String:
		t := c.Slot(i)
		for _, form := range p.texts {
			if len(t) == len(form) && bytes.Equal(t, form) {
				return true
			}
		}
	case Binary, Fixed:
		t := c.Slot(i)
		return bytes.Equal(t, p.bytes) || bytes.Equal(t, p.shapes[0]) || bytes.Equal(t, p.shapes[1])
	case UUID:
		return bytes.Equal(c.Slot(i), p.uuid[:])
	case Struct:
		for _, k := range c.Kids {
			if p.in(k, i) {
				return true
			}
		}
	case List, Map:
		return p.inside(c, int(c.Off[i]), int(c.Off[i+1]))
	}
	return false
}

// inside looks at the elements [from, to) of a list or a map.
func (p *placeholder) inside(c *Column, from, to int) bool {
	if c.kind == List && to-from == len(p.bytes) && p.spelled(c.Kids[0], from) {
		return true
	}
	for _, k := range c.Kids {
		for e := from; e < to; e++ {
			if p.in(k, e) {
				return true
			}
		}
	}
	return false
}

// spelled says that the elements from number from on are the placeholder's bytes, one number each. Decimals have them as their
// digits, in the scale that they were written with.
func (p *placeholder) spelled(c *Column, from int) bool {
	scale := c.Field.Type.Scale
	for k := range scale + 1 {
		if p.spelledIn(c, from, pow10u128[k]) {
			return true
		}
	}
	return false
}

// spelledIn is spelled for decimals whose digits are the bytes times unit.
func (p *placeholder) spelledIn(c *Column, from int, unit [2]uint64) bool {
	for i, b := range p.bytes {
		e, want, same := from+i, int64(int8(b)), false // Java's bytes have a sign
		switch c.kind {
		case Int, Date:
			same = int64(c.I32[e]) == want
		case Long, Time, Timestamp, TimestampTz, TimestampNs, TimestampTzNs:
			v := c.I64[e]
			same = v == want || v == want*1000 || v == want*1000000
		case Float:
			same = c.F32[e] == float32(want)
		case Double:
			same = c.F64[e] == float64(want)
		case Decimal:
			var digits [16]byte
			hi, lo := mulAdd(unit[0], unit[1], magnitude(want), 0)
			same = bytes.Equal(c.Slot(e), appendInt128(digits[:0], want < 0, hi, lo))
		}
		if !same || c.IsNull(e) {
			return false
		}
	}
	return true
}

// is says that value i of c is the placeholder, or holds nothing but placeholders and nulls.
func (p *placeholder) is(c *Column, i int) bool {
	switch c.kind {
	case Struct:
		return false
	case List, Map:
		from, to := int(c.Off[i]), int(c.Off[i+1])
		return c.kind == List && to-from == len(p.bytes) && p.spelled(c.Kids[0], from) || p.only(c, from, to)
	}
	return p.in(c, i)
}

// only says that the elements [from, to) of a list, or the keys and values of a map, are placeholders and nulls, and not nulls alone.
func (p *placeholder) only(c *Column, from, to int) bool {
	found := false
	for _, k := range c.Kids {
		for e := from; e < to; e++ {
			is := p.is(k, e)
			if !is && !k.IsNull(e) {
				return false
			}
			found = found || is
		}
	}
	return found
}

// remove makes value i of c, its last, null where it is the placeholder; else what is inside it and is the placeholder. What the
// record tells beside that stays.
func (p *placeholder) remove(c *Column, i int) error {
	switch {
	case p.is(c, i):
		if c.Field.Required {
			return asError(faultUnavailable)
		}
		c.truncate(i)
		c.appendNull()
		return nil
	case c.kind == Struct:
		for _, k := range c.Kids {
			if p.in(k, i) {
				if err := p.remove(k, i); err != nil {
					return under(k.Field.Name, err)
				}
			}
		}
	case c.kind == List:
		return under("element", p.removeInside(c.Kids[0], int(c.Off[i])))
	case c.kind == Map:
		for e := int(c.Off[i]); e < int(c.Off[i+1]); e++ {
			if p.in(c.Kids[0], e) { // a value that nobody knows whose it is
				return under("key", asError(faultUnavailable))
			}
		}
		return under("value", p.removeInside(c.Kids[1], int(c.Off[i])))
	}
	return nil
}

// removeInside has the values of c from number from on, its last ones, without what is the placeholder in them.
func (p *placeholder) removeInside(c *Column, from int) error {
	old, n := newColumn(c.Field), c.Len-from
	if !old.appendRange(c, from, c.Len, math.MaxInt32) {
		return ErrFull
	}
	c.truncate(from)
	for e := range n {
		if !c.appendRange(old, e, e+1, math.MaxInt32) { // no more than there was
			return ErrFull
		}
		if p.in(c, from+e) {
			if err := p.remove(c, from+e); err != nil {
				return err
			}
		}
	}
	return nil
}
