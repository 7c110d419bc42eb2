package protocol

import (
	"fmt"
	"testing"
)

// moves are what floe does, what becomes of its requests, and what others do.
func (sp *outboxSpace) moves(s *outboxState, emit func(next *outboxState, bad string, what func() string)) {
	move := func(format string, args []any, f func(n *outboxState)) {
		n := *s
		f(&n)
		emit(&n, "", func() string { return fmt.Sprintf(format, args...) })
	}
	sp.commits(s, move)
	sp.finishes(s, move)
	for r := range s.net {
		a := &s.net[r]
		if !a.used {
			continue
		}
		if s.nr < sp.shelves && (a.base == s.top || sp.broken == "an append is not pinned") {
			move("request %d lands", []any{r}, func(n *outboxState) { n.land(r) })
		}
		move("request %d never lands", []any{r}, func(n *outboxState) { n.net[r] = appending{} })
	}
	sp.others(s, move)
}

// commits are the main table's: a row, a reject where the outbox has room, or none of both.
func (sp *outboxSpace) commits(s *outboxState, move func(string, []any, func(*outboxState))) {
	if s.nm == sp.mains {
		return
	}
	box, pos := sp.carried(s), s.main[s.head].pos
	commit := func(row, reject int8) {
		move("main snapshot %d: row %d, reject %d", []any{s.nm, row, reject}, func(n *outboxState) {
			x := mainSnap{parent: n.head, pos: pos, row: row, reject: reject, box: box}
			if row != nowhere || reject != nowhere {
				x.pos++
			}
			if reject != nowhere {
				x.box |= 1 << n.nm
			}
			n.main[n.nm], n.head = x, n.nm
			n.nm++
		})
	}
	if pos < sp.records {
		commit(pos, nowhere)
		used := 0
		for i := range s.nm {
			used += int(box >> i & 1)
		}
		if Fits(used, int(sp.room), []int{1}) == 1 {
			commit(nowhere, pos)
		}
	}
	if box != s.main[s.head].box {
		commit(nowhere, nowhere)
	}
}

// finishes are two processes that look and append, what they remember, and a person whom they ask.
func (sp *outboxSpace) finishes(s *outboxState, move func(string, []any, func(*outboxState))) {
	box := s.main[s.head].box
	if sp.broken == "a reject is appended before its commit" && s.nm < sp.mains {
		box |= 1 << s.nm
	}
	held := map[int8]Holding{}
	sure := true
	for c := range int8(mainRoom) {
		if box&(1<<c) != 0 && s.seen&(1<<c) == 0 {
			held[c] = sp.holds(s, c)
			sure = sure && held[c] != NotThere
		}
	}
	for c, h := range held {
		if h == There {
			move("the reject of %d is seen", []any{c}, func(n *outboxState) { n.seen |= 1 << c })
		}
		for r := range s.net {
			if s.net[r].used {
				continue
			}
			switch {
			case h == NotThere:
				move("request %d is to append the reject of %d", []any{r, c}, func(n *outboxState) {
					n.net[r] = s.ask(1<<c, 1<<c, 0)
					n.sent |= 1 << c
				})
			case sure && (h == Unclear || h == SetBack):
				// The person looks into the table and says what is so. All that can be told has been appended before.
				move("request %d is to answer for %d", []any{r, c}, func(n *outboxState) {
					adds, since := uint8(0), int8(0)
					if s.copies(c) == 0 {
						adds = 1 << c
					}
					if h == Unclear {
						since = s.nm
					}
					if sp.broken == "an answer speaks for what the outbox shows" {
						since = min(since, c+1)
					}
					n.net[r] = s.ask(adds, 1<<c, since)
				})
			}
			break // the requests are alike
		}
	}
	if s.seen != 0 {
		move("the process starts anew", nil, func(n *outboxState) { n.seen = 0 })
	}
}

// others set branches, commit to the rejects table, and let its snapshots expire.
func (sp *outboxSpace) others(s *outboxState, move func(string, []any, func(*outboxState))) {
	for i := range s.nm {
		if s.roll > 0 && i != s.head {
			move("the main branch is set to %d", []any{i}, func(n *outboxState) { n.head, n.roll = i, n.roll-1 })
		}
	}
	for i := range s.nr {
		if s.back > 0 && i != s.top && !s.shelf[i].gone {
			move("the rejects table is set to %d", []any{i}, func(n *outboxState) { n.top, n.back, n.seen = i, n.back-1, 0 })
		}
	}
	if s.foreign > 0 && s.nr < sp.shelves {
		move("another engine commits %d to the rejects table", []any{s.nr}, func(n *outboxState) {
			n.shelf[n.nr] = shelfSnap{parent: n.top}
			n.top, n.nr, n.foreign = n.nr, n.nr+1, n.foreign-1
		})
	}
	if s.expire > 0 && s.nr > 1 {
		for _, forgotten := range []bool{false, true} {
			move("all but the head of the rejects table expire, the log tells of none: %v", []any{forgotten}, func(n *outboxState) {
				n.expire--
				for i := range n.nr {
					if i != n.top {
						n.shelf[i].gone, n.shelf[i].forgotten = true, n.shelf[i].forgotten || forgotten
					}
				}
			})
		}
	}
}

// shapesOfRejects are the worlds that are gone through to their ends.
var shapesOfRejects = map[string]outboxSpace{
	"requests are late and lost":                    {mains: 5, shelves: 4, records: 3, room: 1},
	"the main branch is set back and forth":         {mains: 4, shelves: 5, records: 2, room: 2, roll: 2},
	"the rejects table expires under other engines": {mains: 4, shelves: 5, records: 2, room: 1, roll: 1, foreign: 2, gone: 1},
	"a person answers where nothing tells":          {mains: 3, shelves: 7, records: 2, room: 2, roll: 2, foreign: 2, gone: 1},
	"the rejects table is set back":                 {mains: 4, shelves: 5, records: 2, room: 1, roll: 1, back: 1, gone: 1},
}

func TestEveryStateKeepsEachRejectOnce(t *testing.T) {
	for name, sp := range shapesOfRejects {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && sp.gone > 0 {
				t.Skip("tens of thousands of states")
			}
			x := explore(&sp, true)
			t.Logf("%d states, %d transitions, depth %d", x.states, x.transitions, x.depth)
			if x.bad != "" {
				t.Error(x)
			}
			if x.stuck > 0 {
				t.Errorf("from %d states a reject can never get to its table, first after\n\t%v", x.stuck, x.stuckAt)
			}
		})
	}
}

func TestEachRuleOfTheOutboxIsNeeded(t *testing.T) {
	const late, answered = "requests are late and lost", "a person answers where nothing tells"
	for _, c := range []struct{ broken, shape string }{
		{"nobody looks", late},
		{"an outbox is not carried forward", late},
		{"a request that was sent is enough", late},
		{"an append is not pinned", late},
		{"a reject is appended before its commit", late},
		{"what has expired was not there", answered},
		{"an answer speaks for what the outbox shows", answered},
	} {
		t.Run(c.broken, func(t *testing.T) {
			sp := shapesOfRejects[c.shape]
			sp.broken = c.broken
			if x := explore(&sp, false); x.bad == "" {
				t.Errorf("nothing is broken in %d states", x.states)
			} else {
				t.Log(x)
			}
		})
	}
}
