package protocol

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// others: another engine, an operator, expiry.
func (e *explorer) others(x sighted) {
	s := x.mState
	if s.foreign > 0 && s.ns < maxSnaps {
		e.add(s, func(c *mState) {
			c.snaps[c.ns] = mSnap{parent: c.head}
			c.ns++
			c.head = c.ns
			c.foreign--
		}, "another engine commits snapshot %d", s.ns+1)
	}
	for id := int8(1); id <= s.ns && s.roll > 0; id++ {
		if id == s.head || s.snaps[id-1].expired {
			continue
		}
		// Assumed, and documented: nobody sets the branch back to the base of a request that is still on its way.
		late := false
		for k := range s.nn {
			late = late || s.net[k].base == id
		}
		if !late {
			e.add(s, func(c *mState) { c.head = id; c.roll-- }, "branch set back to snapshot %d", id)
		}
	}
	if s.expire > 0 && s.ns > 1 {
		e.add(s, func(c *mState) {
			line := [maxSnaps + 1]bool{}
			for id := c.head; id != 0; id = c.snaps[id-1].parent {
				line[id] = true
			}
			for i := range c.ns {
				if i+1 == c.head {
					continue
				}
				if y := &c.snaps[i]; !y.expired {
					if !line[i+1] && y.fid != 0 {
						c.deleted |= 1 << y.fid
					}
					y.expired = true
				}
			}
			c.expire--
		}, "all but the head expired, with files that only snapshots off the branch added")
	}
}

// budget is how often each outsider acts, and how many states are looked at.
type budget struct {
	offsets, attempts, foreign, roll, expire, crashes int8
	states                                            int
}

// explore gives the shortest sequence of events that breaks a promise, or "" where there is none among the states
// looked at.
func explore(r rules, b budget) (trace string, states int) {
	e := &explorer{r: r, offsets: b.offsets, attempts: b.attempts}
	// Snapshot 1 is another engine's, 2 records where the partitions start.
	start := mState{
		snaps: [maxSnaps]mSnap{{}, {parent: 1, has: true}}, ns: 2, head: 2, propSnap: 2,
		in: [2]mInst{{phase: 'd'}, {phase: 'd'}}, foreign: b.foreign, roll: b.roll, expire: b.expire, crashes: b.crashes,
	}
	type step struct {
		prev int32
		name string
	}
	seen, queue, how := map[mState]bool{start: true}, []mState{start}, []step{{-1, ""}}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if bad := look(&s, &e.r).check(); bad != "" {
			var path []string
			for j := int32(i); j > 0; j = how[j].prev {
				path = append(path, how[j].name)
			}
			slices.Reverse(path)
			return bad + "\n\t" + strings.Join(path, "\n\t"), i
		}
		for _, m := range e.moves(&s) {
			if !seen[m.s] && len(queue) < b.states {
				seen[m.s] = true
				how = append(how, step{int32(i), m.name})
				queue = append(queue, m.s)
			}
		}
	}
	return "", len(queue)
}

func TestEveryStateKeepsThePromise(t *testing.T) {
	for _, c := range []struct {
		name string
		b    budget
	}{
		{"two instances race, answers are lost, another engine commits", budget{offsets: 1, attempts: 2, foreign: 1, crashes: 1, states: 20_000 / slower}},
		{"and the branch is set back", budget{offsets: 1, attempts: 2, roll: 1, crashes: 1, states: 20_000 / slower}},
		{"and snapshots expire", budget{offsets: 1, attempts: 1, roll: 1, expire: 1, foreign: 1, states: 20_000 / slower}},
		{"deeper", budget{offsets: 2, attempts: 1, roll: 1, expire: 1, crashes: 1, states: 20_000 / slower}},
		{"everything", budget{offsets: 2, attempts: 2, foreign: 1, roll: 2, expire: 1, crashes: 1, states: 20_000 / slower}},
	} {
		if n, err := strconv.Atoi(os.Getenv("FLOE_MODEL_STATES")); err == nil {
			c.b.states = n // a longer search, by hand
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trace, n := explore(theRules(), c.b)
			if trace != "" {
				t.Fatal(trace)
			}
			t.Log(n, "states")
		})
	}
}

func TestEachRuleIsNeeded(t *testing.T) {
	all := budget{offsets: 2, attempts: 2, foreign: 1, roll: 1, expire: 1, crashes: 1, states: 100_000}
	judge := func(f func(Positions, []source.Range) Fate) func(*rules) { return func(r *rules) { r.judge = f } }
	for _, c := range []struct {
		name  string
		spoil func(*rules)
		b     budget
	}{
		{"a batch is committed wherever the table stands", judge(func(at Positions, rs []source.Range) Fate {
			if f := Judge(at, rs); f == AlreadyThere {
				return f
			}
			return Commit
		}), all},
		{"a batch of which a part is there is committed", judge(func(at Positions, rs []source.Range) Fate {
			if f := Judge(at, rs); f != Reread {
				return f
			}
			for _, r := range rs {
				if at[r.Partition] >= r.To {
					return Commit
				}
			}
			return Reread
		}), all},
		{"an attempt is not pinned", func(r *rules) { r.pinned = false }, all},
		{"files of a commit that was rolled back are used again", func(r *rules) {
			r.stat = false
			r.afterLook = func(a Answer, s Sight) Next { s.Off = false; return AfterLook(a, s) }
			r.entry = func(e Entry, at Positions, low func([]source.Range) bool) (EntryFate, []BatchFate) {
				e.Seen.Off = false
				return JudgeEntry(e, at, low)
			}
		}, budget{offsets: 1, attempts: 1, roll: 2, expire: 1, states: 100_000}},
		{"the property counts where the line ends, whatever it names", func(r *rules) {
			r.find = func(h *History, topology string) Found {
				f := Find(h, topology)
				if f.Place == Stop && f.Why == Expired && h.Own != nil {
					f.Place, f.Value = AtProperty, h.Own.Value
				}
				return f
			}
		}, budget{offsets: 1, attempts: 1, foreign: 1, roll: 1, expire: 1, states: 100_000}},
		{"files are deleted while a request that names them is on its way", func(r *rules) {
			r.entry = func(e Entry, at Positions, low func([]source.Range) bool) (EntryFate, []BatchFate) {
				if f, b := JudgeEntry(e, at, low); f == Delete || f == Adopt && e.Age >= e.Grace {
					return f, b
				}
				return Abandon, []BatchFate{BatchDelete}
			}
		}, all},
		{"files are deleted without a walk that shows that they never landed", func(r *rules) {
			r.low = func(*History, []source.Range) bool { return true }
		}, budget{offsets: 1, attempts: 1, foreign: 1, expire: 1, crashes: 1, states: 100_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := theRules()
			c.spoil(&r)
			trace, n := explore(r, c.b)
			if trace == "" {
				t.Fatalf("no counterexample among %d states", n)
			}
			t.Log(trace)
		})
	}
}
