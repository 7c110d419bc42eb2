package config

import (
	"reflect"
	"regexp"
	"strconv"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// plainInt is how whole numbers are written. YAML's older ways (010 for eight, 1_000) mean different things to
// different readers, so they are refused.
var plainInt = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// scalar decodes text, booleans, numbers, sizes and durations.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	want := wanted(v.Type())
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrong(n, path, want)
		return
	}
	text, expanded, ok := d.text(n, path)
	if !ok {
		return
	}
	// shown is what an error may say of the value.
	shown := strconv.Quote(text)
	if expanded {
		shown = "the value of " + n.Value
	}
	tag := n.ShortTag()
	switch v.Type() {
	case reflect.TypeFor[time.Duration]():
		dur, err := parseDuration(text)
		if err != nil {
			d.fail(n.Line, path, "%s %s", shown, err)
		}
		v.SetInt(int64(dur))
		return
	case reflect.TypeFor[Size]():
		size, err := parseSize(text)
		if err != nil {
			d.fail(n.Line, path, "%s %s", shown, err)
		}
		v.SetInt(int64(size))
		return
	case reflect.TypeFor[Secret]():
		// A number may well be a password; its text is meant.
		d.x.secrets = remember(d.x.secrets, text)
		v.SetString(text)
		return
	}
	switch v.Kind() {
	case reflect.String:
		if tag == "!!bool" || tag == "!!int" || tag == "!!float" {
			d.fail(n.Line, path, "is %s; want text: write %q, with the quotes", kind(n), n.Value)
			return
		}
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil || !expanded && tag != "!!bool" {
			d.fail(n.Line, path, "%s is neither true nor false", shown)
			return
		}
		v.SetBool(b)
	default:
		d.integer(n, v, path, text, shown, expanded)
	}
}

func (d *decoder) integer(n *yaml.Node, v reflect.Value, path, text, shown string, expanded bool) {
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
	if !plainInt.MatchString(text) || quoted && !expanded {
		d.fail(n.Line, path, "%s is not a whole number; write digits without quotes", shown)
		return
	}
	i, err := strconv.ParseInt(text, 10, v.Type().Bits())
	if err != nil {
		d.fail(n.Line, path, "%s is out of range", shown)
		return
	}
	v.SetInt(i)
}

func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a duration such as 30s"
	case reflect.TypeFor[Size]():
		return "a size such as 128MiB"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a whole number"
	}
}

// secretKey tells the catalog's keys that hold secrets, whatever the catalog.
var secretKey = regexp.MustCompile(`(?i)secret|password|token|credential|access-key|account-key|sas`)

// decodeNode takes every key as the catalog's own.
func (c *Catalog) decodeNode(d *decoder, n *yaml.Node, path string) {
	before := len(d.x.expanded)
	c.Properties = d.verbatim(n, path)
	for _, v := range d.x.expanded[before:] {
		d.x.secrets = remember(d.x.secrets, v)
	}
	for k, v := range c.Properties {
		if secretKey.MatchString(k) {
			d.x.secrets = remember(d.x.secrets, v)
		}
	}
}

const startHint = "write earliest, latest, group, a time such as 2026-01-31T00:00:00Z, or {offsets: {topic: {0: 12}}}"

// decodeNode reads one of the words, a time, or offsets.
func (s *Start) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.MappingNode {
		s.offsets(d, n, path)
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.fail(n.Line, path, "is %s; %s", kind(n), startHint)
		return
	}
	text, _, ok := d.text(n, path)
	if !ok {
		return
	}
	switch text {
	case "earliest":
		s.Kind = StartEarliest
	case "latest":
		s.Kind = StartLatest
	case "group":
		s.Kind = StartGroup
	default:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			d.fail(n.Line, path, "%q is not a start; %s", text, startHint)
			return
		}
		s.Kind, s.Time = StartTime, t
	}
}

func (s *Start) offsets(d *decoder, n *yaml.Node, path string) {
	s.Kind, s.Offsets = StartOffsets, map[string]map[int32]int64{}
	d.pairs(n, path, func(key string, kn, topics *yaml.Node) {
		at := join(path, key)
		if key != "offsets" {
			d.fail(kn.Line, at, "unknown key; %s", startHint)
			return
		}
		topics, ok := d.enter(topics, at, 0)
		if !ok {
			return
		}
		if topics.Kind != yaml.MappingNode {
			d.wrong(topics, at, "topics with their partitions, such as {topic: {0: 12}}")
			return
		}
		d.pairs(topics, at, func(topic string, _, parts *yaml.Node) {
			s.Offsets[topic] = startPartitions(d, parts, join(at, topic))
		})
	})
}

func startPartitions(d *decoder, n *yaml.Node, path string) map[int32]int64 {
	out := map[int32]int64{}
	n, ok := d.enter(n, path, 0)
	if !ok {
		return out
	}
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "partitions with their offsets, such as {0: 12}")
		return out
	}
	d.pairs(n, path, func(key string, kn, vn *yaml.Node) {
		at := join(path, key)
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 {
			d.fail(kn.Line, at, "%q is not a partition's number", key)
			return
		}
		var offset int64
		d.value(vn, reflect.ValueOf(&offset).Elem(), at, 0)
		if offset < 0 {
			d.fail(vn.Line, at, "the offset %d is negative; write the next offset to read", offset)
			return
		}
		out[int32(id)] = offset
	})
	return out
}
