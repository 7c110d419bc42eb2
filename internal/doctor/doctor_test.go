package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/source"
)

var part = source.Partition{Cluster: "c", Topic: "orders", Incarnation: "i", ID: 0}

// looked is a look at one partition.
func looked(at time.Duration, next, last source.Position) Look {
	return Look{At: time.UnixMilli(0).Add(at), Reached: true, Bounds: []source.Bounds{{Partition: part, Last: last}},
		Positions: committer.Positions{Known: true, At: map[source.Partition]committer.Progress{part: {Next: next}}}}
}

func TestLagIsGrowingOnlyBeyondWhatIsOnItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		a, b Look
		want string
	}{
		"keeps up":                     {looked(0, 100, 100), looked(time.Minute, 160, 160), ""},
		"was just committed, is about": {looked(0, 100, 100), looked(time.Minute, 130, 160), ""},
		"catches up":                   {looked(0, 0, 1000), looked(time.Minute, 500, 1060), ""},
		"quiet, and far behind":        {looked(0, 0, 1000), looked(time.Minute, 0, 1000), ""},
		"falls behind":                 {looked(0, 100, 100), looked(time.Minute, 120, 160), "grew by 60 records and the table took 20; it is 40 behind"},
		"stands still":                 {looked(0, 100, 100), looked(time.Minute, 100, 160), "the table took 0"},
	} {
		r := Examine(t.Context(), Patient{Looks: []Look{c.a, c.b}, Period: 30 * time.Second, Limits: Defaults()})
		switch {
		case c.want == "" && len(r.Findings) > 0, c.want != "" && (len(r.Findings) != 1 || !strings.Contains(r.Findings[0].What, c.want)), len(r.Unchecked) > 0:
			t.Errorf("%s: want %q, got %+v", name, c.want, r)
		}
	}
	for name, looks := range map[string][]Look{
		"too close":          {looked(0, 0, 0), looked(30*time.Second, 0, 10)},
		"set back meanwhile": {looked(0, 100, 100), looked(time.Minute, 0, 100)},
	} {
		r := Examine(t.Context(), Patient{Looks: looks, Period: 30 * time.Second, Limits: Defaults()})
		if len(r.Findings) > 0 || len(r.Unchecked) != 1 || r.Sound() {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestReplicasThatTakePartitionsOverAreNotTwoInstances(t *testing.T) {
	for name, c := range map[string]struct {
		// by are who committed, the oldest first; an upper case letter moved partition 1, the others 0.
		by   string
		want int
	}{
		"one":                   {"aaaa", 0},
		"restarts":              {"abcd", 0},
		"each its own":          {"aBaBaB", 0},
		"handed back once":      {"aabba", 1},
		"by turns":              {"ababab", 4},
		"by turns, three of it": {"abcabc", 3},
	} {
		q := [2]source.Partition{{Topic: "orders"}, {Topic: "orders", ID: 1}}
		next := map[source.Partition]source.Position{q[0]: 0, q[1]: 0}
		steps := []committer.Step{{Instance: "first", Next: next}}
		for _, who := range c.by {
			moved := map[source.Partition]source.Position{q[0]: next[q[0]], q[1]: next[q[1]]}
			if who < 'a' {
				moved[q[1]]++
			} else {
				moved[q[0]]++
			}
			next = moved
			steps = append([]committer.Step{{Instance: strings.ToLower(string(who)), Next: next}}, steps...)
		}
		got := 0
		for _, turn := range turnsOf(steps) {
			got = max(got, turn.back)
		}
		if got != c.want {
			t.Errorf("%s: came back %d times, want %d", name, got, c.want)
		}
	}
}
