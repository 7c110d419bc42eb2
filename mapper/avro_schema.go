package mapper

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/avro"
)

// avroKind is how a type is written.
type avroKind uint8

const (
	avroNull avroKind = iota
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroRecord
	avroArray
	avroMap
	avroUnion
)

var avroKinds = map[string]avroKind{"null": avroNull, "boolean": avroBoolean, "int": avroInt, "long": avroLong, "float": avroFloat,
	"double": avroDouble, "bytes": avroBytes, "string": avroString, "fixed": avroFixed, "enum": avroEnum, "record": avroRecord,
	"error": avroRecord, "array": avroArray, "map": avroMap, "union": avroUnion}

// avroType is a type of a schema. A named type is one avroType wherever it is used.
type avroType struct {
	kind avroKind
	// logical is the logical type where it is one of those known and on a type that it may stand on; else empty.
	logical          string
	precision, scale int
	// size of a fixed, in bytes.
	size int
	// name is the full name of a named type, aliases are full names too.
	name    string
	aliases []string
	symbols []string
	// other is the symbol that stands for those a reader does not know, nil where there is none.
	other    *string
	fields   []avroField
	items    *avroType // of an array; a map's values
	branches []*avroType
	// min is the least number of bytes of a value.
	min int
	// parts is how many values one is made of, those behind a byte of their own (in a union, an array or a map) not counted;
	// depth is the nesting below it.
	parts, depth int
	// open is set while the type is being made: meeting it then is recursion.
	open bool
}

type avroField struct {
	name    string
	aliases []string
	typ     *avroType
	// def is the default as Avro, nil where there is none or it is not looked for.
	def []byte
}

// avroSchema is a parsed schema; parsed is the library's view of it.
type avroSchema struct {
	root   *avroType
	parsed *avro.Schema
}

// String names the type in Avro's words.
func (t *avroType) String() string {
	for name, k := range avroKinds {
		if k == t.kind && name != "error" {
			if t.logical != "" {
				return name + " (" + t.logical + ")"
			}
			if t.name != "" {
				return name + " " + t.name
			}
			return name
		}
	}
	return "unknown"
}

var errRecursive = errors.New("is recursive")

// mostText bounds the text of a schema, in bytes.
const mostText = 16 << 20

// parseAvro reads a schema's text. Defaults are looked at where the schema is a reader's.
func parseAvro(s AvroSchema, maxDepth int, defaults bool) (*avroSchema, error) {
	if len(s.Text) > mostText {
		return nil, fmt.Errorf("has %d bytes; at most %d are read", len(s.Text), mostText)
	}
	var cache avro.SchemaCache
	for i, ref := range s.References {
		if _, err := cache.Parse(ref); err != nil {
			return nil, fmt.Errorf("reference %d is no Avro schema: %w", i+1, err)
		}
	}
	parsed, err := cache.Parse(s.Text)
	if err != nil {
		return nil, fmt.Errorf("is no Avro schema: %w", err)
	}
	b := avroBuilder{named: map[string]*avroType{}, maxDepth: maxDepth, defaults: defaults}
	root, err := b.build(parsed.Root(), "", 1)
	if err != nil {
		return nil, err
	}
	return &avroSchema{root, parsed}, nil
}

// Validate says what is wrong with the schema by itself; nil where it is Avro and no column is recursive.
func (s *AvroSchema) Validate() error {
	_, err := parseAvro(*s, largestAvroDepth, true)
	return err
}

// avroBuilder makes avroTypes of the library's nodes.
type avroBuilder struct {
	named    map[string]*avroType
	maxDepth int
	defaults bool
}

func (b *avroBuilder) build(n *avro.SchemaNode, space string, depth int) (*avroType, error) {
	if depth > b.maxDepth {
		return nil, fmt.Errorf("types are nested deeper than %d", b.maxDepth)
	}
	kind, ok := avroKinds[n.Type]
	if !ok || isReference(n, kind) {
		return b.reference(n, space, depth)
	}
	t := &avroType{kind: kind, size: n.Size, symbols: n.Symbols}
	if n.HasEnumDefault {
		t.other = &n.EnumDefault
	}
	if kind == avroRecord || kind == avroEnum || kind == avroFixed {
		space = b.name(t, n)
	}
	t.setLogical(n)
	t.open = true
	err := b.inside(t, n, space, depth)
	t.open = false
	t.min, t.parts = t.least(), t.most()
	if err == nil && t.parts > mostParts {
		err = fmt.Errorf("a value of %s is made of more than %d others", t, mostParts)
	}
	return t, err
}

// isReference says that n names a type that is called like a kind.
func isReference(n *avro.SchemaNode, kind avroKind) bool {
	switch kind {
	case avroRecord, avroEnum, avroFixed:
		return n.Name == ""
	case avroArray:
		return n.Items == nil
	case avroMap:
		return n.Values == nil
	case avroUnion:
		return n.Branches == nil
	}
	return false
}

// name gives a named type its names and notes it. The result is the namespace of what is inside.
func (b *avroBuilder) name(t *avroType, n *avro.SchemaNode) string {
	space := n.Namespace
	if i := strings.LastIndexByte(n.Name, '.'); i >= 0 {
		space = n.Name[:i]
	}
	t.name = fullName(n.Name, space)
	for _, a := range n.Aliases {
		t.aliases = append(t.aliases, fullName(a, space))
	}
	b.named[t.name] = t
	return space
}

func fullName(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

// reference finds a type that is named, here or in a schema that this one refers to.
func (b *avroBuilder) reference(n *avro.SchemaNode, space string, depth int) (*avroType, error) {
	t := b.named[fullName(n.Type, space)]
	if t == nil {
		t = b.named[n.Type]
	}
	if t == nil {
		s, err := n.Schema()
		if err != nil {
			return nil, fmt.Errorf("the type %s is not defined: %w", n.Type, err)
		}
		return b.build(s.Root(), "", depth)
	}
	if t.open {
		return nil, fmt.Errorf("the type %s %w (it holds itself): no table has such a column", t.name, errRecursive)
	}
	if depth+t.depth > b.maxDepth {
		return nil, fmt.Errorf("types are nested deeper than %d", b.maxDepth)
	}
	return t, nil
}

// inside builds what a type is made of.
func (b *avroBuilder) inside(t *avroType, n *avro.SchemaNode, space string, depth int) (err error) {
	part := func(n *avro.SchemaNode) (*avroType, error) {
		p, err := b.build(n, space, depth+1)
		if err == nil {
			t.depth = max(t.depth, p.depth+1)
		}
		return p, err
	}
	switch t.kind {
	case avroRecord:
		for i := range n.Fields {
			f := &n.Fields[i]
			typ, err := part(&f.Type)
			if err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
			field := avroField{name: f.Name, aliases: f.Aliases, typ: typ}
			if b.defaults && f.HasDefault {
				if field.def, err = encodeDefault(f); err != nil {
					return fmt.Errorf("the default of the field %s: %w", f.Name, err)
				}
			}
			t.fields = append(t.fields, field)
		}
	case avroArray:
		t.items, err = part(n.Items)
	case avroMap:
		t.items, err = part(n.Values)
	case avroUnion:
		for i := range n.Branches {
			branch, err := part(&n.Branches[i])
			if err != nil {
				return err
			}
			t.branches = append(t.branches, branch)
		}
	}
	return err
}

// encodeDefault writes a field's default as Avro of the field's type.
func encodeDefault(f *avro.SchemaField) ([]byte, error) {
	s, err := f.Type.Schema()
	if err != nil {
		return nil, err
	}
	def, err := s.Encode(f.Default)
	if def == nil && err == nil {
		def = []byte{}
	}
	return def, err
}

// debeziumTimes are the logical types that say what Debezium says by a name of its own: its timestamps are the clock's, without
// a zone.
var debeziumTimes = map[string]string{
	"io.debezium.time.Date":           "date",
	"io.debezium.time.Time":           "time-millis",
	"io.debezium.time.MicroTime":      "time-micros",
	"io.debezium.time.NanoTime":       "time-nanos",
	"io.debezium.time.Timestamp":      "local-timestamp-millis",
	"io.debezium.time.MicroTimestamp": "local-timestamp-micros",
	"io.debezium.time.NanoTimestamp":  "local-timestamp-nanos",
}

// setLogical keeps a logical type that stands where it may; others mean nothing, as Avro has it.
func (t *avroType) setLogical(n *avro.SchemaNode) {
	l := n.LogicalType
	if name, ok := n.Props["connect.name"].(string); ok && l == "" {
		l = debeziumTimes[name]
	}
	switch t.kind {
	case avroInt:
		if l != "date" && l != "time-millis" {
			return
		}
	case avroLong:
		switch l {
		case "time-micros", "time-nanos", "timestamp-millis", "timestamp-micros", "timestamp-nanos",
			"local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos":
		default:
			return
		}
		// Iceberg's own way to write a timestamp without a zone.
		if utc, ok := n.Props["adjust-to-utc"].(bool); ok && !utc && strings.HasPrefix(l, "timestamp-") {
			l = "local-" + l
		}
	case avroBytes, avroFixed:
		switch {
		case l == "decimal" && n.Precision > 0:
			t.precision, t.scale = n.Precision, n.Scale
		case t.kind == avroFixed && (l == "uuid" && t.size == 16 || l == "duration" && t.size == 12):
		default:
			return
		}
	case avroString:
		if l != "uuid" {
			return
		}
	default:
		return
	}
	t.logical = l
}

// largestMin is where counting the least size of a value stops.
const largestMin = 1 << 30

// mostParts is how many values one may be made of: records of records of nulls take no byte, and nothing else bounds them.
const mostParts = 1 << 16

func (t *avroType) most() int {
	n := 1
	for i := range t.fields {
		n = min(n+t.fields[i].typ.parts, 2*mostParts)
	}
	return n
}

// least is the least number of bytes that a value takes.
func (t *avroType) least() int {
	switch t.kind {
	case avroNull:
		return 0
	case avroFloat:
		return 4
	case avroDouble:
		return 8
	case avroFixed:
		return min(t.size, largestMin)
	case avroRecord:
		n := 0
		for i := range t.fields {
			n = min(n+t.fields[i].typ.min, largestMin)
		}
		return n
	case avroUnion:
		n := largestMin
		for _, b := range t.branches {
			n = min(n, b.min)
		}
		return min(1+n, largestMin)
	}
	return 1
}
