package mapper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// connectSchema is a schema of Kafka Connect as its JSON converter writes it beside a payload: what it says of units.
type connectSchema struct {
	// Name is that of a type that is more than how it is written, such as io.debezium.time.MicroTimestamp.
	Name string `json:"name"`
	// Type is how it is written: int32, string, struct and so on.
	Type       string            `json:"type"`
	Parameters map[string]string `json:"parameters"`
	// Field is the name among the Fields of a struct.
	Field  string          `json:"field"`
	Fields []connectSchema `json:"fields"`
	// Items are those of an array, Keys and Values those of a map.
	Items  *connectSchema `json:"items"`
	Keys   *connectSchema `json:"keys"`
	Values *connectSchema `json:"values"`
}

// connectCasts are the rules by which values of named types are read. Debezium's timestamps are local times, that of Kafka Connect
// is an instant.
var connectCasts = map[string]Cast{
	"io.debezium.time.Date":                   {rule: castDays},
	"io.debezium.time.Time":                   {rule: castMidnight, unit: 3},
	"io.debezium.time.MicroTime":              {rule: castMidnight, unit: 6},
	"io.debezium.time.NanoTime":               {rule: castMidnight, unit: 9},
	"io.debezium.time.Timestamp":              {rule: castEpoch, unit: 3, any: true, local: true},
	"io.debezium.time.MicroTimestamp":         {rule: castEpoch, unit: 6, any: true, local: true},
	"io.debezium.time.NanoTimestamp":          {rule: castEpoch, unit: 9, any: true, local: true},
	"org.apache.kafka.connect.data.Date":      {rule: castDays},
	"org.apache.kafka.connect.data.Time":      {rule: castMidnight, unit: 3},
	"org.apache.kafka.connect.data.Timestamp": {rule: castEpoch, unit: 3, any: true},
	variableName: {rule: castVariable},
}

const connectDecimal = "org.apache.kafka.connect.data.Decimal"

// cast is the rule that the schema's name stands for.
func (s *connectSchema) cast() (k Cast, ok bool, _ error) {
	if s.Name != connectDecimal {
		k, ok = connectCasts[s.Name]
		return k, ok, nil
	}
	scale, err := strconv.ParseInt(s.Parameters["scale"], 10, 16)
	if err != nil || scale < -1000 || scale > 1000 {
		return k, false, fmt.Errorf("%s without a scale", connectDecimal)
	}
	// The converter has either form: base64, or a number with decimal.format=NUMERIC.
	return Cast{rule: castUnscaled, scale: int16(scale), any: true}, true, nil
}

// member is the schema of a struct's member, by the names that records have; nil where there is none.
func (s *connectSchema) member(name string, rule *fieldRule) *connectSchema {
	if s == nil {
		return nil
	}
	for i := range s.Fields {
		if rule.key(s.Fields[i].Field) == rule.key(name) {
			return &s.Fields[i]
		}
	}
	return nil
}

// tell gives f the rule by which the schema says that its values are read, or says why they can't be. f is a copy, whose inside
// is copied.
func (s *connectSchema) tell(f *Field, path string) *BadRecordError {
	if s == nil || f.hidden() {
		return nil
	}
	k, named, err := s.cast()
	if err == nil && named {
		named, err = k.told(f, s.Name)
	}
	if err != nil {
		return &BadRecordError{Code: CodeSchema, Column: path, Reason: "the record's schema: " + err.Error()}
	}
	if named || f.Type.Kind == Variant {
		return nil
	}
	if f.Type.Kind == Struct {
		rule := fieldRule{}
		if f.rule != nil {
			rule = *f.rule
		}
		rule.connect, f.rule = s, &rule
	}
	f.Type.Fields = slices.Clone(f.Type.Fields)
	for i := range f.Type.Fields {
		kid := &f.Type.Fields[i]
		var in *connectSchema
		switch {
		case f.Type.Kind == Struct:
			in = s.member(kid.source(), f.rule)
		case f.Type.Kind == List:
			in = s.Items
		case i > 0:
			in = s.Values
		}
		if bad := in.tell(kid, join(path, kid.Name)); bad != nil {
			return bad
		}
	}
	return nil
}

// told makes k, which the schema says by a name, the rule of f; false where f takes values as they stand.
func (k Cast) told(f *Field, name string) (bool, error) {
	own := f.cast()
	local := f.Type.Kind == Timestamp || f.Type.Kind == TimestampNs
	switch {
	case k.fits(&f.Type) != nil:
		if f.Type.Kind >= Decimal && f.Type.Kind <= TimestampTzNs {
			return false, fmt.Errorf("a field of type %s does not fit a column of type %s", name, &f.Type)
		}
		return false, nil
	case own.rule == castNone && k.rule == castEpoch && local && !k.local:
		return false, fmt.Errorf("a field of type %s does not fit a column of type %s: an instant has no clock without a time zone", name, &f.Type)
	case own.rule == castNone:
	case own.rule != k.rule || own.unit != k.unit || own.scale != k.scale:
		return false, fmt.Errorf("a field of type %s, which is not what the column's cast says", name)
	case own.rule == castEpoch:
		return true, nil // it says what a local time is taken for, and what is plausible
	}
	rule := fieldRule{}
	if f.rule != nil {
		rule = *f.rule
	}
	rule.cast = k
	f.rule = &rule
	return true, nil
}

// envelopePlans are the plans for after and before, and the columns that they are bound to.
type envelopePlans struct {
	sides [2]*envelopePlan
	dst   *Columns
	// bad is why no record of the schema becomes a row.
	bad *BadRecordError
}

const (
	// mostSchemas and mostSchemaBytes bound the schemas beside payloads whose plans are kept.
	mostSchemas     = 64
	mostSchemaBytes = 4 << 20
)

// envelopeSchemas has the plans by the schema that stands beside the payload. The converter writes it into each record, as the
// first member, so that a record's beginning tells it.
type envelopeSchemas struct {
	known map[string]*envelopePlans
	bytes int
	last  *envelopePlans
	head  []byte
	scan  jsonMapper
}

// of gives the plans for the record, which are made where its schema is new.
func (s *envelopeSchemas) of(b []byte, plans func(*connectSchema) (*envelopePlans, error)) (*envelopePlans, error) {
	if len(s.head) > 0 && bytes.HasPrefix(b, s.head) {
		return s.last, nil
	}
	raw, end := s.find(b)
	p := s.known[string(raw)]
	if p == nil {
		var schema *connectSchema
		err := json.Unmarshal(raw, &schema)
		switch {
		case len(raw) == 0:
			p, err = plans(nil)
		case err != nil:
			p, err = &envelopePlans{bad: &BadRecordError{Code: CodeSchema, Reason: "the schema beside the payload is none of Kafka Connect's"}}, nil
		default:
			p, err = plans(schema)
		}
		if err != nil {
			return nil, err
		}
		if s.bytes += len(raw); s.known == nil || len(s.known) >= mostSchemas || s.bytes > mostSchemaBytes {
			s.known, s.bytes = map[string]*envelopePlans{}, len(raw)
		}
		s.known[string(raw)] = p
	}
	if s.last, s.head = p, s.head[:0]; len(raw) > 0 && raw[0] == '{' {
		s.head = append(s.head, b[:end]...)
	}
	return p, nil
}

// find gives the value of the member schema, and where it ends; nothing where there is none, or the record is no JSON, which is told
// when it is read.
func (s *envelopeSchemas) find(b []byte) (raw []byte, end int) {
	s.scan.depth = defaultDepth
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return nil, 0
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; i = skipSpace(b, i+1) {
		key, at := s.scan.str(nil, b, i+1)
		if at < 0 {
			return nil, 0
		}
		if at = skipSpace(b, at); at >= len(b) || b[at] != ':' {
			return nil, 0
		}
		found, from := string(key) == "schema", skipSpace(b, at+1)
		if i = s.scan.skip(b, from, 1); i < 0 {
			return nil, 0
		}
		if found {
			return b[from:i], i
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ',' {
			return nil, 0
		}
	}
	return nil, 0
}
