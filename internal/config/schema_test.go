package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"
)

// TestSchemaIsThatOfTheTypes compares schema.json with what the types, their tags, comments and defaults come to. Rewrite with -rewrite.
func TestSchemaIsThatOfTheTypes(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(makeSchema(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "schema.json", b.String())
}

// compiled is Schema, checked against what JSON Schema says of schemas.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("floe.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("floe.json")
}

// plain is YAML as editors hand it to a schema.
func plain(t *testing.T, text string) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return plainNode(doc.Content[0])
}

func plainNode(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := object{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = plainNode(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, plainNode(c))
		}
		return out
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		if err == nil {
			return f
		}
	}
	return n.Value
}

// ours are the configurations that the repository has: those of its documents, and those of the tests that are valid.
func ours(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"the example": string(Example()), "the smallest": smallest}
	for _, file := range []string{"testdata/full.yaml", "../../cmd/floe/testdata/valid.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = string(data)
	}
	docs, _ := filepath.Glob("../../docs/*.md")
	for _, file := range append(docs, "../../README.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
			out[file+" "+strconv.Itoa(i+1)] = m[1]
		}
	}
	if len(out) < 15 {
		t.Errorf("only %d configurations were found", len(out))
	}
	return out
}

func TestSchemaTakesEveryConfigurationOfTheRepository(t *testing.T) {
	s := compiled(t)
	for name, text := range ours(t) {
		if err := s.Validate(plain(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	s := compiled(t)
	for _, more := range []string{
		"writter: {}", "writer: {task: 2}", "source: {}", "memory: 128mb", "memory: -1", "memory: [1]", "memory:", "startup_timeout: 30", "startup_timeout: soon",
		"writer: {tasks: two}", `writer: {tasks: "2"}`, "writer: {tasks: 1.5}", "writer: []", "writer: {group_by: region}", "http: {pprof: maybe}",
		"log: {level: loud}", "log: {level: 1}", "record: {format: xml}", "record: {debezium: {skip: [all]}}", "record: {filter: [{key: {equals: a}}]}",
		"record: {drop: [[]]}", "record: {rename: [{field: a}]}", "rejects: {stop: {share: 1.5}}", "table: {name: db.t, create: {schema: [{name: id}]}}",
		"source: {kafka: {brokers: [a:1], topics: [t], start: soon}}", "source: {kafka: {brokers: [a:1], topics: [t], start: {offsets: {t: {x: 1}}}}}",
		"source: {kafka: {brokers: [a:1], topics: [t], sasl: {mechanism: PLAIN, username: 1}}}", "catalog: {type: {a: b}}",
	} {
		text := without(smallest, more) + more + "\n"
		if _, err := Parse("floe.yaml", []byte(text), env()); err == nil {
			t.Errorf("the loader takes %s", more)
		}
		if s.Validate(plain(t, text)) == nil {
			t.Errorf("the schema takes %s", more)
		}
	}
}

func TestSchemaTakesReferencesForEveryType(t *testing.T) {
	s := compiled(t)
	for _, more := range []string{
		`writer: {tasks: "${N}"}`, `memory: "${N}"`, `startup_timeout: "${N}"`, `http: {pprof: "${N}"}`, `log: {level: "${N}"}`, `rejects: {stop: {share: "${N}"}}`,
	} {
		if err := s.Validate(plain(t, smallest+more+"\n")); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// without takes the line of more's key out of a configuration.
func without(text, more string) string {
	key, _, _ := strings.Cut(more, ":")
	return regexp.MustCompile(`(?m)^`+key+`:.*\n`).ReplaceAllString(text, "")
}

// TestRequiredKeysAreRequired takes each of them out of configurations that are valid.
func TestRequiredKeysAreRequired(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pw", "ca.pem", "app.pem", "app.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(doc *yaml.Node) error {
		text, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(filepath.Join(dir, "floe.yaml"), text, func(string) (string, bool) { return "3", true })
		return err
	}
	schema := object{}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for name, text := range ours(t) {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if err := parse(&doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		eachRequired(doc.Content[0], schema, "", func(path string) {
			seen[path] = true
			if parse(&doc) == nil {
				t.Errorf("%s: the loader does without %s", name, path)
			}
		})
	}
	if len(seen) < 15 {
		t.Errorf("only these keys were there: %v", seen)
	}
}

// eachRequired calls f while one key that the schema requires is out of the node, for each of them.
func eachRequired(n *yaml.Node, s object, path string, f func(path string)) {
	for _, alternative := range list(s["anyOf"]) {
		if a := alternative.(object); n.Kind == yaml.MappingNode == (a["type"] == "object") {
			eachRequired(n, a, path, f)
		}
	}
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			if items, ok := s["items"].(object); ok {
				eachRequired(c, items, path+"[]", f)
			}
		}
	}
	properties, _ := s["properties"].(object)
	for i := 0; i+1 < len(n.Content) && properties != nil && n.Kind == yaml.MappingNode; i += 2 {
		key := n.Content[i].Value
		for _, r := range list(s["required"]) {
			if r == key {
				whole := n.Content
				n.Content = append(append([]*yaml.Node(nil), whole[:i]...), whole[i+2:]...)
				f(path + "." + key)
				n.Content = whole
			}
		}
		if p, ok := properties[key].(object); ok {
			eachRequired(n.Content[i+1], p, path+"."+key, f)
		}
	}
}

func list(v any) []any {
	out, _ := v.([]any)
	return out
}
