// Package rules tests that each expression of the dashboard and the alerts is PromQL, by Prometheus' own parser. It is a module of its own,
// because that parser brings more than floe itself needs.
package rules

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func TestExpressionsOfAlertsAndDashboardAreParsed(t *testing.T) {
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	read(t, "../../deploy/prometheus/floe-alerts.yaml", yaml.Unmarshal, &alerts)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, "../../deploy/grafana/floe.json", json.Unmarshal, &dashboard)
	all := map[string]string{}
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r.Expr
		}
	}
	// What Grafana fills in.
	fill := strings.NewReplacer("$__rate_interval", "1m", "$topology", "orders")
	for _, p := range dashboard.Panels {
		for _, x := range p.Targets {
			all[p.Title+": "+x.Expr] = fill.Replace(x.Expr)
		}
	}
	if len(all) < 40 {
		t.Errorf("%d expressions were found", len(all))
	}
	promql := parser.NewParser(parser.Options{})
	for name, expr := range all {
		if _, err := promql.ParseExpr(expr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func read(t *testing.T, path string, unmarshal func([]byte, any) error, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
