package protocol

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// This file explores all states of a system, breadth first, and knows nothing of what they mean.

// space is a system with finitely many states.
type space[S comparable] interface {
	// start is the first state.
	start() S
	// moves calls emit for each state that may come next. what says how; it is asked for only where a sequence of events is
	// told. bad says which promise the move breaks, "" for none.
	moves(s *S, emit func(next *S, bad string, what func() string))
	// check says which promise the state breaks, "" for none.
	check(s *S) string
	// goal says that everything has been done.
	goal(s *S) bool
	// key gives a state that stands for s and all others that differ in names only.
	key(s *S) S
}

// explored is what a search has seen.
type explored struct {
	// bad is the broken promise, "" for none; path the shortest sequence of events that breaks it.
	bad  string
	path []string
	// states and transitions are counted up to names, depth is the length of the longest shortest sequence.
	states, transitions, depth int
	// goals counts states in which everything is done. stuck counts those from which none can be reached any more;
	// stuckAt is how the first of them is.
	goals, stuck int
	stuckAt      []string
}

func (x explored) String() string { return x.bad + "\n\t" + strings.Join(x.path, "\n\t") }

// search goes through all states of a space. A state is remembered by 64 bits of a hash with a random seed: that two of
// ten million have the same is one chance in 300,000, and another one in the next run. With live, the edges are kept, and
// states from which no goal can be reached are counted.
type search[S comparable] struct {
	sp    space[S]
	live  bool
	seed  maphash.Seed
	index map[uint64]uint32
	from  []uint32
	print []uint64
	// back are the edges, the later state first.
	back  [][2]uint32
	goals []uint32
}

type level[S comparable] struct {
	id []uint32
	s  []S
}

func explore[S comparable](sp space[S], live bool) explored {
	x := &search[S]{sp: sp, live: live, seed: maphash.MakeSeed(), index: map[uint64]uint32{}}
	return x.run()
}

func (x *search[S]) run() (out explored) {
	first := x.sp.start()
	now, next := &level[S]{}, &level[S]{}
	x.note(x.sp.key(&first), first, 0, now)
	for len(now.s) > 0 {
		for i := range now.s {
			s, id := &now.s[i], now.id[i]
			if bad := x.sp.check(s); bad != "" {
				out.bad, out.path = bad, x.tell(id, nil)
				out.states = len(x.from)
				return out
			}
			if x.sp.goal(s) {
				out.goals++
				x.goals = append(x.goals, id)
			}
			var broken *S
			x.sp.moves(s, func(n *S, bad string, _ func() string) {
				out.transitions++
				if bad != "" && out.bad == "" {
					c := *n
					out.bad, broken = bad, &c
				}
				to := x.note(x.sp.key(n), *n, id, next)
				if x.live && to != id {
					x.back = append(x.back, [2]uint32{to, id})
				}
			})
			if broken != nil {
				out.path, out.states = x.tell(id, broken), len(x.from)
				return out
			}
		}
		now, next = next, now
		next.s, next.id = next.s[:0], next.id[:0]
		out.depth++
	}
	out.depth--
	out.states = len(x.from)
	if x.live {
		x.reach(&out)
	}
	return out
}

// note gives the number of a state and puts it into the next level where it is new.
func (x *search[S]) note(key, s S, from uint32, next *level[S]) uint32 {
	h := maphash.Comparable(x.seed, key)
	if id, ok := x.index[h]; ok {
		return id
	}
	id := uint32(len(x.from))
	x.index[h] = id
	x.from, x.print = append(x.from, from), append(x.print, h)
	next.id, next.s = append(next.id, id), append(next.s, s)
	return id
}

// tell replays the way to a state, and on to last.
func (x *search[S]) tell(id uint32, last *S) (path []string) {
	var way []uint32
	for ; id != 0; id = x.from[id] {
		way = append(way, id)
	}
	slices.Reverse(way)
	s := x.sp.start()
	step := func(want func(n *S, bad string) bool) {
		found := false
		var to S
		x.sp.moves(&s, func(n *S, bad string, what func() string) {
			if !found && want(n, bad) {
				found, to = true, *n
				path = append(path, what())
			}
		})
		if !found {
			panic(fmt.Sprintf("no move leads on from step %d", len(path)))
		}
		s = to
	}
	for _, w := range way {
		step(func(n *S, _ string) bool { return maphash.Comparable(x.seed, x.sp.key(n)) == x.print[w] })
	}
	if last != nil {
		step(func(_ *S, bad string) bool { return bad != "" })
	}
	return path
}

// reach counts the states that no goal can be reached from.
func (x *search[S]) reach(out *explored) {
	slices.SortFunc(x.back, func(a, b [2]uint32) int { return int(a[0]) - int(b[0]) })
	at := make([]int32, len(x.from)+1)
	for _, e := range x.back {
		at[e[0]+1]++
	}
	for i := range x.from {
		at[i+1] += at[i]
	}
	ok := make([]bool, len(x.from))
	todo := slices.Clone(x.goals)
	for _, g := range todo {
		ok[g] = true
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, e := range x.back[at[n]:at[n+1]] {
			if !ok[e[1]] {
				ok[e[1]] = true
				todo = append(todo, e[1])
			}
		}
	}
	for id, done := range ok {
		if !done {
			if out.stuck == 0 {
				out.stuckAt = x.tell(uint32(id), nil)
			}
			out.stuck++
		}
	}
}
