package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/stormfloe/floe/source"
)

// groupBy judges groups as JudgeGroup does, each batch by another rule.
func groupBy(judge func(Positions, []source.Range) Fate) func(Positions, []Batch, func(int) bool) ([]Fate, Positions) {
	return func(at Positions, bs []Batch, usable func(int) bool) ([]Fate, Positions) {
		_, after := JudgeGroup(at, nil, nil)
		fates := make([]Fate, len(bs))
		for i, b := range bs {
			fates[i] = judge(after, b.Ranges)
			if fates[i] == Commit && usable != nil && !usable(i) {
				fates[i] = Reread
			}
			for _, r := range b.Ranges {
				if fates[i] == Commit {
					after[r.Partition] = r.To
				}
			}
		}
		return fates, after
	}
}

// judging puts a rule in the place of Judge, wherever batches are judged.
func judging(r *rules, judge func(Positions, []source.Range) Fate) {
	r.judgeGroup = groupBy(judge)
}

// sighting spoils what is seen of a commit id.
func sighting(r *rules, spoil func(*Sight)) {
	r.see = func(h *History, id string, since int64) Sight {
		s := h.See(id, since)
		spoil(&s)
		return s
	}
}

// The bounds within which broken rules show.
var (
	inRace  = bounds{topo: two, parts: 2, offs: 1, kinds: both, group: 1}
	inCrash = bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, left: budget{crash: 1, foreign: 1}}
	inRoll  = bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 2, expire: 1, foreign: 1}}
	inGroup = bounds{topo: two, parts: 2, offs: 1, kinds: either, group: 2, byPartition: true, left: budget{crash: 1}}
	inPicks = bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{pick: 2, roll: 2}}
	inLower = bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{lower: 1, expire: 1, crash: 1}}
	alone   = bounds{topo: []int8{1}, parts: 1, offs: 2, kinds: one, group: 1, acks: true, alone: true, left: budget{crash: 1}}
	atEnd   = bounds{topo: two, parts: 1, offs: 2, kinds: one, group: 1, fresh: true, latest: true, left: budget{crash: 1, grow: 1}}
	apart   = bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 2}
	partly  = bounds{topo: two, parts: 2, offs: 2, kinds: [][2]int8{{1, 0}, {2, 0}, {0, 1}}, group: 2, byPartition: true, left: budget{crash: 1}}
)

// broken are the rules, each broken, with the bounds within which the shortest sequence that shows it is found, and what is
// said of its end.
var broken = []struct {
	name  string
	spoil func(*rules)
	b     bounds
	want  string
}{
	{"the contiguity check is skipped", func(r *rules) {
		judging(r, func(Positions, []source.Range) Fate { return Commit })
	}, inRace, "2 times"},
	{"only whether the end is there already is asked", func(r *rules) {
		judging(r, func(at Positions, rs []source.Range) Fate {
			if f := Judge(at, rs); f == AlreadyThere {
				return f
			}
			return Commit
		})
	}, inRace, "2 times"},
	{"a batch is there already when one of its partitions is", func(r *rules) {
		judging(r, func(at Positions, rs []source.Range) Fate {
			for _, r := range rs {
				if at[r.Partition] >= r.To {
					return AlreadyThere
				}
			}
			return Judge(at, rs)
		})
	}, inRace, "acked and was never visible"},
	{"a batch of which one partition is there already is committed", func(r *rules) {
		judging(r, func(at Positions, rs []source.Range) Fate {
			for _, r := range rs {
				if at[r.Partition] == r.From {
					return Commit
				}
			}
			return Judge(at, rs)
		})
	}, inRace, "2 times"},
	{"it is checked once instead of before every attempt", func(r *rules) { r.everyTime = false }, inRace, "2 times"},
	{"a retry is not pinned", func(r *rules) { r.pinned = false }, inCrash, "2 times"},
	{"an unknown answer means refused", func(r *rules) {
		r.afterLook = func(a Answer, s Sight) Next {
			if a == Unknown {
				return GiveBack
			}
			return AfterLook(a, s)
		}
		r.pinned = false
	}, inCrash, "2 times"},
	{"the property is taken before the summary", func(r *rules) {
		r.search = func(h *History, topology string, older func() ([]Snapshot, bool, error)) (Found, error) {
			if h.Own != nil {
				return Found{Place: AtProperty, Value: h.Own.Value}, nil
			}
			return Search(h, topology, older)
		}
	}, inRoll, "lost below"},
	{"the property is trusted by its sequence number", func(r *rules) {
		r.search = func(h *History, topology string, older func() ([]Snapshot, bool, error)) (Found, error) {
			f := Find(h, topology)
			if f.Place == Older && h.Own != nil && f.Above > 0 && h.Own.Snapshot < *h.Head {
				return Found{Place: AtProperty, Value: h.Own.Value}, nil
			}
			return Search(h, topology, older)
		}
	}, inRoll, "lost below"},
	{"where the branch was set back to before the first commit, it starts afresh", func(r *rules) {
		r.search = func(h *History, topology string, older func() ([]Snapshot, bool, error)) (Found, error) {
			f, err := Search(h, topology, older)
			if f.Place == Stop {
				f.Place = Fresh
			}
			return f, err
		}
	}, inPicks, "beyond position"},
	{"an instance opens at the consumer group's offset", func(r *rules) { r.atTable = false }, alone, "in vain"},
	{"a missing position is taken for zero", func(r *rules) {
		r.begin = false
		r.judgeGroup = func(at Positions, bs []Batch, usable func(int) bool) ([]Fate, Positions) {
			zero := Positions{mPart(0): 0, mPart(1): 0}
			for p, pos := range at {
				zero[p] = pos
			}
			return JudgeGroup(zero, bs, usable)
		}
	}, atEnd, "was to start behind it"},
	{"the parts of a group are committed apart", func(r *rules) { r.joined = false }, apart, "lost below position"},
	{"entries are adopted without a look", func(r *rules) { r.looking = false }, inCrash, "2 times"},
	{"files are used again whose commit was rolled back", func(r *rules) {
		sighting(r, func(s *Sight) { s.Off, s.Hidden = false, false })
	}, inRoll, "deleted file"},
	{"only a rolled back commit that can be seen counts", func(r *rules) {
		sighting(r, func(s *Sight) { s.Hidden = false })
	}, inRoll, "deleted file"},
	{"files are deleted on an unknown outcome", func(r *rules) { r.keepOnUnknown = false }, inRace, "deleted file"},
	{"files are deleted because the head has left the base that their entry names", func(r *rules) { r.ownProof = false }, inCrash, "deleted file"},
	{"files are deleted by another batch's range", func(r *rules) { r.ownRange = false }, inGroup, "deleted file"},
	{"files are deleted without a walk down to their base", func(r *rules) {
		r.low = func(h *History, _ int64, rs []source.Range, at func(string) (Positions, bool)) bool {
			return Low(h, h.Last, rs, at)
		}
		// What is out of sight is no proof either: two rules hold this, and both are broken.
		r.entry = func(e Entry, at Positions, low func([]source.Range) bool) (EntryFate, []BatchFate) {
			e.Seen.Hidden = false
			return JudgeEntry(e, at, low)
		}
	}, inLower, "deleted file"},
	{"a batch of a group that landed is taken for there, whatever the positions say", func(r *rules) {
		r.held = func(Positions, []source.Range) bool { return true }
	}, partly, "acked and was never visible"},
	{"records are acked before they are visible", func(r *rules) { r.ackLate = false }, inRace, "acked and was never visible"},
	{"a cherry-pick is taken for another engine's commit", func(r *rules) {
		r.search = func(h *History, topology string, older func() ([]Snapshot, bool, error)) (Found, error) {
			for id, s := range h.Snapshots {
				s.PickedFrom = nil
				h.Snapshots[id] = s
			}
			return Search(h, topology, older)
		}
	}, inPicks, "beyond position"},
	{"what another topology must be asked about is not carried on", func(r *rules) {
		r.search = func(h *History, topology string, older func() ([]Snapshot, bool, error)) (Found, error) {
			f, err := Search(h, topology, older)
			f.Doubts = nil
			return f, err
		}
	}, bounds{topo: []int8{1, 2}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1, pick: 1}}, "beyond position"},
}

func TestEachRuleIsNeeded(t *testing.T) {
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.b.offs == partly.offs && c.b.parts == partly.parts && !*full {
				t.Skip("half a million states: with -full")
			}
			r := theRules()
			c.spoil(&r)
			x := explore(newModel(r, c.b), false)
			if x.bad == "" || len(x.path) == 0 {
				t.Fatalf("no counterexample among %d states", x.states)
			}
			if !strings.Contains(x.bad, c.want) {
				t.Errorf("%q is broken, not %q", x.bad, c.want)
			}
			t.Logf("%d steps, %d states: %s", len(x.path), x.states, x)
		})
	}
}

// What is assumed, and documented: without it there is a sequence of events that breaks the promise.
func TestWhatIsAssumedIsNeeded(t *testing.T) {
	for _, c := range []struct {
		name string
		b    bounds
		last string
	}{
		{"nobody sets the branch back to the base of a request on its way",
			bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, late: true, left: budget{roll: 2, expire: 1, crash: 1}}, "deleted file"},
		{"nobody sets the branch back while files are being deleted",
			bounds{topo: two, parts: 1, offs: 1, kinds: one, group: 1, slow: true, left: budget{roll: 1}}, "deleted file"},
		{"the metadata log tells whose a picked snapshot was",
			bounds{topo: []int8{1}, parts: 1, offs: 1, kinds: one, group: 1, left: budget{roll: 1, pick: 1, foreign: 1, single: 1, forget: 1}}, "beyond position"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := explore(newModel(theRules(), c.b), false)
			if !strings.Contains(x.bad, c.last) || !slices.ContainsFunc(x.path, func(s string) bool { return strings.Contains(s, "branch is set") }) {
				t.Fatalf("%d states, %s", x.states, x)
			}
			t.Logf("%d steps, %d states: %s", len(x.path), x.states, x)
		})
	}
}
