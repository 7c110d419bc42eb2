package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/config"
)

const root = "../.."

// documents are the README and everything in docs, by their paths below root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	read := func(path string) {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(data)
	}
	read("README.md")
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			read(path)
		}
		return err
	})
	if err != nil || len(out) < 5 {
		t.Fatal("documents are missing", err)
	}
	return out
}

// fence is a fenced part, also one that belongs to a list.
var fence = regexp.MustCompile("(?ms)^ *```(\\w+)\n(.*?)^ *```$")

// blocks are the fenced parts in a language.
func blocks(text, language string) (out []string) {
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

// parseBlock reads a configuration of a document, beside the files that the documents' configurations name.
func parseBlock(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ca.pem", "app.pem", "app.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Parse(filepath.Join(dir, "floe.yaml"), []byte(text), func(string) (string, bool) { return "value-of-it", true })
}

func TestConfigurationsInTheDocumentsAreValid(t *testing.T) {
	n := 0
	for path, text := range documents(t) {
		for _, b := range blocks(text, "yaml") {
			n++
			cfg, err := parseBlock(t, b)
			if err == nil {
				_, err = newTable(cfg)
			}
			if err != nil {
				t.Errorf("%s: %v in\n%s", path, err, b)
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d configurations were found", n)
	}
}

// TestEveryKeyIsDocumentedWithItsDefault holds docs/configuration.md against what is read.
func TestEveryKeyIsDocumentedWithItsDefault(t *testing.T) {
	all := strings.Join(blocks(documents(t)["docs/configuration.md"], "yaml"), "\n")
	for _, key := range keys(reflect.TypeFor[config.Config]()) {
		if !regexp.MustCompile(`(^|[\s{,#])` + key + `:`).MatchString(all) {
			t.Errorf("the key %s is not in docs/configuration.md", key)
		}
	}
	whole, err := parseBlock(t, blocks(documents(t)["docs/configuration.md"], "yaml")[0])
	if err != nil {
		t.Fatal(err)
	}
	least, err := parseBlock(t, "name: orders\nsource: {kafka: {brokers: [\"localhost:9092\"], topics: [orders]}}\n"+
		"catalog: {type: sqlite, uri: c.db}\ntable: {name: db.orders}\n")
	if err != nil {
		t.Fatal(err)
	}
	normal := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		// An empty list is none.
		return strings.ReplaceAll(string(data), "[]", "null")
	}
	for name, pair := range map[string][2]any{
		"source": {whole.Source, least.Source}, "record": {whole.Record, least.Record}, "writer": {whole.Writer, least.Writer}, "rejects": {whole.Rejects, least.Rejects},
		"committer": {whole.Committer, least.Committer}, "http": {whole.HTTP, least.HTTP}, "memory": {whole.Memory, least.Memory},
		"log": {whole.Log, least.Log}, "startup": {whole.StartupTimeout, least.StartupTimeout},
		"shutdown": {whole.ShutdownTimeout, least.ShutdownTimeout},
	} {
		if got, want := normal(pair[0]), normal(pair[1]); got != want {
			t.Errorf("%s: documented as the default is\n%s\nbut it is\n%s", name, got, want)
		}
	}
}

// TestTheExampleIsThatOfTheDocuments holds what floe config example prints against docs/configuration.md, from which -rewrite makes it.
func TestTheExampleIsThatOfTheDocuments(t *testing.T) {
	want := blocks(documents(t)["docs/configuration.md"], "yaml")[0]
	if *rewrite {
		if err := os.WriteFile(filepath.Join(root, "internal/config/example.yaml"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(config.Example()); got != want {
		t.Errorf("internal/config/example.yaml is not the first configuration of docs/configuration.md; rewrite it with -rewrite:\n%s", got)
	}
	a := call(t, "config", "example")
	if _, err := parseBlock(t, a.out); err != nil || a.code != exitDone || !strings.HasSuffix(a.out, want) {
		t.Errorf("%+v: %v", a, err)
	}
}

func TestTheSchemaIsPrinted(t *testing.T) {
	if a := call(t, "config", "schema"); a.code != exitDone || !json.Valid([]byte(a.out)) || !strings.Contains(a.out, `"max_open_files"`) {
		t.Errorf("%+v", a)
	}
}

// keys are the YAML names in a type and all below it.
func keys(t reflect.Type) (out []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return keys(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	if t == reflect.TypeFor[config.Start]() || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "" {
			continue
		}
		out = append(append(out, name), keys(f.Type)...)
	}
	return out
}

// TestGoInTheDocumentsIsCompiled holds that each Go block stands as it is in a file that is compiled.
func TestGoInTheDocumentsIsCompiled(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"topology/*_test.go", "examples/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal("no Go files at", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(data)
		}
	}
	for path, text := range documents(t) {
		for _, b := range blocks(text, "go") {
			if !strings.Contains(code.String(), b) {
				t.Errorf("%s: this is not in a file that is compiled:\n%s", path, b)
			}
		}
	}
}

func TestJSONInTheDocumentsIsJSON(t *testing.T) {
	for path, text := range documents(t) {
		for _, b := range blocks(text, "json") {
			if !json.Valid([]byte(b)) {
				t.Errorf("%s: not JSON:\n%s", path, b)
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInTheDocumentsLeadSomewhere(t *testing.T) {
	for path, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(path), to)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, m[1])
			}
		}
	}
}

var (
	goRun   = regexp.MustCompile(`go (?:run|build|install|test)((?: -\S+(?: cloud)?)*) (\./\S*?|github\.com/\S+?)(?:[\s` + "`" + `]|$)`)
	flagged = regexp.MustCompile(`--([a-z-]+)`)
)

// TestCommandsInTheDocumentsExist holds every command and flag that a document names against the binary.
func TestCommandsInTheDocumentsExist(t *testing.T) {
	help := map[string]string{}
	for _, cmd := range commands() {
		help[cmd.name] = call(t, cmd.name, "--help").out
	}
	n := 0
	for path, text := range documents(t) {
		for _, m := range goRun.FindAllStringSubmatch(text, -1) {
			n++
			dir := strings.TrimPrefix(strings.TrimPrefix(m[2], "github.com/stormfloe/floe/"), "./")
			dir, _, _ = strings.Cut(dir, "@")
			if dir != "..." && !isDir(filepath.Join(root, dir)) {
				t.Errorf("%s: %s is no package", path, m[2])
			}
		}
		for _, m := range regexp.MustCompile("(?:^|[`\\s])floe ([a-z-]+)([^`\n#]*)").FindAllStringSubmatch(commandText(text), -1) {
			n++
			if help[m[1]] == "" {
				t.Errorf("%s: there is no command %q", path, "floe "+m[1])
				continue
			}
			for _, f := range flagged.FindAllStringSubmatch(m[2], -1) {
				if f[1] != "help" && !strings.Contains(help[m[1]], "--"+f[1]) {
					t.Errorf("%s: floe %s has no flag --%s", path, m[1], f[1])
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d commands were found", n)
	}
}

// commandText is what stands in shell blocks and in code marks.
func commandText(text string) string {
	lines := blocks(text, "sh")
	for _, m := range regexp.MustCompile("`(floe [^`]+)`").FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	return "\n" + strings.Join(lines, "\n")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// TestMetricsInTheDocumentsExist holds the names of metrics against docs/metrics.md, which TestEveryMetricIsDocumentedAndNoOther holds
// against what is exported.
func TestMetricsInTheDocumentsExist(t *testing.T) {
	docs := documents(t)
	for path, text := range docs {
		for _, m := range regexp.MustCompile("`floe_[a-z_]+`").FindAllString(text, -1) {
			if !strings.Contains(docs["docs/metrics.md"], m) {
				t.Errorf("%s: %s is not in docs/metrics.md", path, m)
			}
		}
	}
}

// TestKeysInTheDocumentsExist holds dotted keys in running text (`writer.seal.bytes`) against the configuration.
func TestKeysInTheDocumentsExist(t *testing.T) {
	known := keys(reflect.TypeFor[config.Config]())
	for path, text := range documents(t) {
		for _, m := range regexp.MustCompile("`((?:source|record|rejects|writer|committer|http|log)\\.[a-z_.]+)[:`]").FindAllStringSubmatch(text, -1) {
			if ext := filepath.Ext(m[1]); ext == ".md" || ext == ".pml" {
				continue // a file's name
			}
			for _, part := range strings.Split(m[1], ".") {
				if !slices.Contains(known, part) {
					t.Errorf("%s: %s: there is no key %s", path, m[1], part)
				}
			}
		}
	}
}
