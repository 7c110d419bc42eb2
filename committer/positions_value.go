package committer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stormfloe/floe/source"
)

// valueVersion is the version of the positions value that is written and the only one that is read.
const valueVersion = 1

// errVersion says that a positions value was written by a newer floe.
var errVersion = errors.New("positions value of an unknown version")

// value is a positions value taken apart: the topologies' entries as they were written. Only the entry of the topology
// at hand is ever decoded; all others, and fields that this version does not know, are carried forward byte for byte.
//
//	{"v":1,"topologies":{"orders":{"cluster":"5L6g3nShT-eMCtK","topics":{
//	  "orders":{"incarnation":"AAAB","next":[120,[98,7]],"start":[[0,8]],"skipped":[2,[0,7]]}}}}}
//
// In the table property "snapshot" names the snapshot whose commit wrote it.
type value struct {
	fields     map[string]json.RawMessage
	topologies map[string]json.RawMessage
	// snapshot is the id in a property's value, 0 in a summary's.
	snapshot int64
}

func newValue() *value {
	return &value{fields: map[string]json.RawMessage{}, topologies: map[string]json.RawMessage{}}
}

// parseValue reads a value; "" is an empty one.
func parseValue(s string) (*value, error) {
	v := newValue()
	if s == "" {
		return v, nil
	}
	if err := json.Unmarshal([]byte(s), &v.fields); err != nil {
		return nil, fmt.Errorf("positions value is not a JSON object: %w", err)
	}
	var version int
	if err := json.Unmarshal(v.fields["v"], &version); err != nil {
		return nil, fmt.Errorf("%w: it has no number \"v\"", errVersion)
	}
	if version != valueVersion {
		return nil, fmt.Errorf("%w: version %d, this floe reads version %d", errVersion, version, valueVersion)
	}
	if raw, ok := v.fields["topologies"]; ok {
		if err := json.Unmarshal(raw, &v.topologies); err != nil {
			return nil, fmt.Errorf("positions value: topologies: %w", err)
		}
		if v.topologies == nil {
			v.topologies = map[string]json.RawMessage{}
		}
	}
	if raw, ok := v.fields["snapshot"]; ok {
		if err := json.Unmarshal(raw, &v.snapshot); err != nil {
			return nil, fmt.Errorf("positions value: snapshot: %w", err)
		}
	}
	delete(v.fields, "v")
	delete(v.fields, "topologies")
	delete(v.fields, "snapshot")
	return v, nil
}

// encode gives the compact form; snapshot 0 leaves the id out.
func (v *value) encode(snapshot int64) (string, error) {
	fields := make(map[string]any, len(v.fields)+3)
	for k, raw := range v.fields {
		fields[k] = raw
	}
	fields["v"] = valueVersion
	fields["topologies"] = v.topologies
	if snapshot != 0 {
		fields["snapshot"] = snapshot
	}
	return compact(fields)
}

// compact is json.Marshal without escapes for HTML, which would change names that are carried forward.
func compact(x any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// unclear is the part of an entry that says that nobody knows where the topology stands.
type unclear struct {
	Unclear bool `json:"unclear"`
}

// list gives the names of the topologies whose positions are in the value, and of those marked unclear.
func (v *value) list() (known, doubted []string) {
	for _, name := range slices.Sorted(maps.Keys(v.topologies)) {
		var u unclear
		if json.Unmarshal(v.topologies[name], &u) == nil && u.Unclear {
			doubted = append(doubted, name)
		} else {
			known = append(known, name)
		}
	}
	return known, doubted
}

// doubt marks topologies as unclear.
func (v *value) doubt(names []string) {
	for _, n := range names {
		v.topologies[n] = unclearEntry(v.topologies[n])
	}
}

func (v *value) clone() *value {
	return &value{fields: maps.Clone(v.fields), topologies: maps.Clone(v.topologies)}
}

// progress decodes one topology's entry; nil where it has none or is unclear.
func (v *value) progress(topology string) (map[source.Partition]Progress, error) {
	raw, ok := v.topologies[topology]
	if !ok {
		return nil, nil
	}
	at, err := decodeTopology(raw)
	if err != nil {
		return nil, fmt.Errorf("positions of topology %q: %w", topology, err)
	}
	return at, nil
}

// set replaces one topology's entry. Fields of the entry that this version does not know stay.
func (v *value) set(topology string, at map[source.Partition]Progress) error {
	raw, err := encodeTopology(v.topologies[topology], at)
	if err != nil {
		return fmt.Errorf("positions of topology %q: %w", topology, err)
	}
	v.topologies[topology] = raw
	return nil
}
