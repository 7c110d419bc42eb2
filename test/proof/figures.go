package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Figures are what a soak counts. It is the object that --json prints.
type Figures struct {
	Seed   uint64 `json:"seed"`
	Rounds int    `json:"rounds"`
	// Faults by kind; Twin is how many of them struck both replicas at once.
	Faults map[Kind]int `json:"faults"`
	Twin   int          `json:"twin"`
	// Signs is how often a fault came after the sign that it waited for, Missed how often without: it had
	// waited long enough, or the process was stopped.
	Signs  map[Sign]int `json:"signs"`
	Missed int          `json:"missed"`
	// Starts of processes.
	Starts int `json:"starts"`
	// Transactions and Records were produced, aborted ones and tombstones among them; Rows and Rejects were to come of them.
	Transactions int64 `json:"transactions"`
	Records      int64 `json:"records"`
	Rows         int64 `json:"rows"`
	Rejects      int64 `json:"rejects"`
	// Snapshots retained at the end of the rounds, Commits those among them that floe made, Files the data files at the heads.
	Snapshots int   `json:"snapshots"`
	Commits   int   `json:"commits"`
	Files     int64 `json:"files"`
	// Events are lines of floe's log, by what they tell.
	Events map[string]int `json:"events"`
	// Foreign is what another engine did to the tables: compactions and expiries; with an error those that lost a race, too.
	Foreign map[string]int `json:"foreign"`
	// Proxied is what the proxy did to the catalog's answers.
	Proxied map[string]int64 `json:"proxied,omitempty"`
	// Turns are those of a fault run.
	Turns []Turn `json:"turns,omitempty"`
	// Checks of a table, and what they found by kind; 0 of each is the aim.
	Checks int            `json:"checks"`
	Found  map[string]int `json:"found"`
	// Findings in words, the first hundred.
	Findings []string `json:"findings"`
	Seconds  float64  `json:"seconds"`
	// Slowest is the longest time without a commit that was seen, in seconds.
	Slowest float64 `json:"slowest_commit_seconds"`
}

// counters are Figures that several goroutines add to.
type counters struct {
	mu struct {
		sync.Mutex
		f Figures
	}
}

func newCounters(seed uint64) *counters {
	c := &counters{}
	c.mu.f = Figures{Seed: seed, Faults: map[Kind]int{}, Signs: map[Sign]int{}, Events: map[string]int{}, Foreign: map[string]int{},
		Found: map[string]int{"lost": 0, "doubled": 0, "altered": 0}, Findings: []string{}}
	return c
}

func (c *counters) add(f func(*Figures)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.mu.f)
}

// find notes a finding; a kind of "" was counted already.
func (c *counters) find(kind, text string) {
	c.add(func(f *Figures) {
		if kind != "" {
			f.Found[kind]++
		}
		if len(f.Findings) < 100 {
			f.Findings = append(f.Findings, text)
		}
	})
}

// save writes the figures to a file, for a soak that is looked at while it runs, or that is cut short.
func (f Figures) save(path string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// now is a copy.
func (c *counters) now() Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.mu.f
	f.Faults, f.Signs, f.Events, f.Found = maps.Clone(f.Faults), maps.Clone(f.Signs), maps.Clone(f.Events), maps.Clone(f.Found)
	f.Foreign, f.Findings, f.Turns = maps.Clone(f.Foreign), slices.Clone(f.Findings), slices.Clone(f.Turns)
	return f
}

// events are texts in floe's log, and what they are counted as.
var events = map[string]string{
	`msg="WAL entry of an earlier life was adopted"`:         "WAL entries adopted",
	`msg="WAL entry of an earlier life was abandoned`:        "WAL entries abandoned",
	`msg="WAL entry can't be read`:                           "WAL entries set aside",
	`msg="a sealed batch is stale`:                           "stale batches",
	`msg="partitions assigned"`:                              "assignments",
	`msg="partitions were lost before`:                       "partitions lost before all was committed",
	`msg="commit is held up`:                                 "commits held up",
	`msg="commits go through again"`:                         "commits that went through again",
	`msg="commit was refused`:                                "commits refused",
	`msg="the table was set back`:                            "rollbacks noticed",
	`is gone or torn; its records are read again`:            "files gone",
	`msg="files of a WAL entry can't be looked at`:           "WAL entries that could not be looked at",
	`msg="WAL is in trouble"`:                                "WAL troubles",
	`msg="a batch does not join up`:                          "batches that did not join up",
	`msg=trouble`:                                            "troubles",
	`msg="kafka source in trouble"`:                          "Kafka troubles",
	`msg="the topology stops"`:                               "stops",
	`msg="ending: what is open is sealed and committed`:      "graceful ends begun",
	`msg="positions could not be renewed`:                    "renewals that failed",
	`msg="data files of an abandoned batch can't be deleted`: "deletions that failed",
}

// alarms are texts that no log may show.
var alarms = []string{"panic:", "fatal error:", "WARNING: DATA RACE"}

func (c *counters) event(line string) {
	for _, a := range alarms {
		if strings.HasPrefix(line, a) {
			c.find("alarm", "floe's log says "+strings.TrimSpace(line))
		}
	}
	for text, name := range events {
		if strings.Contains(line, text) {
			c.add(func(f *Figures) { f.Events[name]++ })
		}
	}
}

// String is a summary of a few lines.
func (f Figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d rounds, %s: %s; %d at both replicas at once; %d processes started\n", f.Seed, f.Rounds,
		time.Duration(f.Seconds*float64(time.Second)).Round(time.Second), counts(f.Faults), f.Twin, f.Starts)
	if len(f.Signs) > 0 || f.Missed > 0 {
		fmt.Fprintf(&b, "after the process had %s; %d times without a sign\n", counts(f.Signs), f.Missed)
	}
	fmt.Fprintf(&b, "%d records in %d transactions, %d rows and %d rejects to come of them; %d snapshots, %d by floe, with %d data files\n", f.Records,
		f.Transactions, f.Rows, f.Rejects, f.Snapshots, f.Commits, f.Files)
	fmt.Fprintf(&b, "floe's log: %s\n", counts(f.Events))
	if len(f.Foreign) > 0 {
		fmt.Fprintf(&b, "another engine: %s\n", counts(f.Foreign))
	}
	if f.Proxied != nil {
		fmt.Fprintf(&b, "proxy: %s\n", counts(f.Proxied))
	}
	for i, t := range f.Turns {
		fmt.Fprintf(&b, "%3d %s\n", i+1, t)
	}
	fmt.Fprintf(&b, "longest time without a commit: %.1f s\n", f.Slowest)
	fmt.Fprintf(&b, "%d checks: %s", f.Checks, counts(f.Found))
	return b.String()
}

// counts lists what was counted, in the order of names.
func counts[K ~string, N int | int64](by map[K]N) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[k], k))
	}
	return strings.Join(parts, ", ")
}
