package harness_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/fault"
)

// storage is a way in which a file system can fail a process that goes on.
type storage struct {
	name string
	make func(rnd *rand.Rand) fault.Decider
	// leavesWAL says that entries may be left.
	leavesWAL bool
}

// where narrows a decider to paths with a part.
func where(part string, d fault.Decider) fault.Decider {
	return func(p fault.Point) fault.Action {
		if strings.Contains(p.Target, part) {
			return d(p)
		}
		return fault.Continue
	}
}

// sometimes acts at one in about n points of each op, at most limit times for each.
func sometimes(rnd *rand.Rand, phase fault.Phase, n, limit int, a fault.Action, ops ...fault.Op) fault.Decider {
	var ds []fault.Decider
	for _, op := range ops {
		ds = append(ds, fault.Rate(op, phase, n, 1+rnd.IntN(n), limit, a))
	}
	return fault.All(ds...)
}

var (
	reads  = []fault.Op{fault.OpGet, fault.OpStat, fault.OpList}
	writes = []fault.Op{fault.OpCreate, fault.OpWrite, fault.OpClose, fault.OpPut, fault.OpDelete}
)

const (
	dataFiles  = "/data/"
	walEntries = "/_storm_wal/"
)

// storages are all of them. What is torn or lost without a word are data files and WAL entries, which lie about for as long
// as the catalog is away; a manifest that the storage loses within the request that names it is beyond what a look could
// find at a sensible price.
var storages = []storage{
	{name: "fails before it writes", make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.Before, 7, 4, fault.Fail(fault.ErrInjected), writes...)
	}},
	{name: "fails after it has written", make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.After, 7, 4, fault.Fail(fault.ErrInjected), writes...)
	}},
	{name: "fails to read", make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.Before, 5, 6, fault.Fail(fault.ErrInjected), reads...)
	}},
	{name: "throttles", make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.Before, 3, 3, fault.Fail(fault.ErrSlowDown), append(writes, reads...)...)
	}},
	{name: "tears and says so", leavesWAL: true, make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.Before, 4, 6, fault.Torn(fault.ErrInjected), fault.OpWrite, fault.OpPut)
	}},
	{name: "tears data files and is silent", make: func(r *rand.Rand) fault.Decider {
		return where(dataFiles, sometimes(r, fault.Before, 4, 6, fault.Torn(nil), fault.OpWrite))
	}},
	{name: "tears WAL entries and is silent", leavesWAL: true, make: func(r *rand.Rand) fault.Decider {
		return where(walEntries, sometimes(r, fault.Before, 2, 6, fault.Torn(nil), fault.OpPut))
	}},
	{name: "loses data files after they were closed", make: func(r *rand.Rand) fault.Decider {
		return where(dataFiles, sometimes(r, fault.Before, 4, 6, fault.Pretend, fault.OpClose))
	}},
	{name: "loses WAL entries", make: func(r *rand.Rand) fault.Decider {
		return where(walEntries, sometimes(r, fault.Before, 2, 6, fault.Pretend, fault.OpPut))
	}},
	{name: "says deleted and it isn't", leavesWAL: true, make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.Before, 1, 100, fault.Pretend, fault.OpDelete)
	}},
	{name: "says not deleted and it is", make: func(r *rand.Rand) fault.Decider {
		return sometimes(r, fault.After, 1, 100, fault.Fail(fault.ErrSlowDown), fault.OpDelete)
	}},
	{name: "is slow", make: func(*rand.Rand) fault.Decider {
		return func(p fault.Point) fault.Action {
			if p.Phase == fault.Before && strings.Contains(p.Target, "://") {
				return fault.Slow(200 * time.Millisecond)
			}
			return fault.Continue
		}
	}},
}

// TestStorageThatFails runs every shape on every storage: the life that meets it comes through it, and the next one finds
// nothing that it can't go on from.
func TestStorageThatFails(t *testing.T) {
	var done counts
	done.logAtEnd(t, "faults of the storage")
	for _, st := range storages {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			rnd := random(t)
			chosen := rnd.IntN(len(shapes))
			for j, s := range shapes {
				if !*every && j != chosen {
					continue
				}
				faults := 0
				bubble(t, func(t *testing.T) {
					w := s.world(t)
					w.Produce(60)
					plan := fault.New(counted(&faults, st.make(rnd)))
					if err := s.live(t, w, plan); err != nil {
						t.Fatalf("%s: %v", s.name, err)
					}
					w.Check(t)
					w.Produce(20)
					s.lives(t, w)
					w.Check(t)
					if left, err := w.WAL(); err != nil || len(left) > 0 && !st.leavesWAL {
						t.Errorf("%s: %d WAL entries are left, %v", s.name, len(left), err)
					}
				})
				if t.Failed() {
					t.Fatalf("%s", s.name)
				}
				done.add(st.name, "lives", 1)
				done.add(st.name, "faults", faults)
			}
		})
	}
}

// counted counts what a decider does; it is called for one point at a time.
func counted(n *int, d fault.Decider) fault.Decider {
	return func(p fault.Point) fault.Action {
		a := d(p)
		if a != fault.Continue {
			*n++
		}
		return a
	}
}

// TestCrashOnAStorageThatFails ends the life that meets such a storage, and lets the next one meet it, too.
func TestCrashOnAStorageThatFails(t *testing.T) {
	var done counts
	done.logAtEnd(t, "crashes on a failing storage")
	runs, odd := 1, random(t).IntN(3)
	if *every {
		runs = 25
	}
	for i, st := range storages {
		if !*every && i%3 != odd {
			continue
		}
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			rnd := random(t)
			for n := range runs {
				s, k, faults := shapes[(i+n)%len(shapes)], 1+rnd.IntN(250), 0
				bubble(t, func(t *testing.T) {
					w := s.world(t)
					w.Produce(40)
					plan := fault.New(fault.All(fault.At(k, fault.Crash), counted(&faults, st.make(rnd))))
					if err := s.live(t, w, plan); err != nil && !plan.Crashed() {
						t.Fatalf("%s: %v", s.name, err)
					}
					if plan.Crashed() {
						done.add(st.name, "crashes", 1)
					}
					w.CheckOf(t, "orders")
					w.Produce(10)
					if err := s.live(t, w, fault.New(counted(&faults, st.make(rnd)))); err != nil {
						t.Fatalf("%s, the second life: %v", s.name, err)
					}
					w.Check(t)
				})
				if t.Failed() {
					t.Fatalf("%s, crash at step %d", s.name, k)
				}
				done.add(st.name, "lives", 2)
				done.add(st.name, "faults", faults)
			}
		})
	}
}

// TestALostFileIsNoticedBeforeItIsVisible: every snapshot can be read although the storage has lost files, and the topology
// says which.
func TestALostFileIsNoticedBeforeItIsVisible(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := shapes[2]
		w := s.world(t)
		w.Produce(60)
		lost := ""
		plan := fault.New(func(p fault.Point) fault.Action {
			if lost == "" && p.Op == fault.OpClose && p.Phase == fault.Before && strings.Contains(p.Target, dataFiles) {
				lost = p.Target
				return fault.Pretend
			}
			return fault.Continue
		})
		said := &words{}
		cfg := w.Config(plan)
		cfg.Logger = said.logger()
		if err := w.Live(t, cfg, plan); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
		if lost == "" || !said.has(lost) {
			t.Errorf("nothing was said of %q", lost)
		}
	})
}
