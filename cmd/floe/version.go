package main

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/internal/target"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version = ""

func versionCommand() *command {
	return &command{
		name:    "version",
		summary: "the version, and the catalogs and storage schemes that are linked in",
		usage:   "version [--json]",
		help: `
Prints the version, the commit it was built from, the Go version, and which catalogs and storage schemes are linked in.
`,
		examples: `
floe version
floe version --json
`,
		run: runVersion,
	}
}

type versionInfo struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit"`
	Modified bool     `json:"modified"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Catalogs []string `json:"catalogs"`
	Schemes  []string `json:"schemes"`
}

func runVersion(c *cli, cmd *command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print one JSON object")
	rest, err := c.parse(cmd, fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef(cmd, "%q is one argument too many", rest[0])
	}
	v := buildVersion()
	if *asJSON {
		return c.printJSON(v)
	}
	commit := v.Commit
	if v.Modified {
		commit += " (with local changes)"
	}
	_, err = fmt.Fprintf(c.stdout, "floe %s\ncommit: %s\ngo: %s %s\ncatalogs: %s\nschemes: %s\n",
		v.Version, commit, v.Go, v.Platform, strings.Join(v.Catalogs, ", "), strings.Join(v.Schemes, ", "))
	return err
}

// newBuildInfo is the metric that tells which floe this is.
func newBuildInfo() prometheus.Collector {
	v := buildVersion()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "floe", Name: "build_info", Help: "Always 1; its labels say what was built.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "go": v.Go}}, func() float64 { return 1 })
}

func buildVersion() versionInfo {
	v := versionInfo{
		Version: version, Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	v.Catalogs, v.Schemes = target.Linked()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
