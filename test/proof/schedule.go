package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is what is done to a process.
type Kind string

// The kinds of faults.
const (
	// Kill is SIGKILL.
	Kill Kind = "SIGKILL"
	// Stop is SIGSTOP, longer than the group's session, then SIGCONT: a zombie that goes on with what it had.
	Stop Kind = "SIGSTOP"
	// Term is SIGTERM: it must end gracefully, with exit code 0.
	Term Kind = "SIGTERM"
)

// Sign is a sign of life that a fault waits for.
type Sign string

// The signs, each since the process was started.
const (
	Started   Sign = "started"
	Assigned  Sign = "assigned"
	Committed Sign = "committed"
)

// Fault is one thing that is done, to one replica or to both at once.
type Fault struct {
	Kind Kind
	// Victims are the numbers of the replicas.
	Victims []int
	// After the sign of the first victim, and Delay more.
	After Sign
	Delay time.Duration
	// Stopped is how long a Stop lasts.
	Stopped time.Duration
	// Rest is how long the victims stay down.
	Rest time.Duration
}

func (f Fault) String() string {
	return fmt.Sprintf("%s to %v, %s after it has %s", f.Kind, f.Victims, f.Delay, f.After)
}

// Shape is what floe is configured to in a round.
type Shape struct {
	Tasks       int           `json:"tasks"`
	GroupBy     []string      `json:"group_by,omitempty"`
	PartitionBy []string      `json:"partition_by,omitempty"`
	Seal        time.Duration `json:"seal_ns"`
	Commit      time.Duration `json:"commit_ns"`
	// Foreign says that another engine compacts the table and expires snapshots now and then.
	Foreign bool `json:"foreign"`
}

// schedule draws shapes and faults from a seed. It is not for several goroutines.
type schedule struct {
	rnd     *rand.Rand
	session time.Duration
}

// newSchedule is the schedule of a round. session is the consumer group's session timeout.
func newSchedule(seed uint64, round int, session time.Duration) *schedule {
	return &schedule{rnd: rand.New(rand.NewPCG(seed, uint64(round))), session: session}
}

// upTo draws a duration between 0 and d.
func (s *schedule) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rnd.Int64N(int64(d) + 1)).Round(time.Millisecond)
}

func (s *schedule) one(per int) bool { return s.rnd.IntN(per) == 0 }

func (s *schedule) shape() Shape {
	out := Shape{Tasks: 1 + s.rnd.IntN(3), Seal: 150*time.Millisecond + s.upTo(250*time.Millisecond), Commit: s.upTo(150 * time.Millisecond)}
	out.Foreign = s.one(3)
	if s.one(3) {
		out.GroupBy = []string{"region"}
	}
	switch s.rnd.IntN(4) {
	case 0:
	case 1:
		out.PartitionBy = []string{"region", "bucket(2, off)"}
	default:
		out.PartitionBy = []string{"region"}
	}
	return out
}

// next is the next fault. Of twelve nine are SIGKILL, two SIGSTOP and one is SIGTERM.
func (s *schedule) next() Fault {
	f := Fault{Kind: Kill, Victims: []int{s.rnd.IntN(replicas)}}
	switch n := s.rnd.IntN(12); {
	case n < 2:
		f.Kind = Stop
		f.Stopped = s.session*5/4 + s.upTo(s.session*3/2)
	case n < 3:
		f.Kind = Term
	}
	if f.Kind != Stop && s.one(5) {
		f.Victims = []int{0, 1}
	}
	switch n := s.rnd.IntN(10); {
	case n < 1:
		f.After = Started
	case n < 4:
		f.After = Assigned
	default:
		f.After = Committed
	}
	f.Delay = s.upTo(400 * time.Millisecond)
	if s.one(4) {
		f.Rest = s.upTo(300 * time.Millisecond)
	}
	return f
}
