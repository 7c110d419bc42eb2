package tableio

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
)

// knownTypes is what a type may be, for errors.
const knownTypes = "boolean, int, long, float, double, decimal(P,S), date, time, timestamp, timestamptz, timestamp_ns, " +
	"timestamptz_ns, string, uuid, fixed(N), binary, variant, list<T>, map<K, V> or struct<name: T, ...>"

var simpleTypes = map[string]iceberg.Type{
	"boolean":        iceberg.PrimitiveTypes.Bool,
	"int":            iceberg.PrimitiveTypes.Int32,
	"long":           iceberg.PrimitiveTypes.Int64,
	"float":          iceberg.PrimitiveTypes.Float32,
	"double":         iceberg.PrimitiveTypes.Float64,
	"date":           iceberg.PrimitiveTypes.Date,
	"time":           iceberg.PrimitiveTypes.Time,
	"timestamp":      iceberg.PrimitiveTypes.Timestamp,
	"timestamptz":    iceberg.PrimitiveTypes.TimestampTz,
	"timestamp_ns":   iceberg.PrimitiveTypes.TimestampNs,
	"timestamptz_ns": iceberg.PrimitiveTypes.TimestampTzNs,
	"string":         iceberg.PrimitiveTypes.String,
	"uuid":           iceberg.PrimitiveTypes.UUID,
	"binary":         iceberg.PrimitiveTypes.Binary,
	"unknown":        iceberg.UnknownType{},
	"variant":        iceberg.VariantType{},
}

// otherNames are names of other systems, each with what Iceberg calls it.
var otherNames = map[string]string{
	"bool": "boolean", "int32": "int", "integer": "int", "int64": "long", "bigint": "long", "smallint": "int",
	"tinyint": "int", "int8": "int", "int16": "int", "uint32": "long", "uint64": "decimal(20,0)", "float32": "float", "real": "float",
	"float64": "double", "number": "double or decimal(P,S)", "numeric": "decimal(P,S)", "text": "string", "varchar": "string",
	"char": "string", "str": "string", "bytes": "binary", "blob": "binary", "datetime": "timestamp", "timestamp_tz": "timestamptz",
	"json": "string", "array": "list<T>", "object": "struct<name: T, ...>", "record": "struct<name: T, ...>",
}

// maxTypeDepth bounds nesting; far beyond what any engine reads.
const maxTypeDepth = 50

// ParseType reads a type as it is written in a configuration: the names of the Iceberg specification, with
// decimal(18,4), fixed(16), list<T>, map<K, V> and struct<name: T, name: required T>. Elements, values and fields are
// optional where "required" does not stand before the type. All field ids in the answer are zero.
func ParseType(text string) (iceberg.Type, error) {
	p := &typeParser{text: text}
	t, err := p.parse(0)
	if err != nil {
		return nil, err
	}
	if p.skip(); p.pos < len(p.text) {
		return nil, fmt.Errorf("%q: nothing may follow at character %d (%q)", text, p.pos+1, p.text[p.pos:])
	}
	return t, nil
}

type typeParser struct {
	text string
	pos  int
}

func (p *typeParser) skip() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// word reads up to a delimiter.
func (p *typeParser) word() string {
	p.skip()
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n<>()[],:", p.text[p.pos]) < 0 {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *typeParser) accept(c byte) bool {
	if p.skip(); p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *typeParser) expect(c byte, where string) error {
	if p.accept(c) {
		return nil
	}
	if p.pos >= len(p.text) {
		return fmt.Errorf("%q ends too early: %q is missing in %s", p.text, c, where)
	}
	return fmt.Errorf("%q: %q is expected in %s, at character %d", p.text, c, where, p.pos+1)
}

func (p *typeParser) parse(depth int) (iceberg.Type, error) {
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("%q nests deeper than %d levels", p.text, maxTypeDepth)
	}
	word := p.word()
	name := strings.ToLower(word)
	if t, ok := simpleTypes[name]; ok {
		return t, nil
	}
	switch name {
	case "decimal":
		return p.decimal()
	case "fixed":
		return p.fixed()
	case "list":
		return p.list(depth)
	case "map":
		return p.mapping(depth)
	case "struct":
		return p.structure(depth)
	case "":
		return nil, fmt.Errorf("%q: a type is missing at character %d; it is one of %s", p.text, p.pos+1, knownTypes)
	case "geometry", "geography":
		return nil, fmt.Errorf("type %s can't be written by floe; use one of %s", word, knownTypes)
	}
	if iceberg, ok := otherNames[name]; ok {
		return nil, fmt.Errorf("type %q is unknown; Iceberg calls it %s", word, iceberg)
	}
	return nil, fmt.Errorf("type %q is unknown; it is one of %s", word, knownTypes)
}

// numbers reads (a) or (a,b), with square brackets allowed as in the specification's fixed[16].
func (p *typeParser) numbers(n int, where string) ([]int, error) {
	end := byte(')')
	if !p.accept('(') {
		if !p.accept('[') {
			return nil, fmt.Errorf("%q: write %s", p.text, where)
		}
		end = ']'
	}
	out := make([]int, n)
	for i := range out {
		if i > 0 {
			if err := p.expect(',', where); err != nil {
				return nil, err
			}
		}
		w := p.word()
		v, err := strconv.ParseUint(w, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q: %q is not a whole number; write %s", p.text, w, where)
		}
		out[i] = int(v)
	}
	return out, p.expect(end, where)
}

func (p *typeParser) decimal() (iceberg.Type, error) {
	n, err := p.numbers(2, "decimal(P,S), for example decimal(18,4)")
	if err != nil {
		return nil, err
	}
	if n[0] < 1 || n[0] > 38 || n[1] > n[0] {
		return nil, fmt.Errorf("decimal(%d,%d): the precision is 1 to 38 and the scale 0 to the precision", n[0], n[1])
	}
	return iceberg.DecimalTypeOf(n[0], n[1]), nil
}

func (p *typeParser) fixed() (iceberg.Type, error) {
	n, err := p.numbers(1, "fixed(N), for example fixed(16)")
	if err != nil {
		return nil, err
	}
	if n[0] < 1 {
		return nil, fmt.Errorf("fixed(%d): the length is at least 1 byte", n[0])
	}
	return iceberg.FixedTypeOf(n[0]), nil
}

// inner reads [required] T.
func (p *typeParser) inner(depth int) (t iceberg.Type, required bool, err error) {
	start := p.pos
	switch strings.ToLower(p.word()) {
	case "required":
		required = true
	case "optional":
	default:
		p.pos = start
	}
	t, err = p.parse(depth + 1)
	return t, required, err
}

func (p *typeParser) list(depth int) (iceberg.Type, error) {
	if err := p.expect('<', "list<T>"); err != nil {
		return nil, err
	}
	t, required, err := p.inner(depth)
	if err != nil {
		return nil, err
	}
	return &iceberg.ListType{Element: t, ElementRequired: required}, p.expect('>', "list<T>")
}

func (p *typeParser) mapping(depth int) (iceberg.Type, error) {
	const form = "map<K, V>"
	if err := p.expect('<', form); err != nil {
		return nil, err
	}
	key, _, err := p.inner(depth)
	if err != nil {
		return nil, err
	}
	if err := p.expect(',', form); err != nil {
		return nil, err
	}
	value, required, err := p.inner(depth)
	if err != nil {
		return nil, err
	}
	return &iceberg.MapType{KeyType: key, ValueType: value, ValueRequired: required}, p.expect('>', form)
}

func (p *typeParser) structure(depth int) (iceberg.Type, error) {
	const form = "struct<name: T, ...>"
	if err := p.expect('<', form); err != nil {
		return nil, err
	}
	var fields []iceberg.NestedField
	for {
		name := p.word()
		if name == "" {
			return nil, fmt.Errorf("%q: a field's name is missing in %s, at character %d", p.text, form, p.pos+1)
		}
		if err := p.expect(':', form); err != nil {
			return nil, err
		}
		t, required, err := p.inner(depth)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		fields = append(fields, iceberg.NestedField{Name: name, Type: t, Required: required})
		if p.accept('>') {
			return &iceberg.StructType{FieldList: fields}, nil
		}
		if err := p.expect(',', form); err != nil {
			return nil, err
		}
	}
}
