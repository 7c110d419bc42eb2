package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// object is a part of a JSON Schema.
type object = map[string]any

// custom is what a type takes that is not decoded by its kind; nil for others.
func (m *schemaMaker) custom(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[Catalog]():
		return verbatimMap()
	case reflect.TypeFor[Secret](), reflect.TypeFor[FieldValue]():
		return verbatimText()
	case reflect.TypeFor[FieldValues]():
		return object{"type": "array", "items": verbatimText()}
	case reflect.TypeFor[FieldPath]():
		return oneOrMany(object{"type": "string"})
	case reflect.TypeFor[Path]():
		return oneOrMany(verbatimText())
	case reflect.TypeFor[KeyColumns]():
		return anyOf(object{"type": "array", "items": object{"type": "string"}}, object{"type": "object", "additionalProperties": object{"type": "string"}})
	case reflect.TypeFor[Renames]():
		return anyOf(verbatimMap(), object{"type": "array", "items": m.of(reflect.ValueOf(&Rename{}).Elem())})
	case reflect.TypeFor[Casts]():
		return anyOf(verbatimMap(), object{"type": "array", "items": m.of(reflect.ValueOf(&CastEntry{}).Elem())})
	case reflect.TypeFor[Share]():
		return anyOf(object{"type": "number", "minimum": 0, "maximum": 1}, reference())
	case reflect.TypeFor[Size]():
		return anyOf(object{"type": "integer", "minimum": 0}, object{"type": "string", "pattern": `^[0-9]+ *([KMGT]iB|[KMGT]?B)?$`}, reference())
	case reflect.TypeFor[time.Duration]():
		return anyOf(object{"const": 0}, object{"type": "string", "pattern": `^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`}, reference())
	case reflect.TypeFor[Start]():
		offset := anyOf(object{"type": "integer", "minimum": 0}, reference())
		topic := object{"type": "object", "additionalProperties": false, "patternProperties": object{"^[0-9]+$": offset}}
		return anyOf(object{"enum": []any{"earliest", "latest", "group"}}, object{"type": "string", "format": "date-time"}, reference(),
			object{"type": "object", "additionalProperties": false, "required": []any{"offsets"},
				"properties": object{"offsets": object{"type": "object", "additionalProperties": topic}}})
	}
	return nil
}

// verbatimText is any scalar; its text is meant.
func verbatimText() object { return object{"type": []any{"string", "number", "boolean"}} }

func verbatimMap() object { return object{"type": "object", "additionalProperties": verbatimText()} }

func anyOf(some ...any) object { return object{"anyOf": some} }

func oneOrMany(one object) object {
	return anyOf(one, object{"type": "array", "items": one, "minItems": 1})
}

// reference is text that brings a value in.
func reference() object { return object{"$ref": "#/$defs/reference"} }

// schemaMaker makes the schema of a configuration from the types, their defaults and their comments.
type schemaMaker struct {
	comments map[string]string // of a field, by Type.Field
	missing  []string          // fields without any
}

func makeSchema(t *testing.T) object {
	t.Helper()
	m := &schemaMaker{comments: fieldComments(t)}
	out := m.of(reflect.ValueOf(defaults()).Elem())
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = "Configuration of floe run"
	out["$defs"] = object{"reference": object{"type": "string", "pattern": `\$\{[^}]+\}`,
		"description": "A value that comes from elsewhere: ${VAR} is an environment variable, ${file:/path} the content of a file."}}
	if len(m.missing) > 0 {
		t.Errorf("these keys have no comment: %s", strings.Join(m.missing, ", "))
	}
	return out
}

// of makes the schema of a value's type; the value has the defaults of the keys below it.
func (m *schemaMaker) of(v reflect.Value) object {
	if s := m.custom(v.Type()); s != nil {
		return s
	}
	if _, ok := v.Addr().Interface().(custom); ok {
		panic(fmt.Sprintf("%s decodes itself: write in schemaMaker.custom what it takes", v.Type()))
	}
	switch v.Kind() {
	case reflect.Pointer:
		return m.of(pointee(v.Type()).Elem())
	case reflect.Struct:
		return m.structure(v)
	case reflect.Slice:
		return object{"type": "array", "items": m.of(reflect.New(v.Type().Elem()).Elem())}
	case reflect.Map:
		return verbatimMap()
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return anyOf(object{"type": "boolean"}, reference())
	default:
		return anyOf(object{"type": "integer"}, reference())
	}
}

func (m *schemaMaker) structure(v reflect.Value) object {
	properties, required := object{}, []any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := f.Tag.Get(tagKey)
		if key == "" {
			continue
		}
		p := m.of(v.Field(i))
		if words := strings.Fields(f.Tag.Get(tagOneOf)); len(words) > 0 {
			p = oneOfWords(p, words)
		}
		if text := m.comments[v.Type().Name()+"."+f.Name]; text != "" {
			p["description"] = text
		} else {
			m.missing = append(m.missing, v.Type().Name()+"."+f.Name)
		}
		if d := defaultOf(v.Field(i)); d != nil {
			p["default"] = d
		}
		if f.Tag.Get(tagRequired) != "" {
			required = append(required, key)
		}
		properties[key] = p
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func oneOfWords(p object, words []string) object {
	enum := make([]any, len(words))
	for i, w := range words {
		enum[i] = w
	}
	some := anyOf(object{"enum": enum}, reference())
	if p["type"] == "array" {
		p["items"] = some
		return p
	}
	return some
}

// defaultOf is how a default is written, or nil where the text says what it is, or there is none.
func defaultOf(v reflect.Value) any {
	switch d := v.Interface().(type) {
	case time.Duration:
		return shortDuration(d)
	case Size:
		if d == 0 {
			return nil
		}
		return d.String()
	case Start:
		return d.String()
	case Share:
		return float64(d)
	case Secret:
		return nil
	}
	switch {
	case v.Kind() == reflect.Bool || v.CanInt():
		return v.Interface()
	case v.Kind() == reflect.String && v.String() != "":
		return v.String()
	}
	return nil
}

// shortDuration leaves out the units of which there is nothing.
func shortDuration(d time.Duration) string {
	return regexp.MustCompile(`([a-z])0[a-z]*$`).ReplaceAllString(regexp.MustCompile(`([a-z])0s$`).ReplaceAllString(d.String(), "$1"), "$1")
}

// fieldComments reads the comments of the package's fields. A field without one of its own has that of the field before it, where
// that speaks of it. Names of fields beside it become keys.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if ts, ok := n.(*ast.TypeSpec); ok {
				if st, ok := ts.Type.(*ast.StructType); ok {
					structComments(ts.Name.Name, st, out)
				}
			}
			return true
		})
	}
	return out
}

func structComments(name string, st *ast.StructType, out map[string]string) {
	var names []string
	keys := map[string]string{}
	comments := map[string]string{}
	last := ""
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		for _, id := range f.Names {
			names = append(names, id.Name)
			keys[id.Name] = reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get(tagKey)
			if text := commentText(f.Doc); text != "" {
				last, comments[id.Name] = text, text
			} else if regexp.MustCompile(`\b` + id.Name + `\b`).MatchString(last) {
				comments[id.Name] = last
			}
		}
	}
	for _, field := range names {
		text := comments[field]
		for _, other := range names {
			text = regexp.MustCompile(`\b`+other+`\b`).ReplaceAllString(text, "`"+keys[other]+"`")
		}
		out[name+"."+field] = text
	}
}

// commentText is a comment as one paragraph, in the words of who writes a configuration.
func commentText(c *ast.CommentGroup) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(c.Text()), " "), "Nil: ", "Without it: ")
}
