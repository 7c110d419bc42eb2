package mapper

import (
	"fmt"
	"unicode/utf8"

	"github.com/stormfloe/floe/source"
)

// fillKind is what a column is filled from that needs no mapper.
type fillKind uint8

const (
	fillTopic fillKind = iota
	fillPartition
	fillOffset
	fillTimestamp
	fillKey
	fillHeaders
	fillTombstone
	fillHeader
	fillConstant
)

// fill fills one column.
type fill struct {
	kind fillKind
	at   int
	// col is bound to the columns that are filled.
	col *Column
	// name is the header's.
	name string
	// constant holds the one value of a constant.
	constant *Column
	// key and value are the places of a header's parts among the kids of a map, or of a list's element.
	key, value int
}

func (c *composer) metadata() error {
	m := &c.parts.Metadata
	for _, f := range []struct {
		kind         fillKind
		what, column string
	}{
		{fillTopic, "the topic", m.Topic}, {fillPartition, "the partition", m.Partition}, {fillOffset, "the offset", m.Offset},
		{fillTimestamp, "the record's timestamp", m.Timestamp}, {fillKey, "the key's bytes", m.Key},
		{fillHeaders, "the headers", m.Headers}, {fillTombstone, "the tombstone's mark", m.Tombstone},
	} {
		if f.column == "" {
			continue
		}
		if err := c.fill(f.kind, f.what, f.column, ""); err != nil {
			return err
		}
	}
	return nil
}

// fill adds one. text is the header's name, or the constant's text.
func (c *composer) fill(kind fillKind, what, column, text string) error {
	i, err := c.claim(what, column)
	if err != nil {
		return err
	}
	field := &c.schema.Fields[i]
	f := fill{kind: kind, at: i, name: text}
	if want, ok := f.takes(&field.Type); !ok {
		return fmt.Errorf("mapper: column %q is of type %s, which %s does not go to: make it %s", column, &field.Type, what, want)
	}
	if kind == fillConstant {
		f.constant = newColumn(field)
		if !utf8.ValidString(text) {
			return fmt.Errorf("mapper: the constant for column %q is not valid UTF-8", column)
		}
		if bad := f.constant.appendKey([]byte(text)); bad != nil {
			return fmt.Errorf("mapper: the constant for column %q of type %s does not fit: %s", column, &field.Type, bad.reason)
		}
		c.m.fixed += len(text)
	}
	c.m.fills = append(c.m.fills, f)
	return nil
}

// takes says whether a column of type t can be filled, and otherwise which could. It finds the parts of headers.
func (f *fill) takes(t *Type) (want string, ok bool) {
	k := t.Kind
	switch f.kind {
	case fillTopic:
		return "string", k == String
	case fillPartition:
		return "int or long", k == Int || k == Long
	case fillOffset:
		return "long", k == Long
	case fillTimestamp:
		return "timestamptz, timestamptz_ns or long", k == TimestampTz || k == TimestampTzNs || k == Long
	case fillKey:
		return "binary, string or fixed", takesRaw(k)
	case fillTombstone:
		return "boolean", k == Boolean
	case fillHeaders:
		return "map<string, binary>, map<string, string>, or a list of struct<key: string, value: binary> or of struct<key: string, value: string>", f.takesHeaders(t)
	}
	return "a primitive type", k != Struct && k != List && k != Map && k != Variant
}

func (f *fill) takesHeaders(t *Type) bool {
	sides := t.Fields
	if t.Kind == List && t.Fields[0].Type.Kind == Struct {
		sides = t.Fields[0].Type.Fields
	} else if t.Kind != Map {
		return false
	}
	f.key, f.value = 0, 1
	if len(sides) != 2 {
		return false
	}
	if t.Kind == List {
		if sides[0].Name == "value" {
			f.key, f.value = 1, 0
		}
		if sides[f.key].Name != "key" || sides[f.value].Name != "value" {
			return false
		}
	}
	v := sides[f.value].Type.Kind
	return sides[f.key].Type.Kind == String && (v == String || v == Binary)
}

var (
	faultNoTime       = &fault{CodeRequired, "the column is required, and the record has no timestamp"}
	faultNoHeader     = &fault{CodeRequired, "the column is required, and the record has no such header, or it has no value"}
	faultHeaderNull   = &fault{CodeRequired, "a header has no value, and the column's values are required"}
	faultHeaderTwice  = &fault{CodeDuplicateKey, "two headers have the same name"}
	faultConstantFull = &fault{CodeSize, "the constant does not fit"}
)

// append appends the row's value. With a fault it gives the place inside the column, and may have appended a part.
func (f *fill) append(m *composed, rec *source.Record) (_ *fault, where string) {
	c := f.col
	switch f.kind {
	case fillTopic:
		c.ensure(1)
		c.Data = append(c.Data, m.partition.Topic...)
		c.Off = append(c.Off, int32(len(c.Data)))
		c.Len++
	case fillPartition:
		c.appendInteger(int64(m.partition.ID))
	case fillOffset:
		c.appendI64(int64(rec.Position))
	case fillTimestamp:
		return f.timestamp(rec.TimestampMs), ""
	case fillKey:
		if rec.Key == nil {
			return c.nullOr(faultNoKey), ""
		}
		return c.appendRaw(rec.Key), ""
	case fillTombstone:
		c.appendBool(rec.Value == nil)
	case fillHeader:
		return f.header(rec.Headers), ""
	case fillHeaders:
		return f.headers(m, rec.Headers)
	case fillConstant:
		if !c.appendRange(f.constant, 0, 1, m.dst.limit) {
			return faultConstantFull, ""
		}
	}
	return nil, ""
}

// appendInteger appends an int that fits.
func (c *Column) appendInteger(v int64) {
	if c.kind == Long {
		c.appendI64(v)
		return
	}
	c.ensure(1)
	c.I32 = append(c.I32, int32(v))
	c.Len++
}

// nullOr appends a null, or gives f where the column is required.
func (c *Column) nullOr(f *fault) *fault {
	if c.Field.Required {
		return f
	}
	c.appendNull()
	return nil
}

func (f *fill) timestamp(ms int64) *fault {
	if ms < 0 {
		return f.col.nullOr(faultNoTime)
	}
	v := ms
	if f.col.kind != Long {
		var bad *fault
		if v, bad = stampMillis(ms, f.col.kind); bad != nil {
			return bad
		}
	}
	f.col.appendI64(v)
	return nil
}

// header appends the value of the one header of the name.
func (f *fill) header(hs []source.Header) *fault {
	var v []byte
	found := false
	for i := range hs {
		if string(hs[i].Key) != f.name {
			continue
		}
		if found {
			return faultHeaderTwice
		}
		v, found = hs[i].Value, true
	}
	switch {
	case v == nil:
		return f.col.nullOr(faultNoHeader)
	case takesRaw(f.col.kind):
		return f.col.appendRaw(v)
	}
	return f.col.appendKey(v)
}

// headers appends all headers to a map or a list.
func (f *fill) headers(m *composed, hs []source.Header) (_ *fault, where string) {
	c := f.col
	sides, element := c.Kids, (*Column)(nil)
	if c.kind == List {
		element = c.Kids[0]
		sides = element.Kids
		where = "element"
	}
	key, value := sides[f.key], sides[f.value]
	from := key.Len
	for i := range hs {
		if bad := key.appendRaw(hs[i].Key); bad != nil {
			return bad, join(where, "key")
		}
		if v := hs[i].Value; v == nil {
			if bad := value.nullOr(faultHeaderNull); bad != nil {
				return bad, join(where, "value")
			}
		} else if bad := value.appendRaw(v); bad != nil {
			return bad, join(where, "value")
		}
		if element != nil {
			element.ensure(1)
			element.Len++
		}
	}
	if c.kind == Map && keysTwice(key, from, &m.order) {
		return faultHeaderTwice, "key"
	}
	c.ensure(1)
	c.Off = append(c.Off, int32(c.Kids[0].Len))
	c.Len++
	return nil, ""
}
