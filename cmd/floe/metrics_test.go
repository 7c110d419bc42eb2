package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// exported are the metrics of floe's own in what /metrics says.
func exported(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (floe_\w+) `).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

// TestEveryMetricIsDocumentedAndNoOther holds docs/metrics.md against what a topology exports that has seen everything which makes a
// series appear.
func TestEveryMetricIsDocumentedAndNoOther(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, line := range strings.Split(string(doc), "\n") {
		if strings.HasPrefix(line, "| `floe_") {
			first, _, _ := strings.Cut(line[2:], "|")
			documented = append(documented, regexp.MustCompile(`floe_\w+`).FindAllString(first, -1)...)
		}
	}
	slices.Sort(documented)
	w := newWorld(t)
	cfg := w.config("listen: off", "listen: 127.0.0.1:0", "level: warn}", "level: info}\nrecord: {filter: [{name: tests, column: {name: note, equals: test}}]}")
	w.produce(0, `{"id":1}`, `{"id":"bad"}`, `{"id":2,"note":"test"}`)
	s := start(t, "run", cfg)
	addr := s.log.find(t, "address=")
	// Some series appear with the first commit or the first reject that is in its table.
	w.eventually(func() error {
		_, text := get(t, addr, "/metrics")
		if got := exported(text); !slices.Equal(got, documented) {
			return fmt.Errorf("exported are\n%s\ndocumented are\n%s", strings.Join(got, "\n"), strings.Join(documented, "\n"))
		}
		return nil
	})
	s.signals <- syscall.SIGTERM
	if code := s.wait(t); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, s.log)
	}
}
