package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

const (
	// maxFile bounds a configuration, in bytes.
	maxFile = 1 << 20
	// maxNodes bounds what aliases can blow a configuration up to.
	maxNodes = 100_000
	// maxDepth bounds nesting; an alias inside of what it names would never end.
	maxDepth = 64
)

// decoder walks the document's nodes beside the Go types, collecting every error. It uses the node tree and not the
// library's own decoding, since only the nodes tell a key's line, a key written twice and a value's style.
type decoder struct {
	file  string
	x     expander
	errs  Errors
	lines map[string]int // of each key's dotted path
	nodes int
	// tooLarge is set once a bound is crossed: nothing more is decoded.
	tooLarge bool
}

// custom is implemented by pointers to types that decode themselves.
type custom interface {
	decodeNode(d *decoder, n *yaml.Node, path string)
}

var syntaxLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

func (d *decoder) document(data []byte, cfg *Config) {
	if len(data) > maxFile {
		d.fail(0, "", "has %d bytes; a configuration has at most %d", len(data), maxFile)
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		d.fail(0, "", "is empty; it needs at least name, source, catalog and table")
		return
	case err != nil:
		d.syntax(err, data)
		return
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		d.fail(more.Line, "", "a second document starts here; a configuration is one document, remove the line ---")
		return
	case !errors.Is(err, io.EOF):
		d.syntax(err, data)
		return
	}
	if len(doc.Content) != 1 {
		d.fail(0, "", "is empty; it needs at least name, source, catalog and table")
		return
	}
	d.value(doc.Content[0], reflect.ValueOf(cfg).Elem(), "", 0)
}

// unquoted is a reference in braces that YAML takes for braces of its own: {password: ${PW}}.
var unquoted = regexp.MustCompile(`(?m)[{,][^"'\n]*:\s*\$\{`)

func (d *decoder) syntax(err error, data []byte) {
	msg := strings.Split(err.Error(), "\n")[0]
	line := 0
	if m := syntaxLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
	}
	if unquoted.Match(data) {
		msg += `; inside { } a reference needs quotes: "${VAR}"`
	}
	d.fail(line, "", "is not YAML: %s", msg)
}

func (d *decoder) fail(line int, path, format string, args ...any) {
	d.errs = append(d.errs, &Error{File: d.file, Line: line, Key: path, Msg: fmt.Sprintf(format, args...)})
}

// report gives the errors in the order of the file, without the values that came in through references: a validation
// may have quoted one.
func (d *decoder) report() Errors {
	for _, e := range d.errs {
		e.Msg = redact(redact(e.Msg, d.x.expanded), d.x.secrets)
	}
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	return d.errs
}

// value decodes n into v, which is addressable.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, depth int) {
	n, ok := d.enter(n, path, depth)
	if !ok {
		return
	}
	if c, ok := v.Addr().Interface().(custom); ok {
		c.decodeNode(d, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		d.pointer(n, v, path, depth)
	case reflect.Struct:
		d.mapping(n, v, path, depth)
	case reflect.Slice:
		d.sequence(n, v, path, depth)
	case reflect.Map:
		d.stringMap(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

// enter follows an alias and holds the bounds.
func (d *decoder) enter(n *yaml.Node, path string, depth int) (*yaml.Node, bool) {
	if d.tooLarge {
		return nil, false
	}
	d.nodes++
	if d.nodes > maxNodes || depth > maxDepth {
		d.tooLarge = true
		d.fail(n.Line, path, "the configuration is nested too deeply, or its aliases (*name) make it too large; write the values out")
		return nil, false
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, true
}

// pointer makes the value, with its defaults, and decodes into it.
func (d *decoder) pointer(n *yaml.Node, v reflect.Value, path string, depth int) {
	v.Set(pointee(v.Type()))
	d.value(n, v.Elem(), path, depth)
}

// pointee is what a key of the pointer's type starts from when it is written.
func pointee(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[*Kafka]():
		return reflect.ValueOf(defaultKafka())
	case reflect.TypeFor[*Registry]():
		return reflect.ValueOf(defaultRegistry())
	}
	return reflect.New(t.Elem())
}

// mapping decodes a mapping into a struct; only the struct's keys are known.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, depth int) {
	fields := map[string]reflect.Value{}
	var known []string
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "" {
			fields[key], known = v.Field(i), append(known, key)
		}
	}
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "keys: "+strings.Join(known, ", "))
		return
	}
	d.pairs(n, path, func(key string, kn, vn *yaml.Node) {
		at := join(path, key)
		if f, ok := fields[key]; ok {
			d.value(vn, f, at, depth+1)
			return
		}
		d.unknown(kn, path, key, known)
	})
}

// pairs gives each key of a mapping once, and records where it stands.
func (d *decoder) pairs(n *yaml.Node, path string, each func(key string, kn, vn *yaml.Node)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		kn, vn := n.Content[i], n.Content[i+1]
		if kn.Kind == yaml.AliasNode {
			kn = kn.Alias
		}
		if kn.Kind != yaml.ScalarNode {
			d.fail(kn.Line, path, "a key is not plain text; write name: value")
			continue
		}
		if kn.ShortTag() == "!!merge" {
			d.fail(kn.Line, path, "merging with << is not supported; write the keys out")
			continue
		}
		at := join(path, kn.Value)
		if line, twice := first[kn.Value]; twice {
			d.fail(kn.Line, at, "the key is written twice, the first time in line %d; remove one", line)
			continue
		}
		first[kn.Value] = kn.Line
		if _, ok := d.lines[at]; !ok {
			d.lines[at] = kn.Line
		}
		each(kn.Value, kn, vn)
	}
}

func (d *decoder) unknown(kn *yaml.Node, path, key string, known []string) {
	at := join(path, key)
	if near := nearest(key, known); near != "" {
		d.fail(kn.Line, at, "unknown key; did you mean %q?", near)
		return
	}
	if home := homes()[key]; home != "" && home != at {
		d.fail(kn.Line, at, "unknown key here; did you mean %q?", home)
		return
	}
	where := path
	if where == "" {
		where = "the top level"
	}
	d.fail(kn.Line, at, "unknown key; %s knows %s", where, strings.Join(known, ", "))
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, path, "a list, such as [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.lines[at] = c.Line
		d.value(c, out.Index(i), at, depth+1)
	}
	v.Set(out)
}

// stringMap decodes keys and values that are handed on verbatim: whatever scalar stands there, its text.
func (d *decoder) stringMap(n *yaml.Node, v reflect.Value, path string) {
	out := d.verbatim(n, path)
	if out != nil {
		v.Set(reflect.ValueOf(out).Convert(v.Type()))
	}
}

func (d *decoder) verbatim(n *yaml.Node, path string) map[string]string {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "keys and values, such as {key: value}")
		return nil
	}
	out := map[string]string{}
	d.pairs(n, path, func(key string, _, vn *yaml.Node) {
		at := join(path, key)
		vn, ok := d.enter(vn, at, 0)
		if !ok {
			return
		}
		if vn.Kind != yaml.ScalarNode || vn.ShortTag() == "!!null" {
			d.wrong(vn, at, "one value: text, a number, true or false")
			return
		}
		if text, _, ok := d.text(vn, at); ok {
			out[key] = text
		}
	})
	return out
}

// text gives a scalar's text with its references replaced, and whether any was.
func (d *decoder) text(n *yaml.Node, path string) (text string, expanded, ok bool) {
	if n.Tag != "" && strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") || n.ShortTag() == "!!binary" {
		d.fail(n.Line, path, "the tag %s is not supported; write plain text", n.Tag)
		return "", false, false
	}
	text, err := d.x.expand(n.Value)
	if err != nil {
		d.fail(n.Line, path, "%s", err)
		return "", false, false
	}
	return text, strings.Contains(n.Value, "${"), true
}

// wrong says that n is not what is wanted there, without showing more of it than its kind.
func (d *decoder) wrong(n *yaml.Node, path, want string) {
	d.fail(n.Line, path, "is %s; want %s", kind(n), want)
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "without a value"
	case "!!bool":
		return n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	default:
		return "text"
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// homes are the dotted paths of all known keys, by their last part; ambiguous ones are left out.
func homes() map[string]string {
	out := map[string]string{}
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		// Most keys of record.key are those of record too, which are meant more often.
		if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[Key]() {
			return
		}
		for i := range t.NumField() {
			key := t.Field(i).Tag.Get("yaml")
			if key == "" {
				continue
			}
			at := join(path, key)
			if _, twice := out[key]; twice {
				out[key] = ""
			} else {
				out[key] = at
			}
			walk(t.Field(i).Type, at)
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return out
}
