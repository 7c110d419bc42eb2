package mapper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stormfloe/floe/source"
)

// The headers in which Confluent's serializers may put the reference to a schema, instead of in front of a record's value or key.
const (
	ValueSchemaHeader = "__value_schema_id"
	KeySchemaHeader   = "__key_schema_id"
)

// SchemaRef names a schema of a registry. It can be compared.
type SchemaRef struct {
	// ID is the schema's number in the registry, where GUID is zero.
	ID uint32
	// GUID is the schema's own, the same in every registry.
	GUID [16]byte
}

// ByGUID says that the schema is named by its GUID.
func (r SchemaRef) ByGUID() bool { return r.GUID != [16]byte{} }

// String gives the number, or the GUID as 8-4-4-4-12 hexadecimal digits.
func (r SchemaRef) String() string {
	if g := r.GUID; r.ByGUID() {
		return fmt.Sprintf("%x-%x-%x-%x-%x", g[:4], g[4:6], g[6:8], g[8:10], g[10:])
	}
	return fmt.Sprint(r.ID)
}

// possible says that a registry may have such a schema.
func (r SchemaRef) possible() bool { return r.ByGUID() || r.ID <= math.MaxInt32 }

const (
	idSize   = 5
	guidSize = 17
)

var (
	faultMagic    = &fault{CodeSyntax, "not in the wire format of a schema registry: the first byte is neither 0, before a schema's id, nor 1, before its GUID"}
	faultNoGUID   = &fault{CodeSyntax, "not in the wire format of a schema registry: the schema's GUID is zero"}
	faultIDHeader = &fault{CodeSyntax, "the record's header for the schema's id (__value_schema_id, or __key_schema_id) holds none"}
)

// schemaRef reads the header of the wire format, and gives where it ends: a zero byte and the id of the record's schema, or a one
// and its GUID.
func schemaRef(b []byte) (r SchemaRef, end int, _ error) {
	if len(b) == 0 {
		return r, 0, &BadRecordError{Code: CodeEmpty, Reason: "a value of no bytes"}
	}
	switch end = idSize; b[0] {
	case 0:
	case 1:
		end = guidSize
	default:
		return r, 0, asError(faultMagic)
	}
	if len(b) < end {
		return r, 0, &BadRecordError{Code: CodeSyntax, Reason: fmt.Sprintf("the value ends inside its header, after %d bytes", len(b))}
	}
	if end == idSize {
		r.ID = binary.BigEndian.Uint32(b[1:])
		return r, end, nil
	}
	if copy(r.GUID[:], b[1:]); !r.ByGUID() {
		return r, 0, asError(faultNoGUID)
	}
	return r, end, nil
}

// inHeader has the mappers of f read values whose schema a header of the record may name, instead of the value's first bytes. Where it
// does, the value has no such bytes.
func inHeader(name string, indexes bool, f Factory) Factory {
	if name == "" {
		return f
	}
	return func(s *Schema) (Mapper, error) {
		m, err := f(s)
		if err != nil {
			return nil, err
		}
		return &referredMapper{inner: m, header: name, indexes: indexes}, nil
	}
}

// referredMapper puts what a header says in front of the value.
type referredMapper struct {
	inner  Mapper
	header string
	// indexes: which message of the schema the record is stands behind the reference.
	indexes bool
	// last is the header of the record before, which is one.
	last []byte
	rec  source.Record
	buf  []byte
}

// mostKept is the largest value whose buffer is kept for the next.
const mostKept = 1 << 20

// SetPartition passes the partition on.
func (m *referredMapper) SetPartition(p source.Partition) { SetPartition(m.inner, p) }

// Map has the errors of the mapper in it.
func (m *referredMapper) Map(rec *source.Record, dst *Columns) error {
	at := len(rec.Headers) - 1
	for at >= 0 && string(rec.Headers[at].Key) != m.header {
		at--
	}
	if at < 0 || rec.Value == nil {
		return m.inner.Map(rec, dst)
	}
	ref := rec.Headers[at].Value
	if len(ref) == 0 || !bytes.Equal(ref, m.last) {
		_, end, err := schemaRef(ref)
		if err == nil && m.indexes {
			_, end = messagePath(ref, end)
		}
		if err != nil || end != len(ref) {
			return asError(faultIDHeader)
		}
		m.last = append(m.last[:0], ref...)
	}
	m.rec = *rec
	m.buf = append(append(m.buf[:0], ref...), rec.Value...)
	m.rec.Value = m.buf
	err := m.inner.Map(&m.rec, dst)
	if m.rec = (source.Record{}); cap(m.buf) > mostKept {
		m.buf = nil
	}
	return err
}
