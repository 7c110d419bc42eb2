package mapper

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stormfloe/floe/source"
)

// composed fills rows from several parts. On any error the whole row is taken back.
type composed struct {
	schema     *Schema
	value, key *part // key may be nil
	fills      []fill
	// fixed is how many bytes the constants take in a row.
	fixed      int
	tombstones bool

	partition source.Partition
	dst       *Columns
	// keyed is what the key's mapper reads: the record with its key as the value.
	keyed source.Record
	order []int32
}

// SetPartition is for the columns of topic and partition.
func (m *composed) SetPartition(p source.Partition) {
	m.partition = p
	SetPartition(m.value.mapper, p)
	if m.key != nil {
		SetPartition(m.key.mapper, p)
	}
}

// Map has the errors of Mapper and of its parts, ErrFull and ErrSchema.
func (m *composed) Map(rec *source.Record, dst *Columns) error {
	if dst != m.dst {
		if err := m.bind(dst); err != nil {
			return err
		}
	}
	size := m.size(rec)
	if err := dst.fits(size); err != nil {
		return err
	}
	if err := m.row(rec, dst, size+1); err != nil {
		dst.Truncate(dst.Rows)
		return err
	}
	dst.Rows++
	return nil
}

func (m *composed) bind(dst *Columns) error {
	if !m.schema.Equal(dst.Schema) {
		return ErrSchema
	}
	m.value.bind(dst)
	if m.key != nil {
		m.key.bind(dst)
	}
	for i := range m.fills {
		m.fills[i].col = dst.Cols[m.fills[i].at]
	}
	m.dst = dst
	return nil
}

// size is at least what the fills append to any column. The mappers count for themselves.
func (m *composed) size(rec *source.Record) int {
	n := m.fixed + len(rec.Key) + len(m.partition.Topic)
	for i := range rec.Headers {
		n += 1 + len(rec.Headers[i].Key) + len(rec.Headers[i].Value)
	}
	return n
}

// row appends the row; size is what fits has counted for the fills.
func (m *composed) row(rec *source.Record, dst *Columns, size int) error {
	if rec.Value == nil && m.tombstones {
		m.value.nulls() // the factory has seen that none is required
	} else if err := m.value.apply(rec, dst, size); err != nil {
		return err
	}
	if m.key != nil {
		if err := m.fromKey(rec, dst, size); err != nil {
			return err
		}
	}
	for i := range m.fills {
		if f, where := m.fills[i].append(m, rec); f != nil {
			bad := &BadRecordError{Code: f.code, Column: where, Reason: f.reason}
			return under(m.fills[i].col.Field.Name, bad)
		}
	}
	return nil
}

var faultNoKey = &fault{CodeRequired, "the column is required, and the record has no key"}

func (m *composed) fromKey(rec *source.Record, dst *Columns, size int) error {
	if rec.Key == nil {
		if i := m.key.nulls(); i >= 0 {
			return under(m.key.view.Cols[i].Field.Name, asError(faultNoKey))
		}
		return nil
	}
	m.keyed = *rec
	m.keyed.Value = rec.Key
	err := m.key.apply(&m.keyed, dst, size)
	m.keyed = source.Record{}
	if bad, ok := errors.AsType[*BadRecordError](err); ok {
		return m.key.blame(bad)
	}
	return err
}

// blame tells of the key, and names the column as the table does.
func (p *part) blame(bad *BadRecordError) error {
	best := -1
	for i := range p.schema.Fields {
		name := p.schema.Fields[i].Name
		if (bad.Column == name || strings.HasPrefix(bad.Column, name+".")) && (best < 0 || len(name) > len(p.schema.Fields[best].Name)) {
			best = i
		}
	}
	out := &BadRecordError{Code: bad.Code, Column: bad.Column, Reason: fmt.Sprintf("in the record's key: %s", bad.Reason)}
	if best >= 0 {
		out.Column = p.view.Cols[best].Field.Name + bad.Column[len(p.schema.Fields[best].Name):]
	}
	return out
}
