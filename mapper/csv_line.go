package mapper

import (
	"bytes"
	"fmt"
)

// csvField is a field of a line. Its text points into the record, or into the mapper's scratch.
type csvField struct {
	text   []byte
	quoted bool
}

// line reads the fields of the line at b[i:], of which there may be at most limit, and gives the index behind the line's end,
// or one below zero after it has set m.bad.
func (m *csvMapper) line(b []byte, i, limit int) int {
	m.fields, m.tmp = m.fields[:0], m.tmp[:0]
	if cap(m.tmp) > keepScratch {
		m.tmp = nil
	}
	for {
		if len(m.fields) == limit {
			m.width(limit)
			return -1
		}
		f, end := m.field(b, i)
		if end < 0 {
			return end
		}
		m.fields = append(m.fields, f)
		switch {
		case end == len(b):
			return end
		case b[end] == m.delimiter:
			i = end + 1
		case b[end] == '\n':
			return end + 1
		case b[end] == '\r' && end+1 < len(b) && b[end+1] == '\n':
			return end + 2
		case b[end] == '\r':
			return m.syntax(end, "a carriage return without a line feed, outside of quotes")
		case f.quoted:
			return m.syntax(end, "more behind a field's closing quote")
		default:
			return m.syntax(end, "a quote inside a field that does not begin with one")
		}
	}
}

// field reads one field, up to the byte that ends it.
func (m *csvMapper) field(b []byte, i int) (csvField, int) {
	if i < len(b) && int(b[i]) == m.quote {
		return m.quoted(b, i+1)
	}
	end := i
	for end < len(b) && !m.stops[b[end]] {
		end++
	}
	return csvField{text: b[i:end]}, end
}

// quoted reads a field behind its opening quote.
func (m *csvMapper) quoted(b []byte, i int) (csvField, int) {
	quote, from, at := byte(m.quote), len(m.tmp), i
	for {
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return csvField{}, m.syntax(len(b), "the value ends inside of quotes")
		}
		i += n + 1
		if i == len(b) || b[i] != quote {
			break
		}
		// Two quotes are one: the text so far ends behind the first.
		m.tmp = append(m.tmp, b[at:i]...)
		i++
		at = i
	}
	text := b[at : i-1]
	if len(m.tmp) > from {
		m.tmp = append(m.tmp, text...)
		text = m.tmp[from:]
	}
	return csvField{text: text, quoted: true}, i
}

// syntax tells where the value is no CSV.
func (m *csvMapper) syntax(i int, what string) int {
	m.bad = BadRecordError{Code: CodeSyntax, Reason: fmt.Sprintf("not valid CSV at byte %d: %s", i, what)}
	return -1
}

// width tells that a line has another number of fields than it should.
func (m *csvMapper) width(want int) bool {
	reason := fmt.Sprintf("fewer than %d fields: %d", want, len(m.fields))
	if len(m.fields) == want {
		reason = fmt.Sprintf("more than %d fields", want)
	}
	m.bad = BadRecordError{Code: CodeWidth, Reason: reason}
	return false
}
