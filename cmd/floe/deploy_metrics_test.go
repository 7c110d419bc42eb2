package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

func deployFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "deploy", path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMetricsOfDashboardAndAlertsExist holds their names against docs/metrics.md, which is held against what a run exports. That each
// expression is PromQL is tested in test/rules.
func TestMetricsOfDashboardAndAlertsExist(t *testing.T) {
	documented := regexp.MustCompile("`(floe_\\w+)`").FindAllStringSubmatch(documents(t)["docs/metrics.md"], -1)
	var known []string
	for _, m := range documented {
		known = append(known, m[1])
		if strings.HasSuffix(m[1], "_duration_seconds") {
			known = append(known, m[1]+"_bucket")
		}
	}
	for _, path := range []string{"prometheus/floe-alerts.yaml", "grafana/floe.json"} {
		names := regexp.MustCompile(`\bfloe_\w+`).FindAllString(string(deployFile(t, path)), -1)
		if len(names) < 10 {
			t.Errorf("%s: %d metrics", path, len(names))
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no metric %s", path, name)
			}
		}
	}
}

func TestAlertsSayWhatIsWrongAndWhatToDo(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(deployFile(t, "prometheus/floe-alerts.yaml"))))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Expr == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" || seen[r.Alert] ||
				!slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("the alert %+v is not whole", r)
			}
			seen[r.Alert] = true
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts", len(seen))
	}
}

func TestDashboardPanelsDoNotOverlap(t *testing.T) {
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(deployFile(t, "grafana/floe.json"), &d); err != nil {
		t.Fatal(err)
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 || p.GridPos.H == 0 {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, there := taken[at]; there {
					t.Fatalf("%s lies over %s", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
	}
}
