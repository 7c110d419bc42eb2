package explorer

import (
	"slices"
	"testing"
)

// tries is how often a candidate may run without a finding before it counts as sound.
const tries = 3

// maxRuns bounds a shrinking: some seconds' worth.
const maxRuns = 400

// Shrink looks for a shorter schedule that breaks the same rule, and gives it with what it broke last. t is as in Run.
func Shrink(t *testing.T, s Schedule, found *Finding) (Schedule, *Finding) {
	k := &shrinker{t: t, best: s, found: found, left: maxRuns}
	for before := -1; before != len(k.best.Events) && k.left > 0; {
		before = len(k.best.Events)
		for n := max(1, before/2); n >= 1; n /= 2 {
			k.drop(n)
		}
	}
	k.merge()
	k.simplify()
	return k.best, k.found
}

type shrinker struct {
	t     *testing.T
	best  Schedule
	found *Finding
	left  int
}

// try keeps a candidate that still breaks the rule.
func (k *shrinker) try(s Schedule) bool {
	for range tries {
		if k.left--; k.left < 0 {
			return false
		}
		if f, _ := Run(k.t, s); f != nil && f.Rule == k.found.Rule {
			k.best, k.found = s, f
			return true
		}
	}
	return false
}

// drop leaves out n events at a time.
func (k *shrinker) drop(n int) {
	for i := 0; i < len(k.best.Events); {
		s := k.best
		s.Events = slices.Delete(slices.Clone(s.Events), i, min(i+n, len(s.Events)))
		if !k.try(s) {
			i += n
		}
	}
}

// merge makes one pause of two.
func (k *shrinker) merge() {
	for i := 1; i < len(k.best.Events); i++ {
		a, b := k.best.Events[i-1], k.best.Events[i]
		if a.Op != Pass || b.Op != Pass {
			continue
		}
		s := k.best
		s.Events = slices.Delete(slices.Clone(s.Events), i, i+1)
		s.Events[i-1].N += b.N
		if k.try(s) {
			i--
		}
	}
}

// simplify makes what is left plainer.
func (k *shrinker) simplify() {
	for _, off := range []func(*Schedule){
		func(s *Schedule) { s.ByRegion = false },
		func(s *Schedule) { s.Copy = false },
		func(s *Schedule) { s.Foreign = false },
		func(s *Schedule) { s.Conflicts = false },
		func(s *Schedule) { s.Expiring = false },
		func(s *Schedule) { s.Partitions = 1 },
	} {
		s := k.best
		off(&s)
		if s.String() != k.best.String() {
			k.try(s)
		}
	}
	for i := range k.best.Events {
		for _, n := range []int{0, k.best.Events[i].N / 4, k.best.Events[i].N / 2} {
			s := k.best
			s.Events = slices.Clone(s.Events)
			if s.Events[i].N == n {
				continue
			}
			s.Events[i].N = n
			if k.try(s) {
				break
			}
		}
	}
}
