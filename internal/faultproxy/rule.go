package faultproxy

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Route is a kind of request.
type Route string

// The routes of the Iceberg REST protocol that floe takes; Any stands for all of them in a rule.
const (
	Commit    Route = "commit"
	Load      Route = "load"
	Create    Route = "create"
	Drop      Route = "drop"
	Namespace Route = "namespace"
	Config    Route = "config"
	Token     Route = "token"
	Other     Route = "other"
	Any       Route = "any"
)

var routes = []Route{Commit, Load, Create, Drop, Namespace, Config, Token, Other, Any}

// RouteOf tells a request's route. path is the escaped one, so that a name may hold a slash.
func RouteOf(method, path string) Route {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if i := slices.Index(parts, "namespaces"); i >= 0 {
		return namespaceRoute(method, parts[i+1:])
	}
	switch last := parts[len(parts)-1]; {
	case last == "config":
		return Config
	case last == "tokens":
		return Token
	}
	return Other
}

// namespaceRoute tells the route by what follows "namespaces": a namespace, "tables", a table, and something of it.
func namespaceRoute(method string, rest []string) Route {
	switch {
	case len(rest) < 2:
		return Namespace
	case rest[1] != "tables" || len(rest) > 3:
		return Other
	case len(rest) == 2 && method == http.MethodPost:
		return Create
	case len(rest) == 2:
		return Other
	}
	switch method {
	case http.MethodPost:
		return Commit
	case http.MethodGet, http.MethodHead:
		return Load
	case http.MethodDelete:
		return Drop
	}
	return Other
}

// Rule says which requests suffer which fault.
type Rule struct {
	Route Route
	Fault Fault
	// Nth picks the nth request of the route since the rules were set, counted from 1; with Onward, also all after it.
	Nth    int
	Onward bool
	// Chance, where Nth is 0, is the probability in (0, 1].
	Chance float64
}

// String gives the rule as ParseRules reads it.
func (r Rule) String() string {
	when := strconv.FormatFloat(r.Chance, 'g', -1, 64)
	if r.Nth > 0 {
		when = "#" + strconv.Itoa(r.Nth)
		if r.Onward {
			when += "+"
		}
	}
	return fmt.Sprintf("%s:%s:%s", r.Route, r.Fault, when)
}

// ParseRules reads rules that are parted by commas; see the package's documentation. No text is no rule.
func ParseRules(text string) ([]Rule, error) {
	var out []Rule
	for _, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		r, err := parseRule(one)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", one, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRule(text string) (Rule, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Rule{}, fmt.Errorf("write it as route:fault:when, for example commit:503-after:0.05")
	}
	r := Rule{Route: Route(parts[0])}
	if !slices.Contains(routes, r.Route) {
		return Rule{}, fmt.Errorf("route %q is none of %v", r.Route, routes)
	}
	var err error
	if r.Fault, err = ParseFault(parts[1]); err != nil {
		return Rule{}, err
	}
	when := parts[2]
	if nth, ok := strings.CutPrefix(when, "#"); ok {
		nth, r.Onward = strings.CutSuffix(nth, "+")
		if r.Nth, err = strconv.Atoi(nth); err != nil || r.Nth < 1 {
			return Rule{}, fmt.Errorf("when %q is no number from 1 on: write #3 or #3+", when)
		}
		return r, nil
	}
	if r.Chance, err = strconv.ParseFloat(when, 64); err != nil || !(r.Chance > 0 && r.Chance <= 1) {
		return Rule{}, fmt.Errorf("when %q is neither a chance above 0 and up to 1 nor a number such as #3", when)
	}
	return r, nil
}
