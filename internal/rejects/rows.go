package rejects

import (
	"strconv"
	"strings"
	"time"

	"github.com/stormfloe/floe/mapper"
	"github.com/stormfloe/floe/source"
)

// Reject is a record that can't become a row.
type Reject struct {
	Topology  string
	Partition source.Partition
	// Record is taken whole. Its slices are not kept.
	Record *source.Record
	Err    *mapper.BadRecordError
	At     time.Time
	// Batch is the UUID of the batch that refused it.
	Batch string
	// Replayed is the commit id of a replay; empty: none.
	Replayed string
}

// Rows makes rows of rejects. It belongs to one goroutine.
type Rows struct {
	m   mapper.Mapper
	cur *Reject
}

// NewRows makes it for the row type of a table that Check is content with.
func NewRows(s *mapper.Schema) (*Rows, error) {
	r := &Rows{}
	m, err := mapper.FromRowMapper(mapper.RowMapperFunc(func(_ *source.Record, row *mapper.Row) error { return r.fill(row) }))(s)
	if err != nil {
		return nil, err
	}
	r.m = m
	return r, nil
}

// Append adds a row. Errors, after which dst is as before: mapper.ErrFull where dst has no room (write it out and try
// again); a *mapper.BadRecordError where the record is too large for any columns; another one where the table has no such
// column.
func (r *Rows) Append(rej *Reject, dst *mapper.Columns) error {
	r.cur = rej
	err := r.m.Map(rej.Record, dst)
	r.cur = nil
	return err
}

// maxMs is the last millisecond of the year 9999, where a timestamp column ends.
const maxMs = 253402300799999

// A time that the column can't tell stands behind the reason instead, from where cutLate takes it.
const (
	lateBefore = "; its timestamp, "
	lateAfter  = " ms, is later than the column can tell"
)

func cutLate(reason string) (rest string, ms int64, ok bool) {
	text, ok := strings.CutSuffix(reason, lateAfter)
	i := strings.LastIndex(text, lateBefore)
	if !ok || i < 0 {
		return reason, 0, false
	}
	ms, err := strconv.ParseInt(text[i+len(lateBefore):], 10, 64)
	if err != nil || ms <= maxMs {
		return reason, 0, false
	}
	return text[:i], ms, true
}

// fill sets the columns.
func (r *Rows) fill(row *mapper.Row) error {
	rej, rec, reason := r.cur, r.cur.Record, text(r.cur.Err.Reason)
	set := func(column string, v any) {
		if s, ok := v.(string); ok {
			v = text(s)
		}
		_ = row.Set(column, v) // the row keeps the error
	}
	optional := func(column, v string) {
		if v != "" {
			set(column, v)
		}
	}
	if ms := rec.TimestampMs; ms > maxMs {
		reason = reason + lateBefore + strconv.FormatInt(ms, 10) + lateAfter
	} else if ms >= 0 {
		set(Timestamp, time.UnixMilli(ms).UTC())
	}
	set(Topology, rej.Topology)
	optional(Cluster, rej.Partition.Cluster)
	set(Topic, rej.Partition.Topic)
	optional(Incarnation, rej.Partition.Incarnation)
	set(Partition, rej.Partition.ID)
	set(Offset, int64(rec.Position))
	set(Key, rec.Key)
	set(Value, rec.Value)
	set(Headers, headers(rec.Headers))
	set(Code, string(rej.Err.Code))
	set(Reason, reason)
	optional(Column, rej.Err.Column)
	set(RejectedAt, rej.At.UTC().Truncate(time.Microsecond))
	set(Batch, rej.Batch)
	optional(Replayed, rej.Replayed)
	return nil
}

// text is always UTF-8: Iceberg's strings are.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// headers gives the headers as the row takes them. A key is never null.
func headers(in []source.Header) []any {
	out := make([]any, len(in))
	for i, h := range in {
		key := h.Key
		if key == nil {
			key = []byte{}
		}
		out[i] = map[string]any{HeaderKey: key, HeaderValue: h.Value}
	}
	return out
}
