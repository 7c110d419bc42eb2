package faultproxy

import (
	"fmt"
	"strconv"
	"strings"
)

// Fault is one way in which a request goes wrong. The zero value is none.
type Fault struct {
	kind   kind
	status int
	body   body
	// applied says that the request is passed on before the answer is given.
	applied bool
}

type kind int

const (
	none kind = iota
	status
	stale
	reset
	resetMiddle
	resetEnd
	resendFirst
	resendSecond
	stall
	late
	lateStatus
)

type body int

const (
	asError body = iota
	asHTML
	asNothing
)

// fixed are the faults whose name has no parts.
var fixed = map[string]Fault{
	"stale-before":  {kind: stale},
	"stale-after":   {kind: stale, applied: true},
	"reset-before":  {kind: reset},
	"reset-after":   {kind: reset, applied: true},
	"reset-middle":  {kind: resetMiddle, applied: true},
	"reset-end":     {kind: resetEnd, applied: true},
	"resend-first":  {kind: resendFirst, applied: true},
	"resend-second": {kind: resendSecond, applied: true},
	"stall":         {kind: stall, applied: true},
	"late":          {kind: late},
}

// ParseFault reads a fault's name; see the package's documentation.
func ParseFault(name string) (Fault, error) {
	if f, ok := fixed[name]; ok {
		return f, nil
	}
	if code, ok := strings.CutPrefix(name, "late-"); ok {
		n, err := parseStatus(code)
		return Fault{kind: lateStatus, status: n}, err
	}
	f := Fault{kind: status}
	rest, before := strings.CutSuffix(name, "-before")
	if !before {
		if rest, f.applied = strings.CutSuffix(name, "-after"); !f.applied {
			return Fault{}, fmt.Errorf("fault %q is not known; examples: 503-after, reset-middle, late, resend-second", name)
		}
	}
	if code, ok := strings.CutSuffix(rest, "-html"); ok {
		rest, f.body = code, asHTML
	} else if code, ok := strings.CutSuffix(rest, "-empty"); ok {
		rest, f.body = code, asNothing
	}
	var err error
	if f.status, err = parseStatus(rest); err != nil {
		return Fault{}, err
	}
	if f.status < 300 && f.body == asError {
		return Fault{}, fmt.Errorf("fault %q: a status of success goes with -html or -empty", name)
	}
	return f, nil
}

func parseStatus(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 200 || n > 599 {
		return 0, fmt.Errorf("%q is no status from 200 to 599", text)
	}
	return n, nil
}

// Applied says whether a request that suffers the fault reaches the catalog before the client has its answer. A late one
// does not: it may yet.
func (f Fault) Applied() bool { return f.applied }

// String gives the fault's name, "" for none.
func (f Fault) String() string {
	for name, g := range fixed {
		if f == g {
			return name
		}
	}
	when := "-before"
	if f.applied {
		when = "-after"
	}
	switch f.kind {
	case none:
		return ""
	case lateStatus:
		return fmt.Sprintf("late-%d", f.status)
	}
	return fmt.Sprintf("%d%s%s", f.status, [...]string{"", "-html", "-empty"}[f.body], when)
}
