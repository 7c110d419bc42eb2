package mapper

import (
	"bytes"
	"encoding/base64"
	"slices"
)

// appendText appends what the text t says to a column whose values have a form of their own as text: decimal, date,
// time, timestamps, uuid, and bytes as base64. A fault leaves the column as it was.
func (c *Column) appendText(t []byte) *fault {
	c.ensure(1)
	var f *fault
	switch c.kind {
	case TimestampTz, Timestamp, TimestampNs, TimestampTzNs:
		var v int64
		if v, f = c.day.stampText(t, c.kind); f == nil {
			c.I64 = append(c.I64, v)
		}
	case Date:
		var v int32
		if v, f = parseDate(t); f == nil {
			c.I32 = append(c.I32, v)
		}
	case Time:
		var v int64
		if v, f = parseTime(t); f == nil {
			c.I64 = append(c.I64, v)
		}
	case Decimal:
		f = c.decimalText(t)
	case UUID:
		f = c.uuidText(t)
	case Binary:
		if f = c.base64Text(t); f == nil {
			c.Off = append(c.Off, int32(len(c.Data)))
		}
	case Fixed:
		n := len(c.Data)
		if f = c.base64Text(t); f == nil && len(c.Data)-n != c.width {
			c.Data, f = c.Data[:n], faultFixedLength
		}
	default:
		f = &fault{CodeType, "text for a column of type " + c.kind.String()}
	}
	if f == nil {
		c.Len++
	}
	return f
}

// decimalText reads a number in the grammar of JSON, which is also that of decimals as text.
func (c *Column) decimalText(t []byte) (f *fault) {
	if len(t) == 0 || numberEnd(t, 0) != len(t) {
		return faultDecimalForm
	}
	c.Data, f = split(t).decimal(c.Data, c.Field.Type.Precision, c.Field.Type.Scale)
	return f
}

func (c *Column) uuidText(t []byte) *fault {
	v, ok := parseUUID(t)
	if !ok {
		return faultUUID
	}
	c.Data = append(c.Data, v[:]...)
	return nil
}

// parseUUID reads the form 8-4-4-4-12, in either case.
func parseUUID(t []byte) (v [16]byte, ok bool) {
	if len(t) != 36 || t[8] != '-' || t[13] != '-' || t[18] != '-' || t[23] != '-' {
		return v, false
	}
	i := 0
	for n := range v {
		// A hyphen anywhere else is no digit, and must not move what follows.
		if i == 8 || i == 13 || i == 18 || i == 23 {
			i++
		}
		hi, lo := hexDigits[t[i]], hexDigits[t[i+1]]
		if hi|lo > 15 {
			return v, false
		}
		v[n] = hi<<4 | lo
		i += 2
	}
	return v, true
}

// hexDigits is the value of each hexadecimal digit, and 255 of any other byte.
var hexDigits = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i := range 10 {
		t['0'+i] = byte(i)
	}
	for i := range 6 {
		t['a'+i], t['A'+i] = byte(10+i), byte(10+i)
	}
	return t
}()

// std refuses unused bits that are set; it lets line breaks pass, which are therefore looked for apart.
var std = base64.StdEncoding.Strict()

func (c *Column) base64Text(t []byte) *fault {
	if len(t)%4 != 0 || bytes.IndexByte(t, '\n') >= 0 || bytes.IndexByte(t, '\r') >= 0 {
		return faultBase64
	}
	n := len(c.Data)
	c.Data = slices.Grow(c.Data, len(t)/4*3)
	got, err := std.Decode(c.Data[n:n+len(t)/4*3], t)
	if err != nil {
		return faultBase64
	}
	c.Data = c.Data[:n+got]
	return nil
}
