package harness_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/topology"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)       // a life's garbage is small and short-lived, and there are hundreds of lives
	debug.SetMemoryLimit(1 << 30) // a long one keeps all its metadata files
	goleak.VerifyTestMain(m)
}

var (
	// every makes the crash tests stop at each step instead of a sample of them.
	every = flag.Bool("every", false, "crash at every step instead of a sample")
	oneIn = flag.Int("one-in", 1, "with -every, of how many steps of a life one is taken")
	// seed chooses the samples.
	seed = flag.Uint64("seed", 0, "seed of the samples, 0 for another one in each run")
)

// random is a source of choices for one shape. It says its seed where the test fails.
func random(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with: -args -seed %d", s)
		}
	})
	h := fnv.New64()
	_, _ = h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(s, h.Sum64()))
}

type variant struct {
	tasks    int
	oneStage bool
	groupBy  []string
	by       []string
}

func (v variant) String() string {
	return fmt.Sprintf("tasks=%d,onestage=%v,group=%v,by=%v", v.tasks, v.oneStage, v.groupBy, v.by)
}

func (v variant) apply(cfg topology.Config) topology.Config {
	cfg.Writer.Tasks, cfg.Writer.GroupBy, cfg.OneStage = v.tasks, v.groupBy, v.oneStage
	return cfg
}

var variants = []variant{
	{tasks: 1},
	{tasks: 1, by: []string{"region"}},
	{tasks: 3},
	{tasks: 1, oneStage: true},
	{tasks: 3, oneStage: true, by: []string{"region"}},
	{tasks: 3, groupBy: []string{"region"}, by: []string{"region"}},
}

func TestPlainRun(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := harness.New(t, harness.Shape{Partitions: 3, PartitionBy: s.by})
				w.Produce(90)
				plan := fault.New(nil)
				if err := s.live(t, w, plan); err != nil {
					t.Fatal(err)
				}
				w.Check(t)
				t.Logf("%d steps, %d commits", plan.N(), w.Catalog.Commits())
			})
		})
	}
}

// beginning is what a life finds that is then ended at every step.
type beginning struct {
	name string
	make func(t *testing.T, w *harness.World, s shape)
}

// beginnings are an empty table, and what an earlier life can leave in the WAL.
var beginnings = []beginning{
	{"fresh", func(*testing.T, *harness.World, shape) {}},
	{"entry to adopt", diesAtCommit(fault.Before)},
	{"entry that landed", diesAtCommit(fault.After)},
	{"damaged entry", func(t *testing.T, w *harness.World, s shape) {
		diesAtCommit(fault.Before)(t, w, s)
		for path, b := range entries(t, w) {
			if err := w.Files.WriteFile(path, b[:len(b)/2]); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"entry that was passed", func(t *testing.T, w *harness.World, s shape) {
		diesAtCommit(fault.Before)(t, w, s)
		old := entries(t, w)
		if err := w.RemoveWAL(); err != nil {
			t.Fatal(err)
		}
		s.lives(t, w)
		for path, b := range old {
			if err := w.Files.WriteFile(path, b); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(3 * time.Hour) // its files may go
		w.Produce(20)
	}},
}

// diesAtCommit is a life that ends around its second commit, which is the first with rows.
func diesAtCommit(phase fault.Phase) func(t *testing.T, w *harness.World, s shape) {
	return func(t *testing.T, w *harness.World, s shape) {
		plan := fault.New(fault.On(fault.OpCommit, phase, 2, fault.Crash))
		if err := s.live(t, w, plan); err == nil || !plan.Crashed() {
			t.Fatalf("the life before did not die: %v", err)
		}
	}
}

func entries(t *testing.T, w *harness.World) map[string][]byte {
	es, err := w.WAL()
	if err != nil || len(es) == 0 {
		t.Fatalf("%d WAL entries, %v", len(es), err)
	}
	return es
}

// crash is a run whose life is ended where ends says, and the next one where its second says.
type crash struct {
	shape
	from beginning
	ends []fault.Decider
}

// run gives the points at which the lives ended; a life that needed fewer steps has none.
func (c crash) run(t *testing.T) (at []fault.Point) {
	bubble(t, func(t *testing.T) {
		w := c.world(t)
		w.Produce(60)
		c.from.make(t, w, c.shape)
		for _, end := range c.ends {
			plan := fault.New(func(p fault.Point) fault.Action {
				a := end(p)
				if a != fault.Continue {
					at = append(at, p)
				}
				return a
			})
			err := c.live(t, w, plan)
			if err != nil && !plan.Crashed() {
				t.Errorf("the life that was not ended gave %v", err)
			}
			if plan.Crashed() && err != nil && !errors.Is(err, topology.ErrKilled) && !errors.Is(err, fault.ErrCrashed) {
				t.Errorf("the life that was ended gave %v", err)
			}
			w.CheckOf(t, "orders")
			w.Produce(10)
		}
		w.Produce(10)
		c.lives(t, w)
		w.Check(t)
	})
	if t.Failed() {
		t.Fatalf("%s, %s: ended at %v", c.name, c.from.name, at)
	}
	return at
}

// steps counts those of a life that nothing ends, and gives them.
func (s shape) steps(t *testing.T, from beginning) (trace []fault.Point) {
	bubble(t, func(t *testing.T) {
		plan := fault.New(nil)
		w := s.world(t)
		w.Produce(60)
		from.make(t, w, s)
		if err := s.live(t, w, plan); err != nil {
			t.Fatal(err)
		}
		w.Check(t)
		trace = plan.Trace()
	})
	return trace
}

// plain are the steps of a life that nothing ends, on an empty table. They are counted once: several tests choose from them.
func (s shape) plain(t *testing.T) []fault.Point {
	plainTraces.Lock()
	defer plainTraces.Unlock()
	if plainTraces.of[s.name] == nil {
		plainTraces.of[s.name] = s.steps(t, beginnings[0])
	}
	return plainTraces.of[s.name]
}

var plainTraces = struct {
	sync.Mutex
	of map[string][]fault.Point
}{of: map[string][]fault.Point{}}

// stride samples about n steps of all, fewer in short mode, or takes every one.
func stride(all, n int) int {
	switch {
	case *every:
		return 1
	case testing.Short():
		return max(1, min(all, 3*all/n))
	}
	return max(1, all/n)
}

// chosen are the points of a life at which it is ended: all of them, or one of each kind of effect whose turn it is. Every
// kind has its turn in one of the shapes.
func chosen(trace []fault.Point, turn int, rnd *rand.Rand) (ends []fault.Decider) {
	times := map[string]int{}
	for i, p := range trace {
		times[kind(p)]++
		ends = append(ends, fault.At(i+1, fault.Crash))
	}
	if *every {
		var some []fault.Decider
		for i := rnd.IntN(*oneIn); i < len(ends); i += *oneIn {
			some = append(some, ends[i])
		}
		return some
	}
	ends = nil
	for i, name := range kinds() {
		if n := times[name]; n > 0 && (i+turn)%len(shapes) == 0 {
			ends = append(ends, atKind(name, 1+rnd.IntN(n)))
		}
	}
	if testing.Short() && len(ends) > 1 {
		n := rnd.IntN(len(ends))
		ends = ends[n : n+1]
	}
	return ends
}

// atKind ends a life at the nth effect of a kind. Goroutines take other turns in each run, so that the number of a step says
// little of its kind.
func atKind(name string, nth int) fault.Decider {
	seen := 0
	return func(p fault.Point) fault.Action {
		if kind(p) == name {
			if seen++; seen == nth {
				return fault.Crash
			}
		}
		return fault.Continue
	}
}

// TestCrashAtEveryStep ends the first life at step k around an external effect, lets the next one go on, and compares.
func TestCrashAtEveryStep(t *testing.T) {
	var done counts
	done.logAtEnd(t, "crashes of a first life")
	turn := random(t).IntN(len(shapes))
	for i, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			trace := s.plain(t)
			done.add(s.name, "steps", len(trace))
			for _, end := range chosen(trace, turn+i, random(t)) {
				at := crash{s, beginnings[0], []fault.Decider{end}}.run(t)
				done.add(s.name, "crashes", len(at))
				for _, p := range at {
					done.add(kind(p), "crashes", 1)
				}
			}
		})
	}
}

// TestCrashWhileSettling ends the life that finds what an earlier one left, at each step until it makes something new and
// somewhat beyond.
func TestCrashWhileSettling(t *testing.T) {
	var done counts
	done.logAtEnd(t, "crashes of a second life")
	turn := random(t).IntN(len(shapes))
	for i, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rnd := random(t)
			from := beginnings[1:]
			if !*every {
				from = from[(turn+i)%len(from):][:1]
			}
			for _, f := range from {
				n := 0
				for i, p := range s.steps(t, f) {
					if n = i + 1; p.Op == fault.OpCreate && kind(p) == "before data file create" {
						break
					}
				}
				n += 10
				done.add(s.name+", "+f.name, "steps", n)
				by := stride(n, 2)
				for k := 1 + rnd.IntN(by); k <= n; k += by {
					done.add(s.name+", "+f.name, "crashes", len(crash{s, f, []fault.Decider{fault.At(k, fault.Crash)}}.run(t)))
				}
			}
		})
	}
}

// TestTwoCrashes ends the first life at step k and the second at step j, for a sample of both.
func TestTwoCrashes(t *testing.T) {
	var done counts
	done.logAtEnd(t, "two crashes in a row")
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rnd := random(t)
			n := len(s.plain(t))
			runs := 1
			if *every {
				runs = 100
			}
			for range runs {
				k, j := 1+rnd.IntN(n), 1+rnd.IntN(n)
				c := crash{s, beginnings[0], []fault.Decider{fault.At(k, fault.Crash), fault.At(j, fault.Crash)}}
				done.add(s.name, fmt.Sprintf("crashed-%d-times", len(c.run(t))), 1)
			}
		})
	}
}

// effects are those that a life can be ended at, each before and after.
var effects = []string{
	"data file create", "data file write", "data file close", "data file get", "data file delete",
	"WAL put", "WAL get", "WAL list", "WAL delete", "WAL set aside (put)",
	"manifest create", "manifest write", "manifest close", "manifest get",
	"load", "commit",
}

// kinds are those of a Point: before and after each effect, and the steps of an acknowledgement.
func kinds() []string {
	out := []string{harness.StepAck, harness.StepGroupCommit, harness.StepGroupCommitted, harness.StepAcked}
	for _, e := range effects {
		out = append(out, "before "+e, "after "+e)
	}
	return out
}

// TestEveryKindOfEffectIsReached sees that the crash tests stop at each kind of effect, on both sides of it, and at no other
// that nobody has thought of.
func TestEveryKindOfEffectIsReached(t *testing.T) {
	var seen counts
	seen.logAtEnd(t, "effects of one life from each beginning")
	got := map[string]bool{}
	for _, s := range []shape{shapes[0], shapes[3]} {
		for _, f := range beginnings {
			for _, p := range s.steps(t, f) {
				seen.add(kind(p), s.name, 1)
				got[kind(p)] = true
			}
		}
	}
	for _, k := range kinds() {
		if !got[k] {
			t.Errorf("no life reaches %q", k)
		}
	}
	for k := range got {
		if !slices.Contains(kinds(), k) {
			t.Errorf("%q is reached and is not in the list", k)
		}
	}
}
