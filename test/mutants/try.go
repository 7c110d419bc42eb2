package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant is one broken rule.
type mutant struct {
	name  string
	edits []edit
	// model is the exploration (of TestEveryStateKeepsThePromise) that must fail with it. rule is the one that breaks the same
	// rule inside the model (of TestEachRuleIsNeeded), and must pass without it. One of them is given where the model knows
	// the rule.
	model, rule string
	// tests must fail: deterministic ones of the code that runs.
	tests []suite
	// spec is the definition that breaks the rule in docs/spec, empty where it is not modelled there.
	spec string
}

// edit replaces the one occurrence of old in a file.
type edit struct{ file, old, new string }

// suite is what `go test -run` is given.
type suite struct{ pkg, run string }

const modelPkg = "./internal/protocol"

// subtest is the pattern for one subtest by its name.
func subtest(test, name string) string {
	return test + "/^" + regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_")) + "$"
}

// result is what became of a mutant.
type result struct {
	m            mutant
	model, tests []string
	words        string
	took         time.Duration
	err          error
}

// overlay writes the changed files and the description that go test takes.
func (m mutant) overlay(root, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	text := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		if _, ok := text[path]; !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("mutant %s: %w", m.name, err)
			}
			text[path] = string(b)
		}
		if n := strings.Count(text[path], e.old); n != 1 {
			return "", fmt.Errorf("mutant %s: its text is %d times in %s and must be there once; bring the list up to date:\n%s",
				m.name, n, e.file, e.old)
		}
		text[path] = strings.Replace(text[path], e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, s := range text {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(to, []byte(s), 0o644); err != nil {
			return "", err
		}
		replace[path] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o644)
}

// unmutated runs all the tests that are to catch something, and must see them pass.
func unmutated(ctx context.Context, root string, ms []mutant) error {
	var pkgs, rules []string
	runs := map[string][]string{}
	add := func(pkg, run string) {
		if run == "" || slices.Contains(runs[pkg], run) {
			return
		}
		if runs[pkg] == nil {
			pkgs = append(pkgs, pkg)
		}
		runs[pkg] = append(runs[pkg], run)
	}
	for _, m := range ms {
		if err := m.explored(root); err != nil {
			return err
		}
		if m.model != "" {
			add(modelPkg, subtest("TestEveryStateKeepsThePromise", m.model))
		}
		if m.rule != "" {
			add(modelPkg, subtest("TestEachRuleIsNeeded", m.rule))
			rules = append(rules, m.rule)
		}
		for _, s := range m.tests {
			add(s.pkg, s.run)
		}
	}
	for _, pkg := range pkgs {
		failed, out, err := gotest(ctx, root, "", suite{pkg, strings.Join(runs[pkg], "|")})
		if err == nil && len(failed) > 0 {
			err = errors.New(strings.Join(failed, ", "))
		}
		if err == nil && !strings.Contains(out, "--- PASS: ") {
			err = errors.New("none has run")
		}
		if err != nil {
			return fmt.Errorf("tests of %s without a mutant: %w\n%s", pkg, err, out)
		}
		for _, rule := range rules {
			// A name that matches nothing would pass, too.
			if pkg == modelPkg && !strings.Contains(out, "--- PASS: TestEachRuleIsNeeded/"+strings.ReplaceAll(rule, " ", "_")+" (") {
				return fmt.Errorf("the model does not break the rule %q", rule)
			}
		}
	}
	return nil
}

// explored says whether .ci/spin explores the variant of docs/spec that breaks the same rule.
func (m mutant) explored(root string) error {
	b, err := os.ReadFile(filepath.Join(root, ".ci", "spin"))
	if err != nil {
		return err
	}
	if m.spec != "" && !regexp.MustCompile(`(?m)^\w+\.pml +-D`+m.spec+`\b`).Match(b) {
		return fmt.Errorf("mutant %s: .ci/spin explores no variant with -D%s", m.name, m.spec)
	}
	return nil
}

// try runs the tests with the mutant.
func (m mutant) try(ctx context.Context, root, overlay string) (r result) {
	r.m = m
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	if m.rule != "" {
		r.model = []string{"TestEachRuleIsNeeded"}
	}
	if m.model != "" {
		failed, out, err := gotest(ctx, root, overlay, suite{modelPkg, subtest("TestEveryStateKeepsThePromise", m.model)})
		r.model, r.words = failed, out
		if err == nil && len(failed) == 0 {
			err = errors.New("the model finds no counterexample")
		}
		r.err = err
	}
	for _, s := range m.tests {
		failed, out, err := gotest(ctx, root, overlay, s)
		for _, name := range failed {
			r.tests = append(r.tests, strings.TrimPrefix(s.pkg, "./")+" "+name)
		}
		r.words += out
		if err == nil && len(failed) == 0 {
			err = fmt.Errorf("it survives %s in %s", s.run, s.pkg)
		}
		r.err = errors.Join(r.err, err)
	}
	return r
}

var (
	failLine    = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	runningLine = regexp.MustCompile(`(?m)^\t(Test\S+) \(`)
)

// gotest runs tests and gives the names of those that failed. An error says that they did not run: a mutant that does not
// compile is not caught by anything.
func gotest(ctx context.Context, root, overlay string, s suite) (failed []string, out string, err error) {
	args := []string{"test", "-vet=off", "-ldflags=-s -w", "-count=1", "-v", "-timeout=3m", "-run", s.run}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.pkg)...)
	cmd.Dir = root
	b, err := cmd.CombinedOutput()
	out = string(b)
	if err == nil {
		return nil, out, nil
	}
	for _, m := range failLine.FindAllStringSubmatch(out, -1) {
		failed = append(failed, m[1])
	}
	if strings.Contains(out, "panic: test timed out") {
		for _, m := range runningLine.FindAllStringSubmatch(out, -1) {
			failed = append(failed, m[1]+" (never ends)")
		}
	}
	slices.Sort(failed)
	failed = slices.Compact(failed)
	switch {
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return nil, out, fmt.Errorf("%s does not compile", s.pkg)
	case ctx.Err() != nil:
		return nil, out, ctx.Err()
	case len(failed) == 0:
		return nil, out, fmt.Errorf("tests of %s could not run: %w", s.pkg, err)
	}
	return failed, out, nil
}
