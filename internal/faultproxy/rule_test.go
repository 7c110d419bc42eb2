package faultproxy

import (
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	for req, want := range map[string]Route{
		"GET /v1/config":                                   Config,
		"POST /v1/oauth/tokens":                            Token,
		"POST /v1/p/namespaces/a%1Fb/tables/t":             Commit,
		"POST /iceberg/v1/namespaces/a/tables/t":           Commit,
		"GET /v1/namespaces/a/tables/t":                    Load,
		"HEAD /v1/namespaces/a/tables/t":                   Load,
		"DELETE /v1/namespaces/a/tables/t":                 Drop,
		"POST /v1/namespaces/a/tables":                     Create,
		"GET /v1/namespaces/a/tables":                      Other,
		"POST /v1/namespaces/a/tables/t/metrics":           Other,
		"GET /v1/namespaces/a/tables/t/credentials":        Other,
		"GET /v1/namespaces/a":                             Namespace,
		"POST /v1/namespaces":                              Namespace,
		"POST /v1/tables/rename":                           Other,
		"GET /":                                            Other,
		"POST /v1/namespaces/tables/tables/a%2Fnamespaces": Commit,
	} {
		method, path, _ := strings.Cut(req, " ")
		if got := RouteOf(method, path); got != want {
			t.Errorf("%s is %s, want %s", req, got, want)
		}
	}
}

func TestRulesAreReadAsTheyAreWritten(t *testing.T) {
	const text = "commit:503-after:0.05,load:reset-before:0.02,any:late-504:#3,token:401-html-before:#2+,commit:stall:1"
	rules, err := ParseRules(" " + strings.ReplaceAll(text, ",", ", ") + ",")
	if err != nil {
		t.Fatal(err)
	}
	var back []string
	for _, r := range rules {
		back = append(back, r.String())
	}
	if got := strings.Join(back, ","); got != text {
		t.Errorf("got %s\nwant %s", got, text)
	}
	if none, err := ParseRules(""); len(none) != 0 || err != nil {
		t.Errorf("no text gave %v, %v", none, err)
	}
}

func TestWrongRulesSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"commit":                    "route:fault:when",
		"comit:late:1":              `route "comit"`,
		"commit:503:1":              `fault "503"`,
		"commit:99-after:1":         `"99"`,
		"commit:200-after:1":        "-html or -empty",
		"commit:late-x:1":           `"x"`,
		"commit:late:0":             `when "0"`,
		"commit:late:1.5":           `when "1.5"`,
		"commit:late:NaN":           `when "NaN"`,
		"commit:late:#0":            `when "#0"`,
		"load:late:1,commit:late:x": `rule "commit:late:x"`,
	} {
		if _, err := ParseRules(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %s", text, err, want)
		}
	}
}

func TestANumberedRuleCountsItsOwnRoute(t *testing.T) {
	rules, err := ParseRules("commit:stall:#2,load:late:#1+,any:reset-end:#4")
	if err != nil {
		t.Fatal(err)
	}
	p := New(nil, Options{Rules: rules})
	defer p.Close()
	for i, want := range []string{"commit ", "commit stall", "load late", "config reset-end", "load late", "commit "} {
		route, fault, _ := strings.Cut(want, " ")
		if n, f := p.choose(Route(route)); f.String() != fault || n != i+1 {
			t.Errorf("request %d (%s) suffers %q, want %q", i+1, route, f, fault)
		}
	}
	p.SetRules(rules[0])
	for _, want := range []string{"", "stall"} {
		if _, f := p.choose(Commit); f.String() != want {
			t.Errorf("under new rules a commit suffers %q, want %q", f, want)
		}
	}
}
