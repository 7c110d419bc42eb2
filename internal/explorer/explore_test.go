package explorer

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	schedules = flag.Int("schedules", 80, "how many schedules are run; a third of them with -short")
	seed      = flag.Uint64("seed", 0, "the first seed; 0: half of the schedules from a fixed one, half from a fresh one")
	duration  = flag.Duration("for", 0, "run for so long instead of a number of schedules")
	trace     = flag.Bool("trace", false, "print each seed before it runs, for one that never ends")
	shrink    = flag.Bool("shrink", true, "look for a shorter schedule where one fails")
	keep      = flag.Bool("keep", false, "go on after a schedule that fails")
	show      = flag.Bool("show", false, "print what happens in each schedule")
	workers   = flag.Int("workers", 2, "how many run at once")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // a run's garbage is small and short-lived, and there are thousands
	goleak.VerifyTestMain(m)
}

// TestExplore runs schedules from seeds.
func TestExplore(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64() >> 16
	}
	t.Logf("seeds from %d on", first)
	if testing.Short() {
		*schedules /= 3
	}
	var total Stats
	var mu sync.Mutex
	var n atomic.Int64
	began := time.Now()
	next := func() (uint64, bool) {
		i := uint64(n.Add(1) - 1)
		if *duration > 0 && time.Since(began) > *duration || *duration == 0 && i >= uint64(*schedules) || t.Failed() && !*keep {
			return 0, false
		}
		if *seed == 0 && *duration == 0 && i%2 == 0 {
			return 1 + i/2, true
		}
		return first + i, true
	}
	t.Run("workers", func(t *testing.T) {
		for i := range *workers {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for {
					seed, more := next()
					if !more {
						return
					}
					stats := explore(t, seed)
					mu.Lock()
					total.Add(stats)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%s in %s\n%s", headline(&total), time.Since(began).Round(100*time.Millisecond), counts(&total))
}

func headline(s *Stats) string {
	return fmt.Sprintf("%d schedules, %d processes, %d commits, %d effects, %d acks, %s of virtual time",
		s.Schedules, s.Lives, s.Commits, s.Effects, s.Acks, s.Virtual.Round(time.Minute))
}

func counts(s *Stats) string {
	var b strings.Builder
	for _, m := range []map[string]int{s.Events, s.Ends} {
		var names []string
		for k := range m {
			names = append(names, k)
		}
		sort.Strings(names)
		for _, k := range names {
			fmt.Fprintf(&b, "%s %d, ", k, m[k])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// explore runs one seed; what it finds is shortened and printed.
func explore(t *testing.T, seed uint64) *Stats {
	if *trace {
		fmt.Fprintln(os.Stderr, "seed", seed)
	}
	s := Generate(seed)
	found, stats := Run(t, s)
	if *show {
		t.Logf("%v\n%s", s, strings.Join(stats.Log, "\n"))
	}
	if found != nil {
		t.Errorf("seed %d: %v", seed, found)
		n := len(s.Events)
		if *shrink {
			s, found = Shrink(t, s, found)
		}
		t.Errorf("seed %d, %d events of %d: %v\n%v\n%s", seed, len(s.Events), n, found, s, found.Log)
	}
	return stats
}
