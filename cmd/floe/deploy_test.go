package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	yaml "go.yaml.in/yaml/v3"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/topology"
)

// documentsIn are the YAML documents of a file. Keys that are there twice are errors.
func documentsIn(t *testing.T, name string, data []byte) (out []map[string]any) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var v map[string]any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || v == nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, v)
	}
}

// inside is what stands below v under keys and, in lists, indexes.
func inside(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[step.(string)]
		case []any:
			v = x[step.(int)]
		default:
			t.Fatalf("there is no %v", path)
		}
	}
	return v
}

func TestDeployFilesAreYAMLAndTheirImagesHaveVersions(t *testing.T) {
	version := regexp.MustCompile(`:v?\d+(\.\d+)+\S*$`)
	n := 0
	err := fs.WalkDir(os.DirFS(filepath.Join(root, "deploy")), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data := deployFile(t, path)
		documentsIn(t, path, data)
		for _, m := range regexp.MustCompile(`\bimage: (\S+)`).FindAllSubmatch(data, -1) {
			n++
			if image := string(m[1]); image != "floe:local" && !version.MatchString(image) {
				t.Errorf("%s: the image %s has no version", path, image)
			}
		}
		return nil
	})
	if err != nil || n < 8 {
		t.Errorf("%d images, %v", n, err)
	}
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllSubmatch(deployFile(t, "Dockerfile"), -1)
	if len(from) != 2 || !version.Match(from[0][1]) || string(from[1][1]) != "scratch" {
		t.Errorf("the Dockerfile is built from %q", from)
	}
	if len(documentsIn(t, ".goreleaser.yaml", rootFile(t, ".goreleaser.yaml"))) != 1 {
		t.Error(".goreleaser.yaml is not one document")
	}
}

func rootFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// deployed reads a configuration with just the variables that its surroundings set.
func deployed(t *testing.T, path string, set []string) *config.Config {
	t.Helper()
	used := 0
	cfg, err := config.Parse(path, deployFile(t, path), func(name string) (string, bool) {
		used++
		return "value-of-it", slices.Contains(set, name)
	})
	if err == nil {
		_, err = newTable(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	if used != len(set) {
		t.Errorf("%s: %v are set and %d variables used", path, set, used)
	}
	return cfg
}

// roomBesideMemory is what a container has beyond memory: floe's own overhead, with as much again in reserve.
const roomBesideMemory = 128 << 20

func TestTheComposeFileAndItsConfigurationFit(t *testing.T) {
	c := documentsIn(t, "compose.yaml", deployFile(t, "compose.yaml"))[0]
	services := inside(t, c, "services").(map[string]any)
	floe := services["floe"]
	var set []string
	for name := range inside(t, floe, "environment").(map[string]any) {
		set = append(set, name)
	}
	cfg := deployed(t, "compose/orders.yaml", set)
	if got := inside(t, floe, "mem_limit"); got != "384m" || cfg.Memory+roomBesideMemory != 384<<20 {
		t.Errorf("a limit of %v for a memory of %d", got, cfg.Memory)
	}
	if grace, err := time.ParseDuration(inside(t, floe, "stop_grace_period").(string)); err != nil || grace <= cfg.ShutdownTimeout {
		t.Errorf("a grace of %v for a shutdown of %v", grace, cfg.ShutdownTimeout)
	}
	if cfg.HTTP.Listen != "0.0.0.0:9464" {
		t.Errorf("nobody outside reaches %s", cfg.HTTP.Listen)
	}
	if args := inside(t, floe, "command").([]any); args[0] != "run" || !strings.Contains(inside(t, floe, "volumes", 0).(string), "./compose/orders.yaml:"+args[1].(string)) {
		t.Errorf("%v is not what is mounted", args)
	}
	for name, s := range services {
		volumes, _ := s.(map[string]any)["volumes"].([]any)
		for _, v := range volumes {
			if from, _, _ := strings.Cut(v.(string), ":"); strings.HasPrefix(from, "./") {
				deployFile(t, from)
			} else if _, ok := inside(t, c, "volumes").(map[string]any)[from]; !ok {
				t.Errorf("%s: there is no volume %s", name, from)
			}
		}
		ports, _ := s.(map[string]any)["ports"].([]any)
		for _, p := range ports {
			if !strings.HasPrefix(p.(string), "127.0.0.1:") {
				t.Errorf("%s: the port %v is open to others", name, p)
			}
		}
	}
	scraped := documentsIn(t, "prometheus.yaml", deployFile(t, "compose/prometheus.yaml"))[0]
	if got := inside(t, scraped, "scrape_configs", 0, "static_configs", 0, "targets", 0); got != "floe:9464" {
		t.Errorf("Prometheus asks %v", got)
	}
}

func TestTheKubernetesManifestsFit(t *testing.T) {
	d := documentsIn(t, "deployment.yaml", deployFile(t, "kubernetes/deployment.yaml"))[0]
	pod := inside(t, d, "spec", "template", "spec")
	container := inside(t, pod, "containers", 0)
	var set []string
	for _, e := range inside(t, container, "env").([]any) {
		set = append(set, inside(t, e, "name").(string))
		if inside(t, e, "valueFrom", "secretKeyRef", "key") != inside(t, e, "name") {
			t.Errorf("%v", e)
		}
	}
	cfg := deployed(t, "kubernetes/orders.yaml", set)
	if got := inside(t, container, "resources", "limits", "memory"); got != "384Mi" || cfg.Memory+roomBesideMemory != 384<<20 {
		t.Errorf("a limit of %v for a memory of %d", got, cfg.Memory)
	}
	if grace := inside(t, pod, "terminationGracePeriodSeconds").(int); time.Duration(grace)*time.Second <= cfg.ShutdownTimeout {
		t.Errorf("a grace of %d s for a shutdown of %v", grace, cfg.ShutdownTimeout)
	}
	if port := inside(t, container, "ports", 0, "containerPort"); port != 9464 || cfg.HTTP.Listen != "0.0.0.0:9464" {
		t.Errorf("port %v for %s", port, cfg.HTTP.Listen)
	}
	labels := inside(t, d, "spec", "selector", "matchLabels").(map[string]any)
	manifests := documentsIn(t, "service.yaml", deployFile(t, "kubernetes/service.yaml"))
	selected := []any{inside(t, d, "spec", "template", "metadata", "labels"), inside(t, manifests[0], "spec", "selector"),
		inside(t, manifests[1], "spec", "selector", "matchLabels")}
	for _, s := range selected {
		for k, v := range labels {
			if inside(t, s, k) != v {
				t.Errorf("%v does not select %s: %v", s, k, v)
			}
		}
	}

	answers := (&site{metrics: prometheus.NewRegistry(), status: func() []topology.Status { return nil }, redact: func(s string) string { return s }}).handler()
	for _, path := range []any{inside(t, container, "livenessProbe", "httpGet", "path"), inside(t, container, "readinessProbe", "httpGet", "path"),
		inside(t, d, "spec", "template", "metadata", "annotations", "prometheus.io/path")} {
		w := httptest.NewRecorder()
		answers.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path.(string), nil))
		if w.Code != http.StatusOK {
			t.Errorf("%v answers %d", path, w.Code)
		}
	}
	if inside(t, container, "livenessProbe", "httpGet", "path") != "/livez" {
		t.Error("a probe other than /livez restarts floe where waiting is right")
	}
}

func TestTheUnitStartsFloeAndKnowsItsExitCodes(t *testing.T) {
	unit := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(string(deployFile(t, "systemd/floe@.service")), -1) {
		unit[m[1]] = m[2]
	}
	words := strings.Fields(unit["ExecStart"])
	if len(words) < 3 || filepath.Base(words[0]) != "floe" {
		t.Fatal(unit["ExecStart"])
	}
	help := call(t, words[1], "--help")
	if help.code != exitDone {
		t.Errorf("floe has no %s", words[1])
	}
	for _, w := range words[2 : len(words)-1] {
		if !strings.Contains(help.out, w) {
			t.Errorf("floe %s has no %s", words[1], w)
		}
	}
	if unit["RestartPreventExitStatus"] != string(rune('0'+exitUsage)) || unit["Restart"] != "on-failure" {
		t.Errorf("restarts %q but after %q", unit["Restart"], unit["RestartPreventExitStatus"])
	}
	if unit["TimeoutStopSec"] != "60" || unit["MemoryMax"] != "384M" { // as in the other two, for the defaults
		t.Errorf("%q and %q", unit["TimeoutStopSec"], unit["MemoryMax"])
	}
}

// TestReleasesAreBuiltInOneWay holds that the script, GoReleaser and the image have the flags that make the same bytes.
func TestReleasesAreBuiltInOneWay(t *testing.T) {
	const want = "CGO_ENABLED=0 -tags cloud -trimpath -ldflags='-s -w'"
	command := regexp.MustCompile(`(CGO_ENABLED=0) (?:GOOS\S+ GOARCH\S+ )?go build (-tags cloud -trimpath -ldflags='-s -w') `)
	for path, data := range map[string][]byte{".ci/release": rootFile(t, ".ci/release"), "Dockerfile": deployFile(t, "Dockerfile")} {
		m := command.FindSubmatch(data)
		if m == nil || string(m[1])+" "+string(m[2]) != want {
			t.Errorf("%s: not built with %s", path, want)
		}
	}
	b := inside(t, documentsIn(t, ".goreleaser.yaml", rootFile(t, ".goreleaser.yaml"))[0], "builds", 0)
	if got := inside(t, b, "env", 0).(string) + " " + strings.Replace(inside(t, b, "flags", 1).(string), "=", " ", 1) + " " +
		inside(t, b, "flags", 0).(string) + " -ldflags='" + inside(t, b, "ldflags", 0).(string) + "'"; got != want {
		t.Errorf(".goreleaser.yaml: %s", got)
	}
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(rootFile(t, "go.mod"))[1]
	if !strings.Contains(string(deployFile(t, "Dockerfile")), "FROM golang:"+string(language)+".") {
		t.Errorf("the image is not built with Go %s", language)
	}
}
