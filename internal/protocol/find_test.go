package protocol

import (
	"slices"
	"strings"
	"testing"
)

// hist builds a history. A snapshot is "id<parent" and marks: "=a,b" a value that holds topologies a and b ("b?" is
// unclear there), "!c" commit id c, "^id" cherry-picked from id, "x" expired (known from an earlier metadata file).
func hist(head int64, snapshots ...string) *History {
	h := &History{Snapshots: map[int64]Snapshot{}, LogLength: 3, Topologies: topologies}
	if head != 0 {
		h.Head = &head
	}
	for _, s := range snapshots {
		x := Snapshot{Retained: true}
		f := strings.Fields(s)
		id, parent, ok := strings.Cut(f[0], "<")
		x.ID = int64(id[0] - '0')
		x.Sequence = x.ID
		if ok {
			p := int64(parent[0] - '0')
			x.Parent = &p
		}
		for _, m := range f[1:] {
			switch m[0] {
			case '=':
				x.Value, x.Topology = m[1:], strings.Split(strings.TrimSuffix(m[1:], "?"), ",")[0]
			case '!':
				x.CommitID = m[1:]
				if x.Topology == "" {
					x.Topology = "a"
				}
			case '^':
				p := int64(m[1] - '0')
				x.PickedFrom = &p
			case 'x':
				x.Retained = false
			}
		}
		h.Snapshots[x.ID] = x
	}
	return h
}

func topologies(v string) (known, doubted []string) {
	for _, t := range strings.Split(v, ",") {
		if n, ok := strings.CutSuffix(t, "?"); ok {
			doubted = append(doubted, n)
		} else {
			known = append(known, t)
		}
	}
	return known, doubted
}

func (h *History) own(snapshot int64, value string) *History {
	h.Own = &Property{Snapshot: snapshot, Value: value}
	return h
}

func (h *History) read() *History { h.LogRead = true; return h }

func TestFindWalksTheBranch(t *testing.T) {
	for _, c := range []struct {
		name  string
		h     *History
		place Place
		value string
		why   Reason
		need  int64
	}{
		{"an empty table is a fresh start", hist(0), Fresh, "", 0, 0},
		{"another engine's table is a fresh start", hist(2, "1", "2<1"), Fresh, "", 0, 0},
		{"the head's summary is the answer", hist(2, "1", "2<1 =a").own(2, "a"), AtSnapshot, "a", 0, 0},
		{"below other engines' commits, the newest is", hist(4, "1 =a", "2<1 =a,b", "3<2", "4<3").own(2, "a,b"), AtSnapshot, "a,b", 0, 0},
		{"a rollback rewinds: what is off the branch does not count", hist(1, "1 =a", "2<1 =a,b").own(2, "a,b"), AtSnapshot, "a", 0, 0},
		{"the first value decides: it holds all topologies", hist(2, "1 =a", "2<1 =b").own(2, "b"), Fresh, "b", 0, 0},

		// Committed, then another engine committed, then all but the head expired.
		{"an expired parent that the property names", hist(3, "3<2").own(2, "a"), AtProperty, "a", 0, 0},
		{"and that has not this topology", hist(3, "3<2").own(2, "b"), Fresh, "b", 0, 0},
		// Committed as 2, rolled back to 1, another engine committed 3 on 1, all but 3 expired: property 2 is younger
		// than 1, and wrong.
		{"an expired parent that the property does not name is looked for", hist(3, "3<1").own(2, "a"), Older, "", 0, 1},
		{"an earlier metadata file tells", hist(3, "3<1", "1 =a x").own(2, "a"), AtSnapshot, "a", 0, 0},
		{"or tells on the way further down", hist(3, "3<2", "2<1 x").own(4, "a"), Older, "", 0, 1},
		{"nothing tells: ask", hist(3, "3<1").own(2, "a").read(), Stop, "", Expired, 1},
		{"nothing tells, but it never committed here: the property knows all that did", hist(3, "3<1").own(2, "b").read(), Fresh, "", 0, 1},
		{"nothing tells, and floe was never here", hist(3, "3<1").read(), Fresh, "", 0, 1},
		{"nothing tells, and the property was taken away", hist(3, "3<1", "2 =b").read(), Stop, "", Expired, 1},

		{"rolled back to before the first commit: ask", hist(1, "1", "2<1 =a").own(2, "a"), Stop, "", RolledBack, 0},
		{"also where the table has become empty", hist(0, "2 =a").own(2, "a"), Stop, "", RolledBack, 0},
		{"before the first commit of another topology", hist(1, "1", "2<1 =b").own(2, "b"), Fresh, "", 0, 0},
		{"an answer after that is newer", hist(3, "1", "2<1 =a", "3<1 =a").own(3, "a"), AtSnapshot, "a", 0, 0},

		// Rows of 2 came onto the branch as 3, without their positions.
		{"a cherry-picked commit of this topology: ask", hist(3, "1 =a", "2<1 =a !c", "3<1 ^2").own(2, "a"), Stop, "a", CherryPicked, 0},
		{"also where what was picked had been picked itself", hist(5, "1 =a", "2<1 =a !c", "3<1 ^2", "4<1", "5<4 ^3").own(2, "a"), Stop, "a", CherryPicked, 0},
		{"a picked one of which it can't be told is looked for", hist(5, "1 =a", "3<1 ^2", "4<1", "5<4 ^3").own(2, "a"), Older, "", 0, 2},
		{"a cherry-picked snapshot of another engine", hist(3, "1 =a", "2<1", "3<1 ^2").own(1, "a"), AtSnapshot, "a", 0, 0},
		{"one that can't be found any more is looked for", hist(3, "1 =a", "3<1 ^2").own(1, "a"), Older, "", 0, 2},
		{"and taken for another engine's if nothing tells", hist(3, "1 =a", "3<1 ^2").own(1, "a").read(), AtSnapshot, "a", 0, 0},
		{"one below the newest value was answered for", hist(4, "1 =a", "2<1 =a !c", "3<1 ^2", "4<3 =a").own(4, "a"), AtSnapshot, "a", 0, 0},

		{"a commit of another topology has said that it is unclear", hist(1, "1 =b,a?").own(1, "b,a?"), Stop, "b,a?", Doubted, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Find(c.h, "a")
			if f.Place != c.place || f.Value != c.value || f.Why != c.why || f.Need != c.need {
				t.Errorf("got place %d value %q why %d need %d, want %d %q %d %d",
					f.Place, f.Value, f.Why, f.Need, c.place, c.value, c.why, c.need)
			}
		})
	}
}

func TestFindWhereTheCatalogKeepsNoHistory(t *testing.T) {
	nessie := func() *History {
		h := hist(7, "7")
		h.LogLength = 0
		return h
	}
	if f := Find(nessie().own(3, "a"), "a"); f.Place != AtProperty || f.Value != "a" {
		t.Errorf("the property is part of the head's state, got %+v", f)
	}
	if f := Find(nessie().own(3, "b"), "a"); f.Place != Fresh || f.Value != "b" {
		t.Errorf("a topology that is not in it is new, got %+v", f)
	}
	if f := Find(nessie(), "a"); f.Place != Fresh {
		t.Errorf("no property, no positions: %+v", f)
	}
	first := hist(1, "1")
	first.LogLength = 0
	if f := Find(first.own(1, "a"), "a"); f.Place != Stop {
		t.Errorf("the first snapshot of any table has no past either; its property is no part of it: %+v", f)
	}
}

func TestFindTakesThePropertyOfAnotherBranchWhereItNamesTheSnapshot(t *testing.T) {
	h := hist(3, "3<2")
	h.Others = []Property{{Snapshot: 9, Value: "b"}, {Snapshot: 2, Value: "a"}}
	if f := Find(h, "a"); f.Place != AtProperty || f.Value != "a" {
		t.Errorf("%+v", f)
	}
	h = hist(3, "3<1").read()
	h.Others = []Property{{Snapshot: 2, Value: "a"}}
	if f := Find(h, "a"); f.Place != Stop || f.Why != Expired {
		t.Errorf("the branch was forked from where the topology had committed: %+v", f)
	}
}

func TestFindAsksWhereNoPropertyIsWritten(t *testing.T) {
	h := hist(3, "3<1").read()
	h.NoProperty = true
	if f := Find(h, "a"); f.Place != Stop || f.Why != Expired {
		t.Errorf("%+v", f)
	}
	h = hist(2, "1", "2<1")
	h.NoProperty = true
	if f := Find(h, "a"); f.Place != Fresh {
		t.Errorf("down to the root nothing was there: %+v", f)
	}
}

// A commit hides what lies below it. What other topologies would have asked a person about must be carried on, or they
// would start over and double everything.
func TestFindNamesTheTopologiesThatTheNextCommitMustMarkUnclear(t *testing.T) {
	for _, c := range []struct {
		name string
		h    *History
		want string
	}{
		{"none", hist(2, "1", "2<1 =a,b").own(2, "a,b"), ""},
		{"rolled back to before b's first commit", hist(1, "1 =a", "2<1 =a,b").own(2, "a,b"), "b"},
		{"b's rows were cherry-picked", hist(3, "1 =a,b", "2<1 =b !c", "3<1 ^2").own(2, "a,b"), "b"},
		{"where everything stood has expired", hist(3, "3<1").own(2, "a,b").read(), "a b"},
		{"one marked before stays marked in the value", hist(2, "1", "2<1 =a,b?").own(2, "a,b?"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Find(c.h, "a")
			slices.Sort(f.Doubts)
			if got := strings.Join(f.Doubts, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSeeFindsACommitOnTheBranchAndOffIt(t *testing.T) {
	h := hist(3, "1 !x", "2<1 !y", "3<1 !z", "4<3 !w x")
	for id, want := range map[string]Sight{
		"x": {On: true, Snapshot: 1}, "z": {On: true, Snapshot: 3}, "y": {Off: true},
		"w": {}, "v": {}, "": {},
	} {
		if got := h.See(id, 0); got != want {
			t.Errorf("commit %q: %+v, want %+v", id, got, want)
		}
	}
	if got := hist(3, "3<2", "2<1 !y x").See("y", 0); got != (Sight{On: true, Snapshot: 2}) {
		t.Errorf("an expired snapshot on the branch is on it: %+v", got)
	}
}

// The commit landed as 3 and its answer was lost; the branch was set back to 2; all but the head expired. Its files are
// about to be deleted, and nothing tells of it but the number that is missing.
func TestSeeKnowsThatSomethingIsOutOfSight(t *testing.T) {
	for _, c := range []struct {
		name string
		h    *History
		last int64
		base *int64
		want bool
	}{
		{"all since is there", hist(3, "1", "2<1", "3<2"), 3, base(2), false},
		{"what expired is older", hist(3, "2<1", "3<2"), 3, base(2), false},
		{"one since has expired", hist(2, "1", "2<1"), 3, base(2), true},
		{"one on another line has not", hist(2, "1", "2<1", "3<1"), 3, base(2), false},
		{"one since is known from an earlier metadata file alone", hist(2, "1", "2<1", "3<2 x"), 3, base(2), true},
		{"the base itself is unknown", hist(3, "3<2"), 3, base(2), true},
		{"from an empty table", hist(2, "1", "2<1"), 2, nil, false},
		{"from an empty table, and the first is gone", hist(2, "2<1"), 2, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.h.Last = c.last
			if got := c.h.See("x", c.h.Since(c.base)).Hidden; got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	h := hist(7, "7")
	h.LogLength, h.Last = 0, 7
	if h.See("x", 5).Hidden {
		t.Error("a catalog without a past hides everything, and nothing of it expires")
	}
}
