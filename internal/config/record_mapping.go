package config

import (
	"reflect"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// Path names a field or a column: one name a level. A name alone is written as text, and a dot is part of it; several as a
// list.
type Path []string

// Rename is an entry of record.rename.
type Rename struct {
	// Field is where records have it, Column the name it has in the table at the same place.
	Field  Path   `yaml:"field" required:"true"`
	Column string `yaml:"column" required:"true"`
}

// Renames are record.rename: {field: column}, or a list of entries for nested ones.
type Renames []Rename

// CastEntry is an entry of record.cast.
type CastEntry struct {
	// Column is the one that the rule is for.
	Column Path `yaml:"column" required:"true"`
	// As is the rule, as mapper.ParseCast reads it.
	As string `yaml:"as" required:"true"`
}

// Casts are record.cast: {column: rule}, or a list of entries for nested ones.
type Casts []CastEntry

const pathHint = "a name, such as amount, or a list of names for a nested one, such as [address, zip]"

// decodeNode reads a name, or a list of them.
func (p *Path) decodeNode(d *decoder, n *yaml.Node, path string) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	*p = nil
	for _, c := range nodes {
		c, ok := d.enter(c, path, 0)
		if !ok {
			return
		}
		if c.Kind != yaml.ScalarNode || c.ShortTag() == "!!null" {
			d.wrong(c, path, pathHint)
			return
		}
		text, _, ok := d.text(c, path)
		if !ok {
			return
		}
		if text == "" {
			d.fail(c.Line, path, "has an empty name; write %s", pathHint)
			return
		}
		*p = append(*p, text)
	}
	if len(*p) == 0 {
		d.fail(n.Line, path, "is an empty list; write %s", pathHint)
	}
}

// decodeNode reads either form.
func (r *Renames) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.MappingNode {
		d.namePairs(n, path, "the column's name", func(field, column string) {
			*r = append(*r, Rename{Path{field}, column})
		})
		return
	}
	var list []Rename
	d.value(n, reflect.ValueOf(&list).Elem(), path, 1)
	*r = list
}

// decodeNode reads either form.
func (r *Casts) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.MappingNode {
		d.namePairs(n, path, "a rule such as epoch_ms", func(column, rule string) {
			*r = append(*r, CastEntry{Path{column}, rule})
		})
		return
	}
	var list []CastEntry
	d.value(n, reflect.ValueOf(&list).Elem(), path, 1)
	*r = list
}

// namePairs gives each key of a mapping with its text.
func (d *decoder) namePairs(n *yaml.Node, path, want string, each func(key, value string)) {
	d.pairs(n, path, func(key string, kn, vn *yaml.Node) {
		at := join(path, key)
		vn, ok := d.enter(vn, at, 0)
		if !ok {
			return
		}
		if vn.Kind != yaml.ScalarNode || vn.ShortTag() == "!!null" {
			d.wrong(vn, at, want)
			return
		}
		text, _, ok := d.text(vn, at)
		switch {
		case !ok:
		case key == "" || text == "":
			d.fail(kn.Line, at, "has an empty name; write %s", want)
		default:
			each(key, text)
		}
	})
}

// mapping checks what says which field goes to which column.
func (v *validator) mapping(r *Record) {
	v.oneOf("record.case", r.Case)
	for _, n := range r.Rename {
		v.check(len(n.Field) > 0 && n.Column != "", "record.rename", "an entry lacks its field or its column; write {field: [address, \"zip.code\"], column: zip}")
	}
	for _, c := range r.Cast {
		v.check(len(c.Column) > 0 && c.As != "", "record.cast", "an entry lacks its column or its rule; write {column: [address, since], as: epoch_ms}")
	}
	for key, there := range map[string]bool{"record.cast": len(r.Cast) > 0, "record.timezone": r.Timezone != ""} {
		v.check(!there || r.Format != "raw", key, "is about the values of fields, which raw records do not have; remove the key")
	}
	for key, there := range map[string]bool{"record.case": r.Case == "insensitive", "record.rename": len(r.Rename) > 0, "record.drop": len(r.Drop) > 0} {
		v.check(!there || r.Format != "raw", key, "is about fields, which raw records do not have; remove the key")
	}
	if r.Timezone == "" {
		return
	}
	_, err := time.LoadLocation(r.Timezone)
	v.check(err == nil && r.Timezone != "Local", "record.timezone", "%q is no time zone; write the name of one, such as Europe/Berlin or UTC", r.Timezone)
}
