package harness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/source"
)

// rebalance is how a group is made to rebalance while one of its members stands still.
type rebalance string

const (
	// joins: another member joins, and the first one goes on at once.
	joins rebalance = "joins"
	// leaves: another member, which was there from the start, leaves.
	leaves rebalance = "leaves"
	// dies: another member, which was there from the start, is gone without a word.
	dies rebalance = "dies"
	// overtakes: another member joins, and the first one stands still until that one has caught up with what it owns: it
	// may have been thrown out meanwhile and go on as a zombie.
	overtakes rebalance = "overtakes"
)

// TestRebalanceAtEveryStep holds a replica at step k around an external effect (an open batch's file, the WAL entry, the
// commit, the ack, the first load), makes the group rebalance, lets it go on, and compares.
func TestRebalanceAtEveryStep(t *testing.T) {
	for _, how := range []rebalance{joins, leaves, dies, overtakes} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			n := stepsOnKafka(t)
			t.Logf("%d steps", n)
			stride := n/2 + 1
			if *every {
				stride = 1
			}
			for k := 1 + rand.IntN(stride); k <= n; k += stride {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					if *every {
						t.Parallel()
					}
					rebalanceAt(t, how, k)
				})
			}
		})
	}
}

// stepsOnKafka counts the steps of a life that nothing disturbs.
func stepsOnKafka(t *testing.T) int {
	o := newOnKafka(t, 2, 1)
	o.produce(40)
	plan := fault.New(nil)
	if err := o.Live(t, o.ConfigOn(plan, o.source(nil, "count")), plan); err != nil {
		t.Fatal(err)
	}
	return plan.N()
}

func rebalanceAt(t *testing.T, how rebalance, k int) {
	o := newOnKafka(t, 2, 1)
	var b *replica
	if how == leaves || how == dies {
		b = o.start(nil, "b")
		o.until("the second member", func() bool { return o.isMember("b") })
	}
	o.produce(40)
	reached, release := make(chan struct{}), make(chan struct{})
	plan := fault.New(func(p fault.Point) fault.Action {
		if p.N != k {
			return fault.Continue
		}
		close(reached)
		o.bell.ring()
		return fault.Wait(release)
	})
	a := o.start(plan, "a")
	for more := 0; !closed(reached); more++ {
		// What comes now may go to the other member: some more makes sure that the step is reached.
		o.produce(4)
		o.until(fmt.Sprintf("step %d", k), func() bool { return closed(reached) || o.atEnd() })
	}
	o.produce(10)
	switch how {
	case joins:
		b = o.start(nil, "b")
		o.until("the other member's joining", func() bool { return o.isMember("b") })
	case leaves:
		stopAll(t, b)
	case dies:
		b.Kill()
		_ = b.stop()
		b.link.Break()
	case overtakes:
		b = o.start(nil, "b")
		o.until("the other member to catch up", func() bool { return o.isStable("b") && o.holdsItsOwn(b) })
	}
	close(release)
	o.produce(20)
	o.untilAtEnd("what came after the rebalance")
	stopAll(t, a)
	if how == joins || how == overtakes {
		stopAll(t, b)
	}
	o.check()
	if t.Failed() {
		t.Logf("%s at step %d, %v", how, k, plan.Trace()[k-1])
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (o *onKafka) isMember(client string) bool {
	g := o.k.GroupInfo(group)
	return g != nil && slices.ContainsFunc(g.Members, func(m kfake.GroupMember) bool { return m.ClientID == client })
}

func (o *onKafka) isStable(client string) bool {
	g := o.k.GroupInfo(group)
	return g != nil && g.State == "Stable" && o.isMember(client)
}

// holdsItsOwn says that what r owns is in the table up to the log's end.
func (o *onKafka) holdsItsOwn(r *replica) bool {
	own := map[int32]source.Position{}
	for _, p := range r.Status().Partitions {
		own[p.Partition] = p.Committed
	}
	for id, pos := range own {
		if pos < o.ends()[id] {
			return false
		}
	}
	return len(own) > 0
}
