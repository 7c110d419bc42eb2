package faultproxy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/faultproxy"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/restcatalog"
)

// commitFaults are what a commit request may suffer. Those that are proven refusals by themselves end with "!": a writer
// whose batch suffers one twice has failed, and so has a start that can't record where it starts.
var commitFaults = strings.Fields(`
	500-before 500-after 502-before 502-after 503-before 503-after 504-before 504-after
	500-html-before 502-html-after 503-html-before 504-html-after 500-empty-before 503-empty-after
	reset-before reset-after reset-middle reset-end stall late late-504 late-409 late-503 resend-first resend-second
	409-before 409-after 409-html-before 409-empty-after 429-before 429-after 429-html-before 429-empty-after
	401-before 401-after 401-html-before 419-before 404-before 404-after 404-html-before 404-empty-after
	200-html-before 200-html-after 200-empty-before 200-empty-after 204-empty-before 204-empty-after 202-empty-after
	stale-before stale-after 301-before 302-before 303-before 303-after
	400-before! 400-after! 400-html-before! 400-html-after! 403-before! 403-after! 403-html-before! 413-html-before! 422-after! late-400!`)

// loadFaults are what the look at a table may suffer.
var loadFaults = strings.Fields(`
	500-before 502-html-before 503-before 504-empty-before reset-before reset-after reset-middle reset-end stall late-504
	409-before 429-before 401-before 403-before 404-before 404-html-before 400-before 419-before
	200-html-before 200-empty-before 204-empty-before stale-before resend-first 302-before`)

// TestEachFaultOnce puts every fault somewhere into one of a few runs, in another order each time.
func TestEachFaultOnce(t *testing.T) {
	commits, loads := shuffled(commitFaults), shuffled(loadFaults)
	if testing.Short() {
		commits = commits[:12]
	}
	for len(commits) > 0 {
		var rules []string
		for nth := 1; nth <= 7 && len(commits) > 0; nth += 2 {
			name, refusal := strings.CutSuffix(commits[0], "!")
			if refusal && nth == 1 { // a start that is refused has failed
				name = "503-after"
			} else {
				commits = commits[1:]
			}
			rules = append(rules, fmt.Sprintf("commit:%s:#%d", name, nth))
		}
		for nth := 3; nth <= 5 && len(loads) > 0; nth += 2 {
			rules, loads = append(rules, fmt.Sprintf("load:%s:#%d", loads[0], nth)), loads[1:]
		}
		late := lateness("late")[rand.IntN(3)]
		run(t, strings.Join(rules, ","), late, len(rules), false)
	}
}

func shuffled(faults []string) []string {
	out := slices.Clone(faults)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestFaultsAtCommits: each fault at each commit of a run; the run goes on by itself, and so does the next life. What is late
// arrives at one of several times.
func TestFaultsAtCommits(t *testing.T) { overall(t, faultproxy.Commit, commitFaults) }

// TestFaultsAtLoads is the same for the looks at the table.
func TestFaultsAtLoads(t *testing.T) { overall(t, faultproxy.Load, loadFaults) }

var slack = map[faultproxy.Route]int{faultproxy.Load: 5}

func overall(t *testing.T, route faultproxy.Route, faults []string) {
	if !*every {
		t.Skip("part of the long tier: go test ./internal/faultproxy -args -every")
	}
	plain := 0
	bubble(t, func(t *testing.T, w *harness.World) {
		l := newLine(t, w, "", faultproxy.Options{}, restcatalog.Options{})
		if err := l.life(); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
		plain = l.asked(route)
	})
	if plain < 7 {
		t.Fatalf("the plain run asks only %d times", plain)
	}
	var runs atomic.Int64
	t.Cleanup(func() {
		t.Logf("%s: %d faults, %d requests in a plain run, %d runs with one fault each", route, len(faults), plain, runs.Load())
	})
	for _, f := range faults {
		name, refusal := strings.CutSuffix(f, "!")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// How often a run looks depends on how its goroutines meet; the last few are not sure to come.
			for nth := 1; nth <= plain-slack[route]; nth++ {
				for _, late := range lateness(name) {
					runs.Add(1)
					run(t, fmt.Sprintf("%s:%s:#%d", route, name, nth), late, 1, refusal && nth == 1)
				}
			}
		})
	}
}

// lateness are the times at which a late request arrives, after it was given up: right away, while the run goes on, and
// (zero) after the next life. Other faults know one only.
func lateness(fault string) []time.Duration {
	if strings.HasPrefix(fault, "late") {
		return []time.Duration{time.Nanosecond, 20 * time.Millisecond, 0}
	}
	return []time.Duration{0}
}

// run runs one life under rules, of which each must be met once, and one without. mayEnd says that the first may fail.
func run(t *testing.T, rules string, late time.Duration, faults int, mayEnd bool) {
	t.Helper()
	bubble(t, func(t *testing.T, w *harness.World) {
		l := newLine(t, w, rules, faultproxy.Options{LateDelay: late}, restcatalog.Options{})
		if err := l.life(); err == nil {
			w.Check(t)
		} else if !mayEnd {
			t.Errorf("the life with faults: %v", err)
		}
		w.CheckOf(t, "orders")
		if n := l.faults(); n != faults {
			t.Errorf("%d faults were injected, want %d", n, faults)
		}
		l.rules("")
		w.Produce(10)
		if err := l.life(); err != nil {
			t.Errorf("the life after it: %v", err)
		}
		w.Check(t)
		if _, err := l.proxy.Release(); err != nil {
			t.Error(err)
		}
		w.Check(t)
		if t.Failed() {
			t.Fatalf("%s, late by %s: %+v", rules, late, l.proxy.Requests())
		}
	})
}
