package writer

import (
	"bytes"
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/stormfloe/floe/mapper"
)

// tuple is one Iceberg partition of a batch: its values as the manifest wants them, and its path.
type tuple struct {
	// values by partition field id.
	values map[int]any
	path   string
	// size is about the memory that it takes.
	size int64
}

// router finds the partition of each row. Tuples are numbered in the order they are first seen; a tuple that was seen
// costs no allocation. It belongs to one goroutine, and is made anew for each batch.
type router struct {
	p      *plan
	vecs   []vector
	byKey  map[string]int32
	tuples []*tuple
	key    []byte
	// bytes is about what the tuples take.
	bytes int64
}

func newRouter(p *plan) *router {
	return &router{p: p, vecs: make([]vector, len(p.parts)), byKey: map[string]int32{}}
}

// reset forgets the tuples, for the next batch of the same plan.
func (r *router) reset() {
	r.byKey, r.tuples, r.bytes = map[string]int32{}, nil, 0
}

// route writes the tuple numbers of rows [from, to) to out[from:to].
func (r *router) route(cs *mapper.Columns, from, to int, out []int32) *rowError {
	for i, pf := range r.p.parts {
		if err := pf.compute(cs, from, to, &r.vecs[i]); err != nil {
			return r.firstError(cs, from, to, err)
		}
	}
	for row := from; row < to; row++ {
		if row > from && r.sameAsBefore(row) {
			out[row] = out[row-1]
			continue
		}
		r.key = r.appendKey(r.key[:0], row)
		n, ok := r.byKey[string(r.key)]
		if !ok {
			n = r.add(row)
		}
		out[row] = n
	}
	return nil
}

// firstError looks whether a later field fails in an earlier row: the first bad record is the one to name.
func (r *router) firstError(cs *mapper.Columns, from, to int, first *rowError) *rowError {
	for i, pf := range r.p.parts {
		if err := pf.compute(cs, from, min(to, first.row), &r.vecs[i]); err != nil && err.row < first.row {
			first = err
		}
	}
	return first
}

func (r *router) sameAsBefore(row int) bool {
	for i, pf := range r.p.parts {
		v := &r.vecs[i]
		if v.null[row] != v.null[row-1] {
			return false
		}
		if v.null[row] {
			continue
		}
		if pf.bytes && !bytes.Equal(v.str[row], v.str[row-1]) || !pf.bytes && v.num[row] != v.num[row-1] {
			return false
		}
	}
	return true
}

// appendKey encodes a tuple so that different tuples have different keys.
func (r *router) appendKey(key []byte, row int) []byte {
	for i, pf := range r.p.parts {
		v := &r.vecs[i]
		switch {
		case v.null[row]:
			key = append(key, 0)
		case pf.bytes:
			key = binary.LittleEndian.AppendUint32(append(key, 1), uint32(len(v.str[row])))
			key = append(key, v.str[row]...)
		default:
			key = binary.LittleEndian.AppendUint64(append(key, 1), uint64(v.num[row]))
		}
	}
	return key
}

func (r *router) add(row int) int32 {
	t := &tuple{values: make(map[int]any, len(r.p.parts))}
	path := make([]string, len(r.p.parts))
	for i, pf := range r.p.parts {
		var val any
		if !r.vecs[i].null[row] {
			val = pf.value(&r.vecs[i], row)
		}
		t.values[pf.fieldID] = val
		path[i] = pf.pathPart(val)
	}
	t.path = shortPath(strings.Join(path, "/"))
	t.size = int64(256 + 2*len(r.key) + len(t.path) + 64*len(r.p.parts))
	n := int32(len(r.tuples))
	r.tuples = append(r.tuples, t)
	r.byKey[string(r.key)] = n
	r.bytes += t.size
	return n
}

// pathPart gives the folder of a value, escaped as Iceberg does, but with a tilde for the percent sign. Some file systems
// decode percent escapes in a path and some do not: a value with a slash would make folders of its own, one with ".."
// could leave the table's, and other engines would look for the file under another name.
func (pf *partField) pathPart(val any) string {
	text := "null"
	switch v := val.(type) {
	case nil:
	case iceberg.Decimal:
		text = v.Val.ToString(int32(v.Scale))
	default:
		text = pf.transform.ToHumanStrType(pf.transform.ResultType(pf.source), v)
	}
	return strings.ReplaceAll(url.QueryEscape(pf.name)+"="+url.QueryEscape(text), "%", "~")
}

// logicalTypes are Avro's logical types of the partition fields, which a DataFile carries beside the values.
func logicalTypes(parts []*partField) map[int]string {
	out := map[int]string{}
	for _, pf := range parts {
		if pf.source == nil {
			continue
		}
		switch pf.transform.ResultType(pf.source).(type) {
		case iceberg.DateType:
			out[pf.fieldID] = "date"
		case iceberg.TimeType:
			out[pf.fieldID] = "time-micros"
		case iceberg.TimestampType, iceberg.TimestampTzType:
			out[pf.fieldID] = "timestamp-micros"
		case iceberg.TimestampNsType, iceberg.TimestampTzNsType:
			out[pf.fieldID] = "timestamp-nanos"
		case iceberg.DecimalType:
			out[pf.fieldID] = "decimal"
		case iceberg.UUIDType:
			out[pf.fieldID] = "uuid"
		}
	}
	return out
}
