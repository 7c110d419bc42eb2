package config

import (
	"encoding/json"
	"fmt"
	"regexp"

	yaml "go.yaml.in/yaml/v3"
)

// FilterRule is one of record.filter: records that meet all its conditions yield no row, and are counted under its name.
type FilterRule struct {
	// Name is a word; metrics have it as a label. Required.
	Name string `yaml:"name" required:"true"`
	// Tombstones: the record has no value.
	Tombstones bool `yaml:"tombstones"`
	// Topic compares the name of the topic.
	Topic *TopicMatch `yaml:"topic"`
	// Key compares the record's key as text, byte by byte.
	Key *KeyMatch `yaml:"key"`
	// Header compares the values of the headers of a name.
	Header *HeaderMatch `yaml:"header"`
	// Column compares the value that a column would have.
	Column *ColumnMatch `yaml:"column"`
}

// TopicMatch compares the name of the topic. It has one of its keys.
type TopicMatch struct {
	// Equals is the one name that meets it.
	Equals *string `yaml:"equals"`
	// In are names of which each meets it, NotIn those that do not.
	In    []string `yaml:"in"`
	NotIn []string `yaml:"not_in"`
}

// KeyMatch compares the record's key as text, byte by byte. It has one of its keys.
type KeyMatch struct {
	// Equals is the one text that meets it.
	Equals *string `yaml:"equals"`
	// In are texts of which each meets it.
	In []string `yaml:"in"`
	// NotIn is met by records without a key too.
	NotIn []string `yaml:"not_in"`
	// Exists is true for records with a key, false for those without.
	Exists *bool `yaml:"exists"`
}

// HeaderMatch compares the values of the headers of a name, as KeyMatch does the key.
type HeaderMatch struct {
	// Name of the header. Required.
	Name string `yaml:"name" required:"true"`
	// Equals is the one text that meets it.
	Equals *string `yaml:"equals"`
	// In are texts of which each meets it.
	In []string `yaml:"in"`
	// NotIn is met by records without such a header too.
	NotIn []string `yaml:"not_in"`
	// Exists is true for records with such a header, false for those without.
	Exists *bool `yaml:"exists"`
}

// ColumnMatch compares the value that a column would have.
type ColumnMatch struct {
	// Name is the column's, or a list: the column and the members below it.
	Name FieldPath `yaml:"name" required:"true"`
	// Equals is the one value that meets it.
	Equals *FieldValue `yaml:"equals"`
	// In are values of which each meets it.
	In FieldValues `yaml:"in"`
	// NotIn is met by null too.
	NotIn FieldValues `yaml:"not_in"`
	// Exists is false where the value is null, and true where it is not.
	Exists *bool `yaml:"exists"`
}

// FieldPath is a column's name, and those of members below it.
type FieldPath []string

// FieldValue is text, a number, true or false, as JSON writes it.
type FieldValue string

// FieldValues are several.
type FieldValues []FieldValue

// decodeNode reads one name, or a list of them. A dot is part of a name.
func (p *FieldPath) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}}
	}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode || c.ShortTag() != "!!str" {
			d.wrong(c, path, "a column's name, or a list such as [place, country] for a member; quote names that are no words")
			return
		}
		name, _, ok := d.text(c, path)
		if !ok {
			return
		}
		*p = append(*p, name)
	}
}

// decodeNode reads one value.
func (v *FieldValue) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrong(n, path, "one value: text, a number, true or false; for null write exists: false")
		return
	}
	text, _, ok := d.text(n, path)
	if !ok {
		return
	}
	switch n.ShortTag() {
	case "!!bool", "!!int", "!!float":
		if !json.Valid([]byte(text)) {
			d.fail(n.Line, path, "%q is not written as JSON writes numbers and booleans; write it so, or in quotes where text is meant", text)
			return
		}
		*v = FieldValue(text)
	default:
		quoted, err := json.Marshal(text)
		if err != nil {
			d.fail(n.Line, path, "%s", err)
			return
		}
		*v = FieldValue(quoted)
	}
}

// decodeNode reads a list of values.
func (vs *FieldValues) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, path, "a list, such as [a, b]")
		return
	}
	*vs = make(FieldValues, len(n.Content))
	for i, c := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if c, ok := d.enter(c, at, 0); ok {
			(*vs)[i].decodeNode(d, c, at)
		}
	}
}

// Values are In, or what Equals has.
func (m *ColumnMatch) Values() (in, notIn []string) {
	if m.Equals != nil {
		in = append(in, string(*m.Equals))
	}
	for _, v := range m.In {
		in = append(in, string(v))
	}
	for _, v := range m.NotIn {
		notIn = append(notIn, string(v))
	}
	return in, notIn
}

var ruleName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (v *validator) filter(rules []FilterRule) {
	seen := map[string]bool{}
	for i, r := range rules {
		key := fmt.Sprintf("record.filter[%d]", i)
		if r.Name == "" {
			v.fail(key, "the rule has no name; write one, such as {name: heartbeats, key: {equals: hb}}: its records are counted under it")
		} else {
			v.check(ruleName.MatchString(r.Name), key+".name", "%q must be 1 to 64 letters, digits, dots, dashes and underscores", r.Name)
		}
		v.check(!seen[r.Name], key+".name", "%q is there twice; give each rule a name of its own", r.Name)
		seen[r.Name] = true
		v.check(r.Tombstones || r.Topic != nil || r.Key != nil || r.Header != nil || r.Column != nil, key,
			"the rule has no condition and would leave out every record; write topic, key, header, column or tombstones: true")
		if t := r.Topic; t != nil {
			v.check(exactlyOne(t.Equals != nil, len(t.In) > 0, len(t.NotIn) > 0), key+".topic", "has none or several conditions; write one of equals, in: [a, b], not_in: [a, b]")
		}
		if k := r.Key; k != nil {
			v.oneMatch(key+".key", k.Equals != nil, len(k.In) > 0, len(k.NotIn) > 0, k.Exists != nil)
		}
		if h := r.Header; h != nil {
			v.check(h.Name != "", key+".header", "the header's name is missing; write {name: env, equals: test}")
			v.oneMatch(key+".header", h.Equals != nil, len(h.In) > 0, len(h.NotIn) > 0, h.Exists != nil)
		}
		if c := r.Column; c != nil {
			v.check(len(c.Name) > 0, key+".column", "the column's name is missing; write {name: region, equals: eu}")
			v.oneMatch(key+".column", c.Equals != nil, len(c.In) > 0, len(c.NotIn) > 0, c.Exists != nil)
		}
	}
}

// oneMatch checks that exactly one way of comparing is written.
func (v *validator) oneMatch(key string, set ...bool) {
	v.check(exactlyOne(set...), key, "has none or several conditions; write one of equals, in: [a, b], not_in: [a, b], exists: true or false")
}

func exactlyOne(set ...bool) bool {
	n := 0
	for _, s := range set {
		if s {
			n++
		}
	}
	return n == 1
}
