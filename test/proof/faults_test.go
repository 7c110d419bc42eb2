package main

import (
	"slices"
	"strings"
	"testing"
)

func TestAllFaultsComeBeforeOneComesAgain(t *testing.T) {
	drawn := func() (out []string) {
		for n, o := range order(7) {
			if n == 3*len(outages) {
				break
			}
			out = append(out, o.what)
		}
		return out
	}
	all := drawn()
	for one := range slices.Chunk(all, len(outages)) {
		if seen := slices.Compact(slices.Sorted(slices.Values(one))); len(seen) != len(outages) {
			t.Errorf("%d of %d kinds in a round of all: %q", len(seen), len(outages), one)
		}
	}
	if again := drawn(); !slices.Equal(all, again) {
		t.Errorf("the same seed gives %q and %q", all, again)
	}
}

// TestMemoryIsJudgedByTheReplicaThatIsNotKilled: replica 0 is killed, so that what it has says nothing.
func TestMemoryIsJudgedByTheReplicaThatIsNotKilled(t *testing.T) {
	const mb = 1_000_000
	for name, c := range map[string]struct {
		rss  [9]int64
		want string
	}{
		"flat":            {[9]int64{90, 100, 100, 120, 118, 119, 120, 121, 119}, ""},
		"growing":         {[9]int64{90, 100, 100, 100, 110, 110, 125, 130, 140}, "grows"},
		"a warm-up":       {[9]int64{150, 100, 100, 100, 100, 100, 100, 100, 100}, ""},
		"above its bound": {[9]int64{90, 100, 300, 100, 100, 100, 100, 100, 100}, "above"},
	} {
		var turns []Turn
		for i, n := range c.rss {
			turns = append(turns, Turn{RSS: [replicas]int64{int64(i) * 1000 * mb, n * mb}})
		}
		if got := memoryOf(turns); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
