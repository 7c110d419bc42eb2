package committer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/stormfloe/floe/descriptor"
	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/source"
)

var rejIdent = table.Identifier{"rej", "t"}

// newSQLPair is a world with a rejects table.
func newSQLPair(t *testing.T) *sqlWorld {
	t.Helper()
	s := newSQLWorld(t)
	_, err := tableio.Ensure(t.Context(), s.real, rejIdent, tableio.Definition{Schema: schema()})
	s.must(err)
	s.rej = &sqlWorld{world: &world{t: t, cat: &memCat{}}, real: s.real, loader: tableio.New(s.real, rejIdent)}
	s.rej.sync()
	s.rej.dir = tableDir(s.rej.table().Location())
	return s
}

// next is the batch of a life: with rejects where there is a table for them.
func (s *sqlWorld) next(from, to source.Position) *descriptor.Descriptor {
	if s.rej == nil {
		return s.batch("a", rng(0, from, to))
	}
	return s.pair().bad("a", rng(0, from, to))
}

func (s *sqlWorld) pair() *pair { return &pair{s.world, s.rej.world} }

// finished waits until the rejects of a commit are in their table, so that one goroutine at a time has effects.
func (s *sqlWorld) finished(ctx context.Context, c *Committer, obs *recorder) {
	for s.rej != nil && ctx.Err() == nil {
		v, err := c.viewOf(ctx, c.Table())
		if err == nil && len(c.keptOutbox(v)) == 0 {
			return
		}
		select {
		case <-obs.outboxes:
		case <-ctx.Done():
		}
	}
}

// endRejects lets a last life finish, and compares both tables with what must be in them.
func (s *sqlWorld) endRejects() {
	s.t.Helper()
	s.live(fault.New(nil))
	s.sync()
	s.rej.sync()
	s.pair().settledRejects("a", 0, lifeEnd, true)
}

// The effects are those on both tables.
func TestACrashAtEveryStepKeepsEachRejectOnce(t *testing.T) {
	crashAtEveryStep(t, 11, newSQLPair, (*sqlWorld).endRejects)
}

// Every commit of either table is applied, or not, without an answer.
func TestEveryAnswerIsLostAndEachRejectIsThereOnce(t *testing.T) {
	for _, phase := range []fault.Phase{fault.Before, fault.After} {
		for nth := 1; nth <= 6; nth++ {
			t.Run(fmt.Sprintf("%v commit %d", phase, nth), func(t *testing.T) {
				s := newSQLPair(t)
				s.live(fault.New(fault.On(fault.OpCommit, phase, nth, fault.Fail(errGateway))))
				s.endRejects()
			})
		}
	}
}

// A request of a dead process, to either table, is applied while the next life works, or after it.
func TestALateRequestOfADeadProcessKeepsEachRejectOnce(t *testing.T) {
	for nth := range 6 {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("commit %d, before the next life %v", nth, before), func(t *testing.T) {
				s := newSQLPair(t)
				n := 0
				plan := fault.New(func(p fault.Point) fault.Action {
					if p.Op != fault.OpCommit || p.Phase != fault.Before {
						return fault.Continue
					}
					switch n++; {
					case n == nth+1:
						return fault.Late(errGateway)
					case n > nth+1:
						return fault.Crash
					}
					return fault.Continue
				})
				s.live(plan)
				if before {
					_ = plan.Release()
				}
				s.live(fault.New(nil))
				_ = plan.Release()
				s.endRejects()
			})
		}
	}
}

// outsiders does at random what the model of docs/spec/rejects.pml does: two instances commit and finish, requests to the
// rejects table come late or lose their answers, instances forget what they saw, the main branch is set to any of its
// snapshots, another engine commits to the rejects table, and its snapshots expire.
type outsiders struct {
	*pair
	rnd   *rand.Rand
	two   [2]*runner
	late  []func() (table.Metadata, string, error)
	steps []string
}

func (o *outsiders) log(format string, args ...any) {
	o.steps = append(o.steps, fmt.Sprintf(format, args...))
}

// request is how the rejects table's catalog answers.
func (o *outsiders) request(apply func() (table.Metadata, string, error)) (table.Metadata, string, error) {
	switch o.rnd.IntN(6) {
	case 0:
		o.log("it is late")
		o.late = append(o.late, apply)
		return nil, "", errGateway
	case 1:
		_, _, err := apply()
		o.log("its answer is lost (%v)", err)
		return nil, "", errGateway
	case 2:
		o.log("it never arrives")
		return nil, "", errGateway
	}
	return apply()
}

func (o *outsiders) step() {
	i := o.rnd.IntN(2)
	switch k := o.rnd.IntN(12); k {
	case 0, 1, 2, 3:
		o.commit(i, k < 3)
	case 4, 5, 6:
		o.log("%d finishes", i)
		o.finished(i)
	case 7:
		if n := len(o.late); n > 0 {
			_, _, err := o.late[n-1]()
			o.late = o.late[:n-1]
			o.log("a late request is applied: %v", err)
		}
	case 8:
		all := o.table().Metadata().Snapshots()
		s := all[o.rnd.IntN(len(all))]
		o.log("main is set to %d", s.SequenceNumber)
		o.rollback(s.SnapshotID)
	case 9:
		o.log("another engine commits to the rejects table")
		o.rej.cat.hook(nil)
		o.rej.foreign()
		o.rej.cat.hook(o.request)
	case 10:
		if o.rej.table().CurrentSnapshot() != nil {
			o.log("the rejects table expires")
			o.rej.expire()
			if o.rnd.IntN(2) == 0 {
				o.rej.loseLog()
			}
		}
	default:
		o.log("%d starts anew", i)
		o.two[i] = o.committer(o.with(Config{}), nil)
	}
}

func (o *outsiders) finished(i int) {
	o.t.Helper()
	if err := o.two[i].finishes(); isStop(err) || err != nil && strings.Contains(err.Error(), "set it back") {
		o.t.Errorf("instance %d: %v", i, err)
	}
}

// commit makes instance i commit the next two records.
func (o *outsiders) commit(i int, bad bool) {
	o.t.Helper()
	ctx := o.t.Context()
	r := o.two[i]
	pos, err := r.Load(ctx)
	o.must(err)
	from := pos.At[part(0)].Next
	d := o.batch("a", rng(0, from, from+2))
	if bad {
		d = o.bad("a", rng(0, from, from+2))
	}
	o.log("%d commits %d, with a reject %v", i, from, bad)
	g := &group{id: uuid.New(), items: []*item{{Submission: Submission{Descriptor: d}, ranges: rangesOf(d)}}}
	o.must(r.take(ctx))
	defer r.give()
	o.must(r.commit(ctx, g))
}

func TestRejectsAndTheirOutboxWhateverOthersDo(t *testing.T) {
	n := uint64(30)
	if testing.Short() {
		n = 5
	}
	for seed := uint64(0); seed < n && !t.Failed(); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p := newPair(t, nil)
			p.life(nil)
			o := &outsiders{pair: p, rnd: rand.New(rand.NewPCG(seed, 1))}
			for i := range o.two {
				o.two[i] = p.committer(p.with(Config{}), nil)
			}
			p.rej.cat.hook(o.request)
			for range 40 {
				o.step()
				o.check(false)
				if t.Failed() {
					t.Fatalf("after\n%s", strings.Join(o.steps, "\n"))
				}
			}
			p.rej.cat.hook(nil)
			last := p.committer(p.with(Config{}), nil)
			err := last.finishes()
			o.check(err == nil)
			if t.Failed() {
				t.Fatalf("at the end (%v), after\n%s", err, strings.Join(o.steps, "\n"))
			}
		})
	}
}

func (o *outsiders) check(done bool) {
	o.t.Helper()
	v, err := o.two[0].look(o.t.Context())
	o.must(err)
	o.settledRejects("a", 0, int(v.at[part(0)].Next), done)
}
