package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a mutant changes, the tests that are to catch it, and the variant of docs/spec are still there: the list does not rot
// until somebody runs it.
func TestTheListIsUpToDate(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if seen[m.name] {
				t.Error("two mutants have this name")
			}
			seen[m.name] = true
			dir := t.TempDir()
			if _, err := m.overlay(root, dir); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no file is changed (%v)", err)
			}
			for _, f := range files {
				if _, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution); err != nil {
					t.Error(err)
				}
			}
			if err := m.explored(root); err != nil {
				t.Error(err)
			}
			if len(m.tests) == 0 {
				t.Error("no test of the running code is to catch it")
			}
			for _, s := range m.tests {
				for _, name := range strings.Split(s.run, "|") {
					name, _, _ = strings.Cut(name, "/")
					if err := defined(filepath.Join(root, s.pkg), strings.Trim(name, "^$")); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// defined says whether a package has a test.
func defined(dir, name string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	head := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(t \*testing\.T\)`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if head.Match(b) {
			return nil
		}
	}
	return fmt.Errorf("there is no test %s in %s", name, dir)
}
