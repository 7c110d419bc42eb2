package protocol

import (
	"flag"
	"testing"
	"time"
)

var full = flag.Bool("full", false, "explore the model within its wide bounds")

// What one batch may cover: records of the first partition, of either, of both at once, two at a time.
var (
	one    = [][2]int8{{1, 0}}
	either = [][2]int8{{1, 0}, {0, 1}}
	both   = [][2]int8{{1, 0}, {0, 1}, {1, 1}}
	pairs  = [][2]int8{{1, 0}, {2, 0}}
)

// shape is one exploration, to its end. wide are its bounds with -full.
type shape struct {
	name        string
	quick, wide bounds
	// live: from every state everything can still be committed.
	live bool
}

var two, three = []int8{1, 1}, []int8{1, 1, 1}

var shapes = []shape{
	{"two instances race, answers are lost, both crash", bounds{topo: two, parts: 2, offs: 1, kinds: both, group: 1},
		bounds{topo: two, parts: 2, offs: 1, kinds: both, group: 1, left: budget{crash: 1}}, true},
	{"one crashes", bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{crash: 1}},
		bounds{topo: two, parts: 1, offs: 2, kinds: pairs, group: 1, left: budget{crash: 1}}, true},
	{"three instances", bounds{topo: three, parts: 1, offs: 1, kinds: one, group: 1},
		bounds{topo: three, parts: 1, offs: 1, kinds: one, group: 1, left: budget{crash: 1}}, true},
	{"another engine commits and rewrites", bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{foreign: 1, crash: 1}},
		bounds{topo: two, parts: 1, offs: 2, kinds: pairs, group: 1, left: budget{foreign: 1, rewrite: 1, crash: 1}}, true},
	{"requests are refused, and copies of those that landed", bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{refuse: 1, crash: 1}},
		bounds{topo: two, parts: 2, offs: 1, kinds: both, group: 1, left: budget{refuse: 2}}, true},
	{"groups of one writer", bounds{topo: two, parts: 1, offs: 2, kinds: one, group: 2},
		bounds{topo: two, parts: 1, offs: 2, kinds: one, group: 2, left: budget{crash: 1}}, true},
	{"groups of two writers", bounds{topo: two, parts: 2, offs: 1, kinds: either, group: 2, byPartition: true},
		bounds{topo: two, parts: 2, offs: 1, kinds: either, group: 2, byPartition: true, left: budget{crash: 1}}, true},
	{"first positions", bounds{topo: two, parts: 2, offs: 1, kinds: [][2]int8{{1, 1}}, group: 1, fresh: true, left: budget{crash: 1}},
		bounds{topo: two, parts: 2, offs: 1, kinds: both, group: 1, fresh: true, left: budget{crash: 1}}, true},
	{"the stream starts at its end, and grows", bounds{topo: two, parts: 1, offs: 2, kinds: one, group: 1, fresh: true, latest: true, left: budget{crash: 1, grow: 1}},
		bounds{topo: two, parts: 1, offs: 3, kinds: one, group: 1, fresh: true, latest: true, left: budget{crash: 1, grow: 2}}, true},
	{"one instance alone, with the consumer group's offset", bounds{topo: []int8{1}, parts: 1, offs: 2, kinds: one, group: 1, acks: true, alone: true, left: budget{crash: 1}},
		bounds{topo: []int8{1}, parts: 2, offs: 2, kinds: both, group: 1, acks: true, alone: true, left: budget{crash: 2}}, true},
	{"who deletes is stopped in between", bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, slow: true, left: budget{crash: 1}},
		bounds{topo: two, parts: 1, offs: 2, kinds: pairs, group: 1, slow: true, left: budget{crash: 1, foreign: 1}}, true},

	{"the branch is set back and forth", bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1}},
		bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 2, set: 1}}, false},
	{"and in groups of two writers", bounds{topo: []int8{1}, parts: 2, offs: 1, kinds: either, group: 2, byPartition: true, left: budget{roll: 1, crash: 1}},
		bounds{topo: two, parts: 2, offs: 1, kinds: either, group: 2, byPartition: true, left: budget{roll: 1}}, false},
	{"and snapshots expire", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1, expire: 1}},
		bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1, expire: 1, foreign: 1}}, false},
	{"single snapshots expire, and the log forgets", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{single: 1, roll: 1, foreign: 1, forget: 1}},
		bounds{topo: []int8{1}, parts: 1, offs: 2, kinds: one, group: 1, left: budget{single: 2, roll: 2, foreign: 1, forget: 1}}, false},
	{"the line ends where another engine's snapshot has expired", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{foreign: 1, expire: 1, roll: 1, forget: 1}},
		bounds{topo: []int8{1}, parts: 1, offs: 2, kinds: one, group: 1, left: budget{foreign: 1, expire: 2, roll: 1, forget: 1, crash: 1}}, false},
	{"expiry alone never makes it ask", bounds{topo: []int8{1}, parts: 1, offs: 2, kinds: one, group: 1, left: budget{foreign: 1, expire: 1, crash: 1}},
		bounds{topo: []int8{1}, parts: 1, offs: 2, kinds: one, group: 1, left: budget{foreign: 1, expire: 2, rewrite: 1, crash: 1}}, true},
	{"no table property", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, noProperty: true, left: budget{foreign: 1, roll: 1, expire: 1}},
		bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, noProperty: true, left: budget{foreign: 1, roll: 1, expire: 1}}, false},
	{"a catalog without history", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, headless: true, left: budget{foreign: 1, roll: 1, crash: 1}},
		bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, headless: true, left: budget{foreign: 1, roll: 1, crash: 1}}, false},
	{"snapshots are cherry-picked", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{pick: 2, roll: 2, set: 1}},
		bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{pick: 2, roll: 2, foreign: 1, set: 1, expire: 1}}, false},
	{"a second topology", bounds{topo: []int8{1, 2}, parts: 1, offs: 1, kinds: one, group: 1, fresh: true, left: budget{roll: 1}},
		bounds{topo: []int8{1, 2}, parts: 1, offs: 1, kinds: one, group: 1, fresh: true, left: budget{roll: 2}}, false},
	{"a second topology, and one's snapshots are picked", bounds{topo: []int8{1, 2}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1, pick: 1}},
		bounds{topo: []int8{1, 2}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1, pick: 1, expire: 1}}, false},
	{"a person wants rows once more", bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{lower: 1, expire: 1, crash: 1}},
		bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{lower: 1, expire: 1, crash: 1}}, false},
}

func TestEveryStateKeepsThePromise(t *testing.T) {
	for _, c := range shapes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := c.quick
			if *full {
				b = c.wide
			}
			at := time.Now()
			m := newModel(theRules(), b)
			x := explore(m, c.live)
			if x.bad != "" {
				t.Fatal(x)
			}
			t.Logf("%9d states %10d transitions  depth %2d  done in %d  cut %d  %6.1fs  %s",
				x.states, x.transitions, x.depth, x.goals, m.cut, time.Since(at).Seconds(), b)
			if x.goals == 0 {
				t.Error("in no state everything is committed")
			}
			if x.stuck > 0 {
				t.Errorf("from %d states not everything can be committed any more: %q", x.stuck, x.stuckAt)
			}
			if m.cut > 0 {
				t.Errorf("the model's arrays are too small for these bounds: %d moves were left out", m.cut)
			}
		})
	}
}
